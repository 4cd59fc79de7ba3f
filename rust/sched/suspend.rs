// SPDX-License-Identifier: GPL-2.0

//! Queues that a debugger takes off the hardware, and what becomes of each.
//!
//! Source: Linux, `suspend_queues` and `resume_queues` of `amdkfd/kfd_device_queue_manager.c`.

use super::queue::HwQueue;
use kernel::sync::Arc;

/// What became of a queue that was to be suspended or resumed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Outcome {
    /// Nothing was done: an earlier one failed, or the scheduler doesn't work.
    Untried,
    /// It is as it should be.
    Done,
    /// The firmware refused this one.
    Failed,
    /// It was on a list that the firmware failed to take.
    ListFailed,
}

/// A queue to be suspended or resumed.
pub(crate) struct Suspension {
    pub(crate) queue: Arc<HwQueue>,
    pub(crate) outcome: Outcome,
}

/// What is to be done with queues.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Order {
    /// Off they go. Waves may go on for so many thousands of cycles before they are saved.
    Suspend { grace: u32 },
    /// They run again, if they would run without a debugger.
    Resume,
}

impl Order {
    /// Whether queues are off after it.
    pub(super) fn suspends(self) -> bool {
        matches!(self, Self::Suspend { .. })
    }
}
