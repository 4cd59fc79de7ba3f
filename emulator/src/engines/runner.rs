// SPDX-License-Identifier: MIT OR Apache-2.0

//! The thread that a scheduler's firmware runs on: it goes round and round while there is work, looks
//! more and more seldom while there is none, and returns to the start when the device or its engine is
//! reset.

use super::{Idle, Wake};
use crate::device::Env;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// The longest sleep while no queue or ring is connected: registers wake the thread.
const NOTHING: Duration = Duration::from_millis(100);
/// How often who waits for a reset looks whether the thread is there.
const LOOK: Duration = Duration::from_millis(100);

/// Firmware, in rounds.
pub(crate) trait Firmware {
    /// One round over everything; whether anything happened.
    fn step(&mut self) -> bool;

    /// Shows in the registers whether it is busy, after a round without work.
    fn show_busy(&mut self);

    /// Whether it has queues or rings whose doorbells may be rung.
    fn listens(&self) -> bool;

    /// Start-up state.
    fn reset(&mut self);

    /// GRBM_SOFT_RESET of an XCC gets a value that puts its command processor into reset.
    fn soft_reset(&mut self, xcc: u8, value: u32);

    /// Ends what is in progress: the device goes.
    fn end(&mut self);
}

/// What the firmware's thread and others share.
#[derive(Default)]
pub(crate) struct Runner {
    /// Wakes the thread.
    pub wake: Arc<Wake>,
    stop: AtomicBool,
    resets: Mutex<Resets>,
    reset_done: Condvar,
}

/// Resets asked for and done.
#[derive(Clone, Copy, Default)]
struct Resets {
    asked: u64,
    done: u64,
    /// The device is reset, and not only a command processor.
    whole: bool,
    /// The XCC whose command processor is, and the value of GRBM_SOFT_RESET.
    soft: Option<(u8, u32)>,
}

impl Runner {
    /// Runs firmware until the device ends.
    fn run(&self, env: &dyn Env, mut firmware: impl Firmware) {
        let mut idle = Idle::default();
        while !self.stop.load(Ordering::Acquire) {
            self.reset_if_asked(&mut firmware);
            env.pause().hold();
            if firmware.step() {
                idle.end();
                continue;
            }
            firmware.show_busy();
            if idle.round() {
                // Who follows the trace sees all that led to the quiet.
                env.trace().flush();
            }
            if firmware.listens() {
                idle.wait(&self.wake);
            } else {
                self.wake.wait(NOTHING);
            }
        }
        firmware.end();
    }

    fn reset_if_asked(&self, firmware: &mut impl Firmware) {
        let now = {
            let mut resets = self.resets();
            if resets.done == resets.asked {
                return;
            }
            let now = *resets;
            (resets.whole, resets.soft) = (false, None);
            now
        };
        if let Some((xcc, value)) = now.soft {
            firmware.soft_reset(xcc, value);
        }
        if now.whole {
            firmware.reset();
        }
        self.resets().done = now.asked;
        self.reset_done.notify_all();
    }

    fn resets(&self) -> MutexGuard<'_, Resets> {
        self.resets.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The thread. It ends with this.
pub(crate) struct Thread {
    env: Arc<dyn Env>,
    runner: Arc<Runner>,
    handle: Mutex<Option<JoinHandle<()>>>,
}

impl Thread {
    /// Starts the thread, which makes its firmware; a host that refuses it is recorded.
    pub fn start<F: Firmware>(
        name: &str,
        env: &Arc<dyn Env>,
        runner: Arc<Runner>,
        make: impl FnOnce() -> F + Send + 'static,
    ) -> Self {
        let (its, its_env) = (runner.clone(), env.clone());
        let handle = std::thread::Builder::new()
            .name(name.into())
            .spawn(move || its.run(&*its_env, make()));
        if let Err(why) = &handle {
            env.report()
                .violation(format_args!("the host refuses a thread: {why}"));
        }
        let (env, handle) = (env.clone(), Mutex::new(handle.ok()));
        Self {
            env,
            runner,
            handle,
        }
    }

    /// Resets the firmware, and returns when that is done.
    pub fn reset(&self) {
        self.have(|resets| resets.whole = true);
    }

    /// Resets the command processor of an XCC by a value of GRBM_SOFT_RESET, and returns when it does
    /// nothing any more. The firmware itself must not call it.
    pub fn soft_reset(&self, xcc: u8, value: u32) {
        self.have(|resets| resets.soft = Some((xcc, value)));
    }

    /// Whether the firmware itself is here.
    pub fn is_this(&self) -> bool {
        let handle = self.handle.lock().unwrap_or_else(PoisonError::into_inner);
        let this = std::thread::current().id();
        handle
            .as_ref()
            .is_some_and(|handle| handle.thread().id() == this)
    }

    /// Has the thread reset something, and waits until it has.
    fn have(&self, what: impl FnOnce(&mut Resets)) {
        let runner = &self.runner;
        let mut resets = runner.resets();
        what(&mut resets);
        resets.asked += 1;
        let asked = resets.asked;
        runner.wake.ring();
        // The thread is gone only if the host refused it or while it ends.
        while resets.done < asked && !runner.stop.load(Ordering::Acquire) && self.is_alive() {
            // A device that is reset does not stand still, whatever rules say meanwhile.
            self.env.pause().go_on();
            let waited = runner.reset_done.wait_timeout(resets, LOOK);
            resets = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn is_alive(&self) -> bool {
        let handle = self.handle.lock().unwrap_or_else(PoisonError::into_inner);
        handle.as_ref().is_some_and(|handle| !handle.is_finished())
    }
}

impl Drop for Thread {
    fn drop(&mut self) {
        self.runner.stop.store(true, Ordering::Release);
        self.env.pause().end();
        self.runner.wake.ring();
        let mut handle = self.handle.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(handle) = handle.take() {
            // The firmware may be the last who holds the device, when it accesses a register.
            if handle.thread().id() != std::thread::current().id() {
                let _ = handle.join();
            }
        }
    }
}
