// SPDX-License-Identifier: MIT OR Apache-2.0

//! A process' hold of one GPU: everything that its memory objects need until they are freed.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Mutex};

use rkfd_uapi::device::ProcessDeviceApertures;
use rkfd_uapi::mmap::{doorbell_slice, DOORBELL_SLICE};
use rkfd_uapi::queue::CreateQueueArgs;

use super::{lock, Driver, DEVICE};
use crate::error::{Error, Result};
use crate::sys::map::Mapping;
use crate::trace::{self, Step};

/// A GPU whose address space this process has acquired.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) driver: Arc<Driver>,
    pub(crate) gpu_id: u32,
    pub(crate) apertures: ProcessDeviceApertures,
    pub(crate) render: OwnedFd,
    doorbells: Mutex<Option<Arc<Mapping>>>,
}

impl Link {
    /// Acquires a GPU's address space with its render node, which `open_render` opens.
    pub(crate) fn acquire(
        driver: &Arc<Driver>,
        gpu_id: u32,
        open_render: impl FnOnce() -> Result<OwnedFd>,
    ) -> Result<Arc<Self>> {
        let apertures = driver.apertures_of(gpu_id)?;
        let render = open_render()?;
        driver.kfd.acquire_vm(gpu_id, render.as_fd())?;
        Ok(Arc::new(Self {
            driver: driver.clone(),
            gpu_id,
            apertures,
            render,
            doorbells: Mutex::default(),
        }))
    }

    /// Refuses a process whose GPUs may access all of its memory: see the crate's documentation of
    /// why submitting is safe. Once a queue exists, the mode can't change.
    fn check_reach(&self) -> Result<()> {
        match self.driver.kfd.xnack() {
            true => Err(Error::Xnack),
            false => Ok(()),
        }
    }

    /// Makes a queue: the process' doorbells, and where the queue's lies in them. Its memory must
    /// stay until the queue is destroyed. `retries`: whether the GPU can retry accesses of
    /// memory that is not mapped.
    pub(crate) fn create_queue(
        &self,
        args: &mut CreateQueueArgs,
        retries: bool,
    ) -> Result<(Arc<Mapping>, usize)> {
        let kfd = &self.driver.kfd;
        kfd.create_queue(args)?;
        let (slice, doorbell) = doorbell_slice(args.doorbell_offset);
        let reach = if retries { self.check_reach() } else { Ok(()) };
        let doorbells = reach.and_then(|()| self.doorbells(slice));
        let doorbells = doorbells.inspect_err(|_| {
            // If it can't be destroyed, the process' end destroys it.
            let _ = kfd.destroy_queue(args.queue_id);
        })?;
        Ok((doorbells, doorbell))
    }

    /// The process' doorbells on this GPU, at the mmap offset that the driver returned.
    fn doorbells(&self, offset: u64) -> Result<Arc<Mapping>> {
        let mut slot = lock(&self.doorbells);
        if let Some(map) = &*slot {
            return Ok(map.clone());
        }
        let size = DOORBELL_SLICE;
        let map = Arc::new(Mapping::of_file(self.driver.kfd.as_fd(), offset, size)?);
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
