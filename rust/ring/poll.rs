// SPDX-License-Identifier: GPL-2.0

//! Looking at a word again and again until firmware has stored it.

use kernel::time::{
    delay::{
        fsleep,
        udelay, //
    },
    Delta,
    Instant,
    Monotonic, //
};

/// Firmware answers within microseconds; going to sleep and being woken takes longer than that, in
/// a virtual machine milliseconds. Upstream never sleeps here (`amdgpu_fence_wait_polling`,
/// `amdkfd_fence_wait_timeout`); this looks on for a while, and sleeps when a long answer, such as
/// a preemption that waits for waves, would keep a processor busy.
const AWAKE: Delta = Delta::from_millis(1);
/// Between two looks, as upstream.
const SHORT: Delta = Delta::from_micros(2);
/// The first and the longest sleep, in microseconds.
const SLEEP: (i64, i64) = (20, 1000);

/// One wait.
pub(crate) struct Poll {
    start: Instant<Monotonic>,
    sleep: i64,
}

impl Poll {
    /// Begins now.
    pub(crate) fn new() -> Self {
        Self {
            start: Instant::now(),
            sleep: SLEEP.0,
        }
    }

    /// How long it has lasted.
    pub(crate) fn elapsed(&self) -> Delta {
        self.start.elapsed()
    }

    /// Lets time pass until the next look. May sleep.
    pub(crate) fn pause(&mut self) {
        if self.elapsed() < AWAKE {
            udelay(SHORT);
        } else {
            fsleep(Delta::from_micros(self.sleep));
            self.sleep = (self.sleep * 2).min(SLEEP.1);
        }
    }
}
