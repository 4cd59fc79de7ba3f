// SPDX-License-Identifier: GPL-2.0

//! Waiting for one or all of some events.

use super::{
    abi,
    sleepers::{
        Places,
        Sleeper, //
    },
    Data,
    EventId,
    Events,
    State, //
};
use crate::glue::user;
use kernel::{
    current,
    prelude::*,
    sync::{
        Arc,
        CondVarTimeoutResult, //
    },
    time::msecs_to_jiffies, //
};

/// How long to wait.
#[derive(Clone, Copy)]
pub(crate) enum Timeout {
    Forever,
    /// Jiffies.
    Left(usize),
}

impl Timeout {
    /// From what a program gave: milliseconds, or no end.
    pub(crate) fn from_user(ms: u32) -> Self {
        match ms {
            0 => Self::Left(0),
            abi::TIMEOUT_INFINITE => Self::Forever,
            // Longer times would be taken as no end.
            ms => Self::Left(msecs_to_jiffies(ms.min(0x7fff_ffff)).saturating_add(1)),
        }
    }

    /// What to give back when a signal interrupts: the milliseconds that are left.
    fn to_user(self, asked: u32) -> u32 {
        match (self, asked) {
            (Self::Forever, _) | (_, 0 | abi::TIMEOUT_INFINITE) => asked,
            (Self::Left(jiffies), _) => user::jiffies_to_msecs(jiffies.saturating_sub(1)),
        }
    }
}

/// One event of a wait.
struct Waiter {
    id: u32,
    serial: u64,
    /// The event's age when we began.
    age: u64,
    activated: bool,
    /// Our sleeper is in the event's list.
    queued: bool,
    /// The program wants the age.
    wants_age: bool,
}

/// A wait as the events know it.
struct Registered {
    sleeper: Arc<Sleeper>,
    serial: u64,
    waiters: KVVec<Waiter>,
    places: Places,
}

/// What to write into the program's array for one event.
pub(crate) struct Report {
    /// Index in the array.
    pub(crate) index: usize,
    pub(crate) data: [u64; 4],
    /// How many bytes of it.
    pub(crate) len: usize,
}

/// How a wait ended.
pub(crate) struct Outcome {
    /// One of the WAIT_RESULT_ constants, or the error, which makes it FAIL.
    pub(crate) result: Result<u32>,
    /// The time left in milliseconds, when a signal interrupted.
    pub(crate) timeout: u32,
    pub(crate) reports: KVVec<Report>,
}

/// An event that a program waits for.
#[derive(Clone, Copy)]
pub(crate) struct Awaited {
    pub(crate) id: EventId,
    /// The age that the program saw last; 0 when it doesn't know about ages.
    pub(crate) seen: u64,
}

/// A wait as the program asked for it.
pub(crate) struct Wait<'a> {
    /// The events, as far as they could be read.
    pub(crate) events: &'a [Awaited],
    /// Reading the next event failed: reported unless an earlier one is wrong.
    pub(crate) unreadable: bool,
    pub(crate) all: bool,
    pub(crate) timeout: u32,
}

enum Condition {
    Met,
    NotYet,
    Destroyed,
}

impl Events {
    /// Waits.
    pub(crate) fn wait(&self, wait: &Wait<'_>) -> Outcome {
        let mut outcome = Outcome {
            result: Ok(0),
            timeout: wait.timeout,
            reports: KVVec::new(),
        };
        outcome.result = self.wait_inner(wait, &mut outcome.timeout, &mut outcome.reports);
        outcome
    }

    fn wait_inner(
        &self,
        wait: &Wait<'_>,
        timeout: &mut u32,
        reports: &mut KVVec<Report>,
    ) -> Result<u32> {
        // All memory is had before anything changes.
        // What is left of it is freed after the mutex was given up.
        let mut registered = Registered {
            sleeper: Sleeper::new()?,
            serial: 0,
            waiters: KVVec::with_capacity(wait.events.len(), GFP_KERNEL_ACCOUNT)?,
            places: Places::new(wait.events.len())?,
        };
        let sleeper = registered.sleeper.clone();
        reports.reserve(wait.events.len(), GFP_KERNEL_ACCOUNT)?;
        let mut left = Timeout::from_user(wait.timeout);

        let mut guard = self.state.lock();
        let mut first = true;
        registered.serial = guard.next_serial();
        let result = match guard.register(wait, &mut registered) {
            Err(e) => Err(e),
            Ok(()) => loop {
                if guard.lost {
                    break Err(ENODEV);
                }
                // A condition that holds at once counts more than a pending signal.
                if !first && current!().signal_pending() {
                    *timeout = left.to_user(wait.timeout);
                    break Err(ERESTARTSYS);
                }
                match guard.condition(&mut registered.waiters, wait.all) {
                    Condition::Met => break Ok(abi::WAIT_RESULT_COMPLETE),
                    Condition::Destroyed => break Err(EIO),
                    Condition::NotYet if core::mem::take(&mut first) => continue,
                    Condition::NotYet => {}
                }
                left = match left {
                    Timeout::Left(0) => break Ok(abi::WAIT_RESULT_TIMEOUT),
                    Timeout::Forever => {
                        // Signals are looked at above.
                        let _ = sleeper.woken.wait_interruptible(&mut guard);
                        Timeout::Forever
                    }
                    Timeout::Left(jiffies) => Timeout::Left(
                        match sleeper
                            .woken
                            .wait_interruptible_timeout(&mut guard, jiffies)
                        {
                            CondVarTimeoutResult::Woken { jiffies }
                            | CondVarTimeoutResult::Signal { jiffies } => jiffies,
                            CondVarTimeoutResult::Timeout => 0,
                        },
                    ),
                };
            },
        };
        if result == Ok(abi::WAIT_RESULT_COMPLETE) {
            guard.report(&registered.waiters, reports);
        }
        guard.unregister(&mut registered, result == Err(ERESTARTSYS));
        result
    }
}

impl State {
    /// Puts the sleeper on every event that isn't signalled yet. A signal of an auto-reset event
    /// is taken.
    fn register(&mut self, wait: &Wait<'_>, registered: &mut Registered) -> Result {
        let Registered {
            sleeper,
            serial,
            waiters,
            places,
        } = registered;
        for Awaited { id, seen } in wait.events.iter().copied() {
            let id = id.get();
            let (event, sleepers) = self.event(id).ok_or(EINVAL)?;
            let wants_age = event.kind == abi::EVENT_SIGNAL && seen != 0;
            let activated = event.signaled || (wants_age && event.age != seen);
            if !activated {
                sleepers.add(places, event.serial, *serial, sleeper);
            }
            event.signaled = event.signaled && !event.auto_reset;
            let waiter = Waiter {
                id,
                serial: event.serial,
                age: event.age,
                activated,
                queued: !activated,
                wants_age,
            };
            // There is room for all.
            let _ = waiters.push_within_capacity(waiter);
        }
        if wait.unreadable {
            return Err(EFAULT);
        }
        Ok(())
    }

    fn condition(&mut self, waiters: &mut [Waiter], all: bool) -> Condition {
        let mut activated = 0usize;
        let count = waiters.len();
        for waiter in waiters {
            let event = self
                .get_mut(waiter.id)
                .filter(|event| event.serial == waiter.serial);
            let Some(event) = event else {
                return Condition::Destroyed;
            };
            waiter.activated |= waiter.queued && event.age != waiter.age;
            if waiter.activated {
                if !all {
                    return Condition::Met;
                }
                activated = activated.saturating_add(1);
            }
        }
        if activated == count {
            Condition::Met
        } else {
            Condition::NotYet
        }
    }

    /// Collects the events' data for the program's array. There is room for all.
    fn report(&mut self, waiters: &[Waiter], reports: &mut KVVec<Report>) {
        for (index, waiter) in waiters.iter().enumerate() {
            let Some(event) = self.get_mut(waiter.id).filter(|_| waiter.activated) else {
                continue;
            };
            let mut data = abi::EventData::default();
            let len = match (event.kind, event.data) {
                (abi::EVENT_MEMORY, Data::Memory(memory)) => {
                    data.set_memory_exception(memory);
                    32
                }
                (abi::EVENT_MEMORY, _) => 32,
                (abi::EVENT_HW_EXCEPTION, Data::HwException(hw)) => {
                    data.set_hw_exception(hw);
                    16
                }
                (abi::EVENT_HW_EXCEPTION, _) => 16,
                (abi::EVENT_SIGNAL, _) if waiter.wants_age => {
                    data.set_signal(abi::SignalEventData {
                        last_event_age: event.age,
                    });
                    8
                }
                _ => continue,
            };
            let _ = reports.push_within_capacity(Report {
                index,
                data: data.data,
                len,
            });
        }
    }

    /// Takes the sleeper off the events. With `undo`, signals that were taken are given again.
    fn unregister(&mut self, registered: &mut Registered, undo: bool) {
        for waiter in &registered.waiters {
            if waiter.queued {
                let (places, wait) = (&mut registered.places, registered.serial);
                self.sleepers.remove(places, waiter.serial, wait);
            }
            if !undo || !waiter.activated {
                continue;
            }
            if let Some((event, sleepers)) = self.event(waiter.id) {
                if event.serial == waiter.serial && event.auto_reset {
                    event.set(sleepers);
                }
            }
        }
    }
}
