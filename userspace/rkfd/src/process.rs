// SPDX-License-Identifier: MIT OR Apache-2.0

//! What a process has once, however often it opens a GPU.
//!
//! The driver keeps one compute process for an address space. In it a GPU's address space can be
//! acquired from one render node file only, and one signal page can be handed over, so the files
//! and the page are kept here until the process ends.

use std::collections::HashMap;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use rkfd_uapi::device::ProcessDeviceApertures;
use rkfd_uapi::mmap::doorbell_slice;
use rkfd_uapi::queue::CreateQueueArgs;
use rkfd_uapi::{event, mmap, VERSION_MAJOR};

use crate::error::{Error, Result};
use crate::memory::{flags, Bo};
use crate::sys::kfd::{open_device, Kfd};
use crate::sys::map::Mapping;
use crate::trace::{self, Step};
use crate::trap::TrapHandler;

const DEVICE: &str = "/dev/kfd";

/// Locks a mutex; what it guards stays consistent even if a holder panicked.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

static PROCESS: Mutex<Option<Arc<Process>>> = Mutex::new(None);

/// The driver's file and what goes with it.
#[derive(Debug)]
pub(crate) struct Process {
    pub(crate) kfd: Kfd,
    pub(crate) version: (u32, u32),
    apertures: Vec<ProcessDeviceApertures>,
    pid: rustix::process::Pid,
    links: Mutex<HashMap<u32, Arc<Link>>>,
    pub(crate) events: Mutex<Events>,
}

/// A signal event: its id and its slot in the signal page.
pub(crate) type EventSlot = (u32, u64);

/// The signal page and the events that are not in use.
#[derive(Debug, Default)]
pub(crate) struct Events {
    pub(crate) page: Option<Arc<Bo>>,
    pub(crate) spare: Vec<EventSlot>,
    pub(crate) faults: Option<Vec<(u32, u32)>>,
}

/// A process' hold of one GPU: everything that its memory objects need until they are freed.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) process: Arc<Process>,
    pub(crate) gpu_id: u32,
    pub(crate) apertures: ProcessDeviceApertures,
    pub(crate) render: OwnedFd,
    doorbells: Mutex<Option<Arc<Mapping>>>,
    trap_handler: OnceLock<Option<TrapHandler>>,
}

impl Process {
    /// The process' one instance; opens the driver the first time.
    pub(crate) fn get() -> Result<Arc<Self>> {
        let mut slot = lock(&PROCESS);
        if let Some(process) = &*slot {
            return match process.pid == rustix::process::getpid() {
                true => Ok(process.clone()),
                false => Err(Error::Forked),
            };
        }
        let process = Self::of_device(Kfd(open_device(Path::new(DEVICE))?))?;
        *slot = Some(process.clone());
        Ok(process)
    }

    /// Reads what there is to know of an open driver.
    pub(crate) fn of_device(kfd: Kfd) -> Result<Arc<Self>> {
        let version = kfd.version()?;
        if version.0 != VERSION_MAJOR {
            return Err(Error::Version {
                major: version.0,
                minor: version.1,
            });
        }
        let apertures = kfd.apertures()?;
        Ok(Arc::new(Self {
            kfd,
            version,
            apertures,
            pid: rustix::process::getpid(),
            links: Mutex::default(),
            events: Mutex::default(),
        }))
    }

    /// Takes hold of a GPU; the second time, gives the same hold.
    pub(crate) fn link(
        self: &Arc<Self>,
        gpu_id: u32,
        open_render: impl FnOnce() -> Result<OwnedFd>,
    ) -> Result<Arc<Link>> {
        let mut links = lock(&self.links);
        if let Some(link) = links.get(&gpu_id) {
            return Ok(link.clone());
        }
        let apertures = self
            .apertures
            .iter()
            .find(|a| a.gpu_id == gpu_id)
            .copied()
            .ok_or_else(|| Error::Topology {
                path: crate::topology::ROOT.into(),
                what: format!("GPU {gpu_id:#x} has no apertures; the driver may be restarting"),
            })?;
        let render = open_render()?;
        self.kfd.acquire_vm(gpu_id, render.as_fd())?;
        // Nothing can fault before now, and a fault that finds no event is told to nobody.
        self.fault_events();
        let process = self.clone();
        let doorbells = Mutex::default();
        let link = Arc::new(Link {
            process,
            gpu_id,
            apertures,
            render,
            doorbells,
            trap_handler: OnceLock::new(),
        });
        links.insert(gpu_id, link.clone());
        Ok(link)
    }

    /// The signal page, made and handed over at the first call. With it comes the event that the
    /// driver made when it took the page, if it was this call.
    pub(crate) fn signal_page(
        &self,
        events: &mut Events,
        link: &Arc<Link>,
    ) -> Result<(Arc<Bo>, Option<EventSlot>)> {
        if let Some(page) = &events.page {
            return Ok((page.clone(), None));
        }
        let page = Arc::new(Bo::new(link, event::SIGNAL_PAGE_SIZE, flags::SHARED)?);
        let made = self
            .kfd
            .create_event(event::EVENT_SIGNAL, true, page.handle())?;
        events.page = Some(page.clone());
        Ok((
            page,
            Some((made.event_id, u64::from(made.event_slot_index))),
        ))
    }

    /// The events that tell of faults and resets, made with the first hold of a GPU. A driver
    /// without them costs the explanation of a fault, nothing else. Kinds and ids.
    pub(crate) fn fault_events(&self) -> Vec<(u32, u32)> {
        let mut events = lock(&self.events);
        let make = |kind| {
            self.kfd
                .create_event(kind, false, 0)
                .ok()
                .map(|made| (kind, made.event_id))
        };
        events
            .faults
            .get_or_insert_with(|| {
                [event::EVENT_MEMORY, event::EVENT_HW_EXCEPTION]
                    .into_iter()
                    .filter_map(make)
                    .collect()
            })
            .clone()
    }
}

impl Link {
    /// The trap handler, made before the first queue that wants it. A driver that refuses it costs
    /// the explanation of errors of waves, nothing else.
    pub(crate) fn trap_handler(self: &Arc<Self>, target: &str) -> Option<&TrapHandler> {
        let make = || TrapHandler::install(self, target).ok().flatten();
        self.trap_handler.get_or_init(make).as_ref()
    }

    /// No queue of this doorbell is told of its waves any more.
    pub(crate) fn forget_doorbell(&self, doorbell: usize) {
        if let Some(Some(handler)) = self.trap_handler.get() {
            // The table was written before.
            let _ = handler.tell(doorbell, 0);
        }
    }

    /// Makes a queue: the process' doorbells, and where the queue's lies in them. Its memory must
    /// stay until the queue is destroyed.
    pub(crate) fn create_queue(&self, args: &mut CreateQueueArgs) -> Result<(Arc<Mapping>, usize)> {
        let kfd = &self.process.kfd;
        kfd.create_queue(args)?;
        let (slice, doorbell) = doorbell_slice(args.doorbell_offset);
        let doorbells = self.doorbells(slice).inspect_err(|_| {
            // If it can't be destroyed, the process' end destroys it.
            let _ = kfd.destroy_queue(args.queue_id);
        })?;
        Ok((doorbells, doorbell))
    }

    /// The process' doorbells on this GPU; `offset` is where the driver says they are.
    fn doorbells(&self, offset: u64) -> Result<Arc<Mapping>> {
        let mut slot = lock(&self.doorbells);
        if let Some(map) = &*slot {
            return Ok(map.clone());
        }
        let size = mmap::DOORBELL_SLICE;
        let map = Arc::new(Mapping::of_file(self.process.kfd.0.as_fd(), offset, size)?);
        let address = map.address();
        trace::emit(&Step::Map {
            what: "doorbells",
            file: DEVICE,
            offset,
            address,
            size,
        });
        *slot = Some(map.clone());
        Ok(map)
    }
}
