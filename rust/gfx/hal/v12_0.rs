// SPDX-License-Identifier: GPL-2.0

//! GC 12.0, of gfx1201 (`gfx_v12_0.c`, `amdgpu_amdkfd_gfx_v12.c`).

use crate::{
    hw::regs::{
        gc_12_0_0::{
            self as gc,
            CP_INT_CNTL_RING0 as Int,
            GRBM_GFX_INDEX as Index, //
        },
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
    /// RLC loads the firmware of all engines by itself; the scheduler lets them run.
    fn check_firmware(&self, dev: &Device, regs: &Regs) -> Result {
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

    fn grbm_cntl(&self) -> Reg {
        gc::GRBM_GFX_CNTL
    }

    fn active_cus(&self, regs: &Regs, xcc: u8, engine: u32, array: u32) -> u32 {
        let one = Index::SE_INDEX.set(Index::INSTANCE_BROADCAST_WRITES.mask(), engine);
        regs.write_at(xcc, gc::GRBM_GFX_INDEX, Index::SA_INDEX.set(one, array));
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
    }

    fn see_all_arrays(&self, regs: &Regs, xcc: u8) {
        let all = Index::SE_BROADCAST_WRITES.mask()
            | Index::SA_BROADCAST_WRITES.mask()
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

    /// `init_interrupts_v12`.
    fn pipe_interrupts(&self, regs: &Regs, xcc: u8, on: bool) {
        let wanted = Int::TIME_STAMP_INT_ENABLE.mask() | Int::OPCODE_ERROR_INT_ENABLE.mask();
        regs.write_at(xcc, gc::CPC_INT_CNTL, if on { wanted } else { 0 });
    }

    /// Only the firmware's file has it.
    fn mec_fw_version(&self, _: &Regs) -> u32 {
        0
    }
}
