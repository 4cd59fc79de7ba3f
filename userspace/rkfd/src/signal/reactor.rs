// SPDX-License-Identifier: MIT OR Apache-2.0

//! The thread that sleeps for all futures of a process.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, PoisonError};
use std::task::Waker;

use rkfd_uapi::event::{EventData, EVENT_SIGNAL, SIGNAL_EVENT_LIMIT};

use super::fault::check;
use super::{SLEEP, VALUE};
use crate::driver::{lock, Driver};
use crate::error::{Error, Result};
use crate::memory::{Piece, Watch};
use crate::sync::{thread, Condvar, Mutex};

/// Starts the thread with the first future that waits, and ends it when dropped.
#[derive(Debug)]
pub(super) struct Reactor {
    shared: Arc<Shared>,
}

/// Names a future that waits.
pub(super) type Key = u64;

#[derive(Debug)]
struct Shared {
    driver: Arc<Driver>,
    state: Mutex<State>,
    /// A future waits, or the thread is to end.
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    waiting: BTreeMap<Key, Waiting>,
    next: Key,
    /// Counts changes of `waiting`, whose events may then be gone.
    changes: u64,
    /// Events that report faults: kinds and ids.
    faults: Vec<(u32, u32)>,
    /// Wakes the thread from its sleep in the driver; made with the thread.
    alarm: Option<u32>,
    asleep: bool,
    ended: bool,
    failure: Option<Failure>,
}

/// A future that waits.
#[derive(Debug)]
struct Waiting {
    ids: Vec<u32>,
    done: Watch,
    stopped: Option<Watch>,
    waker: Waker,
}

impl Waiting {
    fn is_over(&self) -> bool {
        let value = |watch: &Watch| watch.word(VALUE).map_or(0, |value| value as i64);
        value(&self.done) <= 0 || self.stopped.as_ref().is_some_and(|s| value(s) != 0)
    }
}

/// What ends all waiting.
#[derive(Clone, Copy, Debug)]
enum Failure {
    Fault {
        gpu_id: u32,
        address: u64,
        reason: &'static str,
    },
    Lost,
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error {
            Error::MemoryFault {
                gpu_id,
                address,
                reason,
            } => Self::Fault {
                gpu_id,
                address,
                reason,
            },
            _ => Self::Lost,
        }
    }
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Lost => Self::DeviceLost,
            Failure::Fault {
                gpu_id,
                address,
                reason,
            } => Self::MemoryFault {
                gpu_id,
                address,
                reason,
            },
        }
    }
}

impl Reactor {
    pub(super) fn new(driver: &Arc<Driver>) -> Self {
        Self {
            shared: Arc::new(Shared {
                driver: driver.clone(),
                state: Mutex::default(),
                changed: Condvar::new(),
            }),
        }
    }

    /// Has the thread wake a future when the first signal of `watched` is 0 or the second is not.
    pub(super) fn register(
        &self,
        key: &mut Option<Key>,
        ids: Vec<u32>,
        (done, stopped): (&Piece, Option<&Piece>),
        faults: Vec<(u32, u32)>,
        waker: Waker,
    ) -> Result<()> {
        let mut state = lock(&self.shared.state);
        if let Some(failure) = state.failure {
            return Err(failure.into());
        }
        if let Some(waiting) = key.and_then(|key| state.waiting.get_mut(&key)) {
            let old = std::mem::replace(&mut waiting.waker, waker);
            // A waker's end may be that of a task which has futures, and those are forgotten by the same lock.
            drop(state);
            drop(old);
            return Ok(());
        }
        state.faults = faults;
        if state.alarm.is_none() {
            let made = self.shared.driver.kfd.create_event(EVENT_SIGNAL, true, 0)?;
            let shared = self.shared.clone();
            let thread = thread::Builder::new().name("rkfd-events".into());
            let thread = thread.spawn(move || shared.run(made.event_id));
            thread.map_err(|error| Error::Thread { error })?;
            state.alarm = Some(made.event_id);
        }
        let new = Waiting {
            ids,
            done: done.watch(),
            stopped: stopped.map(Piece::watch),
            waker,
        };
        let name = state.next;
        state.next += 1;
        *key = Some(name);
        state.waiting.insert(name, new);
        self.shared.has_changed(&mut state);
        Ok(())
    }

    /// Forgets a future.
    pub(super) fn forget(&self, key: Key) {
        let mut state = lock(&self.shared.state);
        let removed = state.waiting.remove(&key);
        if removed.is_some() {
            state.changes += 1;
        }
        // Without the lock: as above.
        drop(state);
        drop(removed);
    }
}

impl Drop for Reactor {
    fn drop(&mut self) {
        let mut state = lock(&self.shared.state);
        state.ended = true;
        self.shared.has_changed(&mut state);
    }
}

impl Shared {
    /// Makes the thread look again.
    fn has_changed(&self, state: &mut State) {
        state.changes += 1;
        self.changed.notify_one();
        if let Some(alarm) = state.alarm.filter(|_| state.asleep) {
            state.asleep = false;
            // Without it the thread looks again within a second.
            let _ = self.driver.kfd.set_event(alarm);
        }
    }

    fn run(&self, alarm: u32) {
        let mut state = lock(&self.state);
        loop {
            while state.waiting.is_empty() && !state.ended {
                let woken = self.changed.wait(state);
                state = woken.unwrap_or_else(PoisonError::into_inner);
            }
            if state.ended {
                break;
            }
            let faults = state.faults.clone();
            let fault_ids = faults.iter().map(|&(_, id)| id);
            let others = state.waiting.values().flat_map(|waiting| &waiting.ids);
            // Once each: all work of a queue has the event of the queue's end in common. What is beyond the number that
            // the driver takes is looked at whenever the thread wakes, which is within a second.
            let others: BTreeSet<u32> = others.copied().collect();
            let ids = fault_ids.chain([alarm]).chain(others);
            let ids = ids.take(SIGNAL_EVENT_LIMIT as usize);
            let mut events: Vec<_> = ids.map(|id| EventData::wait_for(id, 0)).collect();
            let changes = state.changes;
            state.asleep = true;
            drop(state);
            let slept = self.driver.kfd.wait(&mut events, SLEEP);
            state = lock(&self.state);
            state.asleep = false;
            let failure = match slept {
                Ok(_) => check(&faults, &events).err(),
                // An event that was waited for may be gone with its future.
                Err(_) if state.changes != changes => None,
                Err(error) => Some(error),
            };
            state.failure = state.failure.or(failure.map(Failure::from));
            let all = state.failure.is_some();
            let over = state.waiting.iter().filter(|(_, w)| all || w.is_over());
            let over: Vec<Key> = over.map(|(&key, _)| key).collect();
            let over = over.iter().filter_map(|key| state.waiting.remove(key));
            let wakers: Vec<Waker> = over.map(|waiting| waiting.waker).collect();
            drop(state);
            wakers.into_iter().for_each(Waker::wake);
            state = lock(&self.state);
        }
        drop(state);
        let _ = self.driver.kfd.destroy_event(alarm);
    }
}
