// SPDX-License-Identifier: MIT OR Apache-2.0

//! Copy queues: memory is copied and filled by the GPU's SDMA engines, beside its compute units.
//!
//! A copy is packets in a ring and a doorbell, without a system call, as a dispatch is. It ends as
//! one does: the engine decrements a signal, writes the event's slot in the signal page and raises
//! the interrupt.
//!
//! Sources: the packets: [`rkfd_hw::sdma`]; which of them a process sends, and in which order:
//! ROCr, `amd_blit_sdma.cpp` (`BlitSdma::SubmitCommand`).

mod packets;
mod ring;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use rkfd_uapi::queue::{
    CreateQueueArgs, MAX_PERCENTAGE, QUEUE_TYPE_SDMA, QUEUE_TYPE_SDMA_BY_ENG_ID,
};

use crate::device::Gpu;
use crate::error::{Error, Result};
use crate::kernarg::Address;
use crate::memory::{flags, Bo, Buffer, Number};
use crate::process::lock;
use crate::signal::Signal;
use crate::sys::map::{Mapping, PAGE};

pub(crate) use packets::Completion;
use packets::Generation;
use ring::{Ring, READ_POINTER, WRITE_POINTER};

/// Bytes of a ring.
const RING: usize = 64 << 10;

/// A queue of an SDMA engine. Clones are the same queue, which is destroyed with the last of them
/// and its last copy.
///
/// A GPU has few of these ([`Gpu::copy_queue`] tells when there is none left): who gets none
/// copies by [`Buffer::write`] and [`Buffer::read_at`], or by a kernel. The library does not do so
/// by itself.
#[derive(Clone, Debug)]
pub struct CopyQueue {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    gpu: Gpu,
    id: u32,
    generation: Generation,
    doorbells: Arc<Mapping>,
    doorbell: usize,
    /// Memory that the engine accesses while the queue exists; `None` when it must not be freed.
    memory: Option<Memory>,
    /// Bytes written into the ring. Held by who writes.
    written: Mutex<u64>,
    /// What copies that nobody waited for still use.
    unawaited: Mutex<Vec<Used>>,
}

#[derive(Debug)]
struct Memory {
    ring: Bo,
    control: Bo,
}

/// What a copy uses until it is done.
#[derive(Debug)]
struct Used {
    signal: Signal,
    _memory: Vec<Arc<Bo>>,
}

/// A copy or fill that was submitted.
#[derive(Debug)]
#[must_use = "a copy goes on by itself; wait for it before its memory is used"]
pub struct Copying {
    queue: CopyQueue,
    used: Option<Used>,
    packets: usize,
}

impl CopyQueue {
    pub(crate) fn new(gpu: &Gpu, engine: Option<u32>) -> Result<Self> {
        let (link, node) = (gpu.link(), gpu.node());
        let engines = node.property("num_sdma_engines") + node.property("num_sdma_xgmi_engines");
        if engines == 0 {
            return Err(Error::NoCopyEngine);
        }
        let memory = Memory {
            ring: Bo::new(link, RING, flags::SHARED)?,
            control: Bo::new(link, PAGE, flags::SHARED)?,
        };
        memory.ring.clear()?;
        memory.control.clear()?;
        let mut args = CreateQueueArgs {
            ring_base_address: memory.ring.address(),
            write_pointer_address: memory.control.address() + WRITE_POINTER as u64,
            read_pointer_address: memory.control.address() + READ_POINTER as u64,
            ring_size: RING as u32,
            gpu_id: link.gpu_id,
            queue_type: engine.map_or(QUEUE_TYPE_SDMA, |_| QUEUE_TYPE_SDMA_BY_ENG_ID),
            queue_percentage: MAX_PERCENTAGE,
            queue_priority: 7,
            sdma_engine_id: engine.unwrap_or(0),
            ..Default::default()
        };
        let (doorbells, doorbell) = link.create_queue(&mut args).map_err(|error| match error {
            // The driver's answer when no queue of the engines is free.
            Error::Ioctl {
                errno: rustix::io::Errno::NOMEM,
                ..
            } => Error::NoCopyEngine,
            error => error,
        })?;
        let inner = Inner {
            gpu: gpu.clone(),
            id: args.queue_id,
            generation: Generation::of(node.gfx_target_version()),
            doorbells,
            doorbell,
            memory: Some(memory),
            written: Mutex::default(),
            unawaited: Mutex::default(),
        };
        Ok(Self {
            inner: Arc::new(inner),
        })
    }

    /// The queue's id in this process.
    pub fn id(&self) -> u32 {
        self.inner.id
    }

    /// The GPU.
    pub fn gpu(&self) -> &Gpu {
        &self.inner.gpu
    }

    /// Bytes of packets written into the ring, and those that the engine is done with.
    pub fn pointers(&self) -> (u64, u64) {
        let read = self.inner.ring().map_or(0, |ring| ring.read());
        (*lock(&self.inner.written), read)
    }

    /// Copies a buffer into another one of the same length. They may be the same memory, but must
    /// not overlap otherwise, which two buffers never do.
    ///
    /// # Errors
    ///
    /// [`Error::Length`] when the lengths differ, [`Error::OtherGpu`] for memory of another GPU's.
    pub fn copy<T: Number>(&self, to: &Buffer<T>, from: &Buffer<T>) -> Result<Copying> {
        if to.len() != from.len() {
            return Err(Error::Length {
                buffer: to.len(),
                slice: from.len(),
            });
        }
        self.check_gpu(to)?;
        self.check_gpu(from)?;
        let bytes = (to.len() * size_of::<T>()) as u64;
        let memory = vec![to.bo().clone(), from.bo().clone()];
        let packets = self
            .inner
            .generation
            .copy(to.address(), from.address(), bytes);
        self.submit(&packets, memory)
    }

    /// Copies bytes between addresses of the GPU: of memory that the caller keeps alive until the
    /// copy is done, such as its own that it made known to the driver. Where nothing is mapped,
    /// the GPU faults.
    ///
    /// # Errors
    ///
    /// [`Error::Size`] for no bytes.
    pub fn copy_at(&self, to: Address, from: Address, bytes: usize) -> Result<Copying> {
        if bytes == 0 {
            return Err(Error::Size {
                elements: 0,
                size: 1,
            });
        }
        let packets = self.inner.generation.copy(to.0, from.0, bytes as u64);
        self.submit(&packets, Vec::new())
    }

    /// Sets every word of 32 bits of a buffer.
    ///
    /// # Errors
    ///
    /// [`Error::Length`] when the buffer is not of whole words, [`Error::OtherGpu`] for memory of
    /// another GPU's.
    pub fn fill<T: Number>(&self, buffer: &Buffer<T>, word: u32) -> Result<Copying> {
        self.check_gpu(buffer)?;
        let bytes = buffer.len() * size_of::<T>();
        if bytes % 4 != 0 {
            return Err(Error::Length {
                buffer: bytes,
                slice: bytes.next_multiple_of(4),
            });
        }
        let generation = self.inner.generation;
        let packets = generation.fill(buffer.address(), word, bytes as u64);
        self.submit(&packets, vec![buffer.bo().clone()])
    }

    fn check_gpu<T: Number>(&self, buffer: &Buffer<T>) -> Result<()> {
        match buffer.bo().link().gpu_id == self.inner.gpu.link().gpu_id {
            true => Ok(()),
            false => Err(Error::OtherGpu { what: "a buffer" }),
        }
    }

    /// Puts packets into the ring, with what goes before and after them.
    fn submit(&self, packets: &[Vec<u32>], memory: Vec<Arc<Bo>>) -> Result<Copying> {
        let inner = &*self.inner;
        let signal = inner.gpu.signal_of(1, true)?;
        let (before, after) = (
            inner.generation.before(),
            inner.generation.after(&signal.completion()),
        );
        let ring = inner.ring()?;
        let bell = inner
            .doorbells
            .word64(inner.doorbell)
            .ok_or(Error::NotHostVisible)?;
        // From here on the engine may have begun: what it uses stays until it is done.
        let copying = Copying {
            queue: self.clone(),
            used: Some(Used {
                signal,
                _memory: memory,
            }),
            packets: packets.len(),
        };
        let mut written = lock(&inner.written);
        let all = std::iter::once(&before)
            .chain(packets)
            .chain(std::iter::once(&after));
        ring.push(&mut written, all, bell)?;
        drop(written);
        Ok(copying)
    }

    /// Keeps what a copy uses until it is done, and lets go of what is no longer used.
    fn keep(&self, used: Used) {
        let mut unawaited = lock(&self.inner.unawaited);
        unawaited.retain(|used| used.signal.value() > 0);
        unawaited.push(used);
    }
}

impl Copying {
    /// In how many packets it copies or fills, without those that go before and after.
    pub fn packets(&self) -> usize {
        self.packets
    }

    /// Whether it is done. Makes no system call.
    pub fn is_done(&self) -> bool {
        self.used
            .as_ref()
            .is_none_or(|used| used.signal.value() <= 0)
    }

    /// Waits until it is done: spins a little, then sleeps on the signal's event.
    ///
    /// # Errors
    ///
    /// [`Error::MemoryFault`] when the engine could not access memory, [`Error::DeviceLost`] when
    /// the GPU is gone.
    pub fn wait(self) -> Result<()> {
        self.wait_for(None)
    }

    /// The same, for a limited time.
    ///
    /// # Errors
    ///
    /// [`Error::Timeout`], and as [`Copying::wait`].
    pub fn wait_timeout(self, timeout: Duration) -> Result<()> {
        self.wait_for(Some(timeout))
    }

    fn wait_for(self, timeout: Option<Duration>) -> Result<()> {
        match &self.used {
            Some(used) => used.signal.wait(timeout, None, || Ok(())),
            None => Ok(()),
        }
    }
}

impl Drop for Copying {
    fn drop(&mut self) {
        let done = self.is_done();
        if let Some(used) = self.used.take().filter(|_| !done) {
            self.queue.keep(used);
        }
    }
}

impl Inner {
    fn ring(&self) -> Result<Ring<'_>> {
        let memory = self.memory.as_ref().ok_or(Error::NotHostVisible)?;
        let (ring, control) = (memory.ring.host()?, memory.control.host()?);
        let word = |offset| control.word64(offset).ok_or(Error::NotHostVisible);
        Ok(Ring {
            words: ring
                .words32(0, memory.ring.size() / 4)
                .ok_or(Error::NotHostVisible)?,
            write: word(WRITE_POINTER)?,
            read: word(READ_POINTER)?,
        })
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        let kfd = &self.gpu.link().process.kfd;
        if kfd.destroy_queue(self.id).is_err() {
            // Nothing proves that the engine stopped: what it may access stays, until the process
            // ends and the driver takes it back.
            std::mem::forget(self.memory.take());
            std::mem::forget(std::mem::take(&mut *lock(&self.unawaited)));
        }
    }
}
