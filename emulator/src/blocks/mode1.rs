// SPDX-License-Identifier: MIT OR Apache-2.0

//! A reset of the whole chip (mode 1) that a management unit was asked for. It begins when the driver is done with the
//! mailbox, or [`LATE`] after it asked.

use crate::device::Env;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

/// Drivers are done with the mailbox at once, and a slow host may take its time for that.
const LATE: Duration = Duration::from_secs(1);

/// A reset that was asked for.
pub struct Asked {
    env: Arc<dyn Env>,
    begun: Arc<AtomicBool>,
}

impl Asked {
    /// It begins later.
    pub fn new(env: &Arc<dyn Env>) -> Self {
        let begun = Arc::new(AtomicBool::new(false));
        let late = Self {
            env: env.clone(),
            begun: begun.clone(),
        };
        let begin_late = move || {
            thread::sleep(LATE);
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
