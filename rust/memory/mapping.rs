// SPDX-License-Identifier: GPL-2.0

//! Buffer objects in the address space.
//!
//! Mapping puts the object at its address into the VM (twice, back to back, for AQL ring memory);
//! unmapping flushes the TLB before the mapping's reference to the memory goes. What a queue uses is
//! pinned: it can't be unmapped.
//!
//! Called with the process' state.

use crate::{
    process::{
        user::UserRange,
        DeviceState,
        Mem, //
    },
    types::{
        BufferId,
        GpuVa,
        PageRange, //
    },
    vm::Vm, //
};
use kernel::{
    prelude::*,
    rbtree::{
        RBTree,
        RBTreeNode, //
    },
    sync::Arc, //
};

/// Maps an object into the VM; does nothing if it is.
pub(crate) fn map(state: &mut DeviceState, id: BufferId) -> Result {
    let bound = state.bound()?;
    let (vm, counts) = (bound.vm.clone(), bound.file.memory().clone());
    let handle = state.handles.get_mut(id.get()).ok_or(ENOMEM)?;
    if handle.mapped {
        return Ok(());
    }
    let mem = handle.mem.clone();
    if mem.va().is_null() {
        return Err(EINVAL);
    }
    let places = mem.places()?;
    for (done, at) in places.clone().enumerate() {
        if let Err(e) = map_at(state, &vm, at, &mem) {
            for at in places.take(done) {
                let _ = vm.unmap(at).and_then(|unmapped| unmapped.flush());
                state.by_va.remove(&at.start());
            }
            // Upstream has one errno for addresses that are taken or make no sense.
            return Err(if e == EEXIST { EINVAL } else { e });
        }
    }
    if let Some(handle) = state.handles.get_mut(id.get()) {
        handle.set_mapped(&counts);
    }
    Ok(())
}

fn map_at(state: &mut DeviceState, vm: &Vm, at: PageRange, mem: &Arc<Mem>) -> Result {
    // Also for memory that the program took away, which is mapped when it is there again: then nobody
    // hears of an error.
    if last_below(&state.by_va, at.end()).is_some_and(|last| last > at.start()) {
        return Err(EEXIST);
    }
    let node = RBTreeNode::new(at.start(), mem.clone(), GFP_KERNEL_ACCOUNT)?;
    if mem.range().is_none_or(UserRange::is_valid) {
        vm.map(at, mem.bo(), mem.map_flags())?;
    }
    state.by_va.insert(node);
    Ok(())
}

/// The end of the last mapping that starts below an address. Mappings don't overlap, so it reaches
/// furthest.
fn last_below(by_va: &RBTree<GpuVa, Arc<Mem>>, end: GpuVa) -> Option<GpuVa> {
    let va = match by_va.cursor_lower_bound(&end) {
        Some(cursor) => *cursor.peek_prev()?.0,
        None => *by_va.cursor_back()?.current().0,
    };
    va.checked_add(by_va.get(&va)?.bo().size())
}

/// Takes an object out of the VM.
///
/// # Errors
///
/// ENOMEM when there is none, EINVAL when it isn't mapped, EBUSY when a queue uses it.
pub(crate) fn unmap(state: &mut DeviceState, id: BufferId) -> Result {
    let handle = state.handles.get(id.get()).ok_or(ENOMEM)?;
    if !handle.mapped {
        return Err(EINVAL);
    }
    if handle.mem.is_pinned() {
        return Err(EBUSY);
    }
    unmap_now(state, id)
}

/// Takes an object out of the VM, whoever uses it.
fn unmap_now(state: &mut DeviceState, id: BufferId) -> Result {
    let vm = state.bound()?.vm.clone();
    let handle = state.handles.get_mut(id.get()).ok_or(ENOMEM)?;
    let mem = handle.mem.clone();
    handle.mapped = false;
    for at in mem.places()? {
        state.by_va.remove(&at.start());
    }
    // The flush keeps the memory if the hardware doesn't answer.
    unmap_from(&mem, &vm)
}

/// Takes everything out of the VM.
pub(crate) fn unmap_all(state: &mut DeviceState) {
    let mut next = state.handles.last_id();
    while let Some(index) = next {
        if state.handles.get(index).is_some_and(|handle| handle.mapped) {
            // If the hardware doesn't answer, the flush keeps the memory.
            let _ = unmap_now(state, BufferId::new(index));
        }
        next = index.checked_sub(1);
    }
}

/// Maps it at all of its addresses. On an error some may be mapped.
pub(super) fn map_into(mem: &Mem, vm: &Vm) -> Result {
    for at in mem.places()? {
        vm.map(at, mem.bo(), mem.map_flags())?;
    }
    Ok(())
}

/// Takes it out of the VM and flushes. What the hardware doesn't acknowledge is kept.
pub(super) fn unmap_from(mem: &Mem, vm: &Vm) -> Result {
    let mut result = Ok(());
    for at in mem.places()? {
        let unmapped = vm.unmap(at).and_then(|unmapped| unmapped.flush());
        match unmapped {
            Ok(()) => {}
            // The program took it away, and so it isn't in the VM.
            Err(e) if e == EINVAL && mem.range().is_some() => {}
            Err(e) => result = Err(e),
        }
    }
    result
}
