// SPDX-License-Identifier: GPL-2.0

//! gfx942: MI300X, MI308X and their kin.
//!
//! Sources: Linux, `amdkfd/kfd_queue.c`, `kfd_device.c`, `amdgpu/gmc_v9_0.c`, `gfx_v9_4_3.c`,
//! `amdgpu_doorbell.h` (layout 1).

use super::{Family, SchedulerKind};

pub(super) static FAMILY: Family = Family {
    gfx_target_version: 90402,
    name: c"gfx942",
    scheduler: SchedulerKind::Cpsch,
    dma_bits: 48,
    simd_per_cu: 4,
    lds_kib: 64,
    vgpr_bytes_per_cu: 0x80000,
    sgpr_bytes_per_cu: 0x4000,
    hwreg_bytes_per_cu: 0x1000,
    cwsr_waves_per_cu: 40,
    cntl_stack_bytes_per_wave: 8,
    eop_buffer_size: 4096,
    max_queues_per_process: 255,
    compute_vmids: (3, 15),
    // SDMA engine 0 to the last VCN doorbell.
    non_cp_doorbells: (0x100, 0x1e8),
    mec_pipes: 4,
    mec_queues_per_pipe: 8,
    sdma_engines: 0,
    sdma_queues_per_engine: 0,
};
