// SPDX-License-Identifier: MIT OR Apache-2.0

//! The queue that a dispatch goes to, of either kind that runs kernels.

use rkfd_hw::aql::KernelDispatch;

use crate::code::KernelMetadata;
use crate::command::CommandQueue;
use crate::error::{DispatchError, Error, Result};
use crate::gpu::Gpu;
use crate::module::Kernel;
use crate::queue::{InUse, Queue, WORDS};
use crate::signal::Signal;

/// The queue that a dispatch is for.
#[derive(Clone, Debug)]
pub(super) enum Target {
    Aql(Queue),
    Commands(CommandQueue),
}

impl From<Queue> for Target {
    fn from(queue: Queue) -> Self {
        Self::Aql(queue)
    }
}

impl From<CommandQueue> for Target {
    fn from(queue: CommandQueue) -> Self {
        Self::Commands(queue)
    }
}

impl Target {
    pub(super) fn gpu(&self) -> &Gpu {
        match self {
            Self::Aql(queue) => queue.gpu(),
            Self::Commands(queue) => queue.gpu(),
        }
    }

    /// Makes sure that a kernel's work-items have so many bytes of scratch.
    pub(super) fn reserve_scratch(&self, kernel: &KernelMetadata, bytes: u32) -> Result<()> {
        match self {
            Self::Aql(queue) => queue.reserve_scratch(kernel, bytes),
            Self::Commands(queue) => queue.reserve_scratch(kernel, bytes),
        }
    }

    /// What goes into the ring for a packet.
    pub(super) fn words(
        &self,
        packet: &KernelDispatch,
        kernel: &Kernel,
        signal: &Signal,
    ) -> Result<Vec<u32>, DispatchError> {
        match self {
            Self::Aql(_) => Ok(packet.0.to_vec()),
            Self::Commands(queue) => queue.commands(packet, kernel, signal),
        }
    }

    pub(super) fn push(&self, words: &[u32], wait: bool) -> Result<u64> {
        match self {
            Self::Aql(queue) => {
                let packet = words.try_into().map_err(|_| Error::Length {
                    buffer: WORDS,
                    slice: words.len(),
                })?;
                queue.push(packet, wait)
            }
            Self::Commands(queue) => queue.push(words, wait),
        }
    }

    /// What is signalled when the queue stops, where it can be.
    pub(super) fn stopped(&self) -> Option<&Signal> {
        match self {
            Self::Aql(queue) => queue.stopped(),
            Self::Commands(_) => None,
        }
    }

    /// Whether the packet processor or a wave reported an error, where that can be.
    pub(super) fn check(&self) -> Result<()> {
        match self {
            Self::Aql(queue) => queue.check(),
            Self::Commands(_) => Ok(()),
        }
    }

    pub(super) fn keep(&self, used: InUse) {
        match self {
            Self::Aql(queue) => queue.keep(used),
            Self::Commands(queue) => queue.keep(used),
        }
    }

    /// Address of the structure that an AQL queue's kernels may look at, 0 of other queues.
    pub(super) fn structure(&self) -> u64 {
        match self {
            Self::Aql(queue) => queue.control_address(),
            Self::Commands(_) => 0,
        }
    }

    /// Whether dispatches record when they run.
    pub(super) fn timestamps(&self) -> bool {
        match self {
            Self::Aql(queue) => queue.timestamps(),
            Self::Commands(_) => false,
        }
    }
}
