// SPDX-License-Identifier: GPL-2.0

//! To be told when an address space goes.
//!
//! [`Watch::new`] ties an object to an address space. When the last thread of it exits, or it is
//! replaced by exec, [`MmWatcher::released`] is called once, before the memory is freed. The watch
//! holds a reference to the object until some time after [`Watch::cancel`] or the release.

use core::ptr::NonNull;
use kernel::{
    bindings,
    error::to_result,
    mm::MmWithUser,
    prelude::*,
    sync::{
        atomic::{AtomicFlag, Full},
        Arc, //
    },
};

/// What watches an address space.
pub(crate) trait MmWatcher: Send + Sync + 'static {
    /// The address space goes. May sleep; user memory can't be reached any more.
    fn released(self: Arc<Self>);
}

/// Whether a notifier was given back: whoever sets it does so.
struct Put(AtomicFlag);

impl Put {
    /// Whether it falls to the caller.
    fn mine(&self) -> bool {
        !self.0.xchg(true, Full)
    }
}

#[repr(C)]
struct Node<T: MmWatcher> {
    // First, so that a pointer to it is one to the node.
    notifier: bindings::mmu_notifier,
    put: Arc<Put>,
    watcher: Arc<T>,
}

impl<T: MmWatcher> Node<T> {
    #[allow(clippy::needless_update)]
    const OPS: bindings::mmu_notifier_ops = bindings::mmu_notifier_ops {
        release: Some(release::<T>),
        free_notifier: Some(free::<T>),
        ..pin_init::zeroed()
    };
}

extern "C" fn release<T: MmWatcher>(
    notifier: *mut bindings::mmu_notifier,
    _mm: *mut bindings::mm_struct,
) {
    // SAFETY: The notifier is the first field of a node, which `free` alone frees, after the SRCU
    // section that this call is in.
    let node = unsafe { &*notifier.cast::<Node<T>>() };
    node.watcher.clone().released();
    if node.put.mine() {
        // SAFETY: Registered, and given back only once.
        unsafe { bindings::mmu_notifier_put(notifier) };
    }
}

extern "C" fn free<T: MmWatcher>(notifier: *mut bindings::mmu_notifier) {
    // SAFETY: Made by `KBox::into_raw` in `new`; this is called once, after the last use.
    drop(unsafe { KBox::from_raw(notifier.cast::<Node<T>>()) });
}

/// A watch over an address space. Dropping it doesn't end the watch.
pub(crate) struct Watch {
    notifier: NonNull<bindings::mmu_notifier>,
    put: Arc<Put>,
}

// SAFETY: The pointer is only used by whoever wins `put`.
unsafe impl Send for Watch {}
// SAFETY: As above.
unsafe impl Sync for Watch {}

impl Watch {
    /// Starts to watch. Takes the mmap lock for writing.
    pub(crate) fn new<T: MmWatcher>(mm: &MmWithUser, watcher: Arc<T>) -> Result<Self> {
        let put = Arc::new(Put(AtomicFlag::new(false)), GFP_KERNEL)?;
        let node = KBox::new(
            Node {
                notifier: pin_init::zeroed(),
                put: put.clone(),
                watcher,
            },
            GFP_KERNEL,
        )?;
        let node = NonNull::from(KBox::leak(node));
        let notifier = node.cast::<bindings::mmu_notifier>();
        // SAFETY: Nobody else has the node yet. The table is a promoted constant.
        unsafe { (*notifier.as_ptr()).ops = &Node::<T>::OPS };
        // SAFETY: `mm` has users; the node stays until `free`.
        let ret = unsafe { bindings::mmu_notifier_register(notifier.as_ptr(), mm.as_raw()) };
        if let Err(e) = to_result(ret) {
            // SAFETY: Not registered, so still ours alone.
            drop(unsafe { KBox::from_raw(node.as_ptr()) });
            return Err(e);
        }
        Ok(Self { notifier, put })
    }

    /// Stops watching; nothing happens if the address space is already gone.
    pub(crate) fn cancel(&self) {
        if self.put.mine() {
            // SAFETY: Nobody has given the notifier back, so it is still registered and there.
            unsafe { bindings::mmu_notifier_put(self.notifier.as_ptr()) };
        }
    }
}

/// Waits until every cancelled or released watch was freed: the module's last act.
pub(crate) fn synchronize() {
    // SAFETY: Waits for callbacks; no lock is held.
    unsafe { bindings::mmu_notifier_synchronize() };
}
