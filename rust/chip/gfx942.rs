// SPDX-License-Identifier: GPL-2.0

//! gfx942: MI300X, MI308X and their kin.
//!
//! Sources: Linux, `amdkfd/kfd_queue.c`, `kfd_device.c`, `amdgpu/gmc_v9_0.c`, `gfx_v9_4_3.c`,
//! `amdgpu_doorbell.h` (layout 1).

use super::{
    handlers,
    Drm,
    Family,
    SdmaShape,
    Vmids,
    VramKind, //
};
use crate::{
    hw::{
        regs::{
            gc_9_4_3::{
                SH_MEM_BASES as Bases,
                SH_MEM_CONFIG as Config,
                SPI_GDBG_PER_VMID_CNTL as Debug, //
            },
            Value, //
        },
        value::Bounded, //
    },
    uapi::{
        amdgpu,
        topology, //
    }, //
};

/// `SH_MEM_ALIGNMENT_MODE_UNALIGNED`.
const UNALIGNED: u64 = 3;

pub(super) const FAMILY: Family = Family {
    gfx_target_version: 90402,
    name: c"gfx942",
    // `soc15_common_early_init`, `gmc_v9_4_3_init_vram_info`.
    drm: Drm {
        family: amdgpu::FAMILY_AI,
        external_rev: 0x46,
        always_on: true,
    },
    // `gmc_v9_0_init_vram_info`.
    vram: VramKind {
        kind: amdgpu::VRAM_TYPE_HBM,
        bits: 128 * 64,
        vendor: 0,
    },
    // The VBIOS has this bit, in a place that isn't read; every MI300 has the feature.
    capabilities: topology::CAP_SRAM_ECC,
    sdma: SdmaShape {
        bus_engines: 2,
        max_engines: 16,
        queues_per_engine: 8,
        engines_per_die: 4,
        reserved_queues: 0,
        // `KFD_SDMA_SHADER_DOORBELL_GRANULARITY`.
        doorbell_align: 4,
    },
    // `compute_sh_mem_bases_64bit` of the apertures at 1 << 48 and 2 << 48.
    sh_mem_bases: Value::<Bases>::zeroed()
        .having(Bases::SHARED_BASE.is::<1>())
        .having(Bases::PRIVATE_BASE.is::<2>())
        .bits(),
    // XNACK is off.
    sh_mem_config: Value::<Config>::zeroed()
        .having(Config::ALIGNMENT_MODE.is::<UNALIGNED>())
        .having(Config::F8_MODE.is::<1>())
        .having(Config::RETRY_DISABLE.is::<1>())
        .bits(),
    // `kgd_aldebaran_enable_debug_trap`.
    trap_setup: Value::<Debug>::zeroed()
        .having(Debug::TRAP_EN.is::<1>())
        .bits(),
    trap_handler: &handlers::GFX942,
    cleaner: &handlers::CLEANER,
    // `gfx_v9_4_3_sw_init`.
    mec_that_cleans: 153,
    has_partitions: true,
    dma_bits: 48,
    simd_per_cu: 4,
    lds_kib: 64,
    vgpr_bytes_per_cu: 0x80000,
    sgpr_bytes_per_cu: 0x4000,
    hwreg_bytes_per_cu: 0x1000,
    cwsr_waves_per_cu: 40,
    cwsr_waves_per_engine: 512,
    cntl_stack_bytes_per_wave: 8,
    cus_per_mask: 1,
    eop_buffer_size: 4096,
    max_queues_per_process: 255,
    vmids: Vmids {
        first: Bounded::new::<3>(),
        last: Bounded::new::<15>(),
    },
    // SDMA engine 0 to the last VCN doorbell.
    non_cp_doorbells: (0x100, 0x1e8),
    mec_pipes: 4,
    mec_queues_per_pipe: 8,
    gws: 64,
};
