// SPDX-License-Identifier: MIT OR Apache-2.0

//! The engines: blocks that take work from queues in memory, each with firmware on a thread of its own.

mod clocks;
pub mod cp;
pub mod cpsch;
pub mod mes;
mod runner;
pub mod sdma;
mod settling;

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Wakes the firmware's thread.
#[derive(Default)]
pub struct Wake {
    rung: Mutex<bool>,
    bell: Condvar,
}

impl Wake {
    /// There is something to do.
    pub fn ring(&self) {
        *self.rung.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.bell.notify_one();
    }

    /// Waits until there is something to do, at most for `limit`.
    pub(crate) fn wait(&self, limit: Duration) {
        let until = Instant::now() + limit;
        let mut rung = self.rung.lock().unwrap_or_else(PoisonError::into_inner);
        while !*rung {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            rung = self
                .bell
                .wait_timeout(rung, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
        *rung = false;
    }
}

/// Rounds of a thread that looks for work and finds none: it looks again at once, then sleeps between looks,
/// longer and longer.
#[derive(Default)]
pub(crate) struct Idle(u32);

impl Idle {
    /// Rounds before the first sleep. Nothing yields the processor between them: Linux's scheduler puts off
    /// the deadline of who yields (`yield_task_fair`), so that such a thread got no processor for seconds on a
    /// host with other work, and the driver took the firmware for dead. A thread that sleeps gets one at once.
    const SPIN: u32 = 50;
    /// The first sleep.
    const FIRST: Duration = Duration::from_micros(20);
    /// How much longer each is than the one before.
    const STEP: Duration = Duration::from_micros(2);
    /// The longest sleep.
    const LONGEST: Duration = Duration::from_millis(1);

    /// There was work.
    pub fn end(&mut self) {
        self.0 = 0;
    }

    /// A round has found none. Whether a quiet time begins.
    pub fn round(&mut self) -> bool {
        self.0 = self.0.saturating_add(1);
        self.0 == Self::SPIN
    }

    /// Waits for the next round.
    pub fn wait(&self, wake: &Wake) {
        match self.0.checked_sub(Self::SPIN) {
            None => std::hint::spin_loop(),
            Some(rounds) => {
                let sleep = Self::FIRST + Self::STEP.saturating_mul(rounds);
                wake.wait(sleep.min(Self::LONGEST));
            }
        }
    }
}
