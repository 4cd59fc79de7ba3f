// SPDX-License-Identifier: GPL-2.0

//! Reports when a range of an address space changes under someone who uses its pages.
//!
//! The kernel crate of 7.3 has no interval notifiers.
//!
//! An interval notifier: [`IntervalTarget::invalidated`] is called before pages of the range are
//! unmapped, moved or write-protected. Whoever takes the pages (anew) asks for a sequence number
//! first ([`IntervalWatch::begin`], which waits for changes under way), and afterwards whether
//! anything changed meanwhile ([`IntervalWatch::changed`]), under the lock that the callback takes.

use core::ptr::NonNull;
use kernel::{
    bindings,
    error::to_result,
    mm::MmWithUser,
    prelude::*,
    sync::Arc,
    task::Task, //
};

/// How long the caller of a callback may be kept waiting.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Patience {
    /// As long as it takes: the program takes the mapping away by a call of its own, with nothing
    /// but the mmap lock held.
    Forever,
    /// A while: it is the program itself, but it may hold locks that one doesn't know of.
    Short,
    /// Not at all: it may be on the way to free memory for an allocation of the driver's own, under
    /// any of the driver's locks.
    None,
}

/// What watches a range.
pub(crate) trait IntervalTarget: Send + Sync + 'static {
    /// The pages of the range change. `record` must be called once, under the lock under which
    /// [`IntervalWatch::changed`] is asked.
    fn invalidated(&self, record: impl FnOnce(), patience: Patience);
}

#[repr(C)]
struct Node<T: IntervalTarget> {
    // First, so that a pointer to it is one to the node.
    notifier: bindings::mmu_interval_notifier,
    target: Arc<T>,
}

impl<T: IntervalTarget> Node<T> {
    const OPS: bindings::mmu_interval_notifier_ops = bindings::mmu_interval_notifier_ops {
        invalidate: Some(invalidate::<T>),
        ..pin_init::zeroed()
    };
}

extern "C" fn invalidate<T: IntervalTarget>(
    notifier: *mut bindings::mmu_interval_notifier,
    range: *const bindings::mmu_notifier_range,
    seq: c_ulong,
) -> bool {
    // SAFETY: The caller's range is valid for the call.
    let (flags, event, mm) = unsafe { ((*range).flags, (*range).event, (*range).mm) };
    if flags & bindings::MMU_NOTIFIER_RANGE_BLOCKABLE == 0 {
        return false;
    }
    // SAFETY: A task may read its own fields.
    let (own, task_flags) = unsafe { ((*Task::current_raw()).mm, (*Task::current_raw()).flags) };
    let patience = if event == bindings::mmu_notifier_event_MMU_NOTIFY_UNMAP {
        Patience::Forever
    } else if own == mm && task_flags & bindings::PF_MEMALLOC == 0 {
        Patience::Short
    } else {
        Patience::None
    };
    // SAFETY: The notifier is the first field of a node, which is freed only after its removal,
    // which waits for calls like this one. The target is never changed.
    let target = unsafe { &(*notifier.cast::<Node<T>>()).target };
    target.invalidated(
        // SAFETY: The field may be read at the same time, as a whole: `mmu_interval_set_seq`.
        || unsafe { (&raw mut (*notifier).invalidate_seq).write_volatile(seq) },
        patience,
    );
    true
}

/// A watch over a range; dropping it ends it, and waits for changes under way. It must not be
/// dropped under a lock that [`IntervalTarget::invalidated`] takes or waits for.
pub(crate) struct IntervalWatch<T: IntervalTarget> {
    node: NonNull<Node<T>>,
}

// SAFETY: The node is used through the kernel's functions, which have their own locks, and its
// target may be used from any thread.
unsafe impl<T: IntervalTarget> Send for IntervalWatch<T> {}
// SAFETY: As above.
unsafe impl<T: IntervalTarget> Sync for IntervalWatch<T> {}

/// A state of the range.
#[derive(Clone, Copy)]
pub(crate) struct Sequence(c_ulong);

impl<T: IntervalTarget> IntervalWatch<T> {
    /// Watches `len` bytes from `start` on. Nothing is known of their state yet.
    pub(crate) fn new(mm: &MmWithUser, start: usize, len: usize, target: Arc<T>) -> Result<Self> {
        let node = KBox::new(
            Node {
                notifier: pin_init::zeroed(),
                target,
            },
            GFP_KERNEL_ACCOUNT,
        )?;
        let node = NonNull::from(KBox::leak(node));
        // SAFETY: The node stays where it is until it was removed; `mm` has users. The table is a
        // promoted constant.
        let ret = unsafe {
            bindings::mmu_interval_notifier_insert(
                node.cast().as_ptr(),
                mm.as_raw(),
                start,
                len,
                &Node::<T>::OPS,
            )
        };
        if let Err(e) = to_result(ret) {
            // SAFETY: Not inserted, so still ours alone.
            drop(unsafe { KBox::from_raw(node.as_ptr()) });
            return Err(e);
        }
        Ok(Self { node })
    }

    /// What watches.
    pub(crate) fn target(&self) -> &Arc<T> {
        // SAFETY: The node lives as long as the watch, and its target is never changed.
        unsafe { &(*self.node.as_ptr()).target }
    }

    /// Waits until no change is under way.
    pub(crate) fn begin(&self) -> Sequence {
        // SAFETY: The notifier is inserted.
        Sequence(unsafe { bindings::mmu_interval_read_begin(self.node.cast().as_ptr()) })
    }

    /// Whether something changed since, or may change now. To be asked under the callback's lock.
    pub(crate) fn changed(&self, since: Sequence) -> bool {
        let notifier: *mut bindings::mmu_interval_notifier = self.node.cast().as_ptr();
        // SAFETY: The notifier is valid; as `mmu_interval_read_retry`.
        unsafe { (&raw const (*notifier).invalidate_seq).read_volatile() != since.0 }
    }
}

impl<T: IntervalTarget> Drop for IntervalWatch<T> {
    fn drop(&mut self) {
        // SAFETY: Inserted, and removed only here; no callback runs afterwards.
        unsafe { bindings::mmu_interval_notifier_remove(self.node.cast().as_ptr()) };
        // SAFETY: Made by `KBox::leak`, and nobody else has it any more.
        drop(unsafe { KBox::from_raw(self.node.as_ptr()) });
    }
}
