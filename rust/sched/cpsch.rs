// SPDX-License-Identifier: GPL-2.0

//! CPSCH: run lists through HIQ.
//!
//! The firmware of the compute micro engine schedules by itself. The driver gives it VMIDs and hardware
//! queues once (SET_RESOURCES), and then, by RUN_LIST, the list of processes and their queues. The
//! firmware gives VMIDs to processes and hardware queues to queues; if
//! there are more than it has, the list is chained to itself and it takes turns.
//!
//! Any change goes: UNMAP_QUEUES (all but static ones), QUERY_STATUS with a fence, wait for the
//! fence; build the list anew; RUN_LIST (`execute_queues_cpsch`). If the fence doesn't come in
//! 9 s, the firmware is stuck: the scheduler takes nothing more, and what queues hold is kept. If
//! it comes but HIQ's MQD names a doorbell, a queue didn't let go: it is reset ([`reset`]), and only
//! if that fails, the firmware counts as stuck.
//!
//! Lock order: see [`super`]. The lock is held while waiting for the fence; the firmware needs
//! no lock to write it.

use super::{
    queue::{
        HwQueue,
        QueueState, //
    },
    Parts,
    ProcessConfig,
    QueueHold,
    QueueSpec,
    QueueUpdate,
    SchedProcess,
    Scheduler,
    Unscheduled, //
};
use crate::{
    glue::errno::etime,
    types::{
        Hang,
        Pasid, //
    },
    vm::Vm, //
};
use kernel::{
    new_mutex,
    prelude::*,
    sync::{
        Arc,
        Mutex, //
    }, //
};

mod hiq;
mod kiq;
mod reset;
mod runlist;

use hiq::Hiq;

/// `max_num_of_queues_per_device`.
const MAX_QUEUES: usize = 4096;

/// A process on the list.
struct Entry {
    process: Arc<SchedProcess>,
    config: ProcessConfig,
    queues: KVec<Arc<HwQueue>>,
    /// Times it was evicted and not restored.
    evicted: u32,
}

/// What the lock guards.
struct State {
    hiq: Option<Hiq>,
    /// The firmware doesn't answer.
    stuck: bool,
    entries: KVec<Entry>,
    next_xcc: u32,
}

/// The scheduler.
#[pin_data]
struct Cpsch {
    parts: Arc<Parts>,
    #[pin]
    state: Mutex<State>,
}

/// Makes a scheduler that isn't started.
pub(super) fn new(parts: &Arc<Parts>) -> Result<Arc<dyn Scheduler>> {
    let parts = parts.clone();
    let state = State {
        hiq: None,
        stuck: false,
        entries: KVec::new(),
        next_xcc: 0,
    };
    let this: Arc<Cpsch> = Arc::pin_init(
        pin_init!(Cpsch { parts, state <- new_mutex!(state, "rkfd scheduler") }),
        GFP_KERNEL,
    )?;
    Ok(this)
}

impl Entry {
    fn active(&self) -> impl Iterator<Item = &Arc<HwQueue>> {
        let runs = self.evicted == 0;
        self.queues
            .iter()
            .filter(move |queue| runs && queue.wants_to_run())
    }
}

impl State {
    fn entry(&mut self, process: &Arc<SchedProcess>) -> Result<&mut Entry> {
        self.entries
            .iter_mut()
            .find(|entry| Arc::ptr_eq(&entry.process, process))
            .ok_or(EINVAL)
    }

    /// EIO when the firmware is stuck, ENODEV when it or the device isn't there.
    fn check(&self, parts: &Parts) -> Result {
        parts.check_lost()?;
        if self.stuck {
            return Err(EIO);
        }
        if self.hiq.is_none() {
            return Err(ENODEV);
        }
        Ok(())
    }

    /// Takes everything off the hardware. Queues that don't let go are reset, and gone.
    ///
    /// # Errors
    ///
    /// ETIME when the firmware doesn't answer or a reset fails, EIO when that was before, ENODEV.
    fn unmap_all(&mut self, parts: &Arc<Parts>) -> Result {
        self.check(parts)?;
        let error = match self.hiq.as_mut().ok_or(ENODEV)?.unmap() {
            Ok(false) => return Ok(()),
            Ok(true) => match self.reset_hung(parts) {
                Ok(()) => return Ok(()),
                Err(ENODEV) => return Err(ENODEV),
                Err(_) => "a queue that hangs can't be reset",
            },
            Err(error) if error == etime() => {
                "the scheduling firmware didn't take its queues off in time"
            }
            Err(error) => return Err(error),
        };
        dev_err!(parts.dev.device(), "{}; it is stuck\n", error);
        self.stuck = true;
        self.hang_all();
        parts.hangs.report(Hang::Gpu);
        Err(etime())
    }

    /// Resets the queues that are on the hardware after all were taken off.
    fn reset_hung(&mut self, parts: &Arc<Parts>) -> Result {
        let hung = reset::occupied(parts)?;
        if hung.is_empty() {
            return Err(ENOTRECOVERABLE);
        }
        for place in &hung {
            let mut queues = self.entries.iter().flat_map(|entry| entry.queues.iter());
            let queue = queues
                .find(|queue| queue.doorbell() == place.doorbell)
                .ok_or(ENOTRECOVERABLE)?;
            place.end(parts)?;
            queue.process().note_reset();
            // It may have been reset on another XCC already.
            if queue.state() != QueueState::Gone {
                queue.enter(QueueState::Gone)?;
            }
        }
        parts.hangs.report(Hang::Queues);
        Ok(())
    }

    /// Marks every queue that runs.
    fn hang_all(&mut self) {
        for queue in self.entries.iter().flat_map(Entry::active) {
            if queue.state() == QueueState::Mapped {
                let _ = queue.enter(QueueState::Hung);
            }
        }
    }

    /// Hands the list over.
    fn map_all(&mut self, parts: &Arc<Parts>) -> Result {
        self.check(parts)?;
        let list = runlist::build(parts, &self.entries)?;
        for entry in self.entries.iter() {
            for queue in entry.queues.iter() {
                let next = if matches!(queue.state(), QueueState::Hung | QueueState::Gone) {
                    continue;
                } else if !queue.wants_to_run() {
                    QueueState::Disabled
                } else if entry.evicted > 0 {
                    QueueState::Evicted
                } else {
                    QueueState::Mapped
                };
                queue.enter(next)?;
            }
        }
        match list {
            Some(list) => self.hiq.as_mut().ok_or(ENODEV)?.run(list),
            None => Ok(()),
        }
    }

    /// `execute_queues_cpsch`.
    fn refresh(&mut self, parts: &Arc<Parts>) -> Result {
        self.unmap_all(parts)?;
        self.map_all(parts)
    }
}

impl Cpsch {
    /// Takes the queues of a process off or on.
    fn count_eviction(&self, find: impl Fn(&Entry) -> bool, change: i32) -> Result {
        let mut state = self.state.lock();
        let state = &mut *state;
        state.check(&self.parts)?;
        let Some(entry) = state.entries.iter_mut().find(|entry| find(entry)) else {
            return Err(EINVAL);
        };
        let before = entry.evicted;
        entry.evicted = before.checked_add_signed(change).ok_or(EINVAL)?;
        let switched = (before == 0) != (entry.evicted == 0);
        if switched && entry.queues.iter().any(|queue| queue.wants_to_run()) {
            state.refresh(&self.parts)?;
        }
        Ok(())
    }
}

impl Scheduler for Cpsch {
    fn start(&self) -> Result {
        let hiq = Hiq::start(&self.parts)?;
        self.state.lock().hiq = Some(hiq);
        Ok(())
    }

    fn stop(&self) {
        let mut state = self.state.lock();
        let state = &mut *state;
        let result = state.unmap_all(&self.parts);
        if let Some(hiq) = state.hiq.take() {
            hiq.stop(&self.parts);
        }
        for queue in state.entries.iter().flat_map(|entry| entry.queues.iter()) {
            // HIQ was reset: nothing runs, whatever the queues' states are.
            let _ = queue.enter(QueueState::Gone);
        }
        state.entries.clear();
        if let Err(error) = result {
            if !matches!(error, e if e == ENODEV || e == EIO) {
                dev_err!(
                    self.parts.dev.device(),
                    "stopping the queues failed ({:?})\n",
                    error
                );
            }
        }
    }

    fn add_process(&self, vm: &Arc<Vm>, config: ProcessConfig) -> Result<Arc<SchedProcess>> {
        let process = SchedProcess::new(vm)?;
        let mut state = self.state.lock();
        state.check(&self.parts)?;
        let entry = Entry {
            process: process.clone(),
            config,
            queues: KVec::new(),
            evicted: 0,
        };
        state.entries.push(entry, GFP_KERNEL)?;
        Ok(process)
    }

    fn configure(&self, process: &Arc<SchedProcess>, config: ProcessConfig) -> Result {
        let mut state = self.state.lock();
        let state = &mut *state;
        state.check(&self.parts)?;
        let entry = state.entry(process)?;
        entry.config = config;
        if entry.active().next().is_some() {
            state.refresh(&self.parts)?;
        }
        Ok(())
    }

    fn remove_process(&self, process: &Arc<SchedProcess>) -> Result {
        let mut state = self.state.lock();
        let state = &mut *state;
        let Some(at) = state
            .entries
            .iter()
            .position(|entry| Arc::ptr_eq(&entry.process, process))
        else {
            return Ok(());
        };
        let running = state
            .entries
            .get(at)
            .is_some_and(|e| e.active().next().is_some());
        let result = if running {
            state.unmap_all(&self.parts)
        } else {
            Ok(())
        };
        let entry = state.entries.remove(at).map_err(|_| EINVAL)?;
        for queue in entry.queues.iter() {
            match queue.state() {
                QueueState::Hung => self.parts.kept.keep(queue.clone()),
                // It was reset.
                QueueState::Gone => {}
                _ => queue.enter(QueueState::Gone)?,
            }
        }
        if running && result.is_ok() {
            state.map_all(&self.parts)?;
        }
        match result {
            // The scheduler was stopped: nothing runs.
            Err(ENODEV) => Ok(()),
            other => other,
        }
    }

    fn create(
        &self,
        process: &Arc<SchedProcess>,
        spec: QueueSpec,
        hold: QueueHold,
    ) -> Result<Arc<HwQueue>> {
        self.parts.dev.alive()?;
        let mut state = self.state.lock();
        let state = &mut *state;
        state.check(&self.parts)?;
        if state
            .entries
            .iter()
            .map(|entry| entry.queues.len())
            .sum::<usize>()
            >= MAX_QUEUES
        {
            return Err(EPERM);
        }
        let first_xcc = state.next_xcc;
        state.next_xcc = first_xcc.wrapping_add(1);
        let entry = state.entry(process)?;
        let queue = HwQueue::new(&self.parts, process, spec, hold, first_xcc, None)?;
        queue.write_mqd(entry.config.has_trap(), true)?;
        entry.queues.push(queue.clone(), GFP_KERNEL)?;
        if queue.wants_to_run() && entry.evicted == 0 {
            if let Err(error) = state.refresh(&self.parts) {
                // It never ran, so there is nothing to let go of, unless the list with it was
                // handed over: then it is hung and kept.
                if queue.state() == QueueState::Hung {
                    self.parts.kept.keep(queue.clone());
                }
                let entry = state.entry(process)?;
                entry.queues.retain(|other| !Arc::ptr_eq(other, &queue));
                return Err(error);
            }
        } else if entry.evicted > 0 {
            queue.enter(QueueState::Evicted)?;
        } else {
            queue.enter(QueueState::Disabled)?;
        }
        Ok(queue)
    }

    fn update(&self, queue: &Arc<HwQueue>, update: QueueUpdate) -> Result {
        self.parts.dev.alive()?;
        let mut state = self.state.lock();
        let state = &mut *state;
        state.check(&self.parts)?;
        let trap = state.entry(queue.process())?.config.has_trap();
        let ran = queue.state() == QueueState::Mapped;
        if ran {
            state.unmap_all(&self.parts)?;
        }
        queue.change(update);
        let result = queue.write_mqd(trap, false);
        if ran || queue.wants_to_run() {
            if !ran {
                state.unmap_all(&self.parts)?;
            }
            state.map_all(&self.parts)?;
        }
        result
    }

    fn unmap(&self, queue: &Arc<HwQueue>) -> Result<Unscheduled> {
        let mut state = self.state.lock();
        let state = &mut *state;
        let ran = queue.state() == QueueState::Mapped;
        let result = match queue.state() {
            QueueState::Mapped => state.unmap_all(&self.parts),
            QueueState::Hung => Err(etime()),
            _ => Ok(()),
        };
        if let Ok(entry) = state.entry(queue.process()) {
            entry.queues.retain(|other| !Arc::ptr_eq(other, queue));
        }
        if queue.state() == QueueState::Hung {
            self.parts.kept.keep(queue.clone());
            return Err(etime());
        }
        match result {
            Ok(()) if ran => state.map_all(&self.parts)?,
            // Without the scheduler, which was stopped, no queue is on.
            Ok(()) | Err(ENODEV) => {}
            Err(error) => return Err(error),
        }
        if queue.state() != QueueState::Gone {
            queue.enter(QueueState::Gone)?;
        }
        Ok(Unscheduled {
            _queue: queue.clone(),
        })
    }

    fn evict(&self, process: &Arc<SchedProcess>) -> Result {
        self.count_eviction(|entry| Arc::ptr_eq(&entry.process, process), 1)
    }

    fn restore(&self, process: &Arc<SchedProcess>) -> Result {
        self.count_eviction(|entry| Arc::ptr_eq(&entry.process, process), -1)
    }

    fn hang_name(&self) -> &'static str {
        "HWS hang"
    }

    fn halt(&self) -> bool {
        let state = self.state.lock();
        let due = state.stuck && state.hiq.is_some();
        if due {
            self.parts.tlb.set_firmware(None);
        }
        due
    }

    fn restart(&self) -> Result {
        let mut state = self.state.lock();
        let state = &mut *state;
        if let Some(hiq) = state.hiq.take() {
            hiq.abandon();
        }
        for entry in state.entries.iter_mut() {
            entry.evicted = entry.evicted.saturating_add(1);
            entry.process.note_lost();
            for queue in entry.queues.iter() {
                // One that was reset before is gone already.
                let _ = queue.enter(QueueState::Gone);
            }
        }
        state.hiq = Some(Hiq::start(&self.parts)?);
        state.stuck = false;
        Ok(())
    }

    fn evict_pasid(&self, pasid: Pasid) -> Result {
        match self.count_eviction(|entry| entry.process.pasid() == pasid, 1) {
            // A late fault of a process that is gone.
            Err(EINVAL) => Ok(()),
            other => other,
        }
    }
}
