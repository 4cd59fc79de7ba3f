// SPDX-License-Identifier: GPL-2.0

//! gfx942: MI300X, MI308X and their kin.
//!
//! Sources: Linux, `amdkfd/kfd_queue.c`, `kfd_device.c`, `amdgpu/gmc_v9_0.c`, `gfx_v9_4_3.c`,
//! `amdgpu_doorbell.h` (layout 1).

use super::{Core, Drm, Family};
use crate::{
    gmc,
    gpu::nbio,
    hw::regs::{
        athub_1_8_0,
        gc_9_4_3::{
            self as gc, CP_INT_CNTL_RING0 as Int, GRBM_GFX_INDEX as Index, SH_MEM_BASES as Bases,
            SH_MEM_CONFIG as Config,
        },
        hdp_4_4_2, mmhub_1_8_0, mp_13_0_6, nbio_7_9_0, osssys_4_4_2, sdma_4_4_2, Block,
    },
    ih, mqd,
    regs::Regs,
    sched, sdma,
    uapi::{amdgpu, topology},
    vm,
};
use kernel::{device::Device, prelude::*};

/// `SH_MEM_ALIGNMENT_MODE_UNALIGNED`.
const UNALIGNED: u32 = 3;

pub(super) static FAMILY: Family = Family {
    gfx_target_version: 90402,
    name: c"gfx942",
    // `soc15_common_early_init`, `gmc_v9_4_3_init_vram_info`.
    drm: Drm {
        family: amdgpu::FAMILY_AI,
        external_rev: 0x46,
        vram_type: amdgpu::VRAM_TYPE_HBM,
        vram_bit_width: 128 * 64,
        always_on: true,
    },
    // A BIOS would say so; every MI300 has it.
    capabilities: topology::CAP_SRAM_ECC,
    scheduler: sched::cpsch,
    tables: &[
        &athub_1_8_0::TABLE,
        &gc::TABLE,
        &hdp_4_4_2::TABLE,
        &mmhub_1_8_0::TABLE,
        &mp_13_0_6::TABLE,
        &nbio_7_9_0::TABLE,
        &osssys_4_4_2::TABLE,
        &sdma_4_4_2::TABLE,
    ],
    core: &CORE,
    nbio: &nbio::V7_9,
    gmc: &gmc::v9::HAL,
    ih: &ih::v4_4::HAL,
    pte: &vm::GFX9,
    mqd: &mqd::v9::Hal,
    sdma: &sdma::V4_4,
    // `compute_sh_mem_bases_64bit` of the apertures at 1 << 48 and 2 << 48.
    sh_mem_bases: Bases::PRIVATE_BASE.set(Bases::SHARED_BASE.set(0, 1), 2),
    // XNACK is off.
    sh_mem_config: Config::RETRY_DISABLE.set(
        Config::F8_MODE.set(Config::ALIGNMENT_MODE.set(0, UNALIGNED), 1),
        1,
    ),
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
    compute_vmids: (3, 15),
    // SDMA engine 0 to the last VCN doorbell.
    non_cp_doorbells: (0x100, 0x1e8),
    mec_pipes: 4,
    mec_queues_per_pipe: 8,
    gws: 64,
};

static CORE: Core = Core {
    grbm_cntl: gc::GRBM_GFX_CNTL,
    grbm_index: gc::GRBM_GFX_INDEX,
    grbm_engine: Index::SE_INDEX,
    grbm_array: Index::SH_INDEX,
    grbm_instances: Index::INSTANCE_BROADCAST_WRITES.mask(),
    grbm_all: Index::SE_BROADCAST_WRITES.mask()
        | Index::SH_BROADCAST_WRITES.mask()
        | Index::INSTANCE_BROADCAST_WRITES.mask(),
    active_cus: |regs, xcc| {
        let fused = regs.read_at(xcc, gc::CC_GC_SHADER_ARRAY_CONFIG)
            | regs.read_at(xcc, gc::GC_USER_SHADER_ARRAY_CONFIG);
        !gc::CC_GC_SHADER_ARRAY_CONFIG::INACTIVE_CUS.get(fused)
    },
    gb_addr_config: gc::GB_ADDR_CONFIG,
    clock_capture: gc::RLC_CAPTURE_GPU_CLOCK_COUNT,
    clock_low: gc::RLC_GPU_CLOCK_COUNT_LSB,
    clock_high: gc::RLC_GPU_CLOCK_COUNT_MSB,
    // `kgd_gfx_v9_init_interrupts`.
    pipe_interrupts: (
        gc::CPC_INT_CNTL,
        Int::TIME_STAMP_INT_ENABLE.mask() | Int::OPCODE_ERROR_INT_ENABLE.mask(),
    ),
    check_firmware,
    // `kgd_aldebaran_enable_debug_trap`.
    trap_setup: gc::SPI_GDBG_PER_VMID_CNTL::TRAP_EN.mask(),
    // The loader of the firmware leaves its version there (`gfx_v9_4_3.c`).
    mec_fw_version: |regs| regs.read(gc::CP_MEC_ME1_UCODE_ADDR),
};

fn check_firmware(dev: &Device, regs: &Regs) -> Result {
    for xcc in regs.instances(Block::Gc) {
        let cntl = regs.read_at(xcc, gc::CP_MEC_CNTL);
        if gc::CP_MEC_CNTL::MEC_ME1_HALT.get(cntl) == 1 {
            dev_err!(
                dev,
                "the GPU is cold: the compute firmware of XCC {} is halted (CP_MEC_CNTL is {:#x}); load it with another driver first\n",
                xcc,
                cntl
            );
            return Err(ENODEV);
        }
    }
    check_partition(dev, regs)
}

/// Several partitions would be several GPUs (`gfx_v9_4_3_get_xccs_per_xcp`): not supported.
fn check_partition(dev: &Device, regs: &Regs) -> Result {
    let all = regs.instances(Block::Gc).count();
    for xcc in regs.instances(Block::Gc) {
        let place = regs.read_at(xcc, gc::CP_HYP_XCP_CTL);
        let together = gc::CP_HYP_XCP_CTL::NUM_XCC_IN_XCP.get(place);
        if together as usize != all {
            dev_err!(
                dev,
                "XCC {} is in a partition of {}, of {} XCCs in all; set the mode SPX with another driver first\n",
                xcc,
                together,
                all
            );
            return Err(ENODEV);
        }
    }
    Ok(())
}
