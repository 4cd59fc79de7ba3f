// SPDX-License-Identifier: GPL-2.0

//! Whether the machine may go to sleep.
//!
//! The kernel crate of 7.3 has no power management of PCI drivers, and `bindings` lacks
//! <linux/suspend.h>. A notifier is called before tasks are frozen, and may say no
//! (`pm_notifier_call_chain_robust`).

use core::ptr::NonNull;
use kernel::{
    bindings,
    error::to_result,
    prelude::*, //
};

extern "C" {
    fn register_pm_notifier(notifier: *mut bindings::notifier_block) -> c_int;
    fn unregister_pm_notifier(notifier: *mut bindings::notifier_block) -> c_int;
}

/// What is asked before the machine sleeps.
pub(crate) trait Sleeper: Send + Sync + 'static {
    /// Whether it may.
    ///
    /// # Errors
    ///
    /// What whoever wants it to sleep gets.
    fn may_sleep(&self) -> Result;
}

#[repr(C)]
struct Node<T: Sleeper> {
    // First, so that a pointer to it is one to the node.
    notifier: bindings::notifier_block,
    sleeper: T,
}

/// `PM_HIBERNATION_PREPARE` and `PM_SUSPEND_PREPARE`. A machine that was asleep may always be restored.
const PREPARE: [c_ulong; 2] = [1, 3];
/// `NOTIFY_OK` and `NOTIFY_STOP_MASK`.
const OK: c_int = 1;
const STOP: c_int = 0x8000;

extern "C" fn notified<T: Sleeper>(
    notifier: *mut bindings::notifier_block,
    event: c_ulong,
    _: *mut c_void,
) -> c_int {
    if !PREPARE.contains(&event) {
        return OK;
    }
    // SAFETY: The notifier is the first field of a node, which is freed only after its removal,
    // which waits for calls like this one. The sleeper is never changed.
    let sleeper = unsafe { &(*notifier.cast::<Node<T>>()).sleeper };
    match sleeper.may_sleep() {
        Ok(()) => OK,
        // `notifier_from_errno`.
        Err(error) => STOP | OK.wrapping_sub(error.to_errno()),
    }
}

/// While it lives, `T` is asked before the machine sleeps.
pub(crate) struct SleepWatch<T: Sleeper> {
    node: NonNull<Node<T>>,
}

// SAFETY: The node is used through the kernel's functions, which have their own locks, and its
// sleeper may be used from any thread.
unsafe impl<T: Sleeper> Send for SleepWatch<T> {}
// SAFETY: As above.
unsafe impl<T: Sleeper> Sync for SleepWatch<T> {}

impl<T: Sleeper> SleepWatch<T> {
    /// Has `sleeper` asked.
    ///
    /// # Errors
    ///
    /// ENOMEM.
    pub(crate) fn new(sleeper: T) -> Result<Self> {
        let notifier = bindings::notifier_block {
            notifier_call: Some(notified::<T>),
            ..pin_init::zeroed()
        };
        let node = KBox::new(Node { notifier, sleeper }, GFP_KERNEL)?;
        let node = NonNull::from(KBox::leak(node));
        // SAFETY: The node stays where it is until it was removed.
        let ret = unsafe { register_pm_notifier(node.cast().as_ptr()) };
        if let Err(error) = to_result(ret) {
            // SAFETY: Not registered, so still ours alone.
            drop(unsafe { KBox::from_raw(node.as_ptr()) });
            return Err(error);
        }
        Ok(Self { node })
    }
}

impl<T: Sleeper> Drop for SleepWatch<T> {
    fn drop(&mut self) {
        // SAFETY: Registered by `new`. Waits for calls under way.
        unsafe { unregister_pm_notifier(self.node.cast().as_ptr()) };
        // SAFETY: From `KBox::leak`; nothing refers to it any more.
        drop(unsafe { KBox::from_raw(self.node.as_ptr()) });
    }
}
