// SPDX-License-Identifier: MIT OR Apache-2.0

//! PM4 queues: dispatches as the commands of the packet processor's own language, not as AQL
//! packets.
//!
//! A dispatch is a few registers of the queue, DISPATCH_DIRECT, and what its end does. It is
//! described, checked, submitted and waited for as on an AQL queue ([`crate::Dispatch`]).
//!
//! Source: the packets: [`rkfd_hw::pm4::commands`].

mod packets;
mod ring;

use std::sync::{Arc, Mutex};

use rkfd_hw::aql::KernelDispatch;
use rkfd_uapi::queue::{CreateQueueArgs, MAX_PERCENTAGE, QUEUE_TYPE_COMPUTE};

use crate::code::KernelMetadata;
use crate::cwsr::SaveArea;
use crate::device::Gpu;
use crate::dispatch::{Dispatch, Resources};
use crate::error::{DispatchError, Error, Result};
use crate::kernel::Kernel;
use crate::memory::{flags, Bo};
use crate::process::lock;
use crate::queue::new_save_area;
use crate::scratch::Scratch;
use crate::signal::Signal;
use crate::sys::map::{Mapping, PAGE};

use packets::Generation;
use ring::{Ring, READ_POINTER, WRITE_POINTER};

/// Bytes of a ring.
const RING: usize = 64 << 10;

/// A queue of PM4 commands. Clones are the same queue, which is destroyed with the last of them
/// and its last submission.
///
/// It runs kernels that need nothing of AQL: neither the packet nor the queue's structure.
#[derive(Clone, Debug)]
pub struct CommandQueue {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    gpu: Gpu,
    id: u32,
    generation: Generation,
    doorbells: Arc<Mapping>,
    doorbell: usize,
    /// Memory the GPU accesses while the queue exists; `None` when it must not be freed.
    memory: Option<Memory>,
    /// Words written into the ring. Held by who writes.
    written: Mutex<u64>,
    /// What dispatches that nobody waited for still use.
    unawaited: Mutex<Vec<Resources>>,
}

#[derive(Debug)]
struct Memory {
    ring: Bo,
    control: Bo,
    save: Bo,
    eop: Bo,
    scratch: Scratch,
}

impl CommandQueue {
    pub(crate) fn new(gpu: &Gpu) -> Result<Self> {
        let (link, node) = (gpu.link(), gpu.node());
        let area = SaveArea::of(node)?;
        let memory = Memory {
            ring: Bo::new(link, RING, flags::SHARED)?,
            control: Bo::new(link, PAGE, flags::SHARED)?,
            save: new_save_area(link, node, &area, true)?,
            eop: Bo::new(link, PAGE, flags::VRAM_PRIVATE)?,
            scratch: Scratch::default(),
        };
        memory.ring.clear()?;
        memory.control.clear()?;
        let mut args = CreateQueueArgs {
            ring_base_address: memory.ring.address(),
            write_pointer_address: memory.control.address() + WRITE_POINTER as u64,
            read_pointer_address: memory.control.address() + READ_POINTER as u64,
            ring_size: RING as u32,
            gpu_id: link.gpu_id,
            queue_type: QUEUE_TYPE_COMPUTE,
            queue_percentage: MAX_PERCENTAGE,
            queue_priority: 7,
            eop_buffer_address: memory.eop.address(),
            eop_buffer_size: memory.eop.size() as u64,
            ctx_save_restore_address: memory.save.address(),
            ctx_save_restore_size: area.size,
            ctl_stack_size: area.control_stack,
            ..Default::default()
        };
        let (doorbells, doorbell) = link.create_queue(&mut args)?;
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

    /// Begins a dispatch of a kernel. It always waits for those before it in the queue.
    pub fn dispatch(&self, kernel: &Kernel) -> Dispatch {
        Dispatch::new(self.clone().into(), kernel)
    }

    /// Makes sure that the kernel's work-items have so many bytes of scratch.
    pub(crate) fn reserve_scratch(&self, kernel: &KernelMetadata, bytes: u32) -> Result<()> {
        let inner = &*self.inner;
        let memory = inner.memory.as_ref().ok_or(Error::NotHostVisible)?;
        // Each dispatch's commands say where it is, and run on one XCC.
        let (link, node) = (inner.gpu.link(), inner.gpu.node());
        let reserved = memory.scratch.reserve(link, node, 1, bytes, |_| Ok(()));
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
        let generation = self.inner.generation;
        let shader = packets::Shader::of(kernel, packet)?;
        let mut commands = generation.acquire();
        let scratch = match packet.get(KernelDispatch::PRIVATE_SEGMENT_SIZE) {
            0 => None,
            _ => self.inner.memory.as_ref().and_then(|m| m.scratch.area()),
        };
        commands.extend(generation.dispatch(&shader, packet, scratch));
        commands.extend(generation.release(&signal.completion()));
        Ok(commands)
    }

    /// Puts commands into the ring and rings the doorbell: the number of words before them. With
    /// `wait`, waits for room. No system call is made.
    pub(crate) fn push(&self, commands: &[u32], wait: bool) -> Result<u64> {
        let inner = &*self.inner;
        let ring = inner.ring()?;
        let bell = inner
            .doorbells
            .word64(inner.doorbell)
            .ok_or(Error::NotHostVisible)?;
        let mut written = lock(&inner.written);
        let before = *written;
        ring.push(&mut written, commands, bell, wait)?;
        Ok(before)
    }

    /// Keeps what a dispatch uses until it is done, and lets go of what is no longer used.
    pub(crate) fn keep(&self, resources: Resources) {
        let mut unawaited = lock(&self.inner.unawaited);
        unawaited.retain(|resources| !resources.done());
        unawaited.push(resources);
    }
}

impl Inner {
    fn ring(&self) -> Result<Ring<'_>> {
        let memory = self.memory.as_ref().ok_or(Error::NotHostVisible)?;
        let (ring, control) = (memory.ring.host()?, memory.control.host()?);
        let words = ring.words32(0, memory.ring.size() / 4);
        Ok(Ring {
            words: words.ok_or(Error::NotHostVisible)?,
            write: control.word64(WRITE_POINTER).ok_or(Error::NotHostVisible)?,
            read: control
                .words32(READ_POINTER, 1)
                .and_then(<[_]>::first)
                .ok_or(Error::NotHostVisible)?,
        })
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        let kfd = &self.gpu.link().process.kfd;
        if kfd.destroy_queue(self.id).is_err() {
            // Nothing proves that the GPU stopped: what it may access stays, until the process
            // ends and the driver takes it back.
            std::mem::forget(self.memory.take());
            std::mem::forget(std::mem::take(&mut *lock(&self.unawaited)));
        }
    }
}
