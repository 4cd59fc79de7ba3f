// SPDX-License-Identifier: GPL-2.0

//! What a scheduler keeps of processes and queues, under its lock; and what differs from one kind of
//! scheduling firmware to another ([`Firmware`]).

use super::{
    queue::{
        HwQueue,
        QueueState, //
    },
    queues::Queues,
    Contexts,
    Order,
    Parts,
    ProcessConfig,
    SchedProcess,
    Suspension, //
};
use crate::{
    glue::{
        linux::EOPNOTSUPP,
        trace, //
    },
    gmc::HEAVY,
    types::{
        GpuVa,
        Hang,
        HqdSlot,
        Pasid, //
    }, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// Scheduling firmware that runs. What takes a [`State`] is called with the scheduler's lock.
///
/// Queues are put on the hardware and taken off it one at a time, or, where the firmware knows only
/// whole lists, all at once: then taking one off takes all off, and [`Firmware::resume`] follows.
pub(super) trait Firmware: Send + Unpin + Sized + 'static {
    /// What it has of a process.
    type Known: Clone + Send + Unpin;

    /// What the kernel's log and management events call a hang of it (`amdgpu_reset_get_desc`).
    const HANG_NAME: &'static str;

    /// What schedules, for people.
    const KIND: &'static str;

    /// Its rings by their names, and where they are.
    const RINGS: &'static [(&'static str, HqdSlot)];

    /// Where its own queue is, that takes run lists.
    const OWN_QUEUE: Option<HqdSlot> = None;

    /// Whether accesses of queues that it took off may still be under way, so that a heavy flush of TLBs has to follow
    /// before memory moves or is freed (`evict_process_queues_cpsch`).
    const LEAVES_ACCESSES: bool = false;

    /// The words of the run list that runs.
    fn run_list(&self) -> Option<impl Iterator<Item = u32>> {
        None::<core::iter::Empty<u32>>
    }

    /// Starts it.
    fn start(parts: &Arc<Parts>) -> Result<Self>;

    /// Stops it. Returns whether no queue can be on the hardware any more, even one that didn't let go.
    fn stop(self, parts: &Parts) -> bool;

    /// Lets it take no commands any more, without asking it.
    fn halt(&self, parts: &Parts);

    /// Gives it up, since its engine was reset.
    fn abandon(self);

    /// The errno of a queue that didn't let go.
    fn hung() -> Error;

    /// What it is going to have of a new process. Called without the lock.
    fn known(parts: &Parts) -> Result<Self::Known>;

    /// What it needs for a queue besides the MQD. Called without the lock, since it takes the VM's.
    fn contexts(
        _parts: &Parts,
        _process: &SchedProcess,
        _known: &Self::Known,
        _wptr: GpuVa,
    ) -> Result<Option<Contexts>> {
        Ok(None)
    }

    /// Tells it of a new process, if it must know before there is a queue.
    fn add_process(
        _state: &mut State<Self>,
        _parts: &Arc<Parts>,
        _process: &Arc<SchedProcess>,
    ) -> Result {
        Ok(())
    }

    /// Tells it of a process' new configuration, which is in its entry already.
    fn configure(
        state: &mut State<Self>,
        parts: &Arc<Parts>,
        process: &Arc<SchedProcess>,
        before: &ProcessConfig,
    ) -> Result;

    /// Has it forget a process that has no queues there any more.
    fn forget_process(
        _state: &mut State<Self>,
        _parts: &Arc<Parts>,
        _known: &Self::Known,
    ) -> Result {
        Ok(())
    }

    /// It was started anew, and knows nothing of the process.
    fn lost_process(_known: &mut Self::Known) {}

    /// Puts the queues of a process on that should run, or takes them all off. Whether the process is
    /// evicted is in its entry already.
    fn switch(
        state: &mut State<Self>,
        parts: &Arc<Parts>,
        process: &Arc<SchedProcess>,
        on: bool,
    ) -> Result;

    /// Suspends or resumes queues for a debugger.
    fn suspend(
        state: &mut State<Self>,
        parts: &Arc<Parts>,
        queues: &mut [Suspension],
        order: Order,
    );

    /// Takes every queue off.
    fn take_all_off(state: &mut State<Self>, parts: &Arc<Parts>) -> Result;

    /// Puts a queue on that should run. `off` says that [`Firmware::take_off`] was called just before.
    fn put_on(
        state: &mut State<Self>,
        parts: &Arc<Parts>,
        queue: &Arc<HwQueue>,
        off: bool,
    ) -> Result;

    /// Takes a queue off that is on, maybe with others, for a state that is to be `next`.
    fn take_off(
        state: &mut State<Self>,
        parts: &Arc<Parts>,
        queue: &Arc<HwQueue>,
        next: QueueState,
    ) -> Result;

    /// Takes queues off that go with the engine of the driver's own copy queue when it is reset;
    /// [`Firmware::resume`] follows.
    fn leave_copy_engines(_state: &mut State<Self>, _parts: &Arc<Parts>) -> Result {
        Ok(())
    }

    /// Puts on what [`Firmware::take_off`] took off besides.
    fn resume(_state: &mut State<Self>, _parts: &Arc<Parts>) -> Result {
        Ok(())
    }

    /// Whether a queue that is off may be put on after an update.
    ///
    /// # Errors
    ///
    /// That of a queue that can't be updated.
    fn may_run(_queue: &HwQueue) -> Result<bool> {
        Ok(true)
    }

    /// As [`Scheduler::make_hang`](super::Scheduler::make_hang).
    fn make_hang(_state: &mut State<Self>, _parts: &Arc<Parts>) -> Result {
        Err(EOPNOTSUPP)
    }

    /// As [`Scheduler::stop_bad_queue`](super::Scheduler::stop_bad_queue).
    fn stop_bad(
        _state: &mut State<Self>,
        _parts: &Arc<Parts>,
        _pasid: Pasid,
        _doorbell: u32,
    ) -> Result {
        Ok(())
    }
}

/// A process and its queues.
pub(super) struct Entry<F: Firmware> {
    pub(super) process: Arc<SchedProcess>,
    pub(super) config: ProcessConfig,
    pub(super) queues: Queues,
    /// Times it was evicted and not restored.
    pub(super) evicted: u32,
    pub(super) known: F::Known,
}

impl<F: Firmware> Entry<F> {
    /// Whether none of its queues may run: it was evicted, or the GPU was reset under it.
    pub(super) fn is_evicted(&self) -> bool {
        self.evicted > 0 || self.process.is_lost()
    }

    /// The queues that should be on the hardware.
    pub(super) fn active(&self) -> impl Iterator<Item = &Arc<HwQueue>> {
        let runs = !self.is_evicted();
        self.queues
            .candidates()
            .filter(move |queue| runs && queue.wants_to_run())
    }
}

/// What the lock guards.
pub(super) struct State<F: Firmware> {
    pub(super) firmware: Option<F>,
    /// The firmware doesn't answer.
    pub(super) stuck: bool,
    pub(super) entries: KVVec<Entry<F>>,
    /// The XCC that is the first one of the next queue.
    next_xcc: u32,
}

impl<F: Firmware> State<F> {
    /// Without firmware.
    pub(super) fn new() -> Self {
        Self {
            firmware: None,
            stuck: false,
            entries: KVVec::new(),
            next_xcc: 0,
        }
    }

    /// EIO when the firmware is stuck, ENODEV when it or the device isn't there.
    pub(super) fn check(&self, parts: &Parts) -> Result {
        parts.check_lost()?;
        if self.stuck {
            return Err(EIO);
        }
        if self.firmware.is_none() {
            return Err(ENODEV);
        }
        Ok(())
    }

    /// The firmware; errors as [`State::check`].
    pub(super) fn firmware(&mut self, parts: &Parts) -> Result<&mut F> {
        self.check(parts)?;
        self.firmware.as_mut().ok_or(ENODEV)
    }

    /// The entry of a process.
    pub(super) fn entry(&mut self, process: &Arc<SchedProcess>) -> Result<&mut Entry<F>> {
        self.entries
            .iter_mut()
            .find(|entry| Arc::ptr_eq(&entry.process, process))
            .ok_or(EINVAL)
    }

    /// Every queue.
    pub(super) fn queues(&self) -> impl Iterator<Item = &Arc<HwQueue>> {
        self.entries.iter().flat_map(|entry| entry.queues.iter())
    }

    /// How many queues there are. Each process knows how many it has.
    pub(super) fn queue_count(&self) -> usize {
        let counts = self.entries.iter().map(|entry| entry.queues.len());
        counts.fold(0, usize::saturating_add)
    }

    /// The XCCs take turns.
    pub(super) fn take_xcc(&mut self) -> u32 {
        let first = self.next_xcc;
        self.next_xcc = first.wrapping_add(1);
        first
    }

    /// The firmware doesn't answer: what it had, it may still run.
    pub(super) fn lose(&mut self, parts: &Parts) {
        self.stuck = true;
        for queue in self.queues() {
            if queue.state() == QueueState::Mapped {
                let _ = queue.enter(QueueState::Hung);
            }
        }
        parts.hangs.report(Hang::Gpu);
    }

    /// Counts an eviction of a process (1) or takes one back (-1), and takes its queues off or on if
    /// that makes a difference.
    ///
    /// # Errors
    ///
    /// EINVAL when there is no such process; those of [`check`](Self::check), of taking queues off or on, and of
    /// flushing TLBs. The eviction is counted in spite of these: who takes it back may come when the firmware works again.
    pub(super) fn count_eviction(
        &mut self,
        parts: &Arc<Parts>,
        find: impl Fn(&SchedProcess) -> bool,
        change: i32,
    ) -> Result {
        let mut entries = self.entries.iter_mut();
        let entry = entries.find(|entry| find(&entry.process)).ok_or(EINVAL)?;
        let before = entry.is_evicted();
        entry.evicted = entry.evicted.checked_add_signed(change).ok_or(EINVAL)?;
        let after = entry.is_evicted();
        trace::evictions_changed(entry.process.pasid().get().into(), change);
        let process = entry.process.clone();
        self.check(parts)?;
        if before == after {
            return Ok(());
        }
        F::switch(self, parts, &process, !after)?;
        match after && F::LEAVES_ACCESSES {
            true => parts.tlb.flush_pasid(process.pasid(), HEAVY),
            false => Ok(()),
        }
    }
}

/// A queue had to be reset: it is off for good.
pub(super) fn note_reset(queue: &HwQueue) -> Result {
    queue.process().note_reset();
    match queue.state() {
        // It was before, on another XCC.
        QueueState::Gone => Ok(()),
        _ => queue.enter(QueueState::Gone),
    }
}
