// SPDX-License-Identifier: MIT OR Apache-2.0

//! The driver's events of this process: the page of their slots, those that are not in use, and
//! those that report faults.
//!
//! A process hands one page over to the driver, so all GPUs' signals share it. It is memory of the first GPU that makes a
//! signal, mapped on each other one for its first. Signals of a GPU on which it can't be mapped have no events: who
//! waits for them looks at them again and again.

use std::sync::Arc;

use rkfd_uapi::event::{
    EventData, EVENT_HW_EXCEPTION, EVENT_MEMORY, EVENT_SIGNAL, SIGNAL_PAGE_SIZE,
};

use super::fault::check;
#[cfg(feature = "async")]
use super::reactor::Reactor;
use crate::driver::{lock, Driver, Link};
use crate::error::Result;
use crate::memory::{flags, Bo};
use crate::sync::Mutex;

/// Events kept for the next signals.
const SPARE: usize = 256;

/// The events of a process.
#[derive(Debug)]
pub(crate) struct Events {
    driver: Arc<Driver>,
    state: Mutex<State>,
    #[cfg(feature = "async")]
    pub(super) reactor: Reactor,
}

/// An event's id and its slot in the signal page.
type Slot = (u32, u64);

#[derive(Debug, Default)]
struct State {
    page: Option<Bo>,
    /// The GPUs on which the page was to be mapped, and whether it is.
    mapped: Vec<(u32, bool)>,
    spare: Vec<Slot>,
    /// Kinds and ids.
    faults: Option<Vec<(u32, u32)>>,
}

/// An event, returned to the spare ones when dropped.
#[derive(Debug)]
pub(super) struct Event {
    pub(super) events: Arc<Events>,
    pub(super) id: u32,
    slot: u64,
    /// Address of the slot.
    pub(super) mailbox: u64,
}

impl Events {
    pub(crate) fn new(driver: &Arc<Driver>) -> Arc<Self> {
        Arc::new(Self {
            driver: driver.clone(),
            state: Mutex::default(),
            #[cfg(feature = "async")]
            reactor: Reactor::new(driver),
        })
    }

    /// Takes an event for a signal of a GPU; the first one brings the page, in memory of `link`. `None`: the GPU
    /// doesn't reach the page.
    pub(super) fn take(self: &Arc<Self>, link: &Arc<Link>) -> Result<Option<Event>> {
        let kfd = &self.driver.kfd;
        let mut state = lock(&self.state);
        let (page, made) = match &state.page {
            Some(page) => {
                let (address, handle) = (page.address(), page.handle());
                if !state.reaches(link.gpu_id, || kfd.map(handle, link.gpu_id).is_ok()) {
                    return Ok(None);
                }
                (address, None)
            }
            None => {
                let page = Bo::new(link, SIGNAL_PAGE_SIZE, flags::SHARED)?;
                let made = kfd.create_event(EVENT_SIGNAL, true, page.handle())?;
                let address = page.address();
                state.page = Some(page);
                state.mapped.push((link.gpu_id, true));
                (address, Some(made))
            }
        };
        let (id, slot) = match (made, state.spare.pop()) {
            (None, Some(spare)) => spare,
            (made, spare) => {
                state.spare.extend(spare);
                let made = match made {
                    Some(made) => made,
                    None => kfd.create_event(EVENT_SIGNAL, true, 0)?,
                };
                (made.event_id, u64::from(made.event_slot_index))
            }
        };
        Ok(Some(Event {
            events: self.clone(),
            id,
            slot,
            mailbox: page + slot * 8,
        }))
    }

    /// The events that report faults and resets, made at the first call: kinds and ids. A driver
    /// without them costs the explanation of a fault, nothing else.
    pub(crate) fn faults(&self) -> Vec<(u32, u32)> {
        let mut state = lock(&self.state);
        let make = |kind| {
            let made = self.driver.kfd.create_event(kind, false, 0);
            made.ok().map(|made| (kind, made.event_id))
        };
        let faults = state.faults.get_or_insert_with(|| {
            let kinds = [EVENT_MEMORY, EVENT_HW_EXCEPTION];
            kinds.into_iter().filter_map(make).collect()
        });
        faults.clone()
    }

    /// Sleeps until one of some events or a fault is signalled.
    ///
    /// # Errors
    ///
    /// The fault, if there was one and `done` doesn't hold.
    pub(super) fn sleep(
        &self,
        ids: impl IntoIterator<Item = u32>,
        millis: u32,
        done: impl Fn() -> bool,
    ) -> Result<()> {
        let faults = self.faults();
        let fault_ids = faults.iter().map(|&(_, id)| id);
        let mut events: Vec<_> = fault_ids
            .chain(ids)
            .map(|id| EventData::wait_for(id, 0))
            .collect();
        self.driver.kfd.wait(&mut events, millis)?;
        match done() {
            true => Ok(()),
            false => check(&faults, &events),
        }
    }
}

impl State {
    /// Whether a GPU reaches the page; the first time it is mapped there.
    fn reaches(&mut self, gpu_id: u32, map: impl FnOnce() -> bool) -> bool {
        if let Some((_, is)) = self.mapped.iter().find(|(id, _)| *id == gpu_id) {
            return *is;
        }
        let is = map();
        self.mapped.push((gpu_id, is));
        is
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        let mut state = lock(&self.events.state);
        if state.spare.len() < SPARE {
            // A spare event may still be signalled; its next user wakes once for nothing.
            state.spare.push((self.id, self.slot));
        } else {
            // The process' end destroys what can't be destroyed now.
            let _ = self.events.driver.kfd.destroy_event(self.id);
        }
    }
}
