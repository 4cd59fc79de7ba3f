// SPDX-License-Identifier: GPL-2.0

//! Looking at a word again and again until firmware has stored it, or never will.

use crate::{
    counts::Deed,
    device::Handle,
    glue::linux::ETIME, //
};
use kernel::{
    prelude::*,
    time::{
        delay::{
            fsleep,
            udelay, //
        },
        Delta,
        Instant,
        Monotonic, //
    }, //
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

/// One wait for a device.
pub(crate) struct Poll<'a> {
    dev: &'a Handle,
    /// What is waited for belongs to this generation.
    generation: u32,
    timeout: Delta,
    start: Instant<Monotonic>,
    sleep: i64,
}

impl<'a> Poll<'a> {
    /// Begins now, and lasts no longer than `timeout`.
    pub(crate) fn new(dev: &'a Handle, timeout: Delta) -> Self {
        Self {
            dev,
            generation: dev.generation(),
            timeout,
            start: Instant::now(),
            sleep: SLEEP.0,
        }
    }

    /// Lets time pass until the next look. May sleep. Between two sleeps it looks whether the device
    /// is there: one that was pulled out is noticed within milliseconds, however long the timeout is.
    ///
    /// # Errors
    ///
    /// ENODEV when the device is gone; ETIME after the timeout, or when the device was reset.
    pub(crate) fn pause(&mut self) -> Result {
        self.dev.check_lost()?;
        let elapsed = self.start.elapsed();
        if elapsed < AWAKE {
            udelay(SHORT);
            return Ok(());
        }
        self.dev.check_there()?;
        if elapsed > self.timeout || self.dev.generation() != self.generation {
            return Err(ETIME);
        }
        self.dev.work().add(Deed::Sleeps, 1);
        fsleep(Delta::from_micros(self.sleep));
        self.sleep = self.sleep.saturating_mul(2).min(SLEEP.1);
        Ok(())
    }
}
