// SPDX-License-Identifier: GPL-2.0

//! The queues of a process on a scheduler, and apart those that a run list may name.
//!
//! Most queues of a busy GPU may be off. Run lists are made anew for each change, so who makes them looks at the
//! candidates only.

use super::queue::HwQueue;
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// Queues in the order in which they were made. Guarded by the scheduler's lock.
#[derive(Default)]
pub(super) struct Queues {
    all: KVec<Arc<HwQueue>>,
    /// Those that want to run, new ones, and such as wanted to when the last list was made: the hardware may have
    /// them. There is room for all.
    candidates: KVec<Arc<HwQueue>>,
}

impl Queues {
    /// Every queue.
    pub(super) fn iter(&self) -> core::slice::Iter<'_, Arc<HwQueue>> {
        self.all.iter()
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    /// A new queue.
    ///
    /// # Errors
    ///
    /// ENOMEM.
    pub(super) fn push(&mut self, queue: &Arc<HwQueue>) -> Result {
        let room = self.all.len().saturating_add(1);
        let room = room.saturating_sub(self.candidates.len());
        self.candidates.reserve(room, GFP_KERNEL_ACCOUNT)?;
        self.all.push(queue.clone(), GFP_KERNEL_ACCOUNT)?;
        self.candidates.push(queue.clone(), GFP_KERNEL_ACCOUNT)?;
        Ok(())
    }

    /// One of them may want to run from now on.
    pub(super) fn consider(&mut self, queue: &Arc<HwQueue>) {
        let is_new = |other: &Arc<HwQueue>| !Arc::ptr_eq(other, queue);
        if queue.wants_to_run() && self.candidates.iter().all(is_new) {
            // There is room.
            let _ = self.candidates.push_within_capacity(queue.clone());
        }
    }

    /// Forgets a queue.
    pub(super) fn remove(&mut self, queue: &Arc<HwQueue>) {
        for queues in [&mut self.all, &mut self.candidates] {
            queues.retain(|other| !Arc::ptr_eq(other, queue));
        }
    }

    /// Those that the hardware may have by a run list.
    pub(super) fn candidates(&self) -> core::slice::Iter<'_, Arc<HwQueue>> {
        self.candidates.iter()
    }

    /// A list was made with those that want to run, or, where the process is evicted, with none: all enter the
    /// states that they have by it.
    ///
    /// # Errors
    ///
    /// As of [`HwQueue::settle`].
    pub(super) fn settle(&mut self, evicted: bool) -> Result {
        let mut candidates = self.candidates.iter();
        candidates.try_for_each(|queue| queue.settle(evicted))?;
        self.candidates.retain(|queue| queue.wants_to_run());
        Ok(())
    }
}
