// SPDX-License-Identifier: MIT OR Apache-2.0

//! A chip that is being reset as a whole (mode 1): it answers nothing for a while, and nobody shall look at it.
//!
//! Linux leaves an MI308X alone for 500 ms (`smu_v13_0_6_mode1_reset`, `SMU13_MODE1_RESET_WAIT_TIME_IN_MS`) and a Navi 48
//! for a second (`smu_v14_0_2_mode1_reset`), keeps all others from it by `reset_domain->sem`, and then looks for registers that
//! don't read ffffffff (`amdgpu_device_mode1_reset`).

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// How long the chip is gone, at least. It is less than Linux waits, since a host may see the begin late.
const LEAST: Duration = Duration::from_millis(300);

/// Whether the chip is gone.
#[derive(Default)]
pub struct Away {
    away: AtomicBool,
    /// When it went.
    since: Mutex<Option<Instant>>,
}

impl Away {
    /// The chip goes. Returns whether it was there.
    pub fn begin(&self) -> bool {
        let mut since = self.since.lock().unwrap_or_else(PoisonError::into_inner);
        if self.is_away() {
            return false;
        }
        *since = Some(Instant::now());
        self.away.store(true, Ordering::Release);
        true
    }

    /// Waits until the chip has been gone for long enough. The caller then has it [come back](Self::end).
    pub fn wait(&self) {
        let since = *self.since.lock().unwrap_or_else(PoisonError::into_inner);
        let gone = since.map_or(LEAST, |since| since.elapsed());
        thread::sleep(LEAST.saturating_sub(gone));
    }

    /// The chip is there again.
    pub fn end(&self) {
        self.away.store(false, Ordering::Release);
    }

    /// Whether the chip answers nothing.
    pub fn is_away(&self) -> bool {
        self.away.load(Ordering::Acquire)
    }

    /// Whether it was reset so short a time ago that no driver may look whether it is there again.
    pub fn is_early(&self) -> bool {
        let since = *self.since.lock().unwrap_or_else(PoisonError::into_inner);
        self.is_away() && since.is_some_and(|since| since.elapsed() < LEAST)
    }
}
