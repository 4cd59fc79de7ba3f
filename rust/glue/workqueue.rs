// SPDX-License-Identifier: GPL-2.0

//! A work queue of our own.
//!
//! The kernel crate of 7.3 has only the system's work queues, and no flush. A queued work item doesn't
//! pin the module: the queue is destroyed, which waits for its items, before the module's code goes.

use kernel::{
    bindings,
    prelude::*,
    workqueue::Queue, //
};

/// The queue; dropped, it runs what is queued and is gone.
pub(crate) struct WorkQueue(core::ptr::NonNull<bindings::workqueue_struct>);

// SAFETY: Work queues may be used from any thread.
unsafe impl Send for WorkQueue {}
// SAFETY: As above.
unsafe impl Sync for WorkQueue {}

impl WorkQueue {
    /// Makes a queue that runs one item at a time, in order.
    pub(crate) fn new_ordered(name: &'static CStr) -> Result<Self> {
        let flags = bindings::wq_flags___WQ_ORDERED | bindings::wq_flags_WQ_MEM_RECLAIM;
        Self::new(name, flags, 1)
    }

    /// Makes a queue that runs items side by side.
    pub(crate) fn new_concurrent(name: &'static CStr) -> Result<Self> {
        Self::new(name, bindings::wq_flags_WQ_MEM_RECLAIM, 0)
    }

    fn new(name: &'static CStr, flags: u32, max_active: c_int) -> Result<Self> {
        let flags = flags | bindings::wq_flags_WQ_UNBOUND;
        // SAFETY: The name has no format specifiers and lives forever.
        let wq = unsafe { bindings::alloc_workqueue_noprof(name.as_char_ptr(), flags, max_active) };
        Ok(Self(core::ptr::NonNull::new(wq).ok_or(ENOMEM)?))
    }

    /// For enqueuing.
    pub(crate) fn queue(&self) -> &Queue {
        // SAFETY: The queue is valid for as long as `self`.
        unsafe { Queue::from_raw(self.0.as_ptr()) }
    }

    /// Waits until everything queued so far has run.
    pub(crate) fn flush(&self) {
        // SAFETY: The queue is valid, and no item of this queue calls this.
        unsafe { bindings::__flush_workqueue(self.0.as_ptr()) };
    }
}

impl Drop for WorkQueue {
    fn drop(&mut self) {
        // SAFETY: The queue is valid and nobody can use it any more.
        unsafe { bindings::destroy_workqueue(self.0.as_ptr()) };
    }
}
