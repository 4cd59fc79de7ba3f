// SPDX-License-Identifier: GPL-2.0

//! Links between nodes: `io_links/N/properties`.

use crate::{
    glue::kobject::{
        File,
        Show,
        Text, //
    },
    gpu::Gpu,
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

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
pub(super) fn first_simd_id(gpus: &[Arc<Gpu>], index: usize) -> u32 {
    gpus.iter().take(index).fold(FIRST_GPU_SIMD, |id, gpu| {
        let chip = gpu.chip();
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
}

impl Link {
    fn new(gpu: &Gpu, from: u32, to: u32, flags: u32) -> Self {
        let engines = gpu.chip().sdma_counts.bus;
        // No atomic operations over PCI are asked for.
        let flags = ENABLED | NO_ATOMICS | flags;
        Self {
            from,
            to,
            sdma_mask: 1u32.checked_shl(engines).map_or(!0, |bit| bit - 1),
            flags,
        }
    }

    /// From a GPU, node `number`, to the processors.
    pub(super) fn gpu_to_cpu(gpu: &Gpu, number: u32) -> Self {
        Self::new(gpu, number, 0, 0)
    }
}

/// The links from the processors: to every GPU of which they reach all memory.
pub(super) fn from_cpu(gpus: &[Arc<Gpu>]) -> Result<KVec<Link>> {
    let mut links = KVec::new();
    for (number, gpu) in (1..).zip(gpus) {
        if gpu.chip().visible_vram_size >= gpu.chip().vram_size {
            links.push(Link::new(gpu, 0, number, NON_COHERENT), GFP_KERNEL)?;
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
            ("min_bandwidth", 0),
            ("max_bandwidth", 0),
            ("recommended_transfer_size", 0),
            ("recommended_sdma_engine_id_mask", self.sdma_mask),
            ("flags", self.flags),
        ] {
            out.property(name, value.into());
        }
        Ok(())
    }
}
