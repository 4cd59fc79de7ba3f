// SPDX-License-Identifier: MIT OR Apache-2.0

//! A queue that one thread at a time submits to, which saves the atomic operation that several producers
//! need to share a ring.

use super::{Dispatch, Submission};
#[cfg(doc)]
use crate::error::Error;
use crate::error::Result;
use crate::gpu::Gpu;
use crate::module::Kernel;
use crate::queue::{Packet, Queue, QueueOptions};

/// The only producer of an AQL queue (`HSA_QUEUE_TYPE_SINGLE`). It can be sent to another thread, and it can't
/// be cloned.
///
/// ```
/// use rkfd::QueueOptions;
///
/// let (gpu, _driver) = rkfd::fake::open();
/// let kernel = gpu.load(rkfd::fake::VADD)?.kernel("vadd")?;
/// let mut producer = gpu.producer(QueueOptions::default())?;
/// let (a, b, c) = (gpu.upload(&[1.0f32; 64])?, gpu.upload(&[2.0f32; 64])?, gpu.alloc::<f32>(64)?);
/// let add = producer.dispatch(&kernel).grid(64).block(64).arg(&a).arg(&b).arg(&c).arg(64i32);
/// let mut work = add.prepare()?;
/// producer.submit(&mut work)?;
/// work.wait()?;
/// assert_eq!(c.to_vec()?, [3.0; 64]);
/// // Nobody else submits to its queue.
/// assert!(matches!(work.submit(), Err(rkfd::Error::OneProducer)));
/// # Ok::<(), rkfd::Error>(())
/// ```
#[derive(Debug)]
pub struct Producer {
    queue: Queue,
}

impl Gpu {
    /// Makes a queue that has one producer.
    ///
    /// # Errors
    ///
    /// As [`Gpu::queue`].
    pub fn producer(&self, options: QueueOptions) -> Result<Producer> {
        let queue = Queue::alone(self, options)?;
        Ok(Producer { queue })
    }
}

impl Producer {
    /// Begins a dispatch of a kernel, to be [prepared](Dispatch::prepare).
    pub fn dispatch(&self, kernel: &Kernel) -> Dispatch {
        self.queue.dispatch(kernel)
    }

    /// Submits work that was prepared for this queue, again if it was submitted before and is done: the
    /// packet's number. Waits for a free slot. Makes no system call.
    ///
    /// # Errors
    ///
    /// [`Error::OtherQueue`] for another queue's, and as [`Submission::submit`].
    pub fn submit(&mut self, work: &mut Submission) -> Result<u64> {
        work.start_on(&self.queue, |packets| self.push(packets, true))
    }

    /// Submits it without waiting for a free slot.
    ///
    /// # Errors
    ///
    /// As [`submit`](Self::submit), and [`Error::QueueFull`].
    pub fn try_submit(&mut self, work: &mut Submission) -> Result<u64> {
        work.start_on(&self.queue, |packets| self.push(packets, false))
    }

    fn push(&self, packets: &[Packet], wait: bool) -> Result<u64> {
        // Nobody else reserves: this is the only `Producer`, which its callers borrow exclusively.
        self.queue.push_alone(packets, wait)
    }

    /// The queue's id in this process.
    pub fn id(&self) -> u32 {
        self.queue.id()
    }

    /// The GPU that it is of.
    pub fn gpu(&self) -> &Gpu {
        self.queue.gpu()
    }
}
