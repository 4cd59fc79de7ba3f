// SPDX-License-Identifier: MIT OR Apache-2.0

//! Packets that were, or can be, submitted.

use std::sync::Arc;
use std::time::Duration;

use super::target::Work;
use crate::error::{Error, Result};
use crate::gpu::Times;
use crate::memory::{Bo, Piece};
use crate::module::Loaded;
use crate::queue::{InUse, Packet, Queue};
#[cfg(feature = "async")]
use crate::signal::Done;
use crate::signal::Signal;

/// What the GPU uses while a packet runs, beside its signal.
#[derive(Debug, Default)]
pub(super) struct Resources {
    pub(super) kernarg: Option<Piece>,
    pub(super) _code: Option<Arc<Loaded>>,
    pub(super) _buffers: Vec<Arc<Bo>>,
    /// Signals that it waits for.
    pub(super) _signals: Vec<Piece>,
}

/// A packet that was, or can be, submitted, once or again and again. Dropping one that still runs is
/// safe: what it uses is kept until it is done.
///
/// ```
/// use rkfd::QueueOptions;
///
/// let (gpu, _driver) = rkfd::fake::open();
/// let kernel = gpu.load(rkfd::fake::VADD)?.kernel("vadd")?;
/// let queue = gpu.queue(QueueOptions::default())?;
/// let (a, b, c) = (gpu.upload(&[1.0f32; 64])?, gpu.upload(&[2.0f32; 64])?, gpu.alloc::<f32>(64)?);
/// let add = queue.dispatch(&kernel).grid(64).block(64).arg(&a).arg(&b).arg(&c).arg(64i32);
/// let mut work = add.prepare()?;
/// for round in 0..3 {
///     a.fill(round as f32)?;
///     work.submit()?;
///     work.wait()?;
///     assert_eq!(c.get(63), Some(round as f32 + 2.0));
/// }
/// # Ok::<(), rkfd::Error>(())
/// ```
#[derive(Debug)]
pub struct Submission {
    work: Work,
    signal: Option<Signal>,
    resources: Resources,
    index: Option<u64>,
}

impl Submission {
    pub(super) fn new(work: Work, signal: Signal, resources: Resources) -> Self {
        Self {
            work,
            signal: Some(signal),
            resources,
            index: None,
        }
    }

    fn start(&mut self, push: impl FnOnce(&Work) -> Result<u64>) -> Result<u64> {
        let Some(signal) = self.signal.as_ref().filter(|signal| signal.value() <= 0) else {
            return Err(Error::Busy);
        };
        if self.work.timestamps() {
            signal.clear_times();
        }
        signal.set(1);
        let result = push(&self.work);
        match result {
            Ok(index) => self.index = Some(index),
            Err(_) => signal.set(0),
        }
        result
    }

    /// Submits it, again if it was submitted before and is done: the packet's number in the queue,
    /// or that of its first word in a PM4 queue. Waits for a free slot. Makes no system call.
    ///
    /// # Errors
    ///
    /// [`Error::Busy`] while it still runs, [`Error::QueueStopped`] when it waits for a slot of a
    /// queue that has stopped.
    pub fn submit(&mut self) -> Result<u64> {
        self.start(|work| work.push(true))
    }

    /// Submits it without waiting for a free slot.
    ///
    /// # Errors
    ///
    /// [`Error::QueueFull`] when there is none, and as [`submit`](Self::submit).
    pub fn try_submit(&mut self) -> Result<u64> {
        self.start(|work| work.push(false))
    }

    /// Starts it by a producer's means, if it was prepared for that producer's queue.
    pub(crate) fn start_on(
        &mut self,
        queue: &Queue,
        push: impl FnOnce(&[Packet]) -> Result<u64>,
    ) -> Result<u64> {
        self.start(|work| match work {
            Work::Packet(own, packet) if own.is(queue) => push(std::slice::from_ref(packet)),
            _ => Err(Error::OtherQueue),
        })
    }

    /// Whether it is not running. Makes no system call.
    pub fn is_done(&self) -> bool {
        let signal = self.signal.as_ref();
        signal.is_none_or(|signal| signal.value() <= 0)
    }

    /// Waits until it is done: spins a little, then sleeps.
    ///
    /// # Errors
    ///
    /// [`Error::QueueStopped`] when the packet processor refused a packet or a wave met an error,
    /// [`Error::MemoryFault`] when the GPU could not access memory, [`Error::DeviceLost`] when the
    /// GPU is gone or was reset.
    pub fn wait(&self) -> Result<()> {
        self.wait_for(None)
    }

    /// Waits until it is done, for a limited time; the work goes on after that.
    ///
    /// # Errors
    ///
    /// [`Error::Timeout`], and as [`wait`](Self::wait).
    pub fn wait_timeout(&self, timeout: Duration) -> Result<()> {
        self.wait_for(Some(timeout))
    }

    fn wait_for(&self, timeout: Option<Duration>) -> Result<()> {
        match &self.signal {
            Some(signal) => signal.wait(timeout, self.work.stopped(), || self.work.check()),
            None => Ok(()),
        }
    }

    /// Spins until it is done. Makes no system call.
    ///
    /// # Errors
    ///
    /// [`Error::QueueStopped`]. A fault of the GPU's is not seen: then this does not return.
    pub fn spin(&self) -> Result<()> {
        while !self.is_done() {
            self.work.check()?;
            std::hint::spin_loop();
        }
        Ok(())
    }

    /// The end of the work as a future, for any executor.
    ///
    /// # Errors
    ///
    /// The future's are those of [`wait`](Self::wait).
    #[cfg(feature = "async")]
    pub fn done(&self) -> Done<'_> {
        Done::new(self.signal.as_ref(), self.work.stopped())
    }

    /// When it ran last, for a queue that records it ([`QueueOptions::timestamps`]); `None` for
    /// others, and before the work has ended.
    ///
    /// # Errors
    ///
    /// [`Error::DeviceLost`] when the GPU's clock can't be read.
    ///
    /// [`QueueOptions::timestamps`]: crate::QueueOptions::timestamps
    pub fn times(&self) -> Result<Option<Times>> {
        let ended = self.signal.as_ref().filter(|signal| signal.value() <= 0);
        match ended
            .filter(|_| self.work.timestamps())
            .and_then(Signal::times)
        {
            Some(ticks) => self.work.gpu().times(ticks),
            None => Ok(None),
        }
    }

    /// The packet's 16 words, or the words of its commands.
    pub fn packet(&self) -> Vec<u32> {
        self.work.words()
    }

    /// Number of the packet in the queue, when it was submitted.
    pub fn index(&self) -> Option<u64> {
        self.index
    }

    /// The completion signal.
    pub fn signal(&self) -> Option<&Signal> {
        self.signal.as_ref()
    }

    /// Address of the argument block.
    pub fn kernarg_address(&self) -> Option<u64> {
        self.resources.kernarg.as_ref().map(Piece::address)
    }
}

impl Drop for Submission {
    fn drop(&mut self) {
        if let Some(signal) = self.signal.take().filter(|signal| signal.value() > 0) {
            self.work.keep(InUse {
                signal,
                _held: Box::new(std::mem::take(&mut self.resources)),
            });
        }
    }
}
