// SPDX-License-Identifier: MIT OR Apache-2.0

//! A device that stands still, so that it can be looked into: what no silicon does.
//!
//! Rules say where (`on AQL packet: pause`), or the control socket says it (`pause`). From then on no engine and no
//! compute unit does anything: their threads wait in [`Pause::hold`], at places where they hold no lock. Registers,
//! doorbells and memory still answer, since QEMU waits for them, and the device's clock goes on. A reset ends it: whoever
//! resets waits for the engines.

use crate::rules::Event;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Everything goes on.
const GOES: u8 = 0;
/// Everything goes on until something happens, or one instruction was executed.
const STEPS: u8 = 1;
/// Everything stands still.
const STANDS: u8 = 2;

/// Whether the device stands still, and why.
#[derive(Default)]
pub struct Pause {
    state: AtomicU8,
    inner: Mutex<Inner>,
    changed: Condvar,
}

#[derive(Default)]
struct Inner {
    why: String,
    /// How often it has stopped.
    stops: u64,
    /// The device's process ends: nothing stops any more.
    ended: bool,
}

impl Pause {
    /// Whether the device stands still.
    pub fn stands(&self) -> bool {
        self.state.load(Ordering::Acquire) == STANDS
    }

    /// Whether a compute unit executes one instruction only.
    pub fn steps(&self) -> bool {
        self.state.load(Ordering::Acquire) == STEPS
    }

    /// Whether it stands still or steps: what threads ask that have no time.
    pub fn is_on(&self) -> bool {
        self.state.load(Ordering::Acquire) != GOES
    }

    /// Why the device stands still, and which stop this is, from 1.
    pub fn why(&self) -> Option<(String, u64)> {
        let inner = self.inner();
        self.stands().then(|| (inner.why.clone(), inner.stops))
    }

    /// Stops the device: each of its threads stands still when it comes to [`Self::hold`]. Nothing if it does already.
    pub fn stop(&self, why: &str) {
        let mut inner = self.inner();
        if inner.ended || self.stands() {
            return;
        }
        inner.why = why.into();
        inner.stops += 1;
        self.state.store(STANDS, Ordering::Release);
        self.changed.notify_all();
    }

    /// Something happens: an engine that steps has come to where it stops. Waits while the device stands still.
    pub fn at(&self, event: &Event<'_>) {
        if self.steps() {
            self.stop(&event.to_string());
        }
        self.hold();
    }

    /// Waits while the device stands still. The thread holds no lock that the transport's thread could want.
    pub fn hold(&self) {
        if !self.stands() {
            return;
        }
        let mut inner = self.inner();
        while self.stands() {
            inner = self.wait(inner);
        }
    }

    /// The device goes on; `false` if it does not stand still.
    pub fn go_on(&self) -> bool {
        self.leave(GOES)
    }

    /// The device goes on until something happens; `false` if it does not stand still.
    pub fn step(&self) -> bool {
        self.leave(STEPS)
    }

    /// Waits until the device stands still again after a step, so many milliseconds at most.
    pub fn stands_within(&self, time: std::time::Duration) -> bool {
        let inner = self.inner();
        let waited = self
            .changed
            .wait_timeout_while(inner, time, |inner| !inner.ended && self.steps());
        drop(waited.unwrap_or_else(PoisonError::into_inner));
        self.stands()
    }

    /// Nothing stops any more: the device's process ends.
    pub fn end(&self) {
        self.inner().ended = true;
        self.leave(GOES);
    }

    fn leave(&self, state: u8) -> bool {
        let _inner = self.inner();
        let stood = self.stands();
        if stood || state == GOES {
            self.state.store(state, Ordering::Release);
            self.changed.notify_all();
        }
        stood
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, inner: MutexGuard<'a, Inner>) -> MutexGuard<'a, Inner> {
        let woken = self.changed.wait(inner);
        woken.unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::Kind;
    use std::sync::atomic::AtomicU32;
    use std::sync::Arc;
    use std::time::Duration;

    const SOON: Duration = Duration::from_secs(20);

    #[test]
    fn threads_stand_still_until_the_device_goes_on() {
        let (pause, passed) = (Arc::new(Pause::default()), Arc::new(AtomicU32::new(0)));
        pause.hold();
        assert_eq!(pause.why(), None);
        assert!(!pause.go_on() && !pause.step());
        pause.stop("here");
        pause.stop("there");
        assert_eq!(pause.why(), Some(("here".into(), 1)));
        let threads: Vec<_> = (0..3)
            .map(|_| {
                let (pause, passed) = (pause.clone(), passed.clone());
                std::thread::spawn(move || {
                    pause.hold();
                    passed.fetch_add(1, Ordering::SeqCst);
                })
            })
            .collect();
        std::thread::sleep(Duration::from_millis(20));
        assert_eq!(passed.load(Ordering::SeqCst), 0);
        assert!(pause.go_on());
        threads.into_iter().for_each(|t| t.join().unwrap());
        assert_eq!(passed.load(Ordering::SeqCst), 3);
    }

    #[test]
    fn a_step_ends_where_something_happens() {
        let pause = Arc::new(Pause::default());
        pause.stop("here");
        assert!(pause.step());
        assert!(!pause.stands_within(Duration::from_millis(1)));
        let its = pause.clone();
        let thread = std::thread::spawn(move || {
            let keys = [("doorbell", 0x1000)];
            its.at(&Event::of(Kind::Dispatch).with(&keys));
        });
        assert!(pause.stands_within(SOON));
        assert_eq!(pause.why(), Some(("dispatch of doorbell 0x1000".into(), 2)));
        pause.end();
        thread.join().unwrap();
        pause.stop("never");
        assert_eq!(pause.why(), None);
    }
}
