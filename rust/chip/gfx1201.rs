// SPDX-License-Identifier: GPL-2.0

//! gfx1201: Navi 48.
//!
//! Sources: Linux, `amdkfd/kfd_queue.c`, `kfd_device.c`, `kfd_device_queue_manager_v12.c`,
//! `amdgpu/gmc_v12_0.c`, `gfx_v12_0.c`, `mes_v12_0.c`, `amdgpu_doorbell.h` (Navi 10's).

use super::{Core, Drm, Family};
use crate::{
    gmc,
    gpu::nbio,
    hw::regs::{
        gc_12_0_0::{
            self as gc, CP_INT_CNTL_RING0 as Int, GRBM_GFX_INDEX as Index, SH_MEM_BASES as Bases,
            SH_MEM_CONFIG as Config, SPI_GDBG_PER_VMID_CNTL as Debug,
        },
        hdp_7_0_0, mmhub_4_1_0, mp_14_0_2, nbif_6_3_1, osssys_7_0_0,
    },
    ih, mqd,
    regs::Regs,
    sched, sdma,
    uapi::amdgpu,
    vm,
};
use kernel::{device::Device, prelude::*};

/// `SH_MEM_ALIGNMENT_MODE_UNALIGNED`.
const UNALIGNED: u32 = 3;

pub(super) static FAMILY: Family = Family {
    gfx_target_version: 120001,
    name: c"gfx1201",
    // `soc24_common_early_init`; the kind of VRAM stands in the BIOS.
    drm: Drm {
        family: amdgpu::FAMILY_GC_12_0_0,
        external_rev: 0x50,
        vram_type: amdgpu::VRAM_TYPE_UNKNOWN,
        vram_bit_width: 0,
        always_on: false,
    },
    capabilities: 0,
    scheduler: sched::mes,
    tables: &[
        &gc::TABLE,
        &hdp_7_0_0::TABLE,
        &mmhub_4_1_0::TABLE,
        &mp_14_0_2::TABLE,
        &nbif_6_3_1::TABLE,
        &osssys_7_0_0::TABLE,
    ],
    core: &CORE,
    nbio: &nbio::V6_3,
    gmc: &gmc::v12::HAL,
    ih: &ih::v7_0::HAL,
    pte: &vm::GFX12,
    mqd: &mqd::v12::Hal,
    sdma: &sdma::V7_0,
    // `compute_sh_mem_bases_64bit` of the apertures at 1 << 48 and 2 << 48.
    sh_mem_bases: Bases::PRIVATE_BASE.set(Bases::SHARED_BASE.set(0, 1), 2),
    sh_mem_config: Config::INITIAL_INST_PREFETCH.set(Config::ALIGNMENT_MODE.set(0, UNALIGNED), 3),
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
    compute_vmids: (8, 15),
    // SDMA engine 0 to VPE's doorbell.
    non_cp_doorbells: (0x100, 0x190),
    mec_pipes: 2,
    mec_queues_per_pipe: 4,
    gws: 64,
};

static CORE: Core = Core {
    grbm_cntl: gc::GRBM_GFX_CNTL,
    grbm_index: gc::GRBM_GFX_INDEX,
    grbm_engine: Index::SE_INDEX,
    grbm_array: Index::SA_INDEX,
    grbm_instances: Index::INSTANCE_BROADCAST_WRITES.mask(),
    grbm_all: Index::SE_BROADCAST_WRITES.mask()
        | Index::SA_BROADCAST_WRITES.mask()
        | Index::INSTANCE_BROADCAST_WRITES.mask(),
    active_cus: |regs, xcc| {
        let fused = regs.read_at(xcc, gc::CC_GC_SHADER_ARRAY_CONFIG)
            | regs.read_at(xcc, gc::GC_USER_SHADER_ARRAY_CONFIG);
        let inactive = gc::CC_GC_SHADER_ARRAY_CONFIG::INACTIVE_WGPS.get(fused);
        // A WGP is two compute units.
        (0..16).fold(0, |cus, wgp| {
            cus | if inactive >> wgp & 1 == 0 {
                3 << (2 * wgp)
            } else {
                0
            }
        })
    },
    gb_addr_config: gc::GB_ADDR_CONFIG,
    clock_capture: gc::RLC_CAPTURE_GPU_CLOCK_COUNT,
    clock_low: gc::RLC_GPU_CLOCK_COUNT_LSB,
    clock_high: gc::RLC_GPU_CLOCK_COUNT_MSB,
    // `init_interrupts_v12`.
    pipe_interrupts: (
        gc::CPC_INT_CNTL,
        Int::TIME_STAMP_INT_ENABLE.mask() | Int::OPCODE_ERROR_INT_ENABLE.mask(),
    ),
    check_firmware,
    trap_setup: Debug::TRAP_EN.mask(),
    // Only the firmware's file tells.
    mec_fw_version: |_| 0,
};

/// RLC loads the firmware of all engines by itself; the scheduler lets them run.
fn check_firmware(dev: &Device, regs: &Regs) -> Result {
    let boot = regs.read(gc::RLC_RLCS_BOOTLOAD_STATUS);
    if gc::RLC_RLCS_BOOTLOAD_STATUS::BOOTLOAD_COMPLETE.get(boot) == 0 {
        dev_err!(
            dev,
            "the GPU is cold: its firmware isn't loaded (RLC_RLCS_BOOTLOAD_STATUS is {:#x}); load it with another driver first\n",
            boot
        );
        return Err(ENODEV);
    }
    Ok(())
}
