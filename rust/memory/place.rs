// SPDX-License-Identifier: GPL-2.0

//! Mapping GEM objects to the GPU (GEM_VA): in the address space of a file, beside what its process maps
//! there by /dev/kfd. Neither can be mapped over the other.
//!
//! Source: Linux, `amdgpu_gem_va_ioctl`, `amdgpu_vm_bo_map`, `_unmap`, `_clear_mappings`.

use crate::{
    bo::Bo,
    mmap::{
        Placed,
        Space,
        VmFile, //
    },
    types::{
        GpuVa,
        PageRange, //
    },
    vm::MapFlags, //
};
use kernel::{
    prelude::*,
    rbtree::{
        RBTree,
        RBTreeNode, //
    },
    sync::Arc, //
};

/// What to map where.
pub(crate) struct Place<'a> {
    /// What tells the object from others.
    pub(crate) object: usize,
    pub(crate) bo: &'a Arc<Bo>,
    pub(crate) at: PageRange,
    /// Of the object.
    pub(crate) offset: u64,
    pub(crate) flags: MapFlags,
}

/// Maps a part of an object; with `replace` what the file's requests mapped there before goes.
///
/// # Errors
///
/// EINVAL beyond the object's end, and where something is mapped; ENOMEM, ENODEV.
pub(crate) fn map(file: &VmFile, place: &Place<'_>, replace: bool) -> Result {
    let end = place.offset.checked_add(place.at.bytes());
    if end.is_none_or(|end| end > place.bo.size()) {
        return Err(EINVAL);
    }
    let placed = Placed {
        at: place.at,
        object: place.object,
    };
    let node = RBTreeNode::new(place.at.start(), placed, GFP_KERNEL_ACCOUNT)?;
    let mut space = file.space().lock();
    let vm = file.vm(&mut space)?;
    if replace {
        clear_range(&mut space, place.at)?;
    }
    let result = vm.map_part(place.at, place.bo, place.offset, place.flags);
    // Upstream has one errno for addresses that are taken or make no sense.
    result.map_err(|e| if e == EEXIST { EINVAL } else { e })?;
    space.placed.insert(node);
    Ok(())
}

/// Takes back the mapping of an object that begins at an address.
///
/// # Errors
///
/// ENOENT when there is none; ETIME when the GPU doesn't acknowledge it.
pub(crate) fn unmap(file: &VmFile, object: usize, va: GpuVa) -> Result {
    let mut space = file.space().lock();
    let found = space.placed.get(&va);
    let at = found
        .filter(|placed| placed.object == object)
        .map(|placed| placed.at)
        .ok_or(ENOENT)?;
    take(&mut space, at)
}

/// Takes back what the file's requests mapped in a range.
///
/// # Errors
///
/// EINVAL when a mapping reaches out of it, where upstream keeps the rest; ETIME when the GPU doesn't acknowledge it.
pub(crate) fn clear(file: &VmFile, range: PageRange) -> Result {
    let mut space = file.space().lock();
    clear_range(&mut space, range)
}

/// The file's last handle to an object went.
pub(super) fn forget(file: &VmFile, object: usize) {
    let mut space = file.space().lock();
    let mut from = GpuVa::NULL;
    while let Some(placed) = next(&space.placed, from) {
        from = placed.at.end();
        let at = placed.at;
        if placed.object == object {
            // What the hardware doesn't acknowledge is kept by the flush.
            let _ = take(&mut space, at);
        }
    }
}

/// The first mapping that begins at an address or above.
fn next(placed: &RBTree<GpuVa, Placed>, from: GpuVa) -> Option<&Placed> {
    let at = *placed.cursor_lower_bound(&from)?.current().0;
    placed.get(&at)
}

fn take(space: &mut Space, at: PageRange) -> Result {
    space.placed.remove(&at.start());
    let Some(vm) = &space.vm else {
        return Ok(());
    };
    vm.unmap(at).and_then(|unmapped| unmapped.flush())
}

/// Takes back what lies in a range, or nothing where a mapping reaches out of it: its entries say that they are
/// part of a larger piece, so a part can't be taken alone.
fn clear_range(space: &mut Space, range: PageRange) -> Result {
    let before = last_below(&space.placed, range.start());
    if before.is_some_and(|placed| placed.at.end() > range.start()) {
        return Err(EINVAL);
    }
    let last = last_below(&space.placed, range.end());
    if last.is_some_and(|placed| placed.at.end() > range.end()) {
        return Err(EINVAL);
    }
    while let Some(placed) = next(&space.placed, range.start()) {
        let at = placed.at;
        if at.start() >= range.end() {
            break;
        }
        take(space, at)?;
    }
    Ok(())
}

/// The last mapping that begins below an address.
fn last_below(placed: &RBTree<GpuVa, Placed>, end: GpuVa) -> Option<&Placed> {
    let at = match placed.cursor_lower_bound(&end) {
        Some(cursor) => *cursor.peek_prev()?.0,
        None => *placed.cursor_back()?.current().0,
    };
    placed.get(&at)
}
