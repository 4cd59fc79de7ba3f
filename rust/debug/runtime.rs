// SPDX-License-Identifier: GPL-2.0

//! RUNTIME_ENABLE: a program declares that it has a runtime, or has none any more, and waits until its
//! debugger has taken note.
//!
//! A signal ends the wait, and the program is to ask again. So does the debugger's end.
//!
//! Source: Linux, `runtime_enable` and `runtime_disable` of `amdkfd/kfd_chardev.c`.

use super::{
    deactivate,
    set_trap_flag, //
};
use crate::{
    process::{
        Process,
        State, //
    },
    uapi::debug as abi, //
};
use kernel::prelude::*;

/// Declares a runtime.
///
/// # Errors
///
/// EBUSY when there is one, EEXIST when there are queues; EINTR when a signal comes before the debugger has
/// taken note; the scheduler's errors.
pub(crate) fn enable(process: &Process, r_debug: u64, keeps_temporaries: bool) -> Result {
    let debugged = process.with(|state| {
        if core::mem::take(&mut state.runtime_retries) && process.debugging.is_on() {
            return Ok(true);
        }
        if state.runtime.runtime_state != abi::RUNTIME_STATE_DISABLED {
            return Err(EBUSY);
        }
        if !state.queues.is_empty() {
            return Err(EEXIST);
        }
        set(process, state, true)?;
        state.runtime = abi::RuntimeInfo {
            r_debug,
            runtime_state: abi::RUNTIME_STATE_ENABLED,
            ttmp_setup: keeps_temporaries.into(),
        };
        if process.debugging.is_on() {
            set_trap_flag(state, true);
        }
        Ok(process_runtime(process))
    })?;
    match debugged {
        true => wait(process),
        false => Ok(()),
    }
}

/// Takes the declaration back.
///
/// # Errors
///
/// EINTR when a signal comes before the debugger has taken note; the scheduler's errors.
pub(crate) fn disable(process: &Process) -> Result {
    let debugged = process.with(|state| {
        let before = state.runtime.runtime_state;
        state.runtime.runtime_state = abi::RUNTIME_STATE_DISABLED;
        state.runtime.r_debug = 0;
        if !process.debugging.is_on() {
            return Ok(false);
        }
        if before == abi::RUNTIME_STATE_ENABLED {
            deactivate(process, state);
        }
        match core::mem::take(&mut state.runtime_retries) {
            true => Ok(true),
            false => Ok(process_runtime(process)),
        }
    })?;
    if debugged {
        wait(process)?;
    }
    process.with(|state| {
        state.runtime.ttmp_setup = 0;
        set(process, state, false)
    })
}

/// Tells the debugger that the runtime changed. Whether there is one, which wants it or not.
fn process_runtime(process: &Process) -> bool {
    process.raise(abi::exception_mask(abi::EC_PROCESS_RUNTIME));
    process.debugging.is_on()
}

fn wait(process: &Process) -> Result {
    process.debugging.wait_acknowledged().inspect_err(|_| {
        let _ = process.with(|state| {
            state.runtime_retries = true;
            Ok(())
        });
    })
}

/// On every GPU; the last error counts.
fn set(process: &Process, state: &mut State, on: bool) -> Result {
    let mut result = Ok(());
    for (device, state) in process.devices().iter().zip(state.devices.iter_mut()) {
        let mut config = state.config;
        config.runtime = on;
        if let Err(error) = state.configure(&device.gpu, config) {
            result = Err(error);
        }
    }
    result
}
