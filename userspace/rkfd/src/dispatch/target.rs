// SPDX-License-Identifier: MIT OR Apache-2.0

//! The queue that a dispatch goes to, of either kind that runs kernels.

use rkfd_hw::aql::KernelDispatch;

use crate::code::KernelMetadata;
use crate::command::CommandQueue;
use crate::error::{DispatchError, Result};
use crate::gpu::Gpu;
use crate::module::Kernel;
use crate::queue::{InUse, Packet, Queue};
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
    pub(super) fn work(
        self,
        packet: &KernelDispatch,
        kernel: &Kernel,
        signal: &Signal,
    ) -> Result<Work, DispatchError> {
        Ok(match self {
            Self::Aql(queue) => Work::Packet(queue, Packet::from(&packet.0)),
            Self::Commands(queue) => {
                let commands = queue.commands(packet, kernel, signal)?;
                Work::Commands(queue, commands)
            }
        })
    }

    /// Address of the structure that an AQL queue's kernels may look at, 0 of other queues.
    pub(super) fn structure(&self) -> u64 {
        match self {
            Self::Aql(queue) => queue.control_address(),
            Self::Commands(_) => 0,
        }
    }
}

/// What goes into a queue's ring, and the queue.
#[derive(Debug)]
pub(super) enum Work {
    Packet(Queue, Packet),
    Commands(CommandQueue, Vec<u32>),
}

impl Work {
    pub(super) fn gpu(&self) -> &Gpu {
        match self {
            Self::Packet(queue, _) => queue.gpu(),
            Self::Commands(queue, _) => queue.gpu(),
        }
    }

    /// The words that go into the ring.
    pub(super) fn words(&self) -> Vec<u32> {
        match self {
            Self::Packet(_, packet) => packet.words().to_vec(),
            Self::Commands(_, commands) => commands.clone(),
        }
    }

    pub(super) fn push(&self, wait: bool) -> Result<u64> {
        match self {
            Self::Packet(queue, packet) => queue.push(std::slice::from_ref(packet), wait),
            Self::Commands(queue, commands) => queue.push(commands, wait),
        }
    }

    /// What is signalled when the queue stops, where it can be.
    pub(super) fn stopped(&self) -> Option<&Signal> {
        match self {
            Self::Packet(queue, _) => queue.stopped(),
            Self::Commands(..) => None,
        }
    }

    /// Whether the packet processor or a wave reported an error, where that can be.
    pub(super) fn check(&self) -> Result<()> {
        match self {
            Self::Packet(queue, _) => queue.check(),
            Self::Commands(..) => Ok(()),
        }
    }

    pub(super) fn keep(&self, used: InUse) {
        match self {
            Self::Packet(queue, _) => queue.keep(used),
            Self::Commands(queue, _) => queue.keep(used),
        }
    }

    /// Whether dispatches record when they run.
    pub(super) fn timestamps(&self) -> bool {
        match self {
            Self::Packet(queue, _) => queue.timestamps(),
            Self::Commands(..) => false,
        }
    }
}
