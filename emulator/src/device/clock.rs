// SPDX-License-Identifier: MIT OR Apache-2.0

//! The device's clock: a counter of constant frequency, for timestamps.

use std::time::Instant;

/// The clock. It starts with the device and is not reset.
pub struct Clock {
    start: Instant,
    hz: u64,
}

impl Clock {
    /// A clock of `hz` ticks a second.
    pub fn new(hz: u64) -> Self {
        Self {
            start: Instant::now(),
            hz,
        }
    }

    /// Ticks since the start.
    pub fn now(&self) -> u64 {
        let ticks = self.start.elapsed().as_nanos() * u128::from(self.hz) / 1_000_000_000;
        // 2^64 ticks at 100 MHz are 5,800 years.
        ticks as u64
    }

    /// Ticks a second.
    pub fn hz(&self) -> u64 {
        self.hz
    }
}
