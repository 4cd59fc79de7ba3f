// SPDX-License-Identifier: GPL-2.0

//! A node: `nodes/N` with `gpu_id`, `name`, `properties`, and its folders.

use super::{
    caches::{
        self,
        Cache, //
    },
    links::{
        self,
        Link, //
    },
    permitted::Permitted,
    Member, //
};
use crate::{
    chip::ChipInfo,
    gfx::WATCHES,
    glue::{
        kobject::{
            Dir,
            Empty,
            File,
            Show,
            Text, //
        },
        user, //
    },
    gpu::Gpu,
    uapi::topology as abi, //
};
use core::fmt::Write;
use kernel::{
    prelude::*,
    str::CString,
    sync::Arc, //
};

/// A node of the tree. Fields are removed in this order, children first.
pub(super) struct NodeDir {
    _leaves: KVec<Dir>,
    _folders: KVec<Dir>,
    _node: Dir,
}

/// What a node is.
enum Kind {
    Cpu {
        links: usize,
    },
    Gpu {
        gpu: Arc<Gpu>,
        caches: usize,
        first_simd: u32,
        minor: u32,
    },
}

struct Properties(Kind);

static FILES: [File; 3] = [
    File::new(c"gpu_id"),
    File::new(c"name"),
    File::new(c"properties"),
];

impl Show for Properties {
    fn files() -> &'static [File] {
        &FILES
    }

    fn show(&self, file: usize, out: &mut Text<'_>) -> Result {
        let id = match &self.0 {
            Kind::Cpu { .. } => 0,
            Kind::Gpu { gpu, .. } => gpu.id().get(),
        };
        // Upstream's name of every GPU that is found by its discovery table.
        let name = match &self.0 {
            Kind::Cpu { .. } => "",
            Kind::Gpu { .. } => "ip discovery",
        };
        match file {
            0 => writeln!(out, "{id}").map_err(|_| EINVAL)?,
            1 => writeln!(out, "{name}").map_err(|_| EINVAL)?,
            _ => self.properties(out),
        }
        Ok(())
    }
}

/// `capability2` of a GPU.
pub(crate) const CAPABILITY2: u32 = 0;

/// `debug_prop` of a GPU: the bits of addresses that a watch's mask has. Nothing is said about what waves know of
/// their dispatch.
pub(crate) fn debug_prop(gpu: &Gpu) -> u32 {
    let (high, low) = gpu.gfx().watch_mask();
    high << abi::DBG_WATCH_MASK_HIGH_SHIFT | low << abi::DBG_WATCH_MASK_LOW_SHIFT
}

/// How many addresses can be watched, where `capability` has it.
const WATCHES_LOG2: u32 = WATCHES.ilog2() << abi::CAP_WATCH_POINTS_SHIFT;

/// `capability` of a GPU. Debuggers attach, suspend queues, choose how waves begin, and watch addresses.
/// Firmware of these chips leaves exceptions to the trap handler, by which a runtime decides whether to install its own
/// (`kfd_topology_set_dbg_firmware_support`).
pub(crate) fn capability(chip: &ChipInfo) -> u32 {
    let doorbells = abi::CAP_DOORBELL_TYPE_2_0 << abi::CAP_DOORBELL_TYPE_SHIFT;
    let revision = (chip.rev_id << abi::CAP_ASIC_REVISION_SHIFT) & abi::CAP_ASIC_REVISION_MASK;
    doorbells
        | revision
        | abi::CAP_WATCH_POINTS
        | WATCHES_LOG2
        | abi::CAP_TRAP_DEBUG_SUPPORT
        | abi::CAP_LAUNCH_OVERRIDE
        | abi::CAP_LAUNCH_MODE
        | abi::CAP_QUEUE_RESET
        | abi::CAP_DEBUG_FIRMWARE
        | chip.family.capabilities
}

/// `array_count` of a GPU: the shader arrays of all its engines.
pub(crate) fn array_count(chip: &ChipInfo) -> u32 {
    chip.shader_engines
        .saturating_mul(chip.shader_arrays_per_engine)
}

/// The properties that both kinds of node have, in upstream's order. What a kind lacks is 0.
#[derive(Default)]
struct Common {
    cpu_cores_count: u32,
    simd_count: u32,
    mem_banks_count: u32,
    caches_count: u32,
    io_links_count: u32,
    simd_id_base: u32,
    max_waves_per_simd: u32,
    lds_size_in_kb: u32,
    wave_front_size: u32,
    array_count: u32,
    simd_arrays_per_engine: u32,
    cu_per_simd_array: u32,
    simd_per_cu: u32,
    max_slots_scratch_cu: u32,
    gfx_target_version: u32,
    vendor_id: u32,
    device_id: u32,
    location_id: u32,
    domain: u32,
    drm_render_minor: u32,
    num_gws: u32,
    num_sdma_engines: u32,
    num_sdma_xgmi_engines: u32,
    num_sdma_queues_per_engine: u32,
    num_cp_queues: u32,
    cwsr_size: u32,
    ctl_stack_size: u32,
}

impl Common {
    fn cpu(links: usize) -> Self {
        Self {
            cpu_cores_count: user::online_cpus(),
            mem_banks_count: 1,
            io_links_count: links as u32,
            ..Self::default()
        }
    }

    fn gpu(gpu: &Gpu, caches: usize, first_simd: u32, minor: u32) -> Self {
        let chip = gpu.chip();
        let pci = gpu.pci();
        Self {
            cpu_cores_count: 0,
            simd_count: chip.simd_count(),
            mem_banks_count: 1,
            caches_count: caches as u32,
            io_links_count: 1,
            simd_id_base: first_simd,
            max_waves_per_simd: chip.waves_per_simd,
            lds_size_in_kb: chip.lds_kib,
            wave_front_size: chip.wave_size,
            array_count: array_count(chip),
            simd_arrays_per_engine: chip.shader_arrays_per_engine,
            cu_per_simd_array: chip.cu_per_array,
            simd_per_cu: chip.family.simd_per_cu,
            max_slots_scratch_cu: chip.max_scratch_slots_per_cu,
            gfx_target_version: chip.family.gfx_target_version,
            vendor_id: pci.vendor.into(),
            device_id: pci.device.into(),
            location_id: pci.location_id(),
            domain: pci.domain,
            drm_render_minor: minor,
            num_gws: chip.family.gws,
            num_sdma_engines: chip.sdma_counts.bus,
            num_sdma_xgmi_engines: chip.sdma_counts.links,
            num_sdma_queues_per_engine: chip.sdma_counts.queues_per_engine,
            num_cp_queues: chip.cp_queues(),
            cwsr_size: chip.cwsr.cwsr_size,
            ctl_stack_size: chip.cwsr.ctl_stack_size,
        }
    }

    fn show(&self, out: &mut Text<'_>) {
        for (name, value) in [
            ("cpu_cores_count", self.cpu_cores_count),
            ("simd_count", self.simd_count),
            ("mem_banks_count", self.mem_banks_count),
            ("caches_count", self.caches_count),
            ("io_links_count", self.io_links_count),
            ("p2p_links_count", 0),
            ("cpu_core_id_base", 0),
            ("simd_id_base", self.simd_id_base),
            ("max_waves_per_simd", self.max_waves_per_simd),
            ("lds_size_in_kb", self.lds_size_in_kb),
            ("gds_size_in_kb", 0),
            ("num_gws", self.num_gws),
            ("wave_front_size", self.wave_front_size),
            ("array_count", self.array_count),
            ("simd_arrays_per_engine", self.simd_arrays_per_engine),
            ("cu_per_simd_array", self.cu_per_simd_array),
            ("simd_per_cu", self.simd_per_cu),
            ("max_slots_scratch_cu", self.max_slots_scratch_cu),
            ("gfx_target_version", self.gfx_target_version),
            ("vendor_id", self.vendor_id),
            ("device_id", self.device_id),
            ("location_id", self.location_id),
            ("domain", self.domain),
            ("drm_render_minor", self.drm_render_minor),
            ("hive_id", 0),
            ("num_sdma_engines", self.num_sdma_engines),
            ("num_sdma_xgmi_engines", self.num_sdma_xgmi_engines),
            (
                "num_sdma_queues_per_engine",
                self.num_sdma_queues_per_engine,
            ),
            ("num_cp_queues", self.num_cp_queues),
            ("cwsr_size", self.cwsr_size),
            ("ctl_stack_size", self.ctl_stack_size),
        ] {
            out.property(name, value.into());
        }
    }
}

impl Properties {
    fn properties(&self, out: &mut Text<'_>) {
        match &self.0 {
            Kind::Cpu { links } => Common::cpu(*links).show(out),
            Kind::Gpu {
                gpu,
                caches,
                first_simd,
                minor,
            } => {
                Common::gpu(gpu, *caches, *first_simd, *minor).show(out);
                Self::gpu_only(gpu, out);
            }
        }
        out.property("max_engine_clk_ccompute", user::cpu_max_mhz().into());
    }

    fn gpu_only(gpu: &Gpu, out: &mut Text<'_>) {
        let chip = gpu.chip();
        for (name, value) in [
            // Without power management the clock is reported as 100 MHz
            // (`amdgpu_amdkfd_get_max_engine_clock_in_mhz`).
            (
                "max_engine_clk_fcompute",
                gpu.most_mhz().map_or(100, |(gfx, _)| gfx).into(),
            ),
            ("local_mem_size", 0),
            ("fw_version", chip.mec_fw_version.into()),
            ("capability", capability(chip).into()),
            ("capability2", CAPABILITY2.into()),
            ("debug_prop", debug_prop(gpu).into()),
            ("sdma_fw_version", chip.sdma_fw_version.into()),
            ("unique_id", gpu.unique_id()),
            ("num_xcc", chip.num_xcc.into()),
        ] {
            out.property(name, value);
        }
    }
}

/// A bank of memory.
struct MemBank {
    heap_type: u32,
    size: u64,
    /// Bits of its bus, 0 when they aren't known.
    width: u32,
    mem_clk_max: u32,
}

static MEM_FILES: [File; 1] = [File::new(c"properties")];

impl Show for MemBank {
    fn files() -> &'static [File] {
        &MEM_FILES
    }

    fn show(&self, _file: usize, out: &mut Text<'_>) -> Result {
        out.property("heap_type", self.heap_type.into());
        out.property("size_in_bytes", self.size);
        out.property("flags", 0);
        out.property("width", self.width.into());
        out.property("mem_clk_max", self.mem_clk_max.into());
        Ok(())
    }
}

impl MemBank {
    fn cpu() -> Self {
        // HSA_MEM_HEAP_TYPE_SYSTEM.
        Self {
            heap_type: 0,
            size: user::total_memory(),
            width: 0,
            mem_clk_max: 0,
        }
    }

    fn gpu(gpu: &Gpu) -> Self {
        let chip = gpu.chip();
        // HSA_MEM_HEAP_TYPE_FB_PUBLIC if the CPU reaches all of it, else FB_PRIVATE.
        let heap_type = if chip.visible_vram_size >= chip.vram_size {
            1
        } else {
            2
        };
        Self {
            heap_type,
            size: chip.vram_size,
            width: chip.vram.bits,
            mem_clk_max: gpu.most_mhz().map_or(100, |(_, memory)| memory),
        }
    }
}

fn permitted<T: Show>(gpu: Option<&Arc<Gpu>>, data: T) -> Permitted<T> {
    Permitted {
        gpu: gpu.cloned(),
        data,
    }
}

impl NodeDir {
    /// The processors.
    pub(super) fn cpu(parent: &Dir, gpus: &[Member]) -> Result<Self> {
        let links = links::from_cpu(gpus)?;
        let properties = Properties(Kind::Cpu { links: links.len() });
        let links = links
            .into_iter()
            .zip(gpus)
            .map(|(link, to)| (link, &to.gpu));
        Self::new(
            parent,
            0,
            None,
            properties,
            MemBank::cpu(),
            KVec::new(),
            links,
        )
    }

    /// A GPU.
    pub(super) fn gpu(parent: &Dir, member: &Member, number: u32, first_simd: u32) -> Result<Self> {
        let gpu = &member.gpu;
        let caches = caches::of(gpu.chip(), first_simd)?;
        let links = [(Link::gpu_to_cpu(gpu, number), gpu)];
        let properties = Properties(Kind::Gpu {
            gpu: gpu.clone(),
            caches: caches.len(),
            first_simd,
            minor: member.minor,
        });
        let bank = MemBank::gpu(gpu);
        Self::new(parent, number, Some(gpu), properties, bank, caches, links)
    }

    fn new<'a>(
        parent: &Dir,
        number: u32,
        gpu: Option<&Arc<Gpu>>,
        properties: Properties,
        bank: MemBank,
        caches: KVec<Cache>,
        links: impl IntoIterator<Item = (Link, &'a Arc<Gpu>)>,
    ) -> Result<Self> {
        let name = CString::try_from_fmt(fmt!("{number}"))?;
        let node = parent.subdir(&name, permitted(gpu, properties))?;
        let mem_banks = node.subdir(c"mem_banks", Empty)?;
        let cache_dir = node.subdir(c"caches", Empty)?;
        let io_links = node.subdir(c"io_links", Empty)?;
        let mut leaves = KVec::new();
        leaves.push(mem_banks.subdir(c"0", permitted(gpu, bank))?, GFP_KERNEL)?;
        for (i, cache) in caches.into_iter().enumerate() {
            let name = CString::try_from_fmt(fmt!("{i}"))?;
            let cache = permitted(gpu, cache);
            leaves.push(cache_dir.subdir(&name, cache)?, GFP_KERNEL)?;
        }
        for (i, (link, to)) in links.into_iter().enumerate() {
            let name = CString::try_from_fmt(fmt!("{i}"))?;
            let link = permitted(Some(to), link);
            leaves.push(io_links.subdir(&name, link)?, GFP_KERNEL)?;
        }
        let mut folders = KVec::new();
        for dir in [mem_banks, cache_dir, io_links] {
            folders.push(dir, GFP_KERNEL)?;
        }
        for name in [c"p2p_links", c"perf"] {
            folders.push(node.subdir(name, Empty)?, GFP_KERNEL)?;
        }
        Ok(Self {
            _leaves: leaves,
            _folders: folders,
            _node: node,
        })
    }
}
