// SPDX-License-Identifier: GPL-2.0

//! Mapping GEM objects to the GPU (GEM_VA): in the address space of a file, beside what its process maps
//! there by /dev/kfd. Neither can be mapped over the other.
//!
//! Source: Linux, `amdgpu_gem_va_ioctl`, `amdgpu_vm_bo_map`, `_unmap`, `_clear_mappings`.

use super::{
    restore::is_final,
    MovableHandle,
    UserHandle, //
};
use crate::{
    bo::Bo,
    mmap::{
        Mapping,
        Placed,
        Space,
        VmFile, //
    },
    types::{
        GpuVa,
        PageRange, //
    },
    vm::{
        MapFlags,
        Vm, //
    }, //
};
use kernel::{
    prelude::*,
    rbtree::{
        RBTree,
        RBTreeNode,
        RBTreeNodeReservation, //
    },
    sync::{
        lock::mutex::MutexGuard,
        Arc, //
    }, //
};

/// What to map where.
pub(crate) struct Place<'a> {
    /// What tells the object from others.
    pub(crate) object: usize,
    /// What tells whether the file has a handle to the object; none for pages that aren't resident.
    pub(crate) mapping: Option<&'a Mapping>,
    pub(crate) bo: &'a Arc<Bo>,
    /// Its pages, if it is a program's memory.
    pub(crate) user: Option<&'a UserHandle>,
    /// What moves it, if it may be moved.
    pub(crate) movable: Option<&'a MovableHandle>,
    pub(crate) at: PageRange,
    /// Of the object.
    pub(crate) offset: u64,
    pub(crate) flags: MapFlags,
    /// The flags as GEM_VA had them.
    pub(crate) asked: u32,
}

/// Maps a part of an object; with `replace` what the file's requests mapped there before goes.
///
/// # Errors
///
/// EINVAL beyond the object's end, and where something is mapped; ENOENT when the file's last handle to the object went
/// meanwhile; ENOMEM, ENODEV.
pub(crate) fn map(file: &VmFile, place: &Place<'_>, replace: bool) -> Result {
    let end = place.offset.checked_add(place.at.bytes());
    if end.is_none_or(|end| end > place.bo.size()) {
        return Err(EINVAL);
    }
    let placed = Placed {
        at: place.at,
        object: place.object,
        offset: place.offset,
        flags: place.asked,
    };
    let node = RBTreeNode::new(place.at.start(), placed, GFP_KERNEL_ACCOUNT)?;
    let (_under_way, mut space, vm) = lock_space(file, place)?;
    // Whoever closes the last handle takes it from the file before `forget` waits for this lock.
    if !place.may_map(file) {
        return Err(ENOENT);
    }
    if replace {
        clear_range(&mut space, place.at)?;
    }
    let result = vm.map_part(place.at, place.bo, place.offset, place.flags);
    // Upstream has one errno for addresses that are taken or make no sense.
    result.map_err(|e| if e == EEXIST { EINVAL } else { e })?;
    space.placed.insert(node);
    Ok(())
}

impl Place<'_> {
    /// Whether the file has a handle to the object, if it is one.
    fn may_map(&self, file: &VmFile) -> bool {
        self.mapping.is_none_or(|mapping| mapping.is_allowed(file))
    }
}

/// A request that maps an object that may be moved, which knows of the address space at least as long. Not to be
/// dropped with the lock of the file's address space.
struct UnderWay<'a> {
    movable: &'a MovableHandle,
    vm: Arc<Vm>,
    place: &'a Place<'a>,
    file: &'a VmFile,
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.movable.end(&self.vm, || self.place.may_map(self.file));
    }
}

/// Locks the file's address space, of which an object whose memory changes or is moved knows then.
///
/// # Errors
///
/// ENOMEM, ENODEV; those of [`UserHandle::fill`], but what isn't there is to be mapped without memory.
fn lock_space<'a>(
    file: &'a VmFile,
    place: &'a Place<'a>,
) -> Result<(Option<UnderWay<'a>>, MutexGuard<'a, Space>, Arc<Vm>)> {
    let (mut known, mut under_way): (Option<Arc<Vm>>, Option<UnderWay<'a>>) = (None, None);
    loop {
        let mut space = file.space().lock();
        let vm = file.vm(&mut space)?;
        let is_known = known.is_some_and(|known| Arc::ptr_eq(&known, &vm));
        let changes = place.user.is_some() || place.movable.is_some();
        if is_known || !changes {
            return Ok((under_way, space, vm));
        }
        // It may be on its way, or its pages wait for the program: nobody else waits for that.
        drop(space);
        if let Some(user) = place.user {
            // First: the queues in it are evicted then, should the memory change before it is mapped.
            user.add(&vm)?;
            match user.fill() {
                Err(error) if !is_final(error) => return Err(error),
                // What isn't there is mapped without memory.
                _ => {}
            }
        }
        if let Some(movable) = place.movable {
            movable.begin(&vm)?;
            under_way = Some(UnderWay {
                movable,
                vm: vm.clone(),
                place,
                file,
            });
        }
        known = Some(vm);
    }
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
/// ENOMEM, ENODEV, and ETIME when the GPU doesn't acknowledge it: some of it may be taken back then.
pub(crate) fn clear(file: &VmFile, range: PageRange) -> Result {
    let mut space = file.space().lock();
    clear_range(&mut space, range)
}

/// What the file's requests mapped of an object: the first of it, as many as there is room for, and how many there are.
///
/// # Errors
///
/// ENOMEM.
pub(crate) fn of_object(file: &VmFile, object: usize, room: usize) -> Result<(KVVec<Placed>, u32)> {
    let space = file.space().lock();
    let (mut found, mut count) = (KVVec::new(), 0u32);
    for placed in space
        .placed
        .values()
        .filter(|placed| placed.object == object)
    {
        if found.len() < room {
            found.push(*placed, GFP_KERNEL_ACCOUNT)?;
        }
        count = count.saturating_add(1);
    }
    Ok((found, count))
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

/// Takes back what lies in a range. Of a mapping that reaches out of it the rest stays, mapped all the time.
///
/// # Errors
///
/// ENOMEM, ENODEV, and ETIME when the GPU doesn't acknowledge it: some of it may be taken back then.
fn clear_range(space: &mut Space, range: PageRange) -> Result {
    let before = last_below(&space.placed, range.start()).map(|placed| placed.at);
    if let Some(at) = before.filter(|at| at.end() > range.start()) {
        cut(space, at, range)?;
    }
    while let Some(placed) = next(&space.placed, range.start()) {
        let at = placed.at;
        if at.start() >= range.end() {
            break;
        }
        match at.end() <= range.end() {
            true => take(space, at)?,
            false => cut(space, at, range)?,
        }
    }
    Ok(())
}

/// Takes back the part of a mapping that lies in a range.
fn cut(space: &mut Space, at: PageRange, range: PageRange) -> Result {
    let part = range_of(at.start().max(range.start()), at.end().min(range.end()))?.ok_or(EINVAL)?;
    let before = range_of(at.start(), part.start())?;
    let after = range_of(part.end(), at.end())?;
    let node = RBTreeNodeReservation::new(GFP_KERNEL_ACCOUNT)?;
    let whole = *space.placed.get(&at.start()).ok_or(EINVAL)?;
    let vm = space.vm.clone().ok_or(EINVAL)?;
    let unmapped = vm.unmap_part(at, part)?;
    // The note of what is left in front is where that of the whole was.
    match (before, space.placed.get_mut(&at.start())) {
        (Some(before), Some(placed)) => placed.at = before,
        _ => drop(space.placed.remove(&at.start())),
    }
    if let Some(at) = after {
        let skipped = at.start().get().saturating_sub(whole.at.start().get());
        let offset = whole.offset.saturating_add(skipped);
        let placed = Placed {
            at,
            offset,
            ..whole
        };
        space.placed.insert(node.into_node(at.start(), placed));
    }
    unmapped.flush()
}

/// The range from one address to another, if there is anything between them.
fn range_of(from: GpuVa, to: GpuVa) -> Result<Option<PageRange>> {
    match to.get().checked_sub(from.get()).ok_or(EINVAL)? {
        0 => Ok(None),
        bytes => PageRange::new(from, bytes).map(Some),
    }
}

/// The last mapping that begins below an address.
fn last_below(placed: &RBTree<GpuVa, Placed>, end: GpuVa) -> Option<&Placed> {
    let at = match placed.cursor_lower_bound(&end) {
        Some(cursor) => *cursor.peek_prev()?.0,
        None => *placed.cursor_back()?.current().0,
    };
    placed.get(&at)
}
