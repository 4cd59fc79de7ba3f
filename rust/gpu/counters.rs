// SPDX-License-Identifier: GPL-2.0

//! Whether a process has a GPU's performance counters to itself.

use kernel::{
    prelude::*,
    sync::atomic::{
        Atomic,
        Relaxed, //
    }, //
};

/// The performance counters of a GPU.
pub(crate) struct Counters(Atomic<u32>);

impl Counters {
    /// Nobody has them.
    pub(super) fn new() -> Self {
        Self(Atomic::new(0))
    }

    /// Whether a process has them: then what new queues do is counted.
    pub(crate) fn are_taken(&self) -> bool {
        self.0.load(Relaxed) != 0
    }

    /// Takes them.
    ///
    /// # Errors
    ///
    /// EBUSY when a process has them.
    pub(crate) fn take(&self) -> Result {
        self.0.cmpxchg(0, 1, Relaxed).map(drop).map_err(|_| EBUSY)
    }

    /// Gives them up. The caller has taken them.
    pub(crate) fn give_up(&self) {
        self.0.store(0, Relaxed);
    }
}
