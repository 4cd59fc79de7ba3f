// SPDX-License-Identifier: MIT OR Apache-2.0

//! What all kinds of queue have in common: the driver made them, they have an id and a doorbell,
//! and memory that the GPU accesses until the driver has destroyed them.

use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};

use rkfd_uapi::queue::{CreateQueueArgs, MAX_PERCENTAGE};
use rkfd_uapi::topology::CAP_SVM_API;

use super::words::{Words, READ_POINTER, WRITE_POINTER};
use super::Priority;
use crate::driver::lock;
use crate::error::{Error, Result};
use crate::gpu::Gpu;
use crate::memory::{flags, Bo};
use crate::signal::Signal;
use crate::sys::map::{Mapping, PAGE};

/// A queue that the driver made. Dropping it destroys the queue, then frees its memory.
#[derive(Debug)]
pub(crate) struct Made<M> {
    pub(crate) gpu: Gpu,
    pub(crate) id: u32,
    doorbells: Arc<Mapping>,
    /// Bytes from the start of the doorbells.
    pub(crate) doorbell: usize,
    /// What the GPU accesses while the queue exists; `None` when it must not be freed.
    memory: Option<M>,
    /// What work that nobody waited for still uses.
    unawaited: Mutex<Vec<InUse>>,
}

/// What work uses until its signal is 0.
#[derive(Debug)]
pub(crate) struct InUse {
    pub(crate) signal: Signal,
    /// Whatever must live as long.
    pub(crate) _held: Box<dyn Held>,
}

/// Anything that work holds on to.
pub(crate) trait Held: std::fmt::Debug + Send + Sync {}

impl<T: std::fmt::Debug + Send + Sync> Held for T {}

impl InUse {
    pub(crate) fn is_done(&self) -> bool {
        self.signal.value() <= 0
    }
}

/// The part of a request for a queue that is the same for all kinds.
pub(crate) fn request(gpu: &Gpu, kind: u32, priority: Priority) -> CreateQueueArgs {
    CreateQueueArgs {
        gpu_id: gpu.id(),
        queue_type: kind,
        queue_percentage: MAX_PERCENTAGE,
        queue_priority: priority.get().into(),
        ..Default::default()
    }
}

impl<M> Made<M> {
    /// Has the driver make a queue, whose memory this is.
    pub(crate) fn new(gpu: &Gpu, memory: M, mut args: CreateQueueArgs) -> Result<Self> {
        let retries = gpu.node().property("capability") & u64::from(CAP_SVM_API) != 0;
        let (doorbells, doorbell) = gpu.link().create_queue(&mut args, retries)?;
        Ok(Self {
            gpu: gpu.clone(),
            id: args.queue_id,
            doorbells,
            doorbell,
            memory: Some(memory),
            unawaited: Mutex::default(),
        })
    }

    pub(crate) fn memory(&self) -> Result<&M> {
        self.memory.as_ref().ok_or(Error::NotHostVisible)
    }

    /// The doorbell.
    pub(crate) fn bell(&self) -> Result<&AtomicU64> {
        let bell = self.doorbells.word64(self.doorbell);
        bell.ok_or(Error::NotHostVisible)
    }

    /// Keeps what work uses until it is done, and lets go of what is no longer used.
    pub(crate) fn keep(&self, used: InUse) {
        let mut unawaited = lock(&self.unawaited);
        unawaited.retain(|used| !used.is_done());
        unawaited.push(used);
    }
}

impl<M> Drop for Made<M> {
    fn drop(&mut self) {
        // Before another queue can have the doorbell.
        self.gpu.hold().forget_doorbell(self.doorbell);
        if self.gpu.link().driver.kfd.destroy_queue(self.id).is_err() {
            // Nothing proves that the GPU stopped: what it may access stays, until the process
            // ends and the driver takes it back.
            std::mem::forget(self.memory.take());
            std::mem::forget(std::mem::take(&mut *lock(&self.unawaited)));
        }
    }
}

/// The memory of a ring of words: the ring, and the page that its pointers lie in.
#[derive(Debug)]
pub(crate) struct WordRing {
    ring: Bo,
    control: Bo,
}

impl WordRing {
    /// Allocates a ring of so many bytes and fills in where it is.
    pub(crate) fn new(gpu: &Gpu, bytes: u32, args: &mut CreateQueueArgs) -> Result<Self> {
        let ring = Bo::new(gpu.link(), bytes as usize, flags::SHARED)?;
        let control = Bo::new(gpu.link(), PAGE, flags::SHARED)?;
        ring.clear()?;
        control.clear()?;
        args.ring_base_address = ring.address();
        args.ring_size = bytes;
        args.write_pointer_address = control.address() + WRITE_POINTER as u64;
        args.read_pointer_address = control.address() + READ_POINTER as u64;
        Ok(Self { ring, control })
    }

    /// The words and the pointers.
    pub(crate) fn words(&self) -> Result<Words<'_>> {
        let (ring, control) = (self.ring.host()?, self.control.host()?);
        let words = ring.words32(0, self.ring.size() / 4);
        let pointer = |at| control.word64(at).ok_or(Error::NotHostVisible);
        Ok(Words {
            words: words.ok_or(Error::NotHostVisible)?,
            write: pointer(WRITE_POINTER)?,
            read: pointer(READ_POINTER)?,
        })
    }
}
