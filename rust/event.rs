// SPDX-License-Identifier: GPL-2.0

//! Events: what a program sleeps on.
//!
//! Signal events have a slot in the signal page. The GPU writes the slot, then raises an
//! interrupt that carries the event's id; the upcall puts the slot back to "unsignalled", marks
//! the event and wakes its waiters. Other events report faults and hangs.
//!
//! All events of a process are under one mutex that is never held while user memory is touched,
//! so that the interrupt's work item is never kept waiting by a program. A waiter registers with
//! every event before it sleeps and sleeps with the mutex given up atomically: no wake-up is lost.
//!
//! What upstream keeps in a waiter's flag is here the event's age: it grows with each signal, so a
//! waiter that noted the age when it registered knows whether the event was signalled since.
//!
//! Source: Linux, `amdkfd/kfd_events.c`. Lock order: process -> events.

use crate::{
    bo::Bo,
    counts::{
        Count,
        Counts,
        Thing, //
    },
    ids::IdTable,
    types::EventId,
    uapi::event as abi, //
};
use kernel::{
    new_mutex,
    prelude::*,
    sync::{
        Arc,
        Mutex, //
    }, //
};

mod signal;
mod wait;

use wait::Sleeper;
pub(crate) use wait::{
    Awaited,
    Wait, //
};

/// First id of events that aren't signals: the upper half of what an IDR numbers.
const FIRST_OTHER: u32 = (i32::MAX as u32 >> 1) + 1;
/// One past the last id.
const END: u32 = i32::MAX as u32 + 1;

/// What an event reports beside that it happened.
#[derive(Clone, Copy)]
enum Data {
    None,
    Memory(abi::MemoryExceptionData),
    HwException(abi::HwExceptionData),
}

/// One event.
struct Event {
    kind: u32,
    auto_reset: bool,
    signaled: bool,
    /// Grows with each signal; starts at 1, never 0.
    age: u64,
    /// Distinguishes this event from a later one with the same id.
    serial: u64,
    data: Data,
    /// Who sleeps on it; one entry for each mention in a wait.
    sleepers: KVec<Arc<Sleeper>>,
    _count: Count,
}

impl Event {
    /// Signals it (`set_event`).
    fn set(&mut self) {
        // With auto reset a signal that wakes somebody is used up.
        self.signaled = !self.auto_reset || self.sleepers.is_empty();
        self.age = self.age.checked_add(1).unwrap_or(2);
        self.wake();
    }

    /// Makes everyone who waits for it look again.
    fn wake(&self) {
        for sleeper in &self.sleepers {
            sleeper.wake();
        }
    }
}

/// Where signals are written.
struct SignalPage {
    bo: Arc<Bo>,
    /// The handle under which the program gave it.
    handle: u64,
}

struct State {
    signals: IdTable<Event>,
    others: IdTable<Event>,
    page: Option<SignalPage>,
    /// Slots that the program can reach.
    slots: u32,
    serial: u64,
    /// The device went: waiting makes no sense any more.
    lost: bool,
    /// The process ended: nothing may be made any more.
    ended: bool,
}

impl State {
    fn get_mut(&mut self, id: u32) -> Option<&mut Event> {
        if id < FIRST_OTHER {
            self.signals.get_mut(id)
        } else {
            self.others.get_mut(id)
        }
    }
}

/// The events of a process.
#[pin_data]
pub(crate) struct Events {
    counts: Arc<Counts>,
    #[pin]
    state: Mutex<State>,
}

/// A new event, as CREATE_EVENT reports it.
pub(crate) struct Created {
    pub(crate) id: EventId,
    /// Slot in the signal page, if it has one.
    pub(crate) slot: Option<u32>,
}

impl Events {
    /// No events.
    pub(crate) fn new(counts: Arc<Counts>) -> impl PinInit<Self> {
        pin_init!(Self {
            counts,
            state <- new_mutex!(State {
                // Id 0 stays free: the firmware sends it for signals without an event.
                signals: IdTable::new(1),
                others: IdTable::new(FIRST_OTHER),
                page: None,
                slots: 0,
                serial: 0,
                lost: false,
                ended: false,
            }, "rkfd events"),
        })
    }

    /// Makes a program's buffer object the signal page.
    ///
    /// # Errors
    ///
    /// EBUSY when there is one, EINVAL when it is too small.
    pub(crate) fn set_page(&self, bo: Arc<Bo>, handle: u64) -> Result {
        let mut state = self.state.lock();
        if state.ended {
            return Err(EBADF);
        }
        if state.page.is_some() {
            return Err(EBUSY);
        }
        if bo.size() < abi::SIGNAL_PAGE_SIZE as u64 {
            return Err(EINVAL);
        }
        let slots = u32::try_from(bo.size() / 8)
            .unwrap_or(u32::MAX)
            .min(FIRST_OTHER);
        clear(&bo)?;
        state.slots = slots;
        state.page = Some(SignalPage { bo, handle });
        Ok(())
    }

    /// Whether there is a signal page.
    pub(crate) fn has_page(&self) -> bool {
        self.state.lock().page.is_some()
    }

    /// Whether this buffer object's handle is the signal page's.
    pub(crate) fn is_page(&self, handle: u64) -> bool {
        let state = self.state.lock();
        state
            .page
            .as_ref()
            .is_some_and(|page| page.handle == handle)
    }

    /// Makes an event.
    ///
    /// # Errors
    ///
    /// ENOSPC when the signal page is full; ENOMEM, also for a signal of a process that gave no
    /// page (`create_signal_event`).
    pub(crate) fn create(&self, kind: u32, auto_reset: bool) -> Result<Created> {
        let mut guard = self.state.lock();
        let state = &mut *guard;
        if state.ended {
            return Err(EBADF);
        }
        let serial = state.serial;
        state.serial = serial.wrapping_add(1);
        let event = Event {
            kind,
            auto_reset,
            signaled: false,
            age: 1,
            serial,
            data: Data::None,
            sleepers: KVec::new(),
            _count: self.counts.count(Thing::Event),
        };
        if kind != abi::EVENT_SIGNAL && kind != abi::EVENT_DEBUG_EVENT {
            let id = state.others.insert(END, event)?;
            return Ok(Created {
                id: EventId::new(id),
                slot: None,
            });
        }
        let page = state.page.as_ref().ok_or(ENOMEM)?;
        // One slot is id 0's.
        if state.signals.len() + 1 >= state.slots as usize {
            return Err(ENOSPC);
        }
        let id = state.signals.insert(state.slots, event)?;
        if let Err(e) = page.bo.write_u64(id as usize, abi::SLOT_UNSIGNALED) {
            state.signals.remove(id);
            return Err(e);
        }
        Ok(Created {
            id: EventId::new(id),
            slot: Some(id),
        })
    }

    /// Destroys an event; who waits for it fails.
    pub(crate) fn destroy(&self, id: EventId) -> Result {
        let mut guard = self.state.lock();
        let id = id.get();
        let table = if id < FIRST_OTHER {
            &mut guard.signals
        } else {
            &mut guard.others
        };
        let event = table.remove(id).ok_or(EINVAL)?;
        event.wake();
        Ok(())
    }

    /// Signals an event from the CPU. Only signal events can be.
    pub(crate) fn set(&self, id: EventId) -> Result {
        self.with_signal(id, Event::set)
    }

    /// Takes an event's signal back.
    pub(crate) fn reset(&self, id: EventId) -> Result {
        self.with_signal(id, |event| event.signaled = false)
    }

    fn with_signal(&self, id: EventId, f: impl FnOnce(&mut Event)) -> Result {
        let mut state = self.state.lock();
        let event = state.get_mut(id.get()).ok_or(EINVAL)?;
        if event.kind != abi::EVENT_SIGNAL {
            return Err(EINVAL);
        }
        f(event);
        Ok(())
    }

    /// Ends the process: all events go, then the signal page.
    pub(crate) fn clear(&self) {
        let mut guard = self.state.lock();
        let state = &mut *guard;
        state.lost = true;
        state.ended = true;
        for table in [&mut state.signals, &mut state.others] {
            while let Some((_, event)) = table.pop() {
                event.wake();
            }
        }
        let page = state.page.take();
        drop(guard);
        drop(page);
    }
}

/// Makes all slots of a signal page unsignalled.
fn clear(bo: &Bo) -> Result {
    for slot in 0..abi::SIGNAL_EVENT_LIMIT as usize {
        bo.write_u64(slot, abi::SLOT_UNSIGNALED)?;
    }
    Ok(())
}

#[cfg(CONFIG_KUNIT = "y")]
mod kunit;
