// SPDX-License-Identifier: MIT OR Apache-2.0

//! The engines: blocks that take work from queues in memory, each with firmware on a thread of its own.

pub mod cp;
pub mod cpsch;
pub mod mes;
mod runner;
pub mod sdma;

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
