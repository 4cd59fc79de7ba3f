// SPDX-License-Identifier: MIT OR Apache-2.0

//! AQL queues: made by one ioctl, fed by stores. And what all kinds of queue have in common.
//!
//! A queue is several producers' at once: it can be cloned and used from any thread. Packets go
//! into the ring and the doorbell is rung with plain stores; no lock is taken and no system call
//! is made.

mod control;
mod made;
mod options;
mod ring;
mod save_area;
mod scratch;
mod words;

use std::sync::atomic::Ordering;
use std::sync::Arc;

use rkfd_hw::aql;
use rkfd_uapi::queue::QUEUE_TYPE_COMPUTE_AQL;

use crate::code::KernelMetadata;
use crate::error::{Error, Result};
use crate::gpu::Gpu;
use crate::memory::{flags, Bo};
use crate::signal::Signal;
use crate::sys::map::PAGE;
use crate::trace::{self, Step};

pub(crate) use made::{request, InUse, Made, WordRing};
pub use options::{Priority, QueueOptions};
pub(crate) use ring::Packet;
use ring::Ring;
pub(crate) use save_area::SaveArea;
pub(crate) use scratch::{Area, Scratch};
pub(crate) use words::Count;

/// A queue of AQL packets. Clones are the same queue, which is destroyed with the last of them and
/// its last submission.
///
/// ```
/// use rkfd::QueueOptions;
///
/// let (gpu, _driver) = rkfd::fake::open();
/// let kernel = gpu.load(rkfd::fake::VADD)?.kernel("vadd")?;
/// let queue = gpu.queue(QueueOptions::default())?;
/// let (a, b) = (gpu.upload(&[1.0f32; 512])?, gpu.upload(&[2.0f32; 512])?);
/// let c = gpu.alloc::<f32>(512)?;
/// let dispatch = queue.dispatch(&kernel).grid(512).block(256);
/// dispatch.arg(&a).arg(&b).arg(&c).arg(512i32).submit()?.wait()?;
/// assert_eq!(c.to_vec()?, [3.0; 512]);
/// # Ok::<(), rkfd::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Queue {
    made: Arc<Made<Memory>>,
    packets: u32,
    timestamps: bool,
    /// It has one producer.
    alone: bool,
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

impl Gpu {
    /// Makes a queue.
    ///
    /// # Errors
    ///
    /// [`Error::RingSize`] for a number of packets that the hardware does not take,
    /// [`Error::Ioctl`] when the process has no memory, doorbell or queue left, [`Error::Xnack`]
    /// when kernels could write to all of the process' memory.
    pub fn queue(&self, options: QueueOptions) -> Result<Queue> {
        Queue::new(self, options, false)
    }
}

impl Queue {
    /// A queue to which only [`push_alone`](Self::push_alone) writes.
    pub(crate) fn alone(gpu: &Gpu, options: QueueOptions) -> Result<Self> {
        Self::new(gpu, options, true)
    }

    fn new(gpu: &Gpu, options: QueueOptions, alone: bool) -> Result<Self> {
        let (link, node) = (gpu.link(), gpu.node());
        let ring_size = control::ring_bytes(options.packets)?;
        let area = SaveArea::of(node)?;
        if options.timestamps {
            gpu.start_clock()?;
        }

        let ring = Bo::new(link, ring_size as usize, flags::SHARED)?;
        let control = Bo::new(link, PAGE, flags::SHARED)?;
        let save = area.allocate(gpu, !options.save_in_system_memory)?;
        // gfx10 and later want a page for end-of-pipe events; AQL queues of gfx942 have none.
        let eop = (node.gfx_target_version() >= 100_000)
            .then(|| Bo::new(link, PAGE, flags::VRAM_PRIVATE))
            .transpose()?;
        let stopped = gpu.signal_of(0, true)?;
        let trap_handler = gpu.hold().trap_handler(&gpu.target());

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
            timestamps: options.timestamps,
            alone,
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

        let mut args = request(gpu, QUEUE_TYPE_COMPUTE_AQL, options.priority);
        args.ring_base_address = memory.ring.address();
        args.ring_size = ring_size;
        args.write_pointer_address = memory.control.address() + control::WRITE_INDEX as u64;
        args.read_pointer_address = memory.control.address() + control::READ_INDEX as u64;
        args.eop_buffer_address = memory._eop.as_ref().map_or(0, Bo::address);
        args.eop_buffer_size = memory._eop.as_ref().map_or(0, |bo| bo.size() as u64);
        args.ctx_save_restore_address = memory.save.address();
        args.ctx_save_restore_size = area.size;
        args.ctl_stack_size = area.control_stack;
        let made = Made::new(gpu, memory, args)?;
        let memory = made.memory()?;
        control::set_id(&memory.control, made.id)?;
        if let Some(handler) = trap_handler {
            handler.report_to(made.doorbell, memory.stopped.address())?;
        }
        Ok(Self {
            made: Arc::new(made),
            packets: options.packets,
            timestamps: options.timestamps,
            alone,
        })
    }

    /// The queue's id in this process.
    pub fn id(&self) -> u32 {
        self.made.id
    }

    /// Byte offset of the queue's doorbell among the process' (`doorbell_offset` of CREATE_QUEUE, less what names the GPU).
    pub fn doorbell_offset(&self) -> usize {
        self.made.doorbell
    }

    /// Gives the queue semaphores and barriers of global wave sync, by which waves of different
    /// work-groups wait for each other (`ds_gws_*`); 0 takes them away. The first one's number.
    ///
    /// One queue of a process can have them, on GPUs whose node has `num_gws`. Those of each XCC are
    /// its own.
    ///
    /// # Errors
    ///
    /// [`Error::Ioctl`] when the GPU has none or another queue has them.
    pub fn alloc_gws(&self, count: u32) -> Result<u32> {
        let kfd = &self.made.gpu.link().driver.kfd;
        kfd.alloc_queue_gws(self.id(), count)
    }

    /// Has the queue's waves run on the compute units of a mask only, from its next dispatch on at the latest.
    ///
    /// Bits have their turns among XCCs first, then among shader engines, then among the arrays of an engine; from
    /// gfx10 on two bits that follow each other are one work-group processor. Those beyond the GPU's units
    /// ([`Node::compute_units`](crate::topology::Node::compute_units)) are ignored. Linux has it in
    /// `mqd_symmetrically_map_cu_mask`.
    ///
    /// A mask without a unit of an XCC leaves the work-groups of that XCC nowhere to run.
    ///
    /// # Errors
    ///
    /// [`Error::Ioctl`] with EINVAL when there are no words.
    pub fn choose_compute_units(&self, mask: &[u32]) -> Result<()> {
        let kfd = &self.made.gpu.link().driver.kfd;
        kfd.set_cu_mask(self.id(), mask)
    }

    /// The number of slots of the ring.
    pub fn packets(&self) -> u32 {
        self.packets
    }

    /// The GPU that it is of.
    pub fn gpu(&self) -> &Gpu {
        &self.made.gpu
    }

    /// The write and the read index.
    pub fn indices(&self) -> (u64, u64) {
        self.ring().map_or((0, 0), |ring| {
            (
                ring.write.load(Ordering::Relaxed),
                ring.read.load(Ordering::Acquire),
            )
        })
    }

    /// Address of the queue's structure.
    pub(crate) fn control_address(&self) -> u64 {
        let memory = self.made.memory();
        memory.map_or(0, |memory| memory.control.address())
    }

    /// Addresses of the ring, the write index and the read index.
    pub fn addresses(&self) -> (u64, u64, u64) {
        let memory = self.made.memory();
        let ring = memory.map_or(0, |memory| memory.ring.address());
        let control = self.control_address();
        (
            ring,
            control + control::WRITE_INDEX as u64,
            control + control::READ_INDEX as u64,
        )
    }

    /// Address of the area that waves are saved to. Its header holds the addresses at which a
    /// runtime wants errors (`struct kfd_context_save_area_header`).
    pub fn save_area(&self) -> u64 {
        let memory = self.made.memory();
        memory.map_or(0, |memory| memory.save.address())
    }

    fn ring(&self) -> Result<Ring<'_>> {
        self.made.memory()?.ring()
    }

    /// Whether both are the same queue.
    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.made, &other.made)
    }

    /// Whether the packet processor records when dispatches run.
    pub(crate) fn timestamps(&self) -> bool {
        self.timestamps
    }

    /// Makes sure that the kernel's work-items have so many bytes of scratch.
    pub(crate) fn reserve_scratch(&self, kernel: &KernelMetadata, bytes: u32) -> Result<()> {
        let memory = self.made.memory()?;
        let (link, node) = (self.gpu().link(), self.gpu().node());
        let publish = |area: &Area| area.store(&memory.control);
        let scratch = &memory.scratch;
        let reserved = scratch.reserve(link, node, node.xccs(), bytes, publish);
        reserved.map_err(|failure| failure.of_dispatch(&kernel.name, bytes))
    }

    /// What is signalled when the queue stops.
    pub(crate) fn stopped(&self) -> Option<&Signal> {
        self.made.memory().ok().map(|memory| &memory.stopped)
    }

    /// Whether the packet processor or a wave reported an error.
    pub(crate) fn check(&self) -> Result<()> {
        match self.stopped().map_or(0, Signal::value) {
            0 => Ok(()),
            code => Err(Error::QueueStopped { code }),
        }
    }

    /// Puts packets into the ring and rings the doorbell once for all of them, or for as many as the
    /// ring has slots: the last one's number. With `wait`, waits for free slots as long as the queue
    /// runs. No system call is made.
    ///
    /// # Errors
    ///
    /// [`Error::OneProducer`] for a queue that has one producer, [`Error::QueueFull`] without `wait`
    /// when not all of them have a slot, else the error for which the queue stopped.
    pub(crate) fn push(&self, packets: &[Packet], wait: bool) -> Result<u64> {
        match self.alone {
            true => Err(Error::OneProducer),
            false => self.push_by(packets, wait, |ring, count| ring.reserve(count)),
        }
    }

    /// The same for a queue's only producer; several at once would lose packets.
    pub(crate) fn push_alone(&self, packets: &[Packet], wait: bool) -> Result<u64> {
        self.push_by(packets, wait, |ring, count| ring.reserve_alone(count))
    }

    fn push_by(
        &self,
        packets: &[Packet],
        wait: bool,
        reserve: impl Fn(Ring<'_>, u64) -> Option<u64>,
    ) -> Result<u64> {
        let ring = self.ring()?;
        let bell = self.made.bell()?;
        let slots = self.packets as usize;
        if !wait && packets.len() > slots {
            return Err(Error::QueueFull {
                packets: self.packets,
            });
        }
        let mut last = 0;
        // One `chunks` would divide, which takes longer than the stores.
        let mut rest = packets;
        while !rest.is_empty() {
            let (now, later) = rest.split_at_checked(slots).unwrap_or((rest, &[]));
            let first = loop {
                match reserve(ring, now.len() as u64) {
                    Some(first) => break first,
                    None if wait => self.check()?,
                    None => {
                        return Err(Error::QueueFull {
                            packets: self.packets,
                        })
                    }
                }
                std::hint::spin_loop();
            };
            ring.publish(first, now);
            last = first.wrapping_add(now.len() as u64 - 1);
            if trace::enabled() {
                self.show(ring, first, now);
            }
            // Release: the packets are in memory before the packet processor hears of them.
            bell.store(last, Ordering::Release);
            rest = later;
        }
        Ok(last)
    }

    /// Tells the observer of packets that were written, and of the doorbell that comes next.
    #[cold]
    fn show(&self, ring: Ring<'_>, first: u64, packets: &[Packet]) {
        let mut index = first;
        for packet in packets {
            let slot = (index & (ring.packets() - 1)) * aql::PACKET_SIZE as u64;
            trace::emit(&Step::Packet {
                queue: self.made.id,
                index,
                address: self.addresses().0 + slot,
                words: &packet.words(),
            });
            index = index.wrapping_add(1);
        }
        trace::emit(&Step::Doorbell {
            queue: self.made.id,
            offset: self.made.doorbell,
            value: index.wrapping_sub(1),
        });
    }

    /// Keeps what a dispatch uses until it is done.
    pub(crate) fn keep(&self, used: InUse) {
        self.made.keep(used);
    }
}

impl Memory {
    fn ring(&self) -> Result<Ring<'_>> {
        let ring = self.ring.host()?;
        let control = self.control.host()?;
        let slots = ring
            .slots(0, self.ring.size() / aql::PACKET_SIZE)
            .ok_or(Error::NotHostVisible)?;
        let write = control
            .word64(control::WRITE_INDEX)
            .ok_or(Error::NotHostVisible)?;
        let read = control
            .word64(control::READ_INDEX)
            .ok_or(Error::NotHostVisible)?;
        Ok(Ring { slots, write, read })
    }
}
