// SPDX-License-Identifier: GPL-2.0

//! Exceptions: which the debugger hears of, which were raised, what is known about one, and passing them on
//! to the program.

use super::with;
use crate::{
    glue::linux::ENODATA,
    process::{
        debugger::DeviceExceptions,
        Process,
        State, //
    },
    types::{
        GpuId,
        GpuVa,
        VmFault, //
    },
    uapi::{
        debug as abi,
        event::MemoryExceptionData, //
    }, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// Bits of exceptions that GPUs have, and that processes have.
const OF_DEVICES: u64 = abi::exception_mask(abi::EC_DEVICE_QUEUE_DELETE)
    | abi::exception_mask(abi::EC_DEVICE_MEMORY_VIOLATION)
    | abi::exception_mask(abi::EC_DEVICE_RAS_ERROR)
    | abi::exception_mask(abi::EC_DEVICE_FATAL_HALT)
    | abi::exception_mask(abi::EC_DEVICE_NEW);
const OF_PROCESSES: u64 = abi::exception_mask(abi::EC_PROCESS_RUNTIME)
    | abi::exception_mask(abi::EC_PROCESS_DEVICE_REMOVE);

/// Exceptions that were raised, and where.
#[derive(Clone, Copy, Default)]
pub(crate) struct Raised {
    pub(crate) exceptions: u64,
    /// 0 for those of the process.
    pub(crate) gpu_id: u32,
    /// 0 for those of a GPU.
    pub(crate) queue_id: u32,
}

/// Chooses the exceptions that the debugger hears of, and wakes it if one of them was raised already.
///
/// # Errors
///
/// EINVAL when it has left, ESRCH when the process has ended.
pub(crate) fn set_enabled(target: &Process, enabled: u64) -> Result {
    with(target, |state| {
        let queues = state.queues.iter().map(|(_, queue)| queue.raised);
        let of_queues = queues.fold(0, |all, raised| all | raised);
        target.debugging.with(|session| {
            let devices = session.devices.iter().map(|device| device.raised);
            let raised = devices.fold(of_queues | session.raised, |all, raised| all | raised);
            session.enabled = enabled;
            session.tell(&target.shared().works, raised);
            Ok(())
        })
    })
}

/// Finds a queue, a GPU or the process with an exception that the debugger hears of, and takes those in
/// `dismissed` from it.
///
/// # Errors
///
/// EAGAIN when there is none; as [`set_enabled`].
pub(crate) fn query(target: &Process, dismissed: u64) -> Result<Raised> {
    with(target, |state| {
        target.debugging.with(|session| {
            let enabled = session.enabled;
            let gpu_id = |device: usize| {
                let device = target.devices().get(device);
                device.map_or(0, |it| it.gpu.id().get().into())
            };
            let mut queues = state.queues.iter_mut();
            if let Some((id, queue)) = queues.find(|(_, queue)| queue.raised & enabled != 0) {
                return Ok(Raised {
                    exceptions: take(&mut queue.raised, dismissed),
                    gpu_id: gpu_id(queue.device),
                    queue_id: id,
                });
            }
            let mut devices = session.devices.iter_mut().enumerate();
            if let Some((index, it)) = devices.find(|(_, it)| it.raised & enabled != 0) {
                return Ok(Raised {
                    exceptions: take(&mut it.raised, dismissed),
                    gpu_id: gpu_id(index),
                    queue_id: 0,
                });
            }
            match session.raised & enabled {
                0 => Err(EAGAIN),
                _ => Ok(Raised {
                    exceptions: take(&mut session.raised, dismissed),
                    ..Raised::default()
                }),
            }
        })
    })
}

/// What was raised, from which `dismissed` is taken.
fn take(raised: &mut u64, dismissed: u64) -> u64 {
    core::mem::replace(raised, *raised & !dismissed)
}

/// Takes the exceptions of a device, from which `dismissed` is taken.
///
/// # Errors
///
/// EINVAL when there is no such device or no debugger.
pub(crate) fn take_device(target: &Process, index: usize, dismissed: u64) -> Result<u64> {
    target.debugging.with(|session| {
        let device = session.devices.get_mut(index).ok_or(EINVAL)?;
        Ok(take(&mut device.raised, dismissed))
    })
}

/// What is known about an exception.
pub(crate) enum Info {
    Nothing,
    Fault(MemoryExceptionData),
    Runtime(abi::RuntimeInfo),
}

/// What is known about an exception of a queue or a GPU, by its number, or of the process. `dismiss` takes it
/// from there.
///
/// # Errors
///
/// EINVAL for a code that there isn't, and for what the process doesn't have; ENODATA when that exception wasn't
/// raised; as [`set_enabled`].
pub(crate) fn exception_info(
    target: &Process,
    source: u32,
    code: u32,
    dismiss: bool,
) -> Result<Info> {
    let exception = abi::exception_mask(code);
    with(target, |state| {
        target.debugging.with(|session| {
            let (raised, info) = if exception & abi::EC_MASK_QUEUE != 0 {
                let queue = state.queues.get_mut(source).ok_or(EINVAL)?;
                (&mut queue.raised, Info::Nothing)
            } else if exception & OF_DEVICES != 0 {
                let id = GpuId::from_user(source).ok_or(EINVAL)?;
                let device = session.devices.get_mut(target.device_index(id)?);
                of_device(device.ok_or(EINVAL)?, exception, dismiss)
            } else if exception & OF_PROCESSES != 0 {
                let info = match code {
                    abi::EC_PROCESS_RUNTIME => Info::Runtime(state.runtime),
                    _ => Info::Nothing,
                };
                (&mut session.raised, info)
            } else {
                return Err(EINVAL);
            };
            if *raised & exception == 0 {
                return Err(ENODATA);
            }
            if dismiss {
                *raised &= !exception;
            }
            Ok(info)
        })
    })
}

/// A device's exceptions, and what is known about one of them. Upstream keeps the fault, but not its size, and so gives
/// nothing of it.
fn of_device(device: &mut DeviceExceptions, exception: u64, dismiss: bool) -> (&mut u64, Info) {
    let is_fault = exception == abi::exception_mask(abi::EC_DEVICE_MEMORY_VIOLATION);
    let fault = match (is_fault, dismiss) {
        (false, _) => None,
        (true, false) => device.fault,
        (true, true) => device.fault.take(),
    };
    (&mut device.raised, fault.map_or(Info::Nothing, Info::Fault))
}

/// Passes exceptions on to the program, as if there were no debugger; that of the runtime lets it go on.
///
/// # Errors
///
/// ENODEV for a page fault of a GPU that the process doesn't have; ENOMEM; as [`set_enabled`].
pub(crate) fn send_to_runtime(
    target: &Arc<Process>,
    gpu_id: u32,
    queue_id: u32,
    exceptions: u64,
) -> Result {
    let fault = abi::exception_mask(abi::EC_DEVICE_MEMORY_VIOLATION);
    let runtime = abi::exception_mask(abi::EC_PROCESS_RUNTIME);
    if exceptions & fault != 0 {
        send_fault(target, gpu_id)?;
    }
    if exceptions & runtime != 0 {
        target.debugging.acknowledge();
    }
    match exceptions & !(fault | runtime) {
        0 => Ok(()),
        exceptions => {
            let queue = |state: &mut State| Ok(state.queues.get(queue_id).map(|q| q.save.at));
            match with(target, queue)? {
                Some(header) => target.pass_on(header.get(), exceptions),
                None => Ok(()),
            }
        }
    }
}

/// Takes the process off a GPU, and tells it of its page fault there.
fn send_fault(target: &Process, gpu_id: u32) -> Result {
    let index = GpuId::from_user(gpu_id).ok_or(ENODEV)?;
    let index = target.device_index(index).map_err(|_| ENODEV)?;
    let device = target.devices().get(index).ok_or(ENODEV)?;
    let pasid = with(target, |state| {
        let device = state.devices.get(index).ok_or(ENODEV)?;
        device.bound()?.vm.pasid().ok_or(ENODEV)
    })?;
    let fault = target.debugging.with(|session| {
        let device = session.devices.get(index).ok_or(ENODEV)?;
        Ok(device.fault.unwrap_or_default())
    })?;
    let fault = VmFault {
        pasid,
        va: GpuVa::new(fault.va),
        not_present: fault.failure.not_present != 0,
        write: fault.failure.read_only != 0,
        execute: fault.failure.no_execute != 0,
        hub: None,
    };
    device.note_fault(&fault);
    // As upstream, the program hears of the fault whatever becomes of its queues.
    let _ = device.gpu.scheduler().evict_pasid(pasid);
    target.tell_of_fault(&device.gpu, &fault);
    Ok(())
}
