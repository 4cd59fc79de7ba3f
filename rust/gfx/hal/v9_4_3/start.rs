// SPDX-License-Identifier: GPL-2.0

//! Starts an XCC whose firmware the security processor has loaded. The run list controller (RLC) runs as
//! soon as it is loaded; the compute micro engine (MEC) is let go.
//!
//! Sources: `gfx_v9_4_3_xcc_rlc_resume`, `gfx_v9_4_3_xcc_init_pg`, `gfx_v9_4_3_xcc_cp_resume`.

use super::{
    HALTED,
    SETTLE, //
};
use crate::{
    hw::regs::{
        gc_9_4_3::{
            self as gc,
            CP_INT_CNTL_RING0 as Idle,
            RLC_SAFE_MODE as Safe, //
        },
        Value, //
    },
    regs::Regs, //
};
use kernel::{
    prelude::*,
    time::{
        delay::fsleep,
        Delta, //
    }, //
};

/// `RLC_SRM_CNTL__SRM_ENABLE_MASK`.
const SAVE_RESTORE: u32 = 1;
/// TIMEOUT: until RLC is in its safe mode (`usec_timeout`).
const TIMEOUT: Delta = Delta::from_millis(100);

/// Sets the run list controller of an XCC up.
///
/// # Errors
///
/// ENODEV when the device is gone.
pub(super) fn resume_rlc(regs: &Regs, xcc: u8) -> Result {
    safe_mode(regs, xcc, true)?;
    regs.write_at(xcc, gc::RLC_CGCG_CGLS_CTRL, Value::zeroed());
    regs.update_at(xcc, gc::RLC_SRM_CNTL.any(), |old| old | SAVE_RESTORE);
    safe_mode(regs, xcc, false)
}

/// Lets the compute micro engine of an XCC run, from its beginning.
pub(super) fn start_mec(regs: &Regs, xcc: u8) {
    interrupt_when_idle(regs, xcc, false);
    halt_mec(regs, xcc);
    regs.write_at(xcc, gc::CP_MEC_CNTL, Value::zeroed());
    fsleep(SETTLE);
    interrupt_when_idle(regs, xcc, true);
}

/// Halts the compute micro engine of an XCC: it doesn't read its code any more.
pub(super) fn halt_mec(regs: &Regs, xcc: u8) {
    regs.write_at(xcc, gc::CP_MEC_CNTL, HALTED);
    fsleep(SETTLE);
}

/// `gfx_v9_4_3_xcc_enable_gui_idle_interrupt`: it lets clocks sleep.
fn interrupt_when_idle(regs: &Regs, xcc: u8, on: bool) {
    regs.update_at(xcc, gc::CP_INT_CNTL_RING0, |old| {
        old.with(Idle::CNTX_BUSY_INT_ENABLE, on)
            .with(Idle::CNTX_EMPTY_INT_ENABLE, on)
            .with(Idle::CMP_BUSY_INT_ENABLE, on)
    });
}

/// Keeps RLC from gating clocks meanwhile (`gfx_v9_4_3_xcc_set_safe_mode`). Linux goes on without an
/// answer, too.
pub(super) fn safe_mode(regs: &Regs, xcc: u8, on: bool) -> Result {
    let request = Value::zeroed()
        .with(Safe::CMD, true)
        .with(Safe::MESSAGE, on.into());
    regs.write_at(xcc, gc::RLC_SAFE_MODE, request);
    if !on {
        return Ok(());
    }
    let left = |value: Value<Safe>| !value.is_set(Safe::CMD);
    match regs.wait_at(xcc, gc::RLC_SAFE_MODE, TIMEOUT, left) {
        Err(error) if error == ENODEV => Err(ENODEV),
        _ => Ok(()),
    }
}
