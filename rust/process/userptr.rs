// SPDX-License-Identifier: GPL-2.0

//! Buffer objects of the program's own memory (USERPTR), and what happens when it changes.
//!
//! The pages are pinned while the GPU may reach them, and the range is watched. When the kernel is
//! about to change it (munmap, madvise, a fork's write protection, reclaim), two work items follow
//! each other. *Stop*: the process' queues are evicted, the object is taken out of the VM, the TLB
//! is flushed. *Restore*: once the change is over, the range is pinned anew and mapped, the old
//! pages are let go, and the queues go on. Memory that is no longer there stays unmapped: the GPU
//! faults if it touches it (`update_invalid_user_pages`; amdgpu's debug mode that tells the program
//! before that, `kfd_signal_vm_fault_event_with_userptr`, isn't there).
//!
//! munmap waits for *stop*, and so do other calls of the program's, for a while. What comes out of
//! reclaim doesn't: it may run under a lock that *stop* needs. The pins keep those pages from being
//! used for anything else until then.
//!
//! Lock order: mmap lock, page locks -> (status, rounds); process state -> status. Pages are pinned
//! and let go, and watches dropped, without the process' state: all of that waits for locks of
//! programs that may wait for *stop*.

use super::{
    device::{
        DeviceState,
        Handle, //
    },
    limit::GttShare,
    memory::{
        AllocRequest,
        Allocated,
        Mem,
        Memory, //
    },
    Process, //
};
use crate::{
    bo::{
        user::Mapped,
        Bo, //
    },
    glue::{
        interval::{
            IntervalTarget,
            IntervalWatch,
            Patience,
            Sequence, //
        },
        user_pages::UserPages,
        workqueue::WorkQueue, //
    },
    gpu::Gpu,
    render::Mapping,
    smi,
    vm::Vm,
};
use kernel::{
    current, impl_has_work,
    mm::{MmWithUser, MmWithUserAsync},
    new_condvar, new_mutex,
    page::PAGE_SIZE,
    prelude::*,
    sync::{
        aref::ARef,
        Arc,
        CondVar,
        CondVarTimeoutResult,
        Mutex, //
    },
    time::{
        delay::fsleep,
        msecs_to_jiffies,
        Delta, //
    },
    workqueue::WorkItem,
};

kernel::sync::global_lock! {
    // SAFETY: Initialised in `init`, which the module calls first.
    unsafe(uninit) static QUEUE: Mutex<Option<Arc<WorkQueue>>> = None;
}

/// To be called once, by the module's init.
pub(super) fn init() {
    // SAFETY: Called once.
    unsafe { QUEUE.init() };
}

/// Where the work items run; dropped, they have run.
pub(crate) struct Works;

impl Works {
    pub(crate) fn new() -> Result<Self> {
        let queue = Arc::new(WorkQueue::new_concurrent(c"rkfd-user")?, GFP_KERNEL)?;
        *QUEUE.lock() = Some(queue);
        Ok(Self)
    }
}

impl Drop for Works {
    fn drop(&mut self) {
        let queue = QUEUE.lock().take();
        drop(queue);
    }
}

/// How long a call of the program's that isn't munmap waits at most.
const SHORT_MS: u32 = 1000;

/// Which work item.
pub(super) const STOP: u64 = 1;
pub(super) const RESTORE: u64 = 2;

/// Runs of *stop*.
struct Rounds {
    asked: u64,
    done: u64,
}

/// A process' part of it.
#[pin_data]
pub(super) struct UserMemory {
    #[pin]
    rounds: Mutex<Rounds>,
    #[pin]
    stopped: CondVar,
}

impl UserMemory {
    pub(super) fn new() -> impl PinInit<Self> {
        pin_init!(Self {
            rounds <- new_mutex!(Rounds { asked: 0, done: 0 }, "rkfd user rounds"),
            stopped <- new_condvar!("rkfd user stopped"),
        })
    }
}

impl_has_work! {
    impl HasWork<Self, 1> for Process { self.user_stop }
    impl HasWork<Self, 2> for Process { self.user_restore }
}

/// What is known of a range.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Status {
    /// The object has its pages.
    Valid,
    /// It changed: the object must lose its pages and get others.
    Stale,
    /// There is nothing that could be pinned.
    Missing,
    /// The hardware didn't acknowledge that it let go: the object keeps its pages for good.
    Kept,
}

/// What a watch tells.
#[pin_data]
struct Target {
    process: Arc<Process>,
    #[pin]
    status: Mutex<Status>,
}

impl IntervalTarget for Target {
    fn invalidated(&self, record: impl FnOnce(), patience: Patience) {
        {
            let mut status = self.status.lock();
            record();
            if *status == Status::Kept {
                return;
            }
            *status = Status::Stale;
        }
        let Some(ticket) = self.process.ask_stop() else {
            return;
        };
        let user = &self.process.user;
        let mut rounds = user.rounds.lock();
        let mut left = msecs_to_jiffies(SHORT_MS);
        while rounds.done < ticket {
            left = match patience {
                Patience::None => return,
                Patience::Forever => {
                    user.stopped.wait(&mut rounds);
                    continue;
                }
                Patience::Short => match user.stopped.wait_interruptible_timeout(&mut rounds, left)
                {
                    CondVarTimeoutResult::Woken { jiffies } => jiffies,
                    CondVarTimeoutResult::Timeout | CondVarTimeoutResult::Signal { .. } => return,
                },
            };
        }
    }
}

/// A watched range of the program's memory.
pub(super) struct UserRange {
    watch: IntervalWatch<Target>,
    address: usize,
}

impl UserRange {
    fn status(&self) -> Status {
        *self.watch.target().status.lock()
    }

    /// Whether the object has pages that may be mapped.
    pub(super) fn is_valid(&self) -> bool {
        self.status() == Status::Valid
    }

    /// Notes what came of pinning, unless something changed since then: then the answer is false.
    fn settle(&self, since: Sequence, status: Status) -> bool {
        let mut now = self.watch.target().status.lock();
        if *now == Status::Kept || self.watch.changed(since) {
            return false;
        }
        *now = status;
        true
    }

    /// The hardware may still reach the pages.
    fn keep(&self) {
        *self.watch.target().status.lock() = Status::Kept;
    }

    fn pin(&self, mm: &MmWithUser, gpu: &Gpu, bo: &Bo) -> Result<Mapped> {
        let count = usize::try_from(bo.size())? / PAGE_SIZE;
        Mapped::new(gpu.hw(), UserPages::pin(mm, self.address, count)?)
    }
}

impl Process {
    /// Asks for a run of *stop* that sees what is stale now, and returns its number.
    fn ask_stop(self: &Arc<Self>) -> Option<u64> {
        let queue = QUEUE.lock().clone()?;
        let ticket = {
            let mut rounds = self.user.rounds.lock();
            rounds.asked += 1;
            rounds.asked
        };
        // If it is queued already it hasn't begun.
        let _ = queue.queue().enqueue::<_, STOP>(self.clone());
        Some(ticket)
    }

    /// Makes a buffer object of the caller's memory.
    ///
    /// # Errors
    ///
    /// As `init_user_pages`: EOVERFLOW when the range isn't one, EFAULT when it isn't all mapped,
    /// EPERM when it can't be written, ENOMEM.
    pub(crate) fn alloc_user(self: &Arc<Self>, gpu_id: u32, r: &AllocRequest) -> Result<Allocated> {
        let (gpu, file, size, share) = self.with_device(gpu_id, |device, state| {
            state.check_alloc(device, r)?;
            if r.user_address == 0 {
                return Err(EINVAL);
            }
            let size = r.bo_size()?;
            let file = state.bound()?.file.clone();
            Ok((device.gpu.clone(), file, size, GttShare::new(size)?))
        })?;
        let task = current!();
        let mm = task.mm().ok_or(EINVAL)?;
        let bo = Bo::for_user(&gpu, size)?;
        let process = self.clone();
        let target = Arc::pin_init(
            pin_init!(Target {
                process,
                status <- new_mutex!(Status::Missing, "rkfd user range"),
            }),
            GFP_KERNEL,
        )?;
        let address = usize::try_from(r.user_address)?;
        let range = UserRange {
            watch: IntervalWatch::new(mm, address, usize::try_from(size)?, target)?,
            address,
        };
        loop {
            let since = range.watch.begin();
            bo.swap_user(&mut Some(range.pin(mm, &gpu, &bo)?));
            if range.settle(since, Status::Valid) {
                break;
            }
        }
        let mapping = Mapping::new(&file, &bo)?;
        let offset = mapping.offset();
        // Kept here, so that on an error it isn't dropped with the process' state.
        let memory = Memory::new(bo, Some(share), r.flags)?;
        let mem = Mem::new(Some(mapping), memory, Some(range), r.va, r.flags)?;
        let index = self.with_device(gpu_id, |_, state| state.insert(mem.clone()))?;
        if mem.range().is_some_and(|range| !range.is_valid()) {
            // It changed before *stop* could find it.
            self.ask_stop();
        }
        Ok(Allocated {
            index,
            mmap_offset: offset,
        })
    }

    fn stop_user(self: &Arc<Self>) {
        let round = self.user.rounds.lock().asked;
        // A process that ended has nothing on the GPU.
        let _ = self.with(|state| {
            for (device, state) in self.devices.iter().zip(state.devices.iter_mut()) {
                if state.stop_stale(&device.gpu) {
                    smi::evicted(&device.gpu, &self.who);
                }
            }
            Ok(())
        });
        {
            let mut rounds = self.user.rounds.lock();
            rounds.done = rounds.done.max(round);
        }
        self.user.stopped.notify_all();
        if let Some(queue) = QUEUE.lock().clone() {
            let _ = queue.queue().enqueue::<_, RESTORE>(self.clone());
        }
    }

    fn restore_user(self: &Arc<Self>) {
        // As upstream's: changes come in bursts.
        fsleep(Delta::from_millis(1));
        let Some(mm) = self.mm_ref.mmget_not_zero() else {
            return;
        };
        // If it is the last user, the end of the process runs elsewhere.
        let mm: ARef<MmWithUserAsync> = MmWithUser::into_mmput_async(mm);
        while let Ok(Some((index, mem))) = self.with(|state| {
            for (index, device) in state.devices.iter_mut().enumerate() {
                if let Some(mem) = device.first_stale() {
                    return Ok(Some((index, mem)));
                }
            }
            for (device, state) in self.devices.iter().zip(state.devices.iter_mut()) {
                if state.go_on(&device.gpu) {
                    smi::restored(&device.gpu, &self.who);
                }
            }
            Ok(None)
        }) {
            let (Some(device), Some(range)) = (self.devices.get(index), mem.range()) else {
                return;
            };
            let since = range.watch.begin();
            let mut pages = range.pin(&mm, &device.gpu, mem.bo()).ok();
            let _ = self.with(|state| {
                if let Some(state) = state.devices.get_mut(index) {
                    state.renew(&device.gpu, &mem, since, &mut pages);
                }
                Ok(())
            });
            // What it had before, or what came too late.
            drop(pages);
        }
    }
}

impl WorkItem<STOP> for Process {
    type Pointer = Arc<Self>;

    fn run(this: Arc<Self>) {
        this.stop_user();
    }
}

impl WorkItem<RESTORE> for Process {
    type Pointer = Arc<Self>;

    fn run(this: Arc<Self>) {
        this.restore_user();
    }
}

impl DeviceState {
    /// The first object whose memory changed.
    fn first_stale(&mut self) -> Option<Arc<Mem>> {
        let mut handles = self.handles.iter_mut().map(|(_, handle)| &handle.mem);
        handles.find(|mem| mem.is_stale()).cloned()
    }

    /// Takes memory that changed from the GPU, queues first; returns whether they ran.
    fn stop_stale(&mut self, gpu: &Gpu) -> bool {
        let stale = |(_, handle): (u32, &mut Handle)| handle.mapped && handle.mem.is_stale();
        let used = self.handles.iter_mut().any(stale);
        let paused = used && self.pause(gpu);
        let Some(bound) = &self.bound else {
            return paused;
        };
        for (_, handle) in self.handles.iter_mut() {
            if handle.mapped && handle.mem.is_stale() {
                handle.mem.withdraw(&bound.vm);
            }
        }
        paused
    }

    /// Evicts the process' queues until [`go_on`](Self::go_on).
    fn pause(&mut self, gpu: &Gpu) -> bool {
        if core::mem::replace(&mut self.paused, true) {
            return false;
        }
        if let Some(sched) = &self.sched {
            if let Err(e) = gpu.scheduler().evict(sched) {
                dev_err!(gpu.device(), "evicting queues failed ({:?})\n", e);
            }
        }
        true
    }

    fn go_on(&mut self, gpu: &Gpu) -> bool {
        if !core::mem::replace(&mut self.paused, false) {
            return false;
        }
        if let Some(sched) = &self.sched {
            if let Err(e) = gpu.scheduler().restore(sched) {
                dev_err!(gpu.device(), "restoring queues failed ({:?})\n", e);
            }
        }
        true
    }

    /// Gives an object what was pinned for it, unless its memory changed again. What is then in
    /// `pages` is to be let go.
    fn renew(&mut self, gpu: &Gpu, mem: &Arc<Mem>, since: Sequence, pages: &mut Option<Mapped>) {
        let Some(range) = mem.range() else { return };
        let vm = self.bound.as_ref().map(|bound| bound.vm.clone());
        let mut handles = self.handles.iter_mut().map(|(_, handle)| handle);
        let (Some(handle), Some(vm)) = (handles.find(|h| Arc::ptr_eq(&h.mem, mem)), vm) else {
            // Freed meanwhile.
            range.settle(since, Status::Missing);
            return;
        };
        if handle.mapped {
            mem.withdraw(&vm);
        }
        let status = match pages {
            Some(_) => Status::Valid,
            None => Status::Missing,
        };
        if !range.settle(since, status) {
            return;
        }
        mem.bo().swap_user(pages);
        if !handle.mapped || status != Status::Valid {
            return;
        }
        if let Err(e) = mem.map_into(&vm) {
            dev_err!(gpu.device(), "mapping user memory failed ({:?})\n", e);
            mem.withdraw(&vm);
            range.settle(since, Status::Missing);
        }
    }
}

impl Mem {
    fn is_stale(&self) -> bool {
        self.range()
            .is_some_and(|range| range.status() == Status::Stale)
    }

    /// Takes the program's memory from the GPU.
    fn withdraw(&self, vm: &Vm) {
        if let (Err(_), Some(range)) = (self.unmap_from(vm), self.range()) {
            range.keep();
        }
    }
}
