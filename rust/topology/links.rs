// SPDX-License-Identifier: GPL-2.0

//! Links between nodes: `io_links/N/properties`.

use super::Member;
use crate::{
    glue::kobject::{
        File,
        Show,
        Text, //
    },
    gpu::Gpu, //
};
use kernel::prelude::*;

/// `CRAT_IOLINK_TYPE_PCIEXPRESS`.
const PCI_EXPRESS: u32 = 2;
/// Upstream's weight of such a link.
const WEIGHT: u32 = 20;
const ENABLED: u32 = 1 << 0;
const NON_COHERENT: u32 = 1 << 1;
const NO_ATOMICS: u32 = 1 << 2 | 1 << 3;

/// Number that the first GPU's first SIMD has; the next GPU goes on from there.
const FIRST_GPU_SIMD: u32 = 0x8000_1000;

/// The first SIMD number of the GPU at `index`.
pub(super) fn first_simd_id(gpus: &[Member], index: usize) -> u32 {
    gpus.iter().take(index).fold(FIRST_GPU_SIMD, |id, member| {
        let chip = member.gpu.chip();
        let arrays = chip
            .shader_engines
            .saturating_mul(chip.shader_arrays_per_engine);
        id.saturating_add(arrays.saturating_mul(chip.cu_per_array))
    })
}

/// A link to another node.
pub(super) struct Link {
    from: u32,
    to: u32,
    sdma_mask: u32,
    flags: u32,
    /// In MB/s: of one lane at the lowest speed, and of the link as it is.
    bandwidth: (u32, u32),
}

/// MB/s of a link (`amdgpu_amdkfd_get_pcie_bandwidth_mbytes`), 0 when it isn't known.
fn bandwidth(generation: u32, lanes: u32) -> u32 {
    const MBIT: [u32; 6] = [0, 2_500, 5_000, 8_000, 16_000, 32_000];
    let lane = MBIT.get(generation as usize).copied().unwrap_or(0);
    lane.saturating_mul(lanes) / 8
}

impl Link {
    fn new(gpu: &Gpu, from: u32, to: u32, atomics: bool, flags: u32) -> Self {
        let engines = gpu.chip().sdma_counts.bus;
        let link = gpu.pci().link;
        // `kfd_set_iolink_no_atomics`.
        let flags = ENABLED | if atomics { 0 } else { NO_ATOMICS } | flags;
        Self {
            from,
            to,
            sdma_mask: !u32::MAX.checked_shl(engines).unwrap_or(0),
            flags,
            bandwidth: (
                bandwidth(link.generation.min(1), link.lanes.min(1)),
                bandwidth(link.generation, link.lanes),
            ),
        }
    }

    /// From a GPU, node `number`, to the processors.
    pub(super) fn gpu_to_cpu(gpu: &Gpu, number: u32) -> Self {
        Self::new(gpu, number, 0, gpu.pci().requests_atomics, 0)
    }
}

/// The links from the processors: to every GPU of which they reach all memory.
pub(super) fn from_cpu(gpus: &[Member]) -> Result<KVec<Link>> {
    let mut links = KVec::new();
    for (number, Member { gpu, .. }) in (1..).zip(gpus) {
        if gpu.chip().visible_vram_size >= gpu.chip().vram_size {
            let atomics = gpu.pci().completes_atomics;
            links.push(Link::new(gpu, 0, number, atomics, NON_COHERENT), GFP_KERNEL)?;
        }
    }
    Ok(links)
}

static FILES: [File; 1] = [File::new(c"properties")];

impl Show for Link {
    fn files() -> &'static [File] {
        &FILES
    }

    fn show(&self, _file: usize, out: &mut Text<'_>) -> Result {
        for (name, value) in [
            ("type", PCI_EXPRESS),
            ("version_major", 0),
            ("version_minor", 0),
            ("node_from", self.from),
            ("node_to", self.to),
            ("weight", WEIGHT),
            ("min_latency", 0),
            ("max_latency", 0),
            ("min_bandwidth", self.bandwidth.0),
            ("max_bandwidth", self.bandwidth.1),
            ("recommended_transfer_size", 0),
            ("recommended_sdma_engine_id_mask", self.sdma_mask),
            ("flags", self.flags),
        ] {
            out.property(name, value.into());
        }
        Ok(())
    }
}
