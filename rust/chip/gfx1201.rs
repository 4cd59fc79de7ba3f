// SPDX-License-Identifier: GPL-2.0

//! gfx1201: Navi 48.
//!
//! Sources: Linux, `amdkfd/kfd_queue.c`, `kfd_device.c`, `kfd_device_queue_manager_v12.c`,
//! `amdgpu/gmc_v12_0.c`, `gfx_v12_0.c`, `mes_v12_0.c`, `amdgpu_doorbell.h` (Navi 10's).

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
            gc_12_0_0::{
                SH_MEM_BASES as Bases,
                SH_MEM_CONFIG as Config,
                SPI_GDBG_PER_VMID_CNTL as Debug, //
            },
            Value, //
        },
        value::Bounded, //
    },
    uapi::amdgpu, //
};

/// `SH_MEM_ALIGNMENT_MODE_UNALIGNED`.
const UNALIGNED: u64 = 3;

pub(super) const FAMILY: Family = Family {
    gfx_target_version: 120001,
    name: c"gfx1201",
    // `soc24_common_early_init`.
    drm: Drm {
        family: amdgpu::FAMILY_GC_12_0_0,
        external_rev: 0x50,
        always_on: false,
    },
    // Only the VBIOS knows.
    vram: VramKind {
        kind: amdgpu::VRAM_TYPE_UNKNOWN,
        bits: 0,
        vendor: 0,
    },
    capabilities: 0,
    sdma: SdmaShape {
        // No links.
        bus_engines: u32::MAX,
        max_engines: 2,
        queues_per_engine: 8,
        engines_per_die: u32::MAX,
        // One for paging, one for graphics.
        reserved_queues: 2,
        doorbell_align: 1,
    },
    // `compute_sh_mem_bases_64bit` of the apertures at 1 << 48 and 2 << 48.
    sh_mem_bases: Value::<Bases>::zeroed()
        .having(Bases::SHARED_BASE.is::<1>())
        .having(Bases::PRIVATE_BASE.is::<2>())
        .bits(),
    sh_mem_config: Value::<Config>::zeroed()
        .having(Config::ALIGNMENT_MODE.is::<UNALIGNED>())
        .having(Config::INITIAL_INST_PREFETCH.is::<3>())
        .bits(),
    trap_setup: Value::<Debug>::zeroed()
        .having(Debug::TRAP_EN.is::<1>())
        .bits(),
    trap_handler: &handlers::GFX1201,
    cleaner: &[],
    // `gfx_v12_0_sw_init`.
    mec_that_cleans: 2680,
    has_partitions: false,
    dma_bits: 44,
    simd_per_cu: 2,
    lds_kib: 64,
    vgpr_bytes_per_cu: 0x60000,
    sgpr_bytes_per_cu: 0x4000,
    hwreg_bytes_per_cu: 0x1000,
    cwsr_waves_per_cu: 32,
    // No bound.
    cwsr_waves_per_engine: u32::MAX,
    cntl_stack_bytes_per_wave: 12,
    // A WGP.
    cus_per_mask: 2,
    eop_buffer_size: 4096,
    max_queues_per_process: 127,
    vmids: Vmids {
        first: Bounded::new::<8>(),
        last: Bounded::new::<15>(),
    },
    // SDMA engine 0 to VPE's doorbell.
    non_cp_doorbells: (0x100, 0x190),
    mec_pipes: 2,
    mec_queues_per_pipe: 4,
    gws: 64,
};
