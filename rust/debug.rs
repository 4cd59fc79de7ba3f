// SPDX-License-Identifier: GPL-2.0

//! A debugger's requests about a process (DBG_TRAP), and the handshake with that process' runtime.
//!
//! A debugger attaches ([`enable`]) before or after the program declares its runtime ([`runtime`]); what
//! needs trap handlers and queues that can be suspended is there when both have happened. It leaves
//! ([`disable`]), or ends ([`ended`]), and whatever it kept goes on.
//!
//! Who may debug whom, and what a request's bytes mean, is the caller's part (`ioctl/debug.rs`). Nothing here
//! touches user memory. Lock order: process state -> session, scheduler; see `process/debugger.rs`.
//!
//! Source: Linux, `amdkfd/kfd_debug.c`.

use crate::{
    glue::linux::EALREADY,
    process::{
        debugger::Session,
        Bell,
        Process,
        State, //
    },
    uapi::debug as abi, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

mod events;
mod queues;
pub(crate) mod runtime;
mod waves;

pub(crate) use events::{
    exception_info,
    query,
    send_to_runtime,
    set_enabled,
    take_device,
    Info, //
};
pub(crate) use queues::{
    resume,
    snapshot,
    suspend, //
};
pub(crate) use waves::{
    clear_watch,
    launch_mode,
    launch_override,
    watch,
    Override, //
};

/// Runs `f` with a process' state.
///
/// # Errors
///
/// ESRCH when the process has ended, and what `f` returns.
fn with<R>(target: &Process, f: impl FnOnce(&mut State) -> Result<R>) -> Result<R> {
    target.with(f).map_err(|error| match error {
        EBADF => ESRCH,
        other => other,
    })
}

/// Whether a process' runtime is there, so that its queues and waves can be controlled.
///
/// # Errors
///
/// EPERM when it isn't.
pub(crate) fn check_runtime(target: &Process) -> Result {
    with(target, |state| match state.runtime.runtime_state {
        abi::RUNTIME_STATE_ENABLED => Ok(()),
        _ => Err(EPERM),
    })
}

/// Attaches a debugger: `None` when the process debugs itself. Returns what the program has declared about its
/// runtime.
///
/// # Errors
///
/// EALREADY when one is attached, EBADF without the file, ENOMEM; ESRCH when the process has ended.
pub(crate) fn enable(
    target: &Process,
    debugger: Option<&Arc<Process>>,
    enabled: u64,
    descriptor: u32,
) -> Result<abi::RuntimeInfo> {
    let bell = Bell::new(descriptor);
    with(target, |state| {
        // That the file isn't there counts less.
        if target.debugging.is_on() {
            return Err(EALREADY);
        }
        let bell = match bell {
            Ok(bell) => bell,
            Err(error) => return Ok(Err(error)),
        };
        let devices = target.devices().len();
        let session = Session::new(debugger.cloned(), enabled, devices, bell)?;
        target.debugging.begin(session);
        if state.runtime.runtime_state == abi::RUNTIME_STATE_ENABLED {
            set_trap_flag(state, true);
        }
        Ok(Ok(state.runtime))
    })?
}

/// Detaches the debugger: queues that it suspended go on, exceptions that it left are forgotten.
pub(crate) fn disable(target: &Process) {
    let ended = with(target, |state| Ok(leave(target, state)));
    drop(ended);
}

/// Ends every session that a process, which is about to go, has with others.
pub(crate) fn ended(process: &Process) {
    if process.debugging.may_debug() {
        process.processes().for_each(|target| {
            if target.debugging.is_by(process) {
                disable(target);
            }
        });
    }
}

/// Ends a process' session. What is returned is to be dropped without the process' state.
pub(crate) fn leave(target: &Process, state: &mut State) -> Option<Session> {
    if !target.debugging.is_on() {
        return None;
    }
    deactivate(target, state);
    for (_, queue) in state.queues.iter_mut() {
        queue.raised = 0;
    }
    target.debugging.end()
}

/// What a debugger changed in queues and waves is undone (`kfd_dbg_trap_deactivate`).
fn deactivate(target: &Process, state: &mut State) {
    queues::resume_all(target, state);
    waves::reset(target, state);
    set_trap_flag(state, false);
}

/// Tells the trap handlers whether a debugger is there. A device that is gone needn't know.
fn set_trap_flag(state: &State, on: bool) {
    for device in &state.devices {
        if let Some(bound) = &device.bound {
            let _ = bound.trap.set_debugged(on);
        }
    }
}
