// SPDX-License-Identifier: MIT OR Apache-2.0

//! AQL queues: made by one ioctl, fed by stores.
//!
//! A queue is several producers' at once: it can be cloned and used from any thread. Packets go
//! into the ring and the doorbell is rung with plain stores; no lock is taken and no system call
//! is made.

pub(crate) mod control;
pub(crate) mod ring;

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use rkfd_hw::aql::{self, Header, FENCE_SYSTEM};
use rkfd_uapi::queue::{CreateQueueArgs, MAX_PERCENTAGE, QUEUE_TYPE_COMPUTE_AQL};

use crate::code::KernelMetadata;
use crate::cwsr::SaveArea;
use crate::device::Gpu;
use crate::dispatch::{Dispatch, Resources, Submission};
use crate::error::{Error, Result};
use crate::kernel::Kernel;
use crate::memory::{flags, Bo};
use crate::process::{lock, Link};
use crate::scratch::{Area, Scratch};
use crate::signal::Signal;
use crate::sys::map::{Mapping, PAGE};
use crate::topology::Node;
use crate::trace::{self, Step};

use ring::{Ring, WORDS};

/// What kind of queue to make.
#[derive(Clone, Copy, Debug)]
pub struct QueueOptions {
    /// Slots of the ring: a power of two from 64 to 4194304.
    pub packets: u32,
    /// 0 to 15.
    pub priority: u32,
    /// Puts the area that preempted waves are saved to into system memory. Otherwise it is in
    /// device memory, if there is room.
    pub save_area_in_system_memory: bool,
}

impl Default for QueueOptions {
    fn default() -> Self {
        Self {
            packets: 1024,
            priority: 7,
            save_area_in_system_memory: false,
        }
    }
}

/// A queue of AQL packets. Clones are the same queue, which is destroyed with the last of them and
/// its last submission.
#[derive(Clone, Debug)]
pub struct Queue {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    gpu: Gpu,
    id: u32,
    packets: u32,
    doorbells: Arc<Mapping>,
    doorbell: usize,
    /// Memory the GPU accesses while the queue exists; `None` when it must not be freed.
    memory: Option<Memory>,
    /// What dispatches that nobody waited for still use.
    unawaited: Mutex<Vec<Resources>>,
}

#[derive(Debug)]
struct Memory {
    ring: Bo,
    control: Bo,
    stopped: Signal,
    save: Bo,
    _eop: Option<Bo>,
    scratch: Scratch,
}

/// Writes the headers that tell a debugger where its part of the save area is.
fn write_save_headers(bo: &Bo, area: &SaveArea, xccs: u32) -> Result<()> {
    for xcc in 0..xccs {
        let base = xcc as usize * area.size as usize;
        let debug_offset = (xccs - xcc) * area.size + xcc * area.debug;
        let mut header = [0; 40];
        let fields = [(16, debug_offset), (20, area.debug)];
        for (offset, value) in fields {
            header[offset..offset + 4].copy_from_slice(&value.to_le_bytes());
        }
        bo.host()?
            .write(base, &header)
            .ok_or(Error::NotHostVisible)?;
    }
    Ok(())
}

/// The area that preempted waves are saved to: in device memory, if that is wanted and there is
/// room.
pub(crate) fn new_save_area(
    link: &Arc<Link>,
    node: &Node,
    area: &SaveArea,
    in_vram: bool,
) -> Result<Bo> {
    let in_vram = in_vram && node.large_bar();
    let save = match in_vram.then(|| Bo::new(link, area.total, flags::VRAM)) {
        Some(Ok(bo)) => bo,
        _ => Bo::new(link, area.total, flags::GTT)?,
    };
    write_save_headers(&save, area, node.xccs())?;
    Ok(save)
}

impl Queue {
    pub(crate) fn new(gpu: &Gpu, options: QueueOptions) -> Result<Self> {
        let (link, node) = (gpu.link(), gpu.node());
        let ring_size = control::ring_bytes(options.packets)?;
        let area = SaveArea::of(node)?;

        let ring = Bo::new(link, ring_size as usize, flags::SHARED)?;
        let control = Bo::new(link, PAGE, flags::SHARED)?;
        let save = new_save_area(link, node, &area, !options.save_area_in_system_memory)?;
        // gfx10 and later want a page for end-of-pipe events; AQL queues of gfx942 have none.
        let eop = (node.gfx_target_version() >= 100_000)
            .then(|| Bo::new(link, PAGE, flags::VRAM_PRIVATE))
            .transpose()?;
        let stopped = gpu.signal_of(0, true)?;
        let trap_handler = link.trap_handler(&gpu.target());

        let cus = node.compute_units().max(1);
        let waves = cus.saturating_mul(
            (node.property("simd_per_cu") * node.property("max_waves_per_simd")) as u32,
        );
        let contents = control::Contents {
            ring: ring.address(),
            packets: options.packets,
            max_cu: cus - 1,
            max_wave: waves.max(1) - 1,
            inactive_signal: stopped.address(),
        };
        control::fill(&control, link, &contents)?;

        let memory = Memory {
            ring,
            control,
            stopped,
            save,
            _eop: eop,
            scratch: Scratch::default(),
        };
        memory.ring()?.clear();

        let mut args = CreateQueueArgs {
            ring_base_address: memory.ring.address(),
            write_pointer_address: memory.control.address() + control::WRITE_INDEX as u64,
            read_pointer_address: memory.control.address() + control::READ_INDEX as u64,
            ring_size,
            gpu_id: link.gpu_id,
            queue_type: QUEUE_TYPE_COMPUTE_AQL,
            queue_percentage: MAX_PERCENTAGE,
            queue_priority: options.priority,
            eop_buffer_address: memory._eop.as_ref().map_or(0, Bo::address),
            eop_buffer_size: memory._eop.as_ref().map_or(0, |bo| bo.size() as u64),
            ctx_save_restore_address: memory.save.address(),
            ctx_save_restore_size: area.size,
            ctl_stack_size: area.control_stack,
            ..Default::default()
        };
        let (doorbells, doorbell) = link.create_queue(&mut args)?;
        let inner = Inner {
            gpu: gpu.clone(),
            id: args.queue_id,
            packets: options.packets,
            doorbells,
            doorbell,
            memory: Some(memory),
            unawaited: Mutex::default(),
        };
        if let Some(memory) = &inner.memory {
            control::set_id(&memory.control, args.queue_id)?;
            if let Some(handler) = trap_handler {
                handler.tell(doorbell, memory.stopped.address())?;
            }
        }
        Ok(Self {
            inner: Arc::new(inner),
        })
    }

    /// The queue's id in this process.
    pub fn id(&self) -> u32 {
        self.inner.id
    }

    /// Gives the queue semaphores and barriers of global wave sync, by which waves of different
    /// work-groups wait for each other (`ds_gws_*`); 0 takes them away. The first one's number.
    ///
    /// One queue of a process can have them, on GPUs whose node has `num_gws`. Those of each XCC are
    /// its own.
    pub fn alloc_gws(&self, count: u32) -> Result<u32> {
        let kfd = &self.link().process.kfd;
        kfd.alloc_queue_gws(self.id(), count)
    }

    /// Slots of the ring.
    pub fn packets(&self) -> u32 {
        self.inner.packets
    }

    /// The GPU.
    pub fn gpu(&self) -> &Gpu {
        &self.inner.gpu
    }

    /// The write and the read index.
    pub fn indices(&self) -> (u64, u64) {
        self.inner.ring().map_or((0, 0), |ring| {
            (
                ring.write.load(Ordering::Relaxed),
                ring.read.load(Ordering::Acquire),
            )
        })
    }

    /// Address of the queue's structure.
    pub(crate) fn control_address(&self) -> u64 {
        self.inner
            .memory
            .as_ref()
            .map_or(0, |memory| memory.control.address())
    }

    /// Addresses of the ring, the write index and the read index.
    pub fn addresses(&self) -> (u64, u64, u64) {
        let ring = self
            .inner
            .memory
            .as_ref()
            .map_or(0, |memory| memory.ring.address());
        let control = self.control_address();
        (
            ring,
            control + control::WRITE_INDEX as u64,
            control + control::READ_INDEX as u64,
        )
    }

    /// Address of the area that waves are saved to. In its header a runtime tells the driver where
    /// it wants errors (`struct kfd_context_save_area_header`).
    pub fn save_area(&self) -> u64 {
        let memory = self.inner.memory.as_ref();
        memory.map_or(0, |memory| memory.save.address())
    }

    /// Begins a dispatch of a kernel.
    pub fn dispatch(&self, kernel: &Kernel) -> Dispatch {
        Dispatch::new(self.clone().into(), kernel)
    }

    /// Submits a packet that completes when all of up to five signals are 0.
    pub fn barrier_and(&self, signals: &[&Signal]) -> Result<Submission> {
        self.barrier_packet(aql::TYPE_BARRIER_AND, signals)
    }

    /// Submits a packet that completes when one of up to five signals is 0.
    pub fn barrier_or(&self, signals: &[&Signal]) -> Result<Submission> {
        self.barrier_packet(aql::TYPE_BARRIER_OR, signals)
    }

    fn barrier_packet(&self, packet_type: u8, signals: &[&Signal]) -> Result<Submission> {
        if signals
            .iter()
            .any(|signal| signal.link().gpu_id != self.link().gpu_id)
        {
            return Err(Error::OtherGpu { what: "a signal" });
        }
        let header = Header {
            packet_type,
            barrier: true,
            acquire: FENCE_SYSTEM,
            release: FENCE_SYSTEM,
        };
        let signal = self.inner.gpu.signal_of(0, true)?;
        let mut packet = aql::Barrier::zeroed()
            .with(aql::Barrier::HEADER, header.bits().into())
            .with(aql::Barrier::COMPLETION_SIGNAL, signal.address());
        let slots = [
            aql::Barrier::DEP_SIGNAL_0,
            aql::Barrier::DEP_SIGNAL_1,
            aql::Barrier::DEP_SIGNAL_2,
            aql::Barrier::DEP_SIGNAL_3,
            aql::Barrier::DEP_SIGNAL_4,
        ];
        if signals.len() > slots.len() {
            return Err(Error::Length {
                buffer: slots.len(),
                slice: signals.len(),
            });
        }
        for (slot, signal) in slots.into_iter().zip(signals) {
            packet.set(slot, signal.address());
        }
        let mut submission =
            Submission::new(self.clone().into(), &packet.0, Resources::of_signal(signal));
        submission.submit()?;
        Ok(submission)
    }

    pub(crate) fn link(&self) -> &Arc<Link> {
        self.inner.gpu.link()
    }

    /// Makes sure that the kernel's work-items have so many bytes of scratch.
    pub(crate) fn reserve_scratch(&self, kernel: &KernelMetadata, bytes: u32) -> Result<()> {
        let memory = self.inner.memory.as_ref().ok_or(Error::NotHostVisible)?;
        let node = self.inner.gpu.node();
        let tell = |area: &Area| area.tell(&memory.control);
        let reserved = memory
            .scratch
            .reserve(self.link(), node, node.xccs(), bytes, tell);
        reserved.map_err(|failure| failure.of_dispatch(&kernel.name, bytes))
    }

    /// What is signalled when the queue stops.
    pub(crate) fn stopped(&self) -> Option<&Signal> {
        self.inner.memory.as_ref().map(|memory| &memory.stopped)
    }

    /// Whether the packet processor or a wave reported an error.
    pub(crate) fn check(&self) -> Result<()> {
        match self
            .inner
            .memory
            .as_ref()
            .map_or(0, |memory| memory.stopped.value())
        {
            0 => Ok(()),
            code => Err(Error::QueueStopped { code }),
        }
    }

    /// Does what the packet processor does when it refuses a packet.
    #[cfg(test)]
    pub(crate) fn stop_for_test(&self, code: i64) {
        if let Some(memory) = &self.inner.memory {
            memory.stopped.set(code);
        }
    }

    /// Puts a packet into the ring and rings the doorbell: the packet's number. With `wait`, waits
    /// for a free slot as long as the queue runs. No system call is made.
    pub(crate) fn push(&self, packet: &[u32; WORDS], wait: bool) -> Result<u64> {
        let inner = &*self.inner;
        let ring = inner.ring()?;
        let index = loop {
            match ring.reserve() {
                Some(index) => break index,
                None if wait => self.check()?,
                None => {
                    return Err(Error::QueueFull {
                        packets: inner.packets,
                    })
                }
            }
            std::hint::spin_loop();
        };
        ring.publish(index, packet);
        if trace::enabled() {
            let slot = (index & (ring.packets() - 1)) * aql::PACKET_SIZE as u64;
            let address = inner
                .memory
                .as_ref()
                .map_or(0, |memory| memory.ring.address())
                + slot;
            trace::emit(&Step::Packet {
                queue: inner.id,
                index,
                address,
                words: packet,
            });
            let offset = inner.doorbell;
            trace::emit(&Step::Doorbell {
                queue: inner.id,
                offset,
                value: index,
            });
        }
        let bell = inner
            .doorbells
            .word64(inner.doorbell)
            .ok_or(Error::NotHostVisible)?;
        // Release: the packet is in memory before the packet processor is told of it.
        bell.store(index, Ordering::Release);
        Ok(index)
    }

    /// Keeps what a dispatch uses until it is done, and lets go of what is no longer used.
    pub(crate) fn keep(&self, resources: Resources) {
        let mut unawaited = lock(&self.inner.unawaited);
        unawaited.retain(|resources| !resources.done());
        unawaited.push(resources);
    }
}

impl Memory {
    fn ring(&self) -> Result<Ring<'_>> {
        let ring = self.ring.host()?;
        let control = self.control.host()?;
        let words = ring
            .words32(0, self.ring.size() / 4)
            .ok_or(Error::NotHostVisible)?;
        let write = control
            .word64(control::WRITE_INDEX)
            .ok_or(Error::NotHostVisible)?;
        let read = control
            .word64(control::READ_INDEX)
            .ok_or(Error::NotHostVisible)?;
        Ok(Ring { words, write, read })
    }
}

impl Inner {
    fn ring(&self) -> Result<Ring<'_>> {
        self.memory.as_ref().ok_or(Error::NotHostVisible)?.ring()
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        let link = self.gpu.link();
        // Before another queue can have the doorbell.
        link.forget_doorbell(self.doorbell);
        if link.process.kfd.destroy_queue(self.id).is_err() {
            // Nothing proves that the GPU stopped: what it may access stays, until the process
            // ends and the driver takes it back.
            std::mem::forget(self.memory.take());
            std::mem::forget(std::mem::take(&mut *lock(&self.unawaited)));
        }
    }
}
