// SPDX-License-Identifier: GPL-2.0

//! The safe mode of the run list controller (RLC): it gates no clocks meanwhile.
//!
//! Sources: `amdgpu_gfx_rlc_enter_safe_mode`, `gfx_v9_4_3_xcc_set_safe_mode`, `gfx_v12_0_set_safe_mode`.

use super::hal::Registers;
use crate::regs::Regs;
use kernel::{
    prelude::*,
    time::Delta, //
};

/// TIMEOUT: until it is in its safe mode (`usec_timeout`).
const TIMEOUT: Delta = Delta::from_millis(100);

/// Does something while the controller of an XCC is in its safe mode, or doesn't answer: Linux goes on then, too. One that
/// doesn't run, as after a reset of the whole GPU that failed, gates nothing, and isn't asked.
///
/// # Errors
///
/// ENODEV when the device is gone; then nothing was done.
pub(super) fn within<R>(regs: &Regs, xcc: u8, its: &Registers, f: impl FnOnce() -> R) -> Result<R> {
    if its.rlc_runs.get(regs.read_at(xcc, its.rlc_runs.reg())) == 0 {
        return Ok(f());
    }
    let (command, message) = (its.safe_command, its.safe_message);
    let request = |on: bool| message.set(command.set(0, true), on.into());
    regs.write_at(xcc, command.reg(), request(true));
    let taken = |value: u32| command.get(value) == 0;
    match regs.wait_at(xcc, command.reg(), TIMEOUT, taken) {
        Err(error) if error == ENODEV => return Err(ENODEV),
        _ => {}
    }
    let result = f();
    regs.write_at(xcc, command.reg(), request(false));
    Ok(result)
}
