// SPDX-License-Identifier: GPL-2.0

//! Schedulers: who gets which hardware queue, and when.
//!
//! A scheduler speaks of processes and queues, not of packets. What all of them have in common is
//! in [`common`]: who has which queues, and what state each is in. For each way of scheduling there is
//! an implementor of [`state::Firmware`] below this folder that nothing else names: [`cpsch`] for run
//! lists through HIQ, [`mes`] for the micro engine scheduler.
//!
//! Proof before freeing. A queue holds references to everything the hardware touches for it: MQD,
//! address space, pinned buffer objects, doorbell. [`Scheduler::unmap`] gives a token only when
//! the hardware acknowledged that it let go. Without the acknowledgement the queue is `Hung`:
//! the scheduler keeps it, with all it holds, until the GPU was stopped for good.
//!
//! Lock order: a scheduler's lock is below process and VM locks and above those of rings.

use crate::{
    bo::Bo,
    chip::ChipInfo,
    device::Handle,
    doorbell::{
        Doorbell,
        Doorbells, //
    },
    gfx::{
        Gfx,
        WATCHES, //
    },
    gmc::{
        gart,
        Gart,
        Hubs,
        KernelBuf,
        Tlb, //
    },
    hangs::Hangs,
    kept::Kept,
    mqd,
    sdma::{
        self,
        Copier, //
    },
    types::{
        GpuVa,
        Hang,
        HqdSlot,
        Pasid,
        RingParams, //
    },
    vm::Vm,
    vram::Vram, //
};
use kernel::{
    prelude::*,
    sync::{
        atomic::{
            Atomic,
            Relaxed, //
        },
        Arc, //
    }, //
};

mod common;
mod cpsch;
mod hal;
mod mes;
mod queue;
mod queues;
mod state;
mod suspend;

pub(crate) use crate::types::{
    Format,
    QueueSpec, //
};
pub(crate) use hal::new;
pub(crate) use queue::{
    HwQueue,
    QueueState,
    SavedArea,
    Shown, //
};
pub(crate) use suspend::{
    Order,
    Outcome,
    Suspension, //
};

/// What schedulers are made from.
pub(crate) struct Parts {
    pub(crate) dev: Arc<Handle>,
    pub(crate) chip: Arc<ChipInfo>,
    pub(crate) gfx: Arc<Gfx>,
    pub(crate) hubs: Hubs,
    pub(crate) vram: Arc<Vram>,
    pub(crate) gart: Arc<Gart>,
    pub(crate) tlb: Arc<Tlb>,
    pub(crate) doorbells: Arc<Doorbells>,
    pub(crate) mqd: &'static dyn mqd::Hal,
    pub(crate) kept: Arc<Kept>,
    pub(crate) hangs: Arc<Hangs>,
    pub(crate) copier: Arc<Copier>,
    /// The device makes atomic operations on memory.
    pub(crate) atomics: bool,
    /// Processes run one at a time, and find nothing of each other.
    pub(crate) isolates: bool,
}

impl Parts {
    /// Whether the device is known to be gone. If so, the user half hears of it.
    ///
    /// # Errors
    ///
    /// ENODEV: nothing runs any more, and nothing is to be waited for.
    fn check_lost(&self) -> Result {
        self.dev
            .check_lost()
            .inspect_err(|_| self.hangs.report(Hang::Lost))
    }
}

/// What a scheduler needs to know of a process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ProcessConfig {
    /// Whether the program has declared a runtime, which a debugger may query (RUNTIME_ENABLE).
    pub(crate) runtime: bool,
    /// Address of the trap handler, 0 for none, and of its memory.
    pub(crate) tba: GpuVa,
    pub(crate) tma: GpuVa,
    /// SH_MEM_BASES: where local and scratch memory appear, in units of 2^48 bytes.
    pub(crate) sh_mem_bases: u32,
    pub(crate) sh_mem_config: u32,
    /// SPI_GDBG_PER_VMID_CNTL: whether waves start with trap temporaries set up and what makes them trap; and how they
    /// begin.
    pub(crate) trap_override: u32,
    pub(crate) launch_mode: u32,
    /// TCP_WATCH_CNTL of the addresses that are watched.
    pub(crate) watches: [u32; WATCHES],
}

impl ProcessConfig {
    /// Whether there is a trap handler.
    fn has_trap(&self) -> bool {
        !self.tba.is_null()
    }

    /// SPI_GDBG_PER_VMID_CNTL.
    fn spi_gdbg_per_vmid_cntl(&self) -> u32 {
        self.trap_override | self.launch_mode
    }

    /// Without a trap handler, memory as KFD places it (`update_qpd` upstream).
    pub(crate) fn for_chip(chip: &ChipInfo) -> Self {
        Self {
            runtime: false,
            tba: GpuVa::NULL,
            tma: GpuVa::NULL,
            sh_mem_bases: chip.family.sh_mem_bases,
            sh_mem_config: chip.family.sh_mem_config,
            trap_override: chip.family.trap_setup,
            launch_mode: 0,
            watches: [0; WATCHES],
        }
    }
}

/// What a queue holds as long as the hardware may touch it.
pub(crate) struct QueueHold {
    /// Its doorbell.
    pub(crate) doorbell: Doorbell,
    /// Its place on a copy engine, if it is of one.
    pub(crate) sdma: Option<sdma::Slot>,
    /// Every buffer object that the hardware touches for it.
    pub(crate) pins: KVec<Arc<Bo>>,
}

/// What firmware keeps of a queue, and where it finds its write pointer.
pub(crate) struct Contexts {
    gang: KernelBuf,
    process: Arc<KernelBuf>,
    /// Address of the write pointer in address space 0, and what it is mapped by.
    wptr: GpuVa,
    _wptr_page: Option<gart::Range>,
    _wptr_bo: Arc<Bo>,
}

/// A change of a queue.
pub(crate) struct QueueUpdate {
    pub(crate) ring: RingParams,
    pub(crate) gws: bool,
    /// Bits of compute units as user programs give them; `None` leaves them.
    pub(crate) cu_mask: Option<KVec<u32>>,
    /// What the new ring needs; `None` leaves the old.
    pub(crate) pins: Option<KVec<Arc<Bo>>>,
}

/// A process on a scheduler.
pub(crate) struct SchedProcess {
    vm: Arc<Vm>,
    pasid: Pasid,
    /// One of its queues had to be reset, or hangs.
    reset: Atomic<u32>,
    /// The GPU was reset under it.
    lost: Atomic<u32>,
}

impl SchedProcess {
    /// EINVAL for an address space that has no number.
    fn new(vm: &Arc<Vm>) -> Result<Arc<Self>> {
        let process = Self {
            vm: vm.clone(),
            pasid: vm.pasid().ok_or(EINVAL)?,
            reset: Atomic::new(0),
            lost: Atomic::new(0),
        };
        Ok(Arc::new(process, GFP_KERNEL_ACCOUNT)?)
    }

    fn note_reset(&self) {
        self.reset.store(1, Relaxed);
    }

    /// The GPU was reset under it: nothing of it runs any more.
    fn note_lost(&self) {
        self.lost.store(1, Relaxed);
    }

    /// Whether the GPU was reset under it: whatever becomes of its queues, none of it runs again.
    pub(crate) fn is_lost(&self) -> bool {
        self.lost.load(Relaxed) != 0
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
        self.pasid
    }
}

/// The hardware has let go of a queue: proof that what it held may be freed.
#[must_use = "it holds the queue, whose memory is freed when it is dropped"]
pub(crate) struct Unscheduled {
    _queue: Arc<HwQueue>,
}

/// Whether a scheduler's firmware works.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Health {
    /// It was not started, or was stopped.
    Off,
    Runs,
    /// It doesn't answer: a reset is due or under way, or failed.
    Stuck,
}

impl Health {
    /// Its name, for people.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Runs => "runs",
            Self::Stuck => "stuck",
        }
    }
}

/// How a scheduler does.
pub(crate) struct Status {
    pub(crate) state: Health,
    pub(crate) processes: usize,
    /// How many queues are in each state.
    pub(crate) queues: [(QueueState, usize); QueueState::ALL.len()],
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

    /// Makes a queue; it runs if the spec enables it and the process isn't evicted.
    ///
    /// # Errors
    ///
    /// EPERM when the device has as many queues as it can have, ENOMEM, ETIME when other queues
    /// hang, ETIMEDOUT when MES refuses it or doesn't answer, EIO when the scheduler is stuck, ENODEV.
    fn create(
        &self,
        process: &Arc<SchedProcess>,
        spec: QueueSpec,
        hold: QueueHold,
    ) -> Result<Arc<HwQueue>>;

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
    fn evict(&self, process: &Arc<SchedProcess>) -> Result;

    /// Undoes one [`Scheduler::evict`].
    fn restore(&self, process: &Arc<SchedProcess>) -> Result;

    /// As [`Scheduler::evict`], of whoever has that number; for good, after a page fault.
    fn evict_pasid(&self, pasid: Pasid) -> Result;

    /// Suspends or resumes queues for a debugger, each of which gets its outcome. Queues that are as they should be
    /// count as done.
    fn suspend(&self, queues: &mut [Suspension], order: Order);

    /// Has what all compute queues do counted by performance counters, or not (`set_perfcount`). Each process' queues
    /// are off the hardware while theirs are changed.
    ///
    /// # Errors
    ///
    /// As [`Scheduler::evict`].
    fn count_events(&self, on: bool) -> Result;

    /// What the kernel's log and management events call a hang of it (`amdgpu_reset_get_desc`).
    fn hang_name(&self) -> &'static str;

    /// Something that it doesn't know of makes it impossible to go on: what runs counts as hung, requests get
    /// EIO, and a reset is due.
    fn give_up(&self);

    /// Resets the engine of the driver's own copy queue, which gets no further, and has what was there go on. If that
    /// fails, it gives up as by [`Scheduler::give_up`].
    ///
    /// # Errors
    ///
    /// EIO when the scheduler is stuck or the engine doesn't answer after its reset; ETIME and others of the
    /// reset; ENODEV, ENOMEM.
    fn revive_copier(&self) -> Result;

    /// The engines are about to be reset: lets no firmware take commands any more. Until
    /// [`Scheduler::restart`] requests get EIO. Returns whether it is stuck, and a reset is due.
    fn halt(&self) -> bool;

    /// The engines were reset, and nothing runs any more: the queues that there are, are gone, whatever
    /// their states were, and the firmware starts anew. As upstream, their processes stay evicted for
    /// good: what they create from now on doesn't run.
    ///
    /// # Errors
    ///
    /// What the start of the firmware returns; the scheduler is stuck as before.
    fn restart(&self) -> Result;

    /// What schedules, for people.
    fn kind(&self) -> &'static str;

    /// How it does; `None` while it is at work, which may be a wait for its firmware.
    fn try_status(&self) -> Option<Status>;

    /// The firmware's rings by their names, and where they are.
    fn rings(&self) -> &'static [(&'static str, HqdSlot)];

    /// Where its own queue is, that takes run lists, if there is one.
    fn own_queue(&self) -> Option<HqdSlot>;

    /// Calls `f` with the words of the run list that runs. It waits for nobody.
    ///
    /// # Errors
    ///
    /// EBUSY while the scheduler is at work, which may be a wait for its firmware; ENOENT when no list runs.
    fn with_run_list(&self, f: &mut dyn FnMut(&mut dyn Iterator<Item = u32>)) -> Result;

    /// Makes the firmware hang, to see what follows.
    ///
    /// # Errors
    ///
    /// EOPNOTSUPP where there is no way to do that; otherwise those of what follows: ETIME, when the firmware hangs as
    /// it should.
    fn make_hang(&self) -> Result;

    /// The firmware refuses to go on with a queue, which interrupts name by the number of its doorbell
    /// in the process' slice. With MES it is taken off; run lists keep it, as upstream.
    fn stop_bad_queue(&self, _pasid: Pasid, _doorbell: u32) -> Result {
        Ok(())
    }
}

/// The scheduler runs; dropped, it is stopped.
pub(crate) struct Started(Arc<dyn Scheduler>);

impl Started {
    /// Starts a scheduler.
    pub(crate) fn new(dev: &Handle, scheduler: &Arc<dyn Scheduler>) -> Result<Self> {
        scheduler.start().inspect_err(|error| {
            dev_err!(dev.device(), "the scheduler doesn't start ({:?})\n", error)
        })?;
        Ok(Self(scheduler.clone()))
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        self.0.stop();
    }
}
