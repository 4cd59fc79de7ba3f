// SPDX-License-Identifier: GPL-2.0

//! Waves: what makes them trap, how they begin, and which addresses they must not touch unnoticed.
//!
//! It holds for the waves of all the process' queues on a GPU that begin from then on, and is undone when the debugger
//! leaves or the runtime ends. A GPU has few registers for watched addresses, which all processes share.
//!
//! Source: Linux, `kfd_dbg_trap_set_wave_launch_override`, `kfd_dbg_trap_set_wave_launch_mode`,
//! `kfd_dbg_trap_set_dev_address_watch` and `kfd_dbg_trap_clear_dev_address_watch` of `amdkfd/kfd_debug.c`.

use super::with;
use crate::{
    gfx::{
        Gfx,
        TRAPS, //
    },
    process::{
        Process,
        State, //
    },
    sched::ProcessConfig,
    uapi::debug as abi, //
};
use kernel::prelude::*;

/// A debugger's choice of what makes waves trap.
pub(crate) struct Override {
    /// `KFD_DBG_TRAP_OVERRIDE_*`.
    pub(crate) mode: u32,
    /// `KFD_DBG_TRAP_MASK_*`: those that it chooses, and which of them are on. Set to all that there are, and
    /// to those that were on before.
    pub(crate) chosen: u32,
    pub(crate) on: u32,
}

/// Chooses what makes waves trap, besides or instead of what their kernels ask for.
///
/// # Errors
///
/// EPERM for a mode that there isn't, EACCES for exceptions that there aren't, ESRCH when the process has ended,
/// and the scheduler's errors.
pub(crate) fn launch_override(target: &Process, wanted: &mut Override) -> Result {
    with(target, |state| {
        let (chosen, on) = (wanted.chosen, wanted.on);
        let has_devices = !state.devices.is_empty();
        wanted.chosen = if has_devices { TRAPS } else { u32::MAX };
        if has_devices && !matches!(wanted.mode, abi::OVERRIDE_OR | abi::OVERRIDE_REPLACE) {
            return Err(EPERM);
        }
        if chosen & !wanted.chosen != 0 {
            return Err(EACCES);
        }
        let replace = wanted.mode == abi::OVERRIDE_REPLACE;
        each(target, state, |gfx, config| {
            wanted.on = gfx.traps_of(config.trap_override);
            let traps = on & chosen | wanted.on & !chosen;
            config.trap_override = gfx.trap_override(traps, replace);
        })
    })
}

/// Chooses how waves begin.
///
/// # Errors
///
/// EINVAL for a way that there isn't; otherwise as [`launch_override`].
pub(crate) fn launch_mode(target: &Process, mode: u32) -> Result {
    match mode {
        abi::LAUNCH_MODE_NORMAL | abi::LAUNCH_MODE_HALT | abi::LAUNCH_MODE_DEBUG => {}
        _ => return Err(EINVAL),
    }
    with(target, |state| {
        each(target, state, |gfx, config| {
            config.launch_mode = gfx.launch_mode(mode);
        })
    })
}

/// Watches an address on a GPU, by those of its bits that `mask` has, for accesses of a mode
/// (`KFD_DBG_TRAP_ADDRESS_WATCH_MODE_*`). Returns the watch's number.
///
/// # Errors
///
/// ENODEV without such a GPU, ENOMEM when no register is free, ESRCH when the process has ended, and the scheduler's
/// errors.
pub(crate) fn watch(
    target: &Process,
    device: usize,
    address: u64,
    mask: u32,
    mode: u32,
) -> Result<u32> {
    with(target, |state| {
        let gpu = &target.devices().get(device).ok_or(ENODEV)?.gpu;
        let its = state.devices.get_mut(device).ok_or(ENODEV)?;
        let point = gpu.watch_point()?;
        let number = point.number();
        let before = its.config;
        let mut config = before;
        *config.watches.get_mut(number).ok_or(ENOMEM)? = point.set(address, mask, mode);
        if let Err(error) = its.configure(gpu, config) {
            its.config = before;
            return Err(error);
        }
        *its.watches.get_mut(number).ok_or(ENOMEM)? = Some(point);
        // CAST: One of a few.
        Ok(number as u32)
    })
}

/// Watches an address no longer.
///
/// # Errors
///
/// EINVAL when the process has no such watch, and as [`watch`].
pub(crate) fn clear_watch(target: &Process, device: usize, number: u32) -> Result {
    with(target, |state| {
        let gpu = &target.devices().get(device).ok_or(ENODEV)?.gpu;
        let its = state.devices.get_mut(device).ok_or(ENODEV)?;
        let place = its.watches.get_mut(number as usize).ok_or(EINVAL)?;
        let point = place.take().ok_or(EINVAL)?;
        let mut config = its.config;
        if let Some(control) = config.watches.get_mut(number as usize) {
            *control = 0;
        }
        let result = its.configure(gpu, config);
        // Its registers are another's only now that no wave of this process is watched by them.
        drop(point);
        result
    })
}

/// Undoes everything. A GPU whose scheduler doesn't answer needn't know.
pub(super) fn reset(target: &Process, state: &mut State) {
    let _ = each(target, state, |gfx, config| {
        config.trap_override = gfx.trap_override(0, false);
        config.launch_mode = gfx.launch_mode(abi::LAUNCH_MODE_NORMAL);
        config.watches = Default::default();
    });
    for device in state.devices.iter_mut() {
        device.watches = Default::default();
    }
}

/// Changes what holds for waves on every GPU; the last error counts.
fn each(
    target: &Process,
    state: &mut State,
    mut change: impl FnMut(&Gfx, &mut ProcessConfig),
) -> Result {
    let mut result = Ok(());
    for (device, state) in target.devices().iter().zip(state.devices.iter_mut()) {
        let mut config = state.config;
        change(device.gpu.gfx(), &mut config);
        if config == state.config {
            continue;
        }
        if let Err(error) = state.configure(&device.gpu, config) {
            result = Err(error);
        }
    }
    result
}
