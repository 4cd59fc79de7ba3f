// SPDX-License-Identifier: GPL-2.0

//! What happens when the program's own memory (USERPTR) changes under a buffer object.
//!
//! *Stop*: the process' queues are evicted, the object is taken out of the VM, the TLB is flushed.
//! *Restore*: once the change is over, the range is pinned anew and mapped, the old pages are let go,
//! and the queues run again. It may see a change before *stop* does, and then evicts them itself. What
//! fails for want of memory or because pages are busy is tried again after a while, and the queues stay
//! off until then: no kernel finds memory missing that its program has. Memory that is no longer there
//! stays unmapped: the GPU faults if it touches it (`update_invalid_user_pages`; amdgpu's debug mode that
//! warns the program before that, `kfd_signal_vm_fault_event_with_userptr`, isn't there).
//!
//! Lock order: process state -> status of a range. Pages are pinned and let go without the process'
//! state: both wait for locks of programs that may wait for *stop*.

use super::mapping;
use crate::{
    bo::user::Mapped,
    glue::interval::Sequence,
    glue::ratelimit::ratelimited,
    gpu::Gpu,
    process::{
        user::{
            Status,
            UserRange,
            RESTORE,
            STOP, //
        },
        DeviceState,
        Handle,
        Mem,
        Process,
        State, //
    }, //
};
use kernel::{
    mm::{
        MmWithUser,
        MmWithUserAsync, //
    },
    prelude::*,
    sync::{
        aref::ARef,
        Arc, //
    },
    time::{
        delay::fsleep,
        Delta, //
    },
    workqueue::WorkItem, //
};

/// How long to wait before trying again. Upstream waits 1 ms.
pub(super) const RETRY: Delta = Delta::from_millis(10);

impl WorkItem<STOP> for Process {
    type Pointer = Arc<Self>;

    fn run(this: Arc<Self>) {
        stop(&this);
    }
}

impl WorkItem<RESTORE> for Process {
    type Pointer = Arc<Self>;

    fn run(this: Arc<Self>) {
        restore(&this);
    }
}

/// Takes memory that changed from the GPU.
fn stop(process: &Arc<Process>) {
    let round = process.user.asked();
    // A process that ended has nothing on the GPU.
    let _ = process.with(|state| {
        for (device, state) in process.devices().iter().zip(state.devices.iter_mut()) {
            if stop_stale(state, &device.gpu) {
                process.shared().clients.evicted(&device.gpu, &process.who);
            }
        }
        Ok(())
    });
    process.user.finished(round);
    process.shared().works.restore(process.clone());
}

/// Pins and maps anew what can be had, and lets the queues run again.
fn restore(process: &Arc<Process>) {
    // As upstream's: changes come in bursts.
    fsleep(Delta::from_millis(1));
    let Some(mm) = process.mm().mmget_not_zero() else {
        return;
    };
    // If it is the last user, the end of the process runs elsewhere.
    let mm: ARef<MmWithUserAsync> = MmWithUser::into_mmput_async(mm);
    while let Ok(Some((index, mem))) = process.with(|state| Ok(next_stale(process, state))) {
        let (Some(device), Some(range)) = (process.devices().get(index), mem.range()) else {
            return;
        };
        let since = range.begin();
        let mut pages = match range.pin(&mm, &device.gpu, mem.bo()) {
            Ok(pages) => Some(pages),
            Err(error) if is_final(error) => None,
            Err(_) => return try_later(process),
        };
        let renewed = process.with(|state| {
            let state = state.devices.get_mut(index).ok_or(EINVAL)?;
            renew(state, &device.gpu, &mem, since, &mut pages)
        });
        // What it had before, or what came too late.
        drop(pages);
        if renewed.is_err_and(|error| !is_final(error)) {
            return try_later(process);
        }
    }
}

/// The first object whose memory changed; the queues are off if it is mapped. If there is none, they run again.
fn next_stale(process: &Process, state: &mut State) -> Option<(usize, Arc<Mem>)> {
    let clients = &process.shared().clients;
    let devices = process.devices().iter();
    for (index, (device, state)) in devices.zip(state.devices.iter_mut()).enumerate() {
        if let Some((mem, mapped)) = first_stale(state) {
            // It may have changed since *stop* ran last: no queue runs when it is taken.
            if mapped && pause(state, &device.gpu) {
                clients.evicted(&device.gpu, &process.who);
            }
            return Some((index, mem));
        }
    }
    for (device, state) in process.devices().iter().zip(state.devices.iter_mut()) {
        if resume(state, &device.gpu) {
            clients.restored(&device.gpu, &process.who, false);
        }
    }
    None
}

/// Whether trying again is no use: nothing is mapped there, it can't be written, or process or device
/// are gone. Upstream tries again after all but the first.
pub(super) fn is_final(error: Error) -> bool {
    [EFAULT, EPERM, EBADF, ENODEV, ESRCH].contains(&error)
}

/// Has *restore* run again after a while. Until then the queues stay off.
fn try_later(process: &Arc<Process>) {
    for device in process.devices() {
        let clients = &process.shared().clients;
        clients.restored(&device.gpu, &process.who, true);
    }
    fsleep(RETRY);
    process.shared().works.restore(process.clone());
}

/// The first object whose memory changed, and whether it is mapped.
fn first_stale(state: &mut DeviceState) -> Option<(Arc<Mem>, bool)> {
    let mut handles = state.handles.iter_mut().map(|(_, handle)| handle);
    let handle = handles.find(|handle| is_stale(&handle.mem))?;
    Some((handle.mem.clone(), handle.mapped))
}

/// Takes memory that changed from the GPU, queues first; returns whether they ran.
fn stop_stale(state: &mut DeviceState, gpu: &Gpu) -> bool {
    let stale = |(_, handle): (u32, &mut Handle)| handle.mapped && is_stale(&handle.mem);
    let used = state.handles.iter_mut().any(stale);
    let paused = used && pause(state, gpu);
    let Some(bound) = &state.bound else {
        return paused;
    };
    for (_, handle) in state.handles.iter_mut() {
        if handle.mapped && is_stale(&handle.mem) {
            // What the hardware doesn't let go is kept.
            let _ = mapping::unmap_from(&handle.mem, &bound.vm);
        }
    }
    paused
}

/// Evicts the process' queues until [`resume`].
fn pause(state: &mut DeviceState, gpu: &Gpu) -> bool {
    if core::mem::replace(&mut state.paused, true) {
        return false;
    }
    state.usage.evict();
    if let Some(sched) = &state.sched {
        report(gpu, "evicting", gpu.scheduler().evict(sched));
    }
    true
}

/// Lets the process' queues run again; returns whether they were evicted.
fn resume(state: &mut DeviceState, gpu: &Gpu) -> bool {
    if !core::mem::replace(&mut state.paused, false) {
        return false;
    }
    if let Some(sched) = &state.sched {
        report(gpu, "restoring", gpu.scheduler().restore(sched));
    }
    state.usage.restore();
    true
}

/// Evicts the process' queues until [`waited`] was called as often: memory of a GEM object changed. Returns whether they
/// ran for all that such memory knows.
pub(super) fn wait_for(state: &mut DeviceState, gpu: &Gpu) -> bool {
    let before = state.waiting;
    state.waiting = before.saturating_add(1);
    if before > 0 {
        return false;
    }
    state.usage.evict();
    if let Some(sched) = &state.sched {
        report(gpu, "evicting", gpu.scheduler().evict(sched));
    }
    true
}

/// The memory of a GEM object is there again; returns whether that was the last.
pub(super) fn waited(state: &mut DeviceState, gpu: &Gpu) -> bool {
    state.waiting = state.waiting.saturating_sub(1);
    if state.waiting > 0 {
        return false;
    }
    if let Some(sched) = &state.sched {
        report(gpu, "restoring", gpu.scheduler().restore(sched));
    }
    state.usage.restore();
    true
}

/// Logs a failure, unless the device is gone: then no queue runs.
fn report(gpu: &Gpu, what: &str, result: Result) {
    if let Err(error) = result {
        if error != ENODEV {
            ratelimited!(
                dev_err,
                gpu.device(),
                "{} queues failed ({:?})\n",
                what,
                error
            );
        }
    }
}

/// Gives an object what was pinned for it, unless its memory changed again. What is then in
/// `pages` is to be let go.
///
/// # Errors
///
/// Those of mapping it: unless they are final, it is stale again.
fn renew(
    state: &mut DeviceState,
    gpu: &Gpu,
    mem: &Arc<Mem>,
    since: Sequence,
    pages: &mut Option<Mapped>,
) -> Result {
    let Some(range) = mem.range() else {
        return Ok(());
    };
    let vm = state.bound.as_ref().map(|bound| bound.vm.clone());
    let mut handles = state.handles.iter_mut().map(|(_, handle)| handle);
    let (Some(handle), Some(vm)) = (handles.find(|h| Arc::ptr_eq(&h.mem, mem)), vm) else {
        // Freed meanwhile.
        range.settle(since, Status::Missing);
        return Ok(());
    };
    if handle.mapped {
        let _ = mapping::unmap_from(mem, &vm);
    }
    let status = match pages {
        Some(_) => Status::Valid,
        None => Status::Missing,
    };
    if !range.settle(since, status) {
        return Ok(());
    }
    mem.bo().swap_user(pages);
    if !handle.mapped || status != Status::Valid {
        return Ok(());
    }
    mapping::map_into(mem, &vm).inspect_err(|&error| {
        ratelimited!(
            dev_err,
            gpu.device(),
            "mapping user memory failed ({:?})\n",
            error
        );
        let _ = mapping::unmap_from(mem, &vm);
        let status = match is_final(error) {
            true => Status::Missing,
            false => Status::Stale,
        };
        range.settle(since, status);
    })
}

fn is_stale(mem: &Mem) -> bool {
    mem.range().is_some_and(UserRange::is_stale)
}
