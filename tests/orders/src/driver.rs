// SPDX-License-Identifier: MIT OR Apache-2.0

//! A driver that has events and nothing else. A wait has no time limit here: a wake-up that gets
//! lost, which costs a program a second, stops a model for good, and loom reports it.

use std::sync::{Arc, PoisonError};

use rkfd_uapi::event::{CreateEventArgs, EventData, EVENT_SIGNAL};

use crate::error::{Error, Result};
use crate::sync::{Condvar, Mutex, MutexGuard};
use crate::sys::map::Mapping;

/// Locks a mutex, as the library does.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What signals and pools need of a GPU: its driver, and memory.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) driver: Arc<Driver>,
    /// There is one GPU.
    pub(crate) gpu_id: u32,
    /// Objects, in the order of their addresses. No model is about this lock, so it is none of loom's.
    pub(crate) objects: std::sync::Mutex<Vec<Arc<Mapping>>>,
}

/// The driver.
#[derive(Debug)]
pub(crate) struct Driver {
    pub(crate) kfd: Kfd,
}

/// Its events: whether each is signalled. An event's id is its index.
#[derive(Debug)]
pub(crate) struct Kfd {
    signalled: Mutex<Vec<bool>>,
    changed: Condvar,
}

impl Link {
    pub(crate) fn new() -> Arc<Self> {
        let kfd = Kfd {
            signalled: Mutex::new(Vec::new()),
            changed: Condvar::new(),
        };
        let driver = Arc::new(Driver { kfd });
        let objects = std::sync::Mutex::default();
        Arc::new(Self {
            driver,
            gpu_id: 1,
            objects,
        })
    }
}

impl Kfd {
    /// Makes an event that a wait resets. There are none that report faults.
    pub(crate) fn create_event(
        &self,
        kind: u32,
        auto_reset: bool,
        _page: u64,
    ) -> Result<CreateEventArgs> {
        if kind != EVENT_SIGNAL || !auto_reset {
            return Err(Error::DeviceLost);
        }
        let mut signalled = lock(&self.signalled);
        signalled.push(false);
        let id = signalled.len() as u32 - 1;
        Ok(CreateEventArgs {
            event_id: id,
            event_slot_index: id,
            ..Default::default()
        })
    }

    /// No other GPU asks for an object.
    pub(crate) fn map(&self, _handle: u64, _gpu_id: u32) -> Result<()> {
        Err(Error::DeviceLost)
    }

    pub(crate) fn destroy_event(&self, _event_id: u32) -> Result<()> {
        Ok(())
    }

    /// Signals an event, as the GPU's interrupt does.
    pub(crate) fn set_event(&self, event_id: u32) -> Result<()> {
        if let Some(signalled) = lock(&self.signalled).get_mut(event_id as usize) {
            *signalled = true;
        }
        self.changed.notify_all();
        Ok(())
    }

    /// Waits for one of some events and resets those that were signalled.
    pub(crate) fn wait(&self, events: &mut [EventData], _millis: u32) -> Result<bool> {
        let mut signalled = lock(&self.signalled);
        loop {
            let mut any = false;
            for event in &*events {
                let of_event = signalled.get_mut(event.event_id as usize);
                any |= of_event.is_some_and(std::mem::take);
            }
            if any {
                return Ok(true);
            }
            let woken = self.changed.wait(signalled);
            signalled = woken.unwrap_or_else(PoisonError::into_inner);
        }
    }
}
