// SPDX-License-Identifier: GPL-2.0

//! Schedulers: who gets which hardware queue, and when.
//!
//! A scheduler speaks of processes and queues, not of packets. There is one trait and, for each
//! way of scheduling, an implementor below this folder that nothing else names: [`cpsch`] for run
//! lists through HIQ, [`mes`] for the micro engine scheduler.
//!
//! Proof before freeing. A queue holds references to everything the hardware touches for it: MQD,
//! address space, pinned buffer objects, doorbell. [`Scheduler::unmap`] gives a token only when
//! the hardware acknowledged that it let go. Without the acknowledgement the queue is `Hung`:
//! the scheduler keeps it, with all it holds, until the GPU was stopped for good.
//!
//! Lock order: a scheduler's lock is below process and VM locks and above those of rings.

use crate::{
    bo::{kernel_mem::KernelBuf, Bo},
    doorbell::Doorbell,
    gmc::gart,
    gpu::{Gpu, Hw},
    upcall::{Pasid, Upcalls},
    vm::{self, Vm},
};
use kernel::{
    fmt,
    prelude::*,
    sync::{
        atomic::{Atomic, Relaxed},
        Arc,
    },
};

mod cpsch;
mod hang;
mod mes;
mod queue;

pub(crate) use hang::{Hang, Notice};
pub(crate) use queue::{HwQueue, QueueState, SavedArea, SavedWords};

/// Format of a ring's packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Format {
    Aql,
    Pm4,
    /// Of a copy engine.
    Sdma,
}

/// What a scheduler needs to know of a process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ProcessConfig {
    /// The program says that it has a runtime, which a debugger may ask about (RUNTIME_ENABLE).
    pub(crate) runtime: bool,
    /// Address of the trap handler, 0 for none, and of its memory.
    pub(crate) tba: u64,
    pub(crate) tma: u64,
    /// SH_MEM_BASES: where local and scratch memory appear, in units of 2^48 bytes.
    pub(crate) sh_mem_bases: u32,
    pub(crate) sh_mem_config: u32,
    /// SPI_GDBG_PER_VMID_CNTL: whether waves start with trap temporaries set up.
    pub(crate) spi_gdbg_per_vmid_cntl: u32,
}

impl ProcessConfig {
    /// Without a trap handler, memory as KFD places it (`update_qpd` upstream).
    pub(crate) fn for_chip(chip: &crate::chip::ChipInfo) -> Self {
        Self {
            runtime: false,
            tba: 0,
            tma: 0,
            sh_mem_bases: chip.family.sh_mem_bases,
            sh_mem_config: chip.family.sh_mem_config,
            spi_gdbg_per_vmid_cntl: chip.family.core.trap_setup,
        }
    }
}

/// What a queue is made of. Addresses are of the process' address space.
pub(crate) struct QueueSpec {
    pub(crate) format: Format,
    pub(crate) ring: u64,
    /// Bytes, a power of two; 0 disables the queue.
    pub(crate) ring_size: u64,
    pub(crate) rptr: u64,
    pub(crate) wptr: u64,
    pub(crate) eop: u64,
    pub(crate) eop_size: u32,
    /// Area for saving waves, 0 for none; bytes of one XCC's part.
    pub(crate) cwsr: u64,
    pub(crate) cwsr_size: u32,
    pub(crate) ctl_stack_size: u32,
    /// 0 to 15.
    pub(crate) priority: u8,
    /// 0 to 100; 0 disables the queue.
    pub(crate) percent: u8,
    /// The XCC that runs PM4 packets.
    pub(crate) pm4_target_xcc: u8,
    /// It has the process' global wave sync resources.
    pub(crate) gws: bool,
    pub(crate) doorbell: Arc<Doorbell>,
    /// Every buffer object that the hardware touches for the queue.
    pub(crate) pins: KVec<Arc<Bo>>,
}

impl QueueSpec {
    /// Whether the queue should run (`QUEUE_IS_ACTIVE`).
    pub(crate) fn is_active(&self) -> bool {
        self.ring != 0 && self.ring_size != 0 && self.percent != 0
    }
}

/// What firmware keeps of a queue, and where it finds its write pointer.
pub(crate) struct Contexts {
    gang: KernelBuf,
    process: Arc<KernelBuf>,
    /// Address of the write pointer in address space 0, and what it is mapped by.
    wptr: u64,
    _wptr_page: Option<gart::Range>,
    _wptr_bo: Arc<Bo>,
}

/// A change of a queue.
pub(crate) struct QueueUpdate {
    pub(crate) ring: u64,
    pub(crate) ring_size: u64,
    pub(crate) percent: u8,
    pub(crate) priority: u8,
    pub(crate) pm4_target_xcc: u8,
    pub(crate) gws: bool,
    /// Bits of compute units as user programs give them; `None` leaves them.
    pub(crate) cu_mask: Option<KVec<u32>>,
    /// What the new ring needs; `None` leaves the old.
    pub(crate) pins: Option<KVec<Arc<Bo>>>,
}

/// A process on a scheduler.
pub(crate) struct SchedProcess {
    vm: Arc<Vm>,
    /// One of its queues had to be reset, or hangs.
    reset: Atomic<u32>,
}

impl SchedProcess {
    fn new(vm: &Arc<Vm>) -> Result<Arc<Self>> {
        let process = Self {
            vm: vm.clone(),
            reset: Atomic::new(0),
        };
        Ok(Arc::new(process, GFP_KERNEL)?)
    }

    fn note_reset(&self) {
        self.reset.store(1, Relaxed);
    }

    /// Whether a queue of it had to be reset, or hangs (`has_reset_queue`).
    pub(crate) fn has_reset_queue(&self) -> bool {
        self.reset.load(Relaxed) != 0
    }

    /// Its address space.
    pub(crate) fn vm(&self) -> &Arc<Vm> {
        &self.vm
    }

    /// Its number.
    pub(crate) fn pasid(&self) -> Pasid {
        self.vm.pasid()
    }
}

/// The hardware has let go of a queue: proof that what it held may be freed.
#[must_use = "it holds the queue, whose memory is freed when it is dropped"]
pub(crate) struct Unscheduled {
    _queue: Arc<HwQueue>,
}

/// What the hardware may still touch, for want of an acknowledgement.
pub(crate) enum Keep {
    /// A queue that doesn't let go.
    Queue(#[allow(dead_code)] Arc<HwQueue>),
    /// What firmware keeps of a process.
    Context(#[allow(dead_code)] Arc<KernelBuf>),
    /// Memory whose TLB flush wasn't acknowledged.
    Unmapped(#[allow(dead_code)] vm::Held),
}

/// A scheduler.
pub(crate) trait Scheduler: Send + Sync {
    /// Starts the scheduling firmware.
    fn start(&self) -> Result;

    /// Takes every queue off the hardware and stops. Afterwards everything is ENODEV.
    fn stop(&self);

    /// Makes a process known; it uses no hardware until it has a queue.
    fn add_process(&self, vm: &Arc<Vm>, config: ProcessConfig) -> Result<Arc<SchedProcess>>;

    /// Changes what holds for all queues of a process.
    fn configure(&self, process: &Arc<SchedProcess>, config: ProcessConfig) -> Result;

    /// Forgets a process, with the queues it still has.
    ///
    /// # Errors
    ///
    /// ETIME when a queue hangs: it is kept, the process is forgotten all the same.
    fn remove_process(&self, process: &Arc<SchedProcess>) -> Result;

    /// Makes a queue; it runs if the spec says so and the process isn't evicted.
    ///
    /// # Errors
    ///
    /// EPERM when the device has as many queues as it can have, ENOMEM, ETIME when other queues
    /// hang, ETIMEDOUT when MES refuses it or doesn't answer, EIO when the scheduler is stuck, ENODEV.
    fn create(&self, process: &Arc<SchedProcess>, spec: QueueSpec) -> Result<Arc<HwQueue>>;

    /// Changes a queue. It is off the hardware while that happens.
    fn update(&self, queue: &Arc<HwQueue>, update: QueueUpdate) -> Result;

    /// Takes a queue off the hardware for good.
    ///
    /// # Errors
    ///
    /// ETIME when the hardware doesn't acknowledge in time: the queue is hung and kept. With MES,
    /// as upstream, ETIMEDOUT or ENOTRECOVERABLE.
    fn unmap(&self, queue: &Arc<HwQueue>) -> Result<Unscheduled>;

    /// Takes the queues of a process off until [`Scheduler::restore`]. Calls are counted.
    #[allow(dead_code)] // For the user half.
    fn evict(&self, process: &Arc<SchedProcess>) -> Result;

    /// Undoes one [`Scheduler::evict`].
    #[allow(dead_code)] // For the user half.
    fn restore(&self, process: &Arc<SchedProcess>) -> Result;

    /// As [`Scheduler::evict`], of whoever has that number; for good, after a page fault.
    fn evict_pasid(&self, pasid: Pasid) -> Result;

    /// The firmware refuses to go on with a queue, which interrupts name by the number of its doorbell
    /// in the process' slice. With MES it is taken off; run lists keep it, as upstream.
    fn stop_bad_queue(&self, _pasid: Pasid, _doorbell: u32) -> Result {
        Ok(())
    }

    /// Writes what runs, for debugfs.
    #[allow(dead_code)] // For the user half.
    fn report(&self, f: &mut dyn fmt::Write) -> fmt::Result;
}

/// Makes the scheduler that uses run lists through HIQ.
pub(crate) fn cpsch(hw: &Arc<Hw>) -> Result<Arc<dyn Scheduler>> {
    cpsch::new(hw)
}

/// Makes the scheduler that hands queues to MES one by one.
pub(crate) fn mes(hw: &Arc<Hw>) -> Result<Arc<dyn Scheduler>> {
    mes::new(hw)
}

/// The scheduler runs; dropped, it is stopped.
pub(crate) struct Started {
    scheduler: Arc<dyn Scheduler>,
    _watch: hang::Watch,
}

impl Started {
    /// Starts a GPU's scheduler.
    pub(crate) fn new(
        gpu: &Arc<Gpu>,
        scheduler: Arc<dyn Scheduler>,
        sink: Arc<dyn Upcalls>,
    ) -> Result<Self> {
        let watch = hang::Watch::new(gpu, sink)?;
        scheduler.start().inspect_err(|error| {
            dev_err!(gpu.device(), "the scheduler doesn't start ({:?})\n", error)
        })?;
        Ok(Self {
            scheduler,
            _watch: watch,
        })
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        self.scheduler.stop();
    }
}
