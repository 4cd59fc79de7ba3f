// SPDX-License-Identifier: GPL-2.0

//! Queues: what there are, and taking them off the hardware for a while.
//!
//! A queue that was suspended has its waves in its save area, and the area's header says where, as a debugger
//! reads it from the program's memory. The driver writes the header into the buffer object, so that it waits
//! for no page of the program's.
//!
//! Source: Linux, `suspend_queues`, `resume_queues` and `copy_context_work_handler` of
//! `amdkfd/kfd_device_queue_manager.c`; `pqm_get_queue_snapshot`.

use super::with;
use crate::{
    process::{
        Process,
        State,
        UserQueue, //
    },
    sched::{
        Format,
        Order,
        Outcome,
        SavedArea,
        Suspension, //
    },
    uapi::{
        debug as abi,
        queue, //
    }, //
};
use kernel::prelude::*;

/// Marks a queue of a program's list that could not be changed.
const ERROR: u32 = 1 << abi::QUEUE_ERROR_BIT;
/// Marks one that isn't there, is new or about to go, or wasn't reached.
const INVALID: u32 = 1 << abi::QUEUE_INVALID_BIT;
const NEW: u64 = abi::exception_mask(abi::EC_QUEUE_NEW);

/// Queues of one device to be changed.
struct Group {
    device: usize,
    queues: KVec<Suspension>,
    /// The number of each, and where it stands in the debugger's list.
    places: KVec<(u32, Option<usize>)>,
}

/// The queues of each device that pass a test; with a list, only those in it.
fn groups(
    target: &Process,
    state: &State,
    list: Option<&[u32]>,
    test: impl Fn(&UserQueue) -> bool,
) -> Result<KVec<Group>> {
    let mut groups = KVec::new();
    for device in 0..target.devices().len() {
        let mut group = Group {
            device,
            queues: KVec::new(),
            places: KVec::new(),
        };
        let its = state.queues.iter().filter(|(_, q)| q.device == device);
        for (id, queue) in its.filter(|(_, queue)| test(queue)) {
            let place = list.map(|list| list.iter().position(|entry| entry & !INVALID == id));
            let place = match place {
                None => None,
                Some(Some(place)) => Some(place),
                Some(None) => continue,
            };
            let it = Suspension {
                queue: queue.hw.clone(),
                outcome: Outcome::Untried,
            };
            group.queues.push(it, GFP_KERNEL_ACCOUNT)?;
            group.places.push((id, place), GFP_KERNEL_ACCOUNT)?;
        }
        groups.push(group, GFP_KERNEL_ACCOUNT)?;
    }
    Ok(groups)
}

/// Changes the queues of each group, and marks what became of them in the debugger's list. Returns how many are
/// as they should be, for each of which `done` is called with its number.
fn carry_out(
    target: &Process,
    groups: &mut [Group],
    order: Order,
    list: &mut [u32],
    mut done: impl FnMut(u32),
) -> usize {
    let mut count = 0usize;
    for group in groups.iter_mut().filter(|group| !group.queues.is_empty()) {
        let Some(device) = target.devices().get(group.device) else {
            continue;
        };
        device.gpu.scheduler().suspend(&mut group.queues, order);
        for (it, (id, place)) in group.queues.iter().zip(&group.places) {
            let mark = place.and_then(|place| list.get_mut(place));
            if let Some(mark) = mark {
                *mark = match it.outcome {
                    Outcome::Untried => *mark,
                    Outcome::Done => *mark & !INVALID,
                    Outcome::Failed => *mark | ERROR,
                    Outcome::ListFailed => *mark & !INVALID | ERROR,
                };
            }
            if it.outcome == Outcome::Done {
                count = count.saturating_add(1);
                done(*id);
            }
        }
    }
    count
}

/// Suspends the queues of a list, and takes the exceptions in `dismissed` from them. Returns how many are
/// suspended; the others are marked in the list.
///
/// # Errors
///
/// ENOMEM; ESRCH when the process has ended.
pub(crate) fn suspend(
    target: &Process,
    list: &mut [u32],
    grace: u32,
    dismissed: u64,
) -> Result<usize> {
    list.iter_mut().for_each(|entry| *entry |= INVALID);
    with(target, |state| {
        // A new one the debugger has to dismiss first, so that it knows of it.
        let may = |queue: &UserQueue| {
            queue.hw.is_suspended() || (queue.raised & NEW == 0 && !queue.leaving)
        };
        let mut groups = groups(target, state, Some(list), may)?;
        let order = Order::Suspend { grace };
        let count = carry_out(target, &mut groups, order, list, |id| {
            if let Some(queue) = state.queues.get_mut(id) {
                queue.raised &= !dismissed;
            }
        });
        if count > 0 {
            write_headers(state);
        }
        Ok(count)
    })
}

/// Resumes the queues of a list. Returns how many aren't suspended any more; the others are marked in the list.
///
/// # Errors
///
/// As [`suspend`].
pub(crate) fn resume(target: &Process, list: Option<&mut [u32]>) -> Result<usize> {
    let Some(list) = list else {
        return with(target, |state| Ok(resume_all(target, state)));
    };
    list.iter_mut().for_each(|entry| *entry |= INVALID);
    let count = with(target, |state| {
        let mut groups = groups(target, state, Some(list), |_| true)?;
        Ok(carry_out(target, &mut groups, Order::Resume, list, |_| {}))
    });
    target.debugging.wake();
    count
}

/// Resumes every queue of a process, and returns how many there are.
pub(super) fn resume_all(target: &Process, state: &mut State) -> usize {
    let count = match groups(target, state, None, |_| true) {
        Ok(mut groups) => carry_out(target, &mut groups, Order::Resume, &mut [], |_| {}),
        // Without memory for all at once, one after the other.
        Err(_) => {
            let mut count = 0usize;
            for (_, queue) in state.queues.iter() {
                let Some(device) = target.devices().get(queue.device) else {
                    continue;
                };
                let mut one = [Suspension {
                    queue: queue.hw.clone(),
                    outcome: Outcome::Untried,
                }];
                device.gpu.scheduler().suspend(&mut one, Order::Resume);
                count = count.saturating_add(1);
            }
            count
        }
    };
    target.debugging.wake();
    count
}

/// Writes what was saved of queues that are off into the headers of their save areas. What can't be written, or
/// read from a device that is gone, is left as it is.
fn write_headers(state: &State) {
    for (_, queue) in state.queues.iter() {
        let Some(device) = state.devices.get(queue.device) else {
            continue;
        };
        for area in queue.hw.saved_waves().iter().flatten() {
            let at = |offset: u64| queue.save.at.checked_add(offset);
            let SavedArea {
                offset,
                stack_offset,
                ..
            } = *area;
            let stack = offset.checked_add(stack_offset.into()).and_then(at);
            if let (Some(header), Some(stack)) = (at(offset), stack) {
                device.poke(header, area.header);
                let word = |bytes| <[u8; 4]>::try_from(bytes).map_or(0, u32::from_le_bytes);
                device.poke(stack, area.stack.chunks_exact(4).map(word));
            }
        }
    }
}

/// What there are of queues: at most `room` of them are described, and the exceptions in `dismissed` are taken
/// from those. Returns how many there are, too.
///
/// # Errors
///
/// As [`suspend`].
pub(crate) fn snapshot(
    target: &Process,
    dismissed: u64,
    room: u32,
) -> Result<(KVec<abi::QueueSnapshotEntry>, u32)> {
    with(target, |state| {
        let count = state.queues.len();
        let mut entries = KVec::with_capacity(count.min(room as usize), GFP_KERNEL_ACCOUNT)?;
        for (id, queue) in state.queues.iter_mut().take(room as usize) {
            let shown = queue.hw.show();
            let gpu = target.devices().get(queue.device).map(|it| it.gpu.id());
            let entry = abi::QueueSnapshotEntry {
                exception_status: queue.raised,
                ring_base_address: shown.ring.address.get(),
                write_pointer_address: shown.write.get(),
                read_pointer_address: shown.read.get(),
                ctx_save_restore_address: queue.save.at.get(),
                queue_id: id,
                gpu_id: gpu.map_or(0, |id| id.get().into()),
                ring_size: u32::try_from(shown.ring.size.bytes()).unwrap_or(u32::MAX),
                queue_type: kind(shown.format, queue.facts.kind),
                ctx_save_restore_area_size: queue.save.bytes,
                reserved: 0,
            };
            entries.push(entry, GFP_KERNEL_ACCOUNT)?;
            queue.raised &= !dismissed;
        }
        Ok((entries, u32::try_from(count).unwrap_or(u32::MAX)))
    })
}

/// The kind of a queue as programs name it; upstream has no name for one of a certain copy engine
/// (`set_queue_type_for_user`).
fn kind(format: Format, kind: u32) -> u32 {
    /// `KFD_QUEUE_TYPE_SDMA_XGMI` and `KFD_QUEUE_TYPE_SDMA`.
    const LINK: u32 = 3;
    const BUS: u32 = 1;
    match (format, kind) {
        (Format::Aql, _) => queue::QUEUE_TYPE_COMPUTE_AQL,
        (Format::Pm4, _) => queue::QUEUE_TYPE_COMPUTE,
        (Format::Sdma, BUS) => queue::QUEUE_TYPE_SDMA,
        (Format::Sdma, LINK) => queue::QUEUE_TYPE_SDMA_XGMI,
        (Format::Sdma, _) => u32::MAX,
    }
}
