// SPDX-License-Identifier: MIT OR Apache-2.0

//! PM4 queues: dispatches as the commands of the packet processor's own language, not as AQL
//! packets.
//!
//! A dispatch is a few registers of the queue, DISPATCH_DIRECT, and what its end does. It is
//! described, checked, submitted and waited for as on an AQL queue ([`crate::Dispatch`]).
//!
//! Source: the packets: [`rkfd_hw::pm4::commands`].

mod packets;

use std::sync::{Arc, Mutex};

use rkfd_hw::aql::KernelDispatch;
use rkfd_uapi::queue::QUEUE_TYPE_COMPUTE;

use crate::code::KernelMetadata;
use crate::driver::lock;
use crate::error::{DispatchError, Result};
use crate::gpu::Gpu;
use crate::memory::{flags, Bo};
use crate::module::Kernel;
use crate::queue::{request, Count, InUse, Made, Priority, SaveArea, Scratch, WordRing};
use crate::signal::Signal;
use crate::sys::map::PAGE;

use packets::Generation;

/// Bytes of a ring.
const RING: u32 = 64 << 10;

/// A queue of PM4 commands. Clones are the same queue, which is destroyed with the last of them
/// and its last submission.
///
/// It runs kernels that need nothing of AQL: neither the packet nor the queue's structure.
///
/// ```no_run
/// let gpu = rkfd::Gpu::open()?;
/// let kernel = gpu.load(&std::fs::read("fill.co").unwrap())?.kernel("fill")?;
/// let numbers = gpu.alloc::<u32>(1024)?;
/// let queue = gpu.command_queue()?;
/// queue.dispatch(&kernel).grid(1024).arg(&numbers).arg(7u32).submit()?.wait()?;
/// # Ok::<(), rkfd::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct CommandQueue {
    made: Arc<Made<Memory>>,
    generation: Generation,
    /// Words written into the ring. Held by who writes.
    written: Arc<Mutex<u64>>,
}

#[derive(Debug)]
struct Memory {
    ring: WordRing,
    _save: Bo,
    _eop: Bo,
    scratch: Scratch,
}

impl Gpu {
    /// Makes a queue of PM4 commands.
    ///
    /// # Errors
    ///
    /// As [`Gpu::queue`].
    pub fn command_queue(&self) -> Result<CommandQueue> {
        let mut args = request(self, QUEUE_TYPE_COMPUTE, Priority::NORMAL);
        let area = SaveArea::of(self.node())?;
        let ring = WordRing::new(self, RING, &mut args)?;
        let save = area.allocate(self, true)?;
        let eop = Bo::new(self.link(), PAGE, flags::VRAM_PRIVATE)?;
        args.eop_buffer_address = eop.address();
        args.eop_buffer_size = eop.size() as u64;
        args.ctx_save_restore_address = save.address();
        args.ctx_save_restore_size = area.size;
        args.ctl_stack_size = area.control_stack;
        let memory = Memory {
            ring,
            _save: save,
            _eop: eop,
            scratch: Scratch::default(),
        };
        Ok(CommandQueue {
            made: Arc::new(Made::new(self, memory, args)?),
            generation: Generation::of(self.node().gfx_target_version()),
            written: Arc::default(),
        })
    }
}

impl CommandQueue {
    /// The queue's id in this process.
    pub fn id(&self) -> u32 {
        self.made.id
    }

    /// The GPU that it is of.
    pub fn gpu(&self) -> &Gpu {
        &self.made.gpu
    }

    /// Makes sure that the kernel's work-items have so many bytes of scratch.
    pub(crate) fn reserve_scratch(&self, kernel: &KernelMetadata, bytes: u32) -> Result<()> {
        let scratch = &self.made.memory()?.scratch;
        // Each dispatch's commands name the area, and run on one XCC.
        let (link, node) = (self.gpu().link(), self.gpu().node());
        let reserved = scratch.reserve(link, node, 1, bytes, |_| Ok(()));
        reserved.map_err(|failure| failure.of_dispatch(&kernel.name, bytes))
    }

    /// The commands that do what an AQL packet asks for, with the scratch memory that was reserved.
    ///
    /// # Errors
    ///
    /// [`DispatchError::NeedsAql`] for a kernel that needs what only AQL has.
    pub(crate) fn commands(
        &self,
        packet: &KernelDispatch,
        kernel: &Kernel,
        signal: &Signal,
    ) -> Result<Vec<u32>, DispatchError> {
        let generation = self.generation;
        let shader = packets::Shader::of(kernel, packet)?;
        let mut commands = generation.acquire();
        let scratch = match packet.get(KernelDispatch::PRIVATE_SEGMENT_SIZE) {
            0 => None,
            _ => self.made.memory().ok().and_then(|m| m.scratch.area()),
        };
        commands.extend(generation.dispatch(&shader, packet, scratch));
        commands.extend(generation.release(&signal.completion()));
        Ok(commands)
    }

    /// Puts commands into the ring and rings the doorbell: the number of words before them. With
    /// `wait`, waits for room. No system call is made.
    pub(crate) fn push(&self, commands: &[u32], wait: bool) -> Result<u64> {
        let ring = self.made.memory()?.ring.words()?;
        let bell = self.made.bell()?;
        let mut written = lock(&self.written);
        let before = *written;
        ring.push(Count::Words, &mut written, [commands], bell, wait)?;
        Ok(before)
    }

    /// Keeps what a dispatch uses until it is done.
    pub(crate) fn keep(&self, used: InUse) {
        self.made.keep(used);
    }
}
