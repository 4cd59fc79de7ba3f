// SPDX-License-Identifier: MIT OR Apache-2.0

//! Dispatches that are recorded once and submitted together, again and again.

use std::time::Duration;

use rkfd_hw::aql::{self, Header, FENCE_SYSTEM};

use super::submission::Resources;
use super::target::Target;
use super::Dispatch;
use crate::error::{Error, Result};
use crate::queue::{InUse, Packet, Queue};
#[cfg(feature = "async")]
use crate::signal::Done;
use crate::signal::Signal;

/// Dispatches of one AQL queue that are submitted together. To submit them takes one reservation, the packets'
/// stores and one doorbell, as long as the ring has room for all of them, and neither memory nor a system call.
///
/// They begin in their order, and each waits for those before it unless it is
/// [concurrent](Dispatch::concurrent). One more packet behind them waits for all, and signals the end.
///
/// ```
/// use rkfd::QueueOptions;
///
/// let (gpu, _driver) = rkfd::fake::open();
/// let kernel = gpu.load(rkfd::fake::VADD)?.kernel("vadd")?;
/// let queue = gpu.queue(QueueOptions::default())?;
/// let (a, b) = (gpu.upload(&[1.0f32; 64])?, gpu.upload(&[2.0f32; 64])?);
/// let add = |x, y, z| queue.dispatch(&kernel).grid(64).block(64).arg(x).arg(y).arg(z).arg(64i32);
///
/// // b += a, a += b
/// let mut graph = queue.graph([add(&a, &b, &b), add(&a, &b, &a)])?;
/// for _ in 0..3 {
///     graph.submit()?;
///     graph.wait()?;
/// }
/// assert_eq!((a.get(0), b.get(63)), (Some(29.0), Some(18.0)));
/// # Ok::<(), rkfd::Error>(())
/// ```
#[derive(Debug)]
pub struct Graph {
    queue: Queue,
    packets: Vec<Packet>,
    signal: Option<Signal>,
    resources: Vec<Resources>,
}

impl Queue {
    /// Records dispatches of this queue.
    ///
    /// # Errors
    ///
    /// [`Error::OtherQueue`] for a dispatch of another queue, and as [`Dispatch::prepare`].
    pub fn graph(&self, dispatches: impl IntoIterator<Item = Dispatch>) -> Result<Graph> {
        let (mut packets, mut resources) = (Vec::new(), Vec::new());
        for dispatch in dispatches {
            match &dispatch.queue {
                Target::Aql(queue) if queue.is(self) => {}
                _ => return Err(Error::OtherQueue),
            }
            let (packet, used) = dispatch.describe(0)?;
            packets.push(Packet::from(&packet.0));
            resources.push(used);
        }
        let signal = self.gpu().signal_of(0, true)?;
        let header = Header {
            packet_type: aql::TYPE_BARRIER_AND,
            barrier: true,
            acquire: FENCE_SYSTEM,
            release: FENCE_SYSTEM,
        };
        let end = aql::Barrier::zeroed()
            .with(aql::Barrier::HEADER, header.bits())
            .with(aql::Barrier::COMPLETION_SIGNAL, signal.address());
        packets.push(Packet::from(&end.0));
        Ok(Graph {
            queue: self.clone(),
            packets,
            signal: Some(signal),
            resources,
        })
    }
}

impl Graph {
    /// Submits all of it, again if it was submitted before and is done: the last packet's number. Waits for
    /// free slots. Makes no system call.
    ///
    /// # Errors
    ///
    /// [`Error::Busy`] while it still runs, [`Error::QueueStopped`] when it waits for slots of a queue that
    /// has stopped.
    pub fn submit(&mut self) -> Result<u64> {
        let Some(signal) = self.signal.as_ref().filter(|signal| signal.value() <= 0) else {
            return Err(Error::Busy);
        };
        signal.set(1);
        let result = self.queue.push(&self.packets, true);
        // Of more packets than the ring has slots some may have been written: they stay in use.
        if result.is_err() && self.packets.len() <= self.queue.packets() as usize {
            signal.set(0);
        }
        result
    }

    /// Whether it is not running. Makes no system call.
    pub fn is_done(&self) -> bool {
        let signal = self.signal.as_ref();
        signal.is_none_or(|signal| signal.value() <= 0)
    }

    /// Waits until all of it is done: spins a little, then sleeps.
    ///
    /// # Errors
    ///
    /// As [`Submission::wait`](super::Submission::wait).
    pub fn wait(&self) -> Result<()> {
        self.wait_for(None)
    }

    /// Waits until all of it is done, for a limited time; the work goes on after that.
    ///
    /// # Errors
    ///
    /// [`Error::Timeout`], and as [`wait`](Self::wait).
    pub fn wait_timeout(&self, timeout: Duration) -> Result<()> {
        self.wait_for(Some(timeout))
    }

    fn wait_for(&self, timeout: Option<Duration>) -> Result<()> {
        match &self.signal {
            Some(signal) => signal.wait(timeout, self.queue.stopped(), || self.queue.check()),
            None => Ok(()),
        }
    }

    /// The end of the work as a future, for any executor.
    ///
    /// # Errors
    ///
    /// The future's are those of [`wait`](Self::wait).
    #[cfg(feature = "async")]
    pub fn done(&self) -> Done<'_> {
        Done::new(self.signal.as_ref(), self.queue.stopped())
    }

    /// Packets that one submission writes: the dispatches, and one for the end.
    pub fn packets(&self) -> usize {
        self.packets.len()
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        if let Some(signal) = self.signal.take().filter(|signal| signal.value() > 0) {
            self.queue.keep(InUse {
                signal,
                _held: Box::new(std::mem::take(&mut self.resources)),
            });
        }
    }
}
