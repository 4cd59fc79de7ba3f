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

use std::sync::{Arc, Mutex};
use std::time::Duration;

use rkfd_uapi::queue::{QUEUE_TYPE_SDMA, QUEUE_TYPE_SDMA_BY_ENG_ID};

use crate::driver::lock;
use crate::error::{Error, Result};
use crate::gpu::Gpu;
use crate::memory::{Address, Bo, Buffer, Element};
use crate::queue::{request, Count, InUse, Made, Priority, WordRing};
#[cfg(feature = "async")]
use crate::signal::Done;

use packets::Generation;

/// Bytes of a ring.
const RING: u32 = 64 << 10;

/// A queue of an SDMA engine. Clones are the same queue, which is destroyed with the last of them
/// and its last copy.
///
/// A GPU has few of these: [`Gpu::copy_queue`] fails when there is none left. Who gets none
/// copies by [`Buffer::write`] and [`Buffer::read_at`], or by a kernel. The library does not do so
/// by itself.
///
/// ```no_run
/// use rkfd::{Gpu, Memory};
///
/// let gpu = Gpu::open()?;
/// let queue = gpu.copy_queue()?;
/// let staged = gpu.alloc_in::<u32>(Memory::Gtt, 1 << 20)?;
/// let local = gpu.alloc_in::<u32>(Memory::Vram, 1 << 20)?;
/// queue.fill(&local, 0)?.wait()?;
/// queue.copy(&staged.slice(..1024)?, &local.slice(4096..5120)?)?.wait()?;
/// # Ok::<(), rkfd::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct CopyQueue {
    made: Arc<Made<WordRing>>,
    generation: Generation,
    /// Words written into the ring. Held by who writes.
    written: Arc<Mutex<u64>>,
}

/// A copy or fill that was submitted. It goes on when this is dropped: what it uses is kept until
/// it is done.
#[derive(Debug)]
#[must_use = "a copy goes on by itself; wait for it before its memory is used"]
pub struct Copying {
    queue: CopyQueue,
    used: Option<InUse>,
    packets: usize,
}

impl Gpu {
    /// Makes a queue of an SDMA engine, any of those for the bus.
    ///
    /// # Errors
    ///
    /// [`Error::NoCopyEngine`] when the GPU has none, or none of their queues is free.
    pub fn copy_queue(&self) -> Result<CopyQueue> {
        CopyQueue::new(self, None)
    }

    /// Makes a queue of one SDMA engine, counted from 0.
    ///
    /// # Errors
    ///
    /// As [`Gpu::copy_queue`]; [`Error::Ioctl`] with EINVAL for an engine that is not there.
    pub fn copy_queue_on(&self, engine: u32) -> Result<CopyQueue> {
        CopyQueue::new(self, Some(engine))
    }
}

impl CopyQueue {
    fn new(gpu: &Gpu, engine: Option<u32>) -> Result<Self> {
        let node = gpu.node();
        let engines = node.property("num_sdma_engines") + node.property("num_sdma_xgmi_engines");
        if engines == 0 {
            return Err(Error::NoCopyEngine);
        }
        let kind = engine.map_or(QUEUE_TYPE_SDMA, |_| QUEUE_TYPE_SDMA_BY_ENG_ID);
        let mut args = request(gpu, kind, Priority::NORMAL);
        args.sdma_engine_id = engine.unwrap_or(0);
        let ring = WordRing::new(gpu, RING, &mut args)?;
        let made = Made::new(gpu, ring, args).map_err(|error| match error {
            // The driver's answer when no queue of the engines is free.
            Error::Ioctl {
                errno: rustix::io::Errno::NOMEM,
                ..
            } => Error::NoCopyEngine,
            error => error,
        })?;
        Ok(Self {
            made: Arc::new(made),
            generation: Generation::of(node.gfx_target_version()),
            written: Arc::default(),
        })
    }

    /// The queue's id in this process.
    pub fn id(&self) -> u32 {
        self.made.id
    }

    /// The GPU that it is of.
    pub fn gpu(&self) -> &Gpu {
        &self.made.gpu
    }

    /// Bytes of packets written into the ring, and those that the engine is done with.
    pub fn pointers(&self) -> (u64, u64) {
        let ring = self.made.memory().and_then(WordRing::words);
        (*lock(&self.written) * 4, ring.map_or(0, |ring| ring.read()))
    }

    /// Copies a buffer, or a part of one, into another one of the same length.
    ///
    /// # Errors
    ///
    /// [`Error::Length`] when the lengths differ, [`Error::Overlap`] for two parts that share
    /// memory but are not the same, [`Error::OtherGpu`] for memory of another GPU's,
    /// [`Error::Size`] for no elements.
    pub fn copy<T: Element>(&self, to: &Buffer<T>, from: &Buffer<T>) -> Result<Copying> {
        if to.len() != from.len() {
            return Err(Error::Length {
                buffer: to.len(),
                slice: from.len(),
            });
        }
        self.check_gpu(to)?;
        self.check_gpu(from)?;
        let bytes = to.bytes() as u64;
        if bytes == 0 {
            return Err(Error::Size {
                elements: 0,
                size: size_of::<T>(),
            });
        }
        let apart = to.address().abs_diff(from.address());
        if apart != 0 && apart < bytes {
            return Err(Error::Overlap);
        }
        let memory = vec![to.bo().clone(), from.bo().clone()];
        let packets = self.generation.copy(to.address(), from.address(), bytes);
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
        let packets = self.generation.copy(to.0, from.0, bytes as u64);
        self.submit(&packets, Vec::new())
    }

    /// Sets every word of 32 bits of a buffer.
    ///
    /// # Errors
    ///
    /// [`Error::Length`] when the buffer is not of whole words, [`Error::Alignment`] when it does
    /// not start with one, [`Error::OtherGpu`] for memory of another GPU's, [`Error::Size`] for no
    /// elements.
    pub fn fill<T: Element>(&self, buffer: &Buffer<T>, word: u32) -> Result<Copying> {
        self.check_gpu(buffer)?;
        let (address, bytes) = (buffer.address(), buffer.bytes());
        if bytes == 0 {
            return Err(Error::Size {
                elements: 0,
                size: size_of::<T>(),
            });
        }
        if address % 4 != 0 {
            return Err(Error::Alignment { address, align: 4 });
        }
        if bytes % 4 != 0 {
            return Err(Error::Length {
                buffer: bytes,
                slice: bytes.next_multiple_of(4),
            });
        }
        let generation = self.generation;
        let packets = generation.fill(address, word, bytes as u64);
        self.submit(&packets, vec![buffer.bo().clone()])
    }

    fn check_gpu<T: Element>(&self, buffer: &Buffer<T>) -> Result<()> {
        match buffer.bo().link().gpu_id == self.gpu().id() {
            true => Ok(()),
            false => Err(Error::OtherGpu { what: "a buffer" }),
        }
    }

    /// Puts packets into the ring, with what goes before and after them.
    fn submit(&self, packets: &[Vec<u32>], memory: Vec<Arc<Bo>>) -> Result<Copying> {
        let signal = self.gpu().signal_of(1, true)?;
        let (before, after) = (
            self.generation.before(),
            self.generation.after(&signal.completion()),
        );
        let ring = self.made.memory()?.words()?;
        let bell = self.made.bell()?;
        // From here on the engine may have begun: what it uses stays until it is done.
        let copying = Copying {
            queue: self.clone(),
            used: Some(InUse {
                signal,
                _held: Box::new(memory),
            }),
            packets: packets.len(),
        };
        let mut written = lock(&self.written);
        let all = std::iter::once(&before)
            .chain(packets)
            .chain(std::iter::once(&after))
            .map(Vec::as_slice);
        ring.push(Count::Bytes, &mut written, all, bell, true)?;
        drop(written);
        Ok(copying)
    }
}

impl Copying {
    /// The number of packets that it copies or fills with, without those that go before and after.
    pub fn packets(&self) -> usize {
        self.packets
    }

    /// Whether it is done. Makes no system call.
    pub fn is_done(&self) -> bool {
        self.used.as_ref().is_none_or(InUse::is_done)
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

    /// The end of the copy as a future.
    ///
    /// # Errors
    ///
    /// The future's are those of [`Copying::wait`].
    #[cfg(feature = "async")]
    pub fn done(&self) -> Done<'_> {
        Done::new(self.used.as_ref().map(|used| &used.signal), None)
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
        if let Some(used) = self.used.take().filter(|used| !used.is_done()) {
            self.queue.made.keep(used);
        }
    }
}
