// SPDX-License-Identifier: GPL-2.0

//! GC 9.4.3, of gfx942 (`gfx_v9_4_3.c`, `amdgpu_amdkfd_gfx_v9.c`).

use crate::{
    hw::regs::{
        gc_9_4_3::{
            self as gc,
            CP_INT_CNTL_RING0 as Int,
            GRBM_GFX_INDEX as Index, //
        },
        Block,
        Reg, //
    },
    regs::Regs, //
};
use kernel::{
    device::Device,
    prelude::*, //
};

/// The graphics core.
pub(super) struct Hal;

impl super::Hal for Hal {
    fn check_firmware(&self, dev: &Device, regs: &Regs) -> Result {
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

    fn grbm_cntl(&self) -> Reg {
        gc::GRBM_GFX_CNTL
    }

    fn active_cus(&self, regs: &Regs, xcc: u8, engine: u32, array: u32) -> u32 {
        let one = Index::SE_INDEX.set(Index::INSTANCE_BROADCAST_WRITES.mask(), engine);
        regs.write_at(xcc, gc::GRBM_GFX_INDEX, Index::SH_INDEX.set(one, array));
        let fused = regs.read_at(xcc, gc::CC_GC_SHADER_ARRAY_CONFIG)
            | regs.read_at(xcc, gc::GC_USER_SHADER_ARRAY_CONFIG);
        !gc::CC_GC_SHADER_ARRAY_CONFIG::INACTIVE_CUS.get(fused)
    }

    fn see_all_arrays(&self, regs: &Regs, xcc: u8) {
        let all = Index::SE_BROADCAST_WRITES.mask()
            | Index::SH_BROADCAST_WRITES.mask()
            | Index::INSTANCE_BROADCAST_WRITES.mask();
        regs.write_at(xcc, gc::GRBM_GFX_INDEX, all);
    }

    fn gb_addr_config(&self) -> Reg {
        gc::GB_ADDR_CONFIG
    }

    fn clock(&self, regs: &Regs) -> u64 {
        regs.write(gc::RLC_CAPTURE_GPU_CLOCK_COUNT, 1);
        let low = u64::from(regs.read(gc::RLC_GPU_CLOCK_COUNT_LSB));
        let high = u64::from(regs.read(gc::RLC_GPU_CLOCK_COUNT_MSB));
        high << 32 | low
    }

    /// `kgd_gfx_v9_init_interrupts`.
    fn pipe_interrupts(&self, regs: &Regs, xcc: u8, on: bool) {
        let wanted = Int::TIME_STAMP_INT_ENABLE.mask() | Int::OPCODE_ERROR_INT_ENABLE.mask();
        regs.write_at(xcc, gc::CPC_INT_CNTL, if on { wanted } else { 0 });
    }

    /// The loader of the firmware leaves its version there (`gfx_v9_4_3.c`).
    fn mec_fw_version(&self, regs: &Regs) -> u32 {
        regs.read(gc::CP_MEC_ME1_UCODE_ADDR)
    }
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
