// SPDX-License-Identifier: GPL-2.0

//! Ranges of the program's own memory (USERPTR) that buffer objects are made of, watched for changes.
//! Those of KFD's buffers belong to their process, that of a GEM object to itself.
//!
//! When the kernel is about to change a range (munmap, madvise, a fork's write protection, reclaim),
//! two work items follow each other, *stop* and *restore*, which the room `memory` carries out.
//! munmap waits for *stop*, and so do other calls of the program's, for a while. What comes out of
//! reclaim doesn't: it may run under a lock that *stop* needs. The pins keep those pages from being
//! used for anything else until then.
//!
//! Lock order: mmap lock, page locks -> (status, rounds, works); process state -> status.

use super::{
    bell::Bell,
    exception::Passing,
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
    gpu::Gpu, //
};
use kernel::{
    impl_has_work,
    mm::MmWithUser,
    new_condvar,
    new_mutex,
    page::PAGE_SIZE,
    prelude::*,
    sync::{
        Arc,
        CondVar,
        CondVarTimeoutResult,
        Mutex, //
    },
    time::msecs_to_jiffies,
    workqueue::RawWorkItem, //
};

/// Where the work items of all processes run.
#[pin_data]
pub(crate) struct Works {
    /// *stop*, which waits for no program: munmap waits for it, and so may a *restore*.
    #[pin]
    stops: Mutex<Option<WorkQueue>>,
    /// *restore*, which waits for changes under way, and with them for *stop*. So many may wait that no other begins.
    #[pin]
    restores: Mutex<Option<WorkQueue>>,
    /// Those that write to debuggers' files, for which munmap is not to wait.
    #[pin]
    bells: Mutex<Option<WorkQueue>>,
}

impl Works {
    /// Makes the work queues.
    pub(crate) fn new() -> Result<Arc<Self>> {
        let stops = WorkQueue::new_concurrent(c"rkfd-stop")?;
        let restores = WorkQueue::new_concurrent(c"rkfd-restore")?;
        let bells = WorkQueue::new_concurrent(c"rkfd-bell")?;
        Arc::pin_init(
            pin_init!(Self {
                stops <- new_mutex!(Some(stops), "rkfd stops"),
                restores <- new_mutex!(Some(restores), "rkfd restores"),
                bells <- new_mutex!(Some(bells), "rkfd bells"),
            }),
            GFP_KERNEL,
        )
    }

    /// Queues a write to a debugger's file, unless one is queued.
    pub(super) fn ring(&self, bell: Arc<Bell>) {
        if let Some(bells) = &*self.bells.lock() {
            let _ = bells.queue().enqueue(bell);
        }
    }

    /// Queues the passing on of a debugger's exceptions.
    pub(super) fn pass(&self, passing: Arc<Passing>) {
        if let Some(bells) = &*self.bells.lock() {
            let _ = bells.queue().enqueue(passing);
        }
    }

    /// Queues *stop*; returns whether it will run.
    fn stop<W: RawWorkItem<STOP> + Send + 'static>(&self, owner: W) -> bool {
        add(&self.stops, owner)
    }

    /// Queues *restore*.
    pub(crate) fn restore<W: RawWorkItem<RESTORE> + Send + 'static>(&self, owner: W) {
        let _ = add(&self.restores, owner);
    }

    /// Waits until the work items have run; from now on none is queued.
    pub(crate) fn close(&self) {
        // Not under the mutexes, which an item may take. Each *stop* queues a *restore*.
        let stops = self.stops.lock().take();
        drop(stops);
        let restores = self.restores.lock().take();
        drop(restores);
        let bells = self.bells.lock().take();
        drop(bells);
    }
}

/// Queues an item; returns whether it will run. One that is queued already hasn't begun.
fn add<W: RawWorkItem<ID> + Send + 'static, const ID: u64>(
    queue: &Mutex<Option<WorkQueue>>,
    item: W,
) -> bool {
    let queue = queue.lock();
    let Some(queue) = &*queue else { return false };
    let _ = queue.queue().enqueue::<W, ID>(item);
    true
}

/// Which work item.
pub(crate) const STOP: u64 = 1;
pub(crate) const RESTORE: u64 = 2;

/// How long a call of the program's that isn't munmap waits at most.
const SHORT_MS: u32 = 1000;

/// Runs of *stop*.
struct Rounds {
    asked: u64,
    done: u64,
}

/// Whose *stop* and *restore* take care of ranges.
pub(crate) trait Owner: Send + Sync + 'static {
    /// How far its *stop* came.
    fn user(&self) -> &UserMemory;
    /// Where its work items run.
    fn works(&self) -> &Works;
    /// Queues its *stop*; returns whether it will run.
    fn queue_stop(self: &Arc<Self>) -> bool;
}

/// Asks for a run of *stop* that sees what is stale now, and returns its number.
fn ask_stop<O: Owner>(owner: &Arc<O>) -> Option<u64> {
    let ticket = {
        let mut rounds = owner.user().rounds.lock();
        rounds.asked = rounds.asked.wrapping_add(1);
        rounds.asked
    };
    owner.queue_stop().then_some(ticket)
}

/// Queues *stop* of an owner whose work item it is.
pub(crate) fn queue_stop<O: Owner>(owner: &Arc<O>) -> bool
where
    Arc<O>: RawWorkItem<STOP>,
{
    owner.works().stop(owner.clone())
}

impl Owner for Process {
    fn user(&self) -> &UserMemory {
        &self.user
    }

    fn works(&self) -> &Works {
        &self.shared().works
    }

    fn queue_stop(self: &Arc<Self>) -> bool {
        queue_stop(self)
    }
}

/// How far *stop* came with an owner's ranges.
#[pin_data]
pub(crate) struct UserMemory {
    #[pin]
    rounds: Mutex<Rounds>,
    #[pin]
    stopped: CondVar,
}

impl UserMemory {
    pub(crate) fn new() -> impl PinInit<Self> {
        pin_init!(Self {
            rounds <- new_mutex!(Rounds { asked: 0, done: 0 }, "rkfd user rounds"),
            stopped <- new_condvar!("rkfd user stopped"),
        })
    }
}

impl UserMemory {
    /// The last run of *stop* that was asked for.
    pub(crate) fn asked(&self) -> u64 {
        self.rounds.lock().asked
    }

    /// Wakes those who wait for a run of *stop* up to this one.
    pub(crate) fn finished(&self, round: u64) {
        {
            let mut rounds = self.rounds.lock();
            rounds.done = rounds.done.max(round);
        }
        self.stopped.notify_all();
    }
}

impl_has_work! {
    impl HasWork<Self, 1> for Process { self.user_stop }
    impl HasWork<Self, 2> for Process { self.user_restore }
}

/// What is known of a range.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Status {
    /// The object has its pages.
    Valid,
    /// It changed: the object must lose its pages and get others.
    Stale,
    /// There is nothing that could be pinned.
    Missing,
    /// The hardware didn't acknowledge that it let go: the object keeps its pages for good.
    Kept,
}

/// The object to which a watch reports.
#[pin_data]
pub(crate) struct Target<O: Owner> {
    owner: Arc<O>,
    #[pin]
    status: Mutex<Status>,
}

impl<O: Owner> IntervalTarget for Target<O> {
    fn invalidated(&self, record: impl FnOnce(), patience: Patience) {
        {
            let mut status = self.status.lock();
            record();
            if *status == Status::Kept {
                return;
            }
            *status = Status::Stale;
        }
        let Some(ticket) = ask_stop(&self.owner) else {
            return;
        };
        let user = self.owner.user();
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
pub(crate) struct UserRange<O: Owner = Process> {
    watch: IntervalWatch<Target<O>>,
    address: usize,
    writable: bool,
}

impl<O: Owner> UserRange<O> {
    /// Starts to watch a range of `len` bytes, whose pages are to be written if `writable`.
    pub(crate) fn watch(
        owner: &Arc<O>,
        mm: &MmWithUser,
        address: usize,
        len: usize,
        writable: bool,
    ) -> Result<Self> {
        let owner = owner.clone();
        let target = Arc::pin_init(
            pin_init!(Target {
                owner,
                status <- new_mutex!(Status::Missing, "rkfd user range"),
            }),
            GFP_KERNEL_ACCOUNT,
        )?;
        Ok(Self {
            watch: IntervalWatch::new(mm, address, len, target)?,
            address,
            writable,
        })
    }

    /// Where the range stands now, for [`settle`](Self::settle).
    pub(crate) fn begin(&self) -> Sequence {
        self.watch.begin()
    }

    fn status(&self) -> Status {
        *self.watch.target().status.lock()
    }

    /// Whether the object has pages that may be mapped.
    pub(crate) fn is_valid(&self) -> bool {
        self.status() == Status::Valid
    }

    /// Whether the memory changed, so that the object must lose its pages.
    pub(crate) fn is_stale(&self) -> bool {
        self.status() == Status::Stale
    }

    /// Whether the object keeps its pages for good.
    pub(crate) fn is_kept(&self) -> bool {
        self.status() == Status::Kept
    }

    /// Notes what came of pinning, unless something changed since then: then the answer is false.
    pub(crate) fn settle(&self, since: Sequence, status: Status) -> bool {
        let mut now = self.watch.target().status.lock();
        if *now == Status::Kept || self.watch.changed(since) {
            return false;
        }
        *now = status;
        true
    }

    /// The hardware may still reach the pages.
    pub(crate) fn keep(&self) {
        *self.watch.target().status.lock() = Status::Kept;
    }

    /// Pins the pages for a buffer object.
    pub(crate) fn pin(&self, mm: &MmWithUser, gpu: &Gpu, bo: &Bo) -> Result<Mapped> {
        let count = usize::try_from(bo.size())? / PAGE_SIZE;
        let pages = UserPages::pin(mm, self.address, count, self.writable)?;
        Mapped::new(gpu.memory(), pages)
    }
}

impl Process {
    /// Asks for a run of *stop* that sees what is stale now.
    pub(crate) fn ask_stop(self: &Arc<Self>) {
        let _ = ask_stop(self);
    }
}
