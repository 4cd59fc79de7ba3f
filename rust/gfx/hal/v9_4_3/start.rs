// SPDX-License-Identifier: GPL-2.0

//! Starts an XCC whose firmware the security processor has loaded. The run list controller (RLC) runs as
//! soon as it is loaded; the compute micro engine (MEC) is let go.
//!
//! Sources: `gfx_v9_4_3_xcc_rlc_resume`, `gfx_v9_4_3_xcc_init_pg`, `gfx_v9_4_3_xcc_cp_resume`.

use super::{
    clocks,
    HALTED,
    REGISTERS,
    SETTLE, //
};
use crate::{
    gfx::safe_mode,
    hw::regs::{
        gc_9_4_3 as gc,
        Value, //
    },
    regs::Regs, //
};
use kernel::{
    prelude::*,
    time::delay::fsleep, //
};

/// `RLC_SRM_CNTL__SRM_ENABLE_MASK`.
const SAVE_RESTORE: u32 = 1;

/// Sets the run list controller of an XCC up.
///
/// # Errors
///
/// ENODEV when the device is gone.
pub(super) fn resume_rlc(regs: &Regs, xcc: u8) -> Result {
    safe_mode::within(regs, xcc, &REGISTERS, || {
        regs.write_at(xcc, gc::RLC_CGCG_CGLS_CTRL, Value::zeroed());
        regs.update_at(xcc, gc::RLC_SRM_CNTL.any(), |old| old | SAVE_RESTORE);
    })
}

/// Lets the compute micro engine of an XCC run, from its beginning. Its clocks are gated later.
pub(super) fn start_mec(regs: &Regs, xcc: u8) {
    clocks::tell_idle(regs, xcc, false);
    halt_mec(regs, xcc);
    regs.write_at(xcc, gc::CP_MEC_CNTL, Value::zeroed());
    fsleep(SETTLE);
}

/// Halts the compute micro engine of an XCC: it doesn't read its code any more.
pub(super) fn halt_mec(regs: &Regs, xcc: u8) {
    regs.write_at(xcc, gc::CP_MEC_CNTL, HALTED);
    fsleep(SETTLE);
}
