// SPDX-License-Identifier: MIT OR Apache-2.0

//! What a process has once, however often it opens a GPU.
//!
//! The driver keeps one compute process for an address space. In it a GPU's address space can be
//! acquired from one render node file only, and one signal page can be handed over, so the files
//! and the page are kept here until the process ends.

use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, OnceLock};

use crate::driver::{lock, Driver, Link};
use crate::error::{Error, Result};
use crate::signal::Events;
use crate::trap::TrapHandler;

static PROCESS: Mutex<Option<Arc<Process>>> = Mutex::new(None);

/// The driver and the GPUs that were opened.
#[derive(Debug)]
pub(crate) struct Process {
    driver: Arc<Driver>,
    events: Arc<Events>,
    gpus: Mutex<HashMap<u32, Arc<Hold>>>,
}

/// A GPU that was opened.
#[derive(Debug)]
pub(crate) struct Hold {
    pub(crate) link: Arc<Link>,
    pub(crate) events: Arc<Events>,
    trap_handler: OnceLock<Option<TrapHandler>>,
}

impl Process {
    /// The process' one instance; opens the driver the first time.
    pub(crate) fn get() -> Result<Arc<Self>> {
        let mut slot = lock(&PROCESS);
        if let Some(process) = &*slot {
            return match process.driver.is_own() {
                true => Ok(process.clone()),
                false => Err(Error::Forked),
            };
        }
        let process = Arc::new(Self::of_driver(Driver::open()?));
        *slot = Some(process.clone());
        Ok(process)
    }

    pub(crate) fn of_driver(driver: Arc<Driver>) -> Self {
        Self {
            events: Events::new(&driver),
            driver,
            gpus: Mutex::default(),
        }
    }

    /// Takes hold of a GPU; the second time, gives the same hold.
    pub(crate) fn hold(
        &self,
        gpu_id: u32,
        open_render: impl FnOnce() -> Result<OwnedFd>,
    ) -> Result<Arc<Hold>> {
        let mut gpus = lock(&self.gpus);
        if let Some(hold) = gpus.get(&gpu_id) {
            return Ok(hold.clone());
        }
        let link = Link::acquire(&self.driver, gpu_id, open_render)?;
        // Nothing can fault before now, and the driver reports a fault to events that exist.
        self.events.faults();
        let hold = Arc::new(Hold {
            link,
            events: self.events.clone(),
            trap_handler: OnceLock::new(),
        });
        gpus.insert(gpu_id, hold.clone());
        Ok(hold)
    }
}

impl Hold {
    /// The trap handler, made before the first queue that wants it. A driver that refuses it costs
    /// the explanation of errors of waves, nothing else.
    pub(crate) fn trap_handler(&self, target: &str) -> Option<&TrapHandler> {
        let make = || TrapHandler::install(&self.link, target).ok().flatten();
        self.trap_handler.get_or_init(make).as_ref()
    }

    /// Ends reports to the queue of a doorbell.
    pub(crate) fn forget_doorbell(&self, doorbell: usize) {
        if let Some(Some(handler)) = self.trap_handler.get() {
            // The table was written before.
            let _ = handler.report_to(doorbell, 0);
        }
    }
}
