// SPDX-License-Identifier: MIT OR Apache-2.0

//! A reset of the whole chip (mode 1) that a management unit was asked for. It begins when the driver is done with the
//! mailbox, or some time after it asked: drivers are done at once, but a slow host may take its time for that.

use crate::device::Env;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

/// A reset that was asked for.
pub struct Asked {
    env: Arc<dyn Env>,
    begun: Arc<AtomicBool>,
}

impl Asked {
    /// It begins so much later at the latest.
    pub fn new(env: &Arc<dyn Env>, latest: Duration) -> Self {
        let begun = Arc::new(AtomicBool::new(false));
        let late = Self {
            env: env.clone(),
            begun: begun.clone(),
        };
        let begin_late = move || {
            thread::sleep(latest);
            late.begin();
        };
        if let Err(why) = thread::Builder::new().name("smu".into()).spawn(begin_late) {
            eprintln!("the host refuses a thread: {why}");
        }
        let env = env.clone();
        Self { env, begun }
    }

    /// It begins, if it has not begun.
    pub fn begin(self) {
        if !self.begun.swap(true, Ordering::AcqRel) {
            self.env.reset_chip();
        }
    }
}
