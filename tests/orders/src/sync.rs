// SPDX-License-Identifier: MIT OR Apache-2.0

//! What the library's `sync` is here: loom's.

use std::sync::atomic::Ordering;

use loom::cell::UnsafeCell;
pub(crate) use loom::sync::atomic::AtomicU64;
pub(crate) use loom::sync::{Condvar, Mutex, MutexGuard};
pub(crate) use loom::thread;

/// A look is a step of its own, so there is one.
pub(crate) const SPINS: u32 = 1;

/// A word of a ring, or of what packets name. A packet processor reads the words of a packet with plain loads, so two
/// accesses that nothing orders are an error if one of them stores, even though each is atomic.
/// Only a load with acquire order, by which the header is polled, may meet any store.
#[derive(Debug)]
pub(crate) struct AtomicU32 {
    value: loom::sync::atomic::AtomicU32,
    plain: UnsafeCell<()>,
}

// SAFETY: the cell holds nothing; what loom records of its accesses is for all threads.
unsafe impl Sync for AtomicU32 {}

impl AtomicU32 {
    pub(crate) fn new(value: u32) -> Self {
        Self {
            value: loom::sync::atomic::AtomicU32::new(value),
            plain: UnsafeCell::new(()),
        }
    }

    pub(crate) fn load(&self, order: Ordering) -> u32 {
        if order == Ordering::Relaxed {
            self.plain.with(|_| ());
        }
        self.value.load(order)
    }

    pub(crate) fn store(&self, value: u32, order: Ordering) {
        self.plain.with_mut(|_| ());
        self.value.store(value, order);
    }
}
