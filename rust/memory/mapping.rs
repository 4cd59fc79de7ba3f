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
    vm::{
        Unmapped,
        Vm, //
    }, //
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

/// Takes everything out of the VM. Many objects share a flush: nobody uses any of them by now. If the hardware
/// doesn't answer, their memory is kept.
pub(crate) fn unmap_all(state: &mut DeviceState) {
    let Ok(vm) = state.bound().map(|bound| bound.vm.clone()) else {
        return;
    };
    let mut batch: Option<Unmapped> = None;
    let mut next = state.handles.last_id();
    while let Some(index) = next {
        next = index.checked_sub(1);
        let Some(mem) = take_mapped(state, index) else {
            continue;
        };
        let _ = take_out(&mem, &vm, |unmapped| {
            match &mut batch {
                Some(batch) => batch.join(unmapped),
                None => batch = Some(unmapped),
            }
            Ok(())
        });
        drop(batch.take_if(|batch| batch.is_full()));
    }
}

/// The object with this number if it is mapped; it counts as mapped no more.
fn take_mapped(state: &mut DeviceState, index: u32) -> Option<Arc<Mem>> {
    let handle = state.handles.get_mut(index)?;
    if !core::mem::take(&mut handle.mapped) {
        return None;
    }
    let mem = handle.mem.clone();
    for at in mem.places().ok()? {
        state.by_va.remove(&at.start());
    }
    Some(mem)
}

/// Maps it at all of its addresses. On an error some may be mapped.
pub(super) fn map_into(mem: &Mem, vm: &Vm) -> Result {
    for at in mem.places()? {
        vm.map(at, mem.bo(), mem.map_flags())?;
    }
    Ok(())
}

/// Takes it out of the VM and flushes. What the hardware doesn't acknowledge is kept, with the pages that it has.
pub(super) fn unmap_from(mem: &Mem, vm: &Vm) -> Result {
    take_out(mem, vm, Unmapped::flush).inspect_err(|_| {
        if let Some(range) = mem.range() {
            range.keep();
        }
    })
}

/// Takes it out of the VM, and has each piece flushed by `flush`.
fn take_out(mem: &Mem, vm: &Vm, mut flush: impl FnMut(Unmapped) -> Result) -> Result {
    let mut result = Ok(());
    for at in mem.places()? {
        match vm.unmap(at).and_then(&mut flush) {
            Ok(()) => {}
            // The program took it away, and so it isn't in the VM.
            Err(e) if e == EINVAL && mem.range().is_some() => {}
            Err(e) => result = Err(e),
        }
    }
    result
}
