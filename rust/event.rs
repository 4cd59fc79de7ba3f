// SPDX-License-Identifier: GPL-2.0

//! Events: what a program sleeps on.
//!
//! Signal events have a slot in the signal page. The GPU writes the slot, then raises an
//! interrupt that carries the event's id; the upcall puts the slot back to "unsignalled", marks
//! the event and wakes its waiters. Other events report faults and hangs.
//!
//! All events of a process are under one mutex that is never held while user memory is touched or
//! memory is allocated. The interrupts' work item doesn't wait for it all the same: a signal that
//! finds it taken is delivered by another work item. A waiter registers with every event before it
//! sleeps and sleeps with the mutex given up atomically: no wake-up is lost.
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
    ids::{
        IdTable,
        Room, //
    },
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
mod sleepers;
mod wait;

use sleepers::Sleepers;
pub(crate) use wait::{
    Awaited,
    Wait, //
};

/// First id of events that aren't signals: the upper half of what an IDR numbers.
const FIRST_OTHER: u32 = (i32::MAX as u32 >> 1) + 1;
/// Events of each of the two kinds that a process can have. Upstream has no limit but memory and the
/// signal page; a program needs a page of signals, 4,096, and few others.
pub(crate) const MAX_OF_A_KIND: u32 = 1 << 16;
/// One past the last id.
const END: u32 = FIRST_OTHER + MAX_OF_A_KIND;

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
    _count: Count,
}

impl Event {
    /// Signals it (`set_event`).
    fn set(&mut self, sleepers: &mut Sleepers) {
        // With auto reset a signal that wakes somebody is used up.
        self.signaled = !self.auto_reset || !sleepers.any(self.serial);
        self.age = self.age.checked_add(1).unwrap_or(2);
        sleepers.wake(self.serial);
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
    sleepers: Sleepers,
    /// Grows with each event and each wait.
    serial: u64,
    /// The device went: waiting makes no sense any more.
    lost: bool,
}

impl State {
    fn table(&mut self, signals: bool) -> &mut IdTable<Event> {
        if signals {
            &mut self.signals
        } else {
            &mut self.others
        }
    }

    fn get_mut(&mut self, id: u32) -> Option<&mut Event> {
        self.table(id < FIRST_OTHER).get_mut(id)
    }

    /// An event, and who sleeps on which.
    fn event(&mut self, id: u32) -> Option<(&mut Event, &mut Sleepers)> {
        let table = if id < FIRST_OTHER {
            &mut self.signals
        } else {
            &mut self.others
        };
        Some((table.get_mut(id)?, &mut self.sleepers))
    }

    /// A number that no event and no wait had before.
    fn next_serial(&mut self) -> u64 {
        self.serial = self.serial.wrapping_add(1);
        self.serial
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
                sleepers: Sleepers::new(),
                serial: 0,
                lost: false,
            }, "rkfd events"),
        })
    }

    /// Makes a program's buffer object the signal page.
    ///
    /// # Errors
    ///
    /// EINVAL when there is one, or it is too small.
    pub(crate) fn set_page(&self, bo: Arc<Bo>, handle: u64) -> Result {
        let mut state = self.state.lock();
        if state.page.is_some() || bo.size() < abi::SIGNAL_PAGE_SIZE as u64 {
            return Err(EINVAL);
        }
        let slots = u32::try_from(bo.size() / 8)
            .unwrap_or(u32::MAX)
            .min(MAX_OF_A_KIND);
        clear(&bo)?;
        state.slots = slots;
        state.page = Some(SignalPage { bo, handle });
        Ok(())
    }

    /// Whether this buffer object's handle is the signal page's.
    pub(crate) fn is_page(&self, handle: u64) -> bool {
        let state = self.state.lock();
        state
            .page
            .as_ref()
            .is_some_and(|page| page.handle == handle)
    }

    /// Makes an event. `page_offset` becomes 0 once there is memory for it, whatever comes then
    /// (`kfd_event_create`).
    ///
    /// # Errors
    ///
    /// ENOSPC when the signal page is full, or there are [`MAX_OF_A_KIND`]; ENOMEM, also for a signal
    /// of a process that gave no page (`create_signal_event`).
    pub(crate) fn create(
        &self,
        kind: u32,
        auto_reset: bool,
        page_offset: &mut u64,
    ) -> Result<Created> {
        let signal = matches!(kind, abi::EVENT_SIGNAL | abi::EVENT_DEBUG_EVENT);
        loop {
            let growth = self.state.lock().table(signal).growth();
            let room = Room::new(growth)?;
            *page_offset = 0;
            match self.create_in(room, kind, auto_reset) {
                Err(EAGAIN) => {}
                result => return result,
            }
        }
    }

    /// Makes an event with memory that was got without the mutex.
    fn create_in(&self, room: Room<Event>, kind: u32, auto_reset: bool) -> Result<Created> {
        let mut guard = self.state.lock();
        let state = &mut *guard;
        let event = Event {
            kind,
            auto_reset,
            signaled: false,
            age: 1,
            serial: state.next_serial(),
            data: Data::None,
            _count: self.counts.count(Thing::Event),
        };
        if kind != abi::EVENT_SIGNAL && kind != abi::EVENT_DEBUG_EVENT {
            let id = state.others.insert_in(room, END, || Some(event))?;
            return Ok(Created {
                id: EventId::new(id),
                slot: None,
            });
        }
        let page = state.page.as_ref().ok_or(ENOMEM)?;
        // One slot is id 0's.
        if state.signals.len() >= (state.slots as usize).saturating_sub(1) {
            return Err(ENOSPC);
        }
        let id = state.signals.insert_in(room, state.slots, || Some(event))?;
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
        let mut state = self.state.lock();
        let id = id.get();
        let event = state.table(id < FIRST_OTHER).remove(id).ok_or(EINVAL)?;
        state.sleepers.wake(event.serial);
        Ok(())
    }

    /// Signals an event from the CPU. Only signal events can be.
    pub(crate) fn set(&self, id: EventId) -> Result {
        self.with_signal(id, Event::set)
    }

    /// Takes an event's signal back.
    pub(crate) fn reset(&self, id: EventId) -> Result {
        self.with_signal(id, |event, _| event.signaled = false)
    }

    fn with_signal(&self, id: EventId, f: impl FnOnce(&mut Event, &mut Sleepers)) -> Result {
        let mut state = self.state.lock();
        let (event, sleepers) = state.event(id.get()).ok_or(EINVAL)?;
        if event.kind != abi::EVENT_SIGNAL {
            return Err(EINVAL);
        }
        f(event, sleepers);
        Ok(())
    }

    /// The process ended: all events go, then the signal page. Nobody waits or makes more: no file of the process is
    /// open, or none of its threads is left.
    pub(crate) fn clear(&self) {
        let mut guard = self.state.lock();
        let state = &mut *guard;
        let signals = core::mem::replace(&mut state.signals, IdTable::new(1));
        let others = core::mem::replace(&mut state.others, IdTable::new(FIRST_OTHER));
        let page = state.page.take();
        drop(guard);
        drop((signals, others, page));
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
