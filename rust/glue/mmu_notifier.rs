// SPDX-License-Identifier: GPL-2.0

//! Reports when an address space goes.
//!
//! The kernel crate of 7.3 has no MMU notifiers.
//!
//! [`Watch::new`] ties an object to an address space. When the last thread of it exits, or it is
//! replaced by exec, [`MmWatcher::released`] is called once, before the memory is freed. The watch
//! holds a reference to the object until [`Watch::cancel`] or the release, whichever comes first.

use core::ptr::NonNull;
use kernel::{
    bindings,
    error::to_result,
    mm::MmWithUser,
    new_mutex,
    prelude::*,
    sync::{
        Arc,
        Mutex, //
    }, //
};

extern "C" {
    // Of `mmu_notifier.c`: takes a `struct mmu_notifier` and a `struct mm_struct`.
    fn rkfd_mmu_notifier_register(notifier: *mut c_void, mm: *mut c_void) -> c_int;
}

/// What watches an address space.
pub(crate) trait MmWatcher: Send + Sync + 'static {
    /// The address space goes. May sleep; user memory can't be reached any more.
    fn released(self: Arc<Self>);
}

/// What notifier and watch share: whoever comes first takes the watcher and gives the notifier back.
#[pin_data]
struct Tie<T: MmWatcher> {
    #[pin]
    watcher: Mutex<Option<Arc<T>>>,
}

impl<T: MmWatcher> Tie<T> {
    fn take(&self) -> Option<Arc<T>> {
        self.watcher.lock().take()
    }
}

#[repr(C)]
struct Node<T: MmWatcher> {
    // First, so that a pointer to it is one to the node.
    notifier: bindings::mmu_notifier,
    tie: Arc<Tie<T>>,
}

impl<T: MmWatcher> Node<T> {
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
    if let Some(watcher) = node.tie.take() {
        watcher.released();
        // SAFETY: Registered, and given back only by who took the watcher.
        unsafe { bindings::mmu_notifier_put(notifier) };
    }
}

extern "C" fn free<T: MmWatcher>(notifier: *mut bindings::mmu_notifier) {
    // SAFETY: Made by `KBox::leak` in `new`; this is called once, after the last use. It may not
    // sleep, and so the watcher is no longer in the node.
    drop(unsafe { KBox::from_raw(notifier.cast::<Node<T>>()) });
}

/// A watch over an address space. Dropping it doesn't end the watch.
pub(crate) struct Watch<T: MmWatcher> {
    notifier: NonNull<bindings::mmu_notifier>,
    tie: Arc<Tie<T>>,
}

// SAFETY: The pointer is only used by whoever takes the watcher.
unsafe impl<T: MmWatcher> Send for Watch<T> {}
// SAFETY: As above.
unsafe impl<T: MmWatcher> Sync for Watch<T> {}

impl<T: MmWatcher> Watch<T> {
    /// Starts to watch. Takes the mmap lock for writing, which a program can have its own threads keep for as long as it
    /// likes: the caller holds nothing that others wait for.
    ///
    /// # Errors
    ///
    /// EINTR when a fatal signal comes before the lock; ENOMEM.
    pub(crate) fn new(mm: &MmWithUser, watcher: Arc<T>) -> Result<Self> {
        let tie = Arc::pin_init(
            pin_init!(Tie { watcher <- new_mutex!(Some(watcher), "rkfd watcher") }),
            GFP_KERNEL_ACCOUNT,
        )?;
        let node = KBox::new(
            Node {
                notifier: pin_init::zeroed(),
                tie: tie.clone(),
            },
            GFP_KERNEL_ACCOUNT,
        )?;
        let node = NonNull::from(KBox::leak(node));
        let notifier = node.cast::<bindings::mmu_notifier>();
        // SAFETY: Nobody else has the node yet. The table is a promoted constant.
        unsafe { (*notifier.as_ptr()).ops = &Node::<T>::OPS };
        // SAFETY: `mm` has users; the node stays until `free`.
        let ret =
            unsafe { rkfd_mmu_notifier_register(notifier.as_ptr().cast(), mm.as_raw().cast()) };
        if let Err(e) = to_result(ret) {
            // SAFETY: Not registered, so still ours alone.
            drop(unsafe { KBox::from_raw(node.as_ptr()) });
            return Err(e);
        }
        Ok(Self { notifier, tie })
    }

    /// Stops watching; nothing happens if the address space is already gone.
    pub(crate) fn cancel(&self) {
        if let Some(watcher) = self.tie.take() {
            // SAFETY: Nobody has given the notifier back, so it is still registered and there.
            unsafe { bindings::mmu_notifier_put(self.notifier.as_ptr()) };
            drop(watcher);
        }
    }
}

/// Waits until every cancelled or released watch was freed: the module's last act.
pub(crate) fn synchronize() {
    // SAFETY: Waits for callbacks; no lock is held.
    unsafe { bindings::mmu_notifier_synchronize() };
}
