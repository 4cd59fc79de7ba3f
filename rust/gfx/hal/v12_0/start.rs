// SPDX-License-Identifier: GPL-2.0

//! Starts a graphics core whose firmware the security processor has: the run list controller (RLC) gives
//! each engine its own, and the driver says where programs begin. MEC and MES are let go by the scheduler.
//! The graphics pipe's engines stay halted: nothing here uses them.
//!
//! Sources: `gfx_v12_0_wait_for_rlc_autoload_complete`, `gfx_v12_0_config_gfx_rs64`,
//! `gfx_v12_0_rlc_enable_srm`.

use crate::{
    hw::{
        regs::{
            gc_12_0_0::{
                self as gc,
                CP_MEC_RS64_CNTL as Mec,
                GRBM_GFX_CNTL as Grbm,
                RLC_RLCS_BOOTLOAD_STATUS as Boot,
                RLC_SRM_CNTL as Srm, //
            },
            Value, //
        },
        value::Bounded, //
    },
    regs::Regs, //
};
use kernel::{
    device::Device,
    prelude::*,
    time::Delta, //
};

/// TIMEOUT: `AMDGPU_MAX_USEC_TIMEOUT`.
const TIMEOUT: Delta = Delta::from_millis(100);
/// Pipes of the compute micro engine, of which the driver uses two.
const MEC_PIPES: u64 = 4;

/// Waits until each engine has its firmware.
///
/// # Errors
///
/// ETIME when the controller doesn't end, ENODEV when the device is gone; logged.
pub(super) fn wait_for_autoload(dev: &Device, regs: &Regs) -> Result {
    let idle = regs.wait_at(0, gc::CP_STAT.any(), TIMEOUT, |stat| stat == 0);
    let complete = idle.and_then(|_| {
        regs.wait_at(0, gc::RLC_RLCS_BOOTLOAD_STATUS, TIMEOUT, |status| {
            status.is_set(Boot::BOOTLOAD_COMPLETE)
        })
    });
    complete.map(|_| ()).inspect_err(|error| {
        dev_err!(
            dev,
            "the run list controller doesn't hand out the firmware ({:?}; RLC_RLCS_BOOTLOAD_STATUS is {:#x}, CP_STAT {:#x})\n",
            error,
            regs.read(gc::RLC_RLCS_BOOTLOAD_STATUS).bits(),
            regs.read(gc::CP_STAT.any())
        );
    })
}

/// Says where the program of the compute micro engine begins, on each pipe: a reset takes it over. The caller
/// has GRBM_GFX_CNTL for itself.
pub(super) fn begin_mec(regs: &Regs, [low, high]: [u32; 2]) {
    for pipe in 0..MEC_PIPES {
        let select = Value::zeroed()
            .having(Grbm::MEID.is::<1>())
            .with(Grbm::PIPEID, Bounded::low_bits_of(pipe));
        regs.write(gc::GRBM_GFX_CNTL, select);
        regs.write(gc::CP_MEC_RS64_PRGRM_CNTR_START, Value::new(low));
        regs.write(gc::CP_MEC_RS64_PRGRM_CNTR_START_HI, Value::new(high));
    }
    regs.write(gc::GRBM_GFX_CNTL, Value::zeroed());
    for on in [true, false] {
        regs.update(gc::CP_MEC_RS64_CNTL, |old| {
            old.with(Mec::MEC_PIPE0_RESET, on)
                .with(Mec::MEC_PIPE1_RESET, on)
                .with(Mec::MEC_PIPE2_RESET, on)
                .with(Mec::MEC_PIPE3_RESET, on)
        });
    }
}

/// Lets the controller save and restore registers.
pub(super) fn save_and_restore(regs: &Regs) {
    regs.update(gc::RLC_SRM_CNTL, |old| {
        old.with(Srm::SRM_ENABLE, true)
            .with(Srm::AUTO_INCR_ADDR, true)
    });
}
