// SPDX-License-Identifier: GPL-2.0

//! What schedulers have in common: who has which queues, what state each is in, what is kept when the
//! hardware doesn't let go, and the order in which things happen. [`Firmware`] is what differs.
//!
//! Lock order: see [`super`]. The lock is held while waiting for the firmware, which needs no lock to
//! answer; it is not while a VM's is taken.

use super::{
    queue::{
        HwQueue,
        QueueState, //
    },
    queues::Queues,
    state::{
        Entry,
        Firmware,
        State, //
    },
    Health,
    Order,
    Parts,
    ProcessConfig,
    QueueHold,
    QueueSpec,
    QueueUpdate,
    SchedProcess,
    Scheduler,
    Status,
    Suspension,
    Unscheduled, //
};
use crate::{
    types::{
        HqdSlot,
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

/// `max_num_of_queues_per_device`.
const MAX_QUEUES: usize = 4096;

/// A scheduler with firmware of a kind.
#[pin_data]
pub(super) struct Common<F: Firmware> {
    parts: Arc<Parts>,
    #[pin]
    state: Mutex<State<F>>,
}

impl<F: Firmware> Common<F> {
    /// Makes one that isn't started.
    pub(super) fn make(parts: &Arc<Parts>) -> Result<Arc<dyn Scheduler>> {
        let parts = parts.clone();
        let this: Arc<Self> = Arc::pin_init(
            pin_init!(Self { parts, state <- new_mutex!(State::new(), "rkfd scheduler") }),
            GFP_KERNEL,
        )?;
        Ok(this)
    }

    /// Keeps a queue that the hardware may still touch.
    fn keep(&self, queue: &Arc<HwQueue>) {
        self.parts.kept.keep(queue.clone());
    }
}

impl<F: Firmware> Scheduler for Common<F> {
    fn kind(&self) -> &'static str {
        F::KIND
    }

    fn rings(&self) -> &'static [(&'static str, HqdSlot)] {
        F::RINGS
    }

    fn try_status(&self) -> Option<Status> {
        let state = self.state.try_lock()?;
        let count = |wanted| state.queues().filter(|q| q.state() == wanted).count();
        Some(Status {
            state: match (&state.firmware, state.stuck) {
                (None, _) => Health::Off,
                (Some(_), false) => Health::Runs,
                (Some(_), true) => Health::Stuck,
            },
            processes: state.entries.len(),
            queues: QueueState::ALL.map(|state| (state, count(state))),
        })
    }

    fn own_queue(&self) -> Option<HqdSlot> {
        F::OWN_QUEUE
    }

    fn with_run_list(&self, f: &mut dyn FnMut(&mut dyn Iterator<Item = u32>)) -> Result {
        let state = self.state.try_lock().ok_or(EBUSY)?;
        let firmware = state.firmware.as_ref().ok_or(ENOENT)?;
        f(&mut firmware.run_list().ok_or(ENOENT)?);
        Ok(())
    }

    fn start(&self) -> Result {
        let firmware = F::start(&self.parts)?;
        self.state.lock().firmware = Some(firmware);
        Ok(())
    }

    fn stop(&self) {
        let (result, firmware, entries) = {
            let mut state = self.state.lock();
            let result = F::take_all_off(&mut state, &self.parts);
            let entries = core::mem::replace(&mut state.entries, KVVec::new());
            (result, state.firmware.take(), entries)
        };
        if let Err(error) = result {
            if !matches!(error, e if e == ENODEV || e == EIO) {
                dev_err!(
                    self.parts.dev.device(),
                    "stopping the queues failed ({:?})\n",
                    error
                );
            }
        }
        let all_off = firmware.is_none_or(|firmware| firmware.stop(&self.parts));
        for queue in entries.iter().flat_map(|entry| entry.queues.iter()) {
            let may_run = match queue.state() {
                QueueState::Hung => true,
                QueueState::Mapped => result.is_err_and(|error| error != ENODEV),
                _ => false,
            };
            if may_run && !all_off {
                // Until translation is off.
                self.keep(queue);
            }
            let _ = queue.enter(QueueState::Gone);
        }
    }

    fn add_process(&self, vm: &Arc<Vm>, config: ProcessConfig) -> Result<Arc<SchedProcess>> {
        let process = SchedProcess::new(vm)?;
        let known = F::known(&self.parts)?;
        let mut guard = self.state.lock();
        let state = &mut *guard;
        state.check(&self.parts)?;
        // It was made before a reset took its page tables: nothing of it ever runs.
        let lost = vm.is_lost();
        if lost {
            process.note_lost();
        }
        let entry = Entry {
            process: process.clone(),
            config,
            queues: Queues::default(),
            evicted: u32::from(lost),
            known,
        };
        state.entries.push(entry, GFP_KERNEL_ACCOUNT)?;
        if let Err(error) = F::add_process(state, &self.parts, &process) {
            let others = |entry: &mut Entry<F>| !Arc::ptr_eq(&entry.process, &process);
            state.entries.retain(others);
            return Err(error);
        }
        Ok(process)
    }

    fn configure(&self, process: &Arc<SchedProcess>, config: ProcessConfig) -> Result {
        let mut guard = self.state.lock();
        let state = &mut *guard;
        state.check(&self.parts)?;
        let entry = state.entry(process)?;
        let before = core::mem::replace(&mut entry.config, config);
        F::configure(state, &self.parts, process, &before)
    }

    fn remove_process(&self, process: &Arc<SchedProcess>) -> Result {
        let mut guard = self.state.lock();
        let state = &mut *guard;
        let Ok(entry) = state.entry(process) else {
            return Ok(());
        };
        let was_on = !entry.is_evicted();
        entry.evicted = entry.evicted.saturating_add(1);
        let mut result = match was_on {
            true => F::switch(state, &self.parts, process, false),
            false => Ok(()),
        };
        let mut entries = state.entries.iter();
        let at = entries.position(|entry| Arc::ptr_eq(&entry.process, process));
        let entry = state
            .entries
            .remove(at.ok_or(EINVAL)?)
            .map_err(|_| EINVAL)?;
        result = result.and(F::forget_process(state, &self.parts, &entry.known));
        drop(guard);
        // A device that is gone has none of them.
        let gone = matches!(result, Err(ENODEV));
        for queue in entry.queues.iter() {
            match queue.state() {
                // It was reset.
                QueueState::Gone => {}
                QueueState::Hung if !gone => self.keep(queue),
                QueueState::Mapped if !gone && result.is_err() => self.keep(queue),
                _ => queue.enter(QueueState::Gone)?,
            }
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
        let (known, xcc) = {
            let mut state = self.state.lock();
            state.check(&self.parts)?;
            let known = state.entry(process)?.known.clone();
            (known, state.take_xcc())
        };
        let contexts = F::contexts(&self.parts, process, &known, spec.wptr)?;
        let queue = HwQueue::new(&self.parts, process, spec, hold, xcc, contexts)?;
        let mut guard = self.state.lock();
        let state = &mut *guard;
        if state.queue_count() >= MAX_QUEUES {
            return Err(EPERM);
        }
        let entry = state.entry(process)?;
        queue.write_mqd(entry.config.has_trap(), true)?;
        entry.queues.push(&queue)?;
        if entry.is_evicted() {
            queue.enter(QueueState::Evicted)?;
        } else if !queue.wants_to_run() {
            queue.enter(QueueState::Disabled)?;
        } else if let Err(error) = F::put_on(state, &self.parts, &queue, false) {
            // It never ran, unless the firmware has heard of it.
            if matches!(queue.state(), QueueState::Hung | QueueState::Mapped) {
                self.keep(&queue);
            }
            state.entry(process)?.queues.remove(&queue);
            // Its last reference goes without the lock.
            drop(guard);
            return Err(error);
        }
        Ok(queue)
    }

    fn update(&self, queue: &Arc<HwQueue>, update: QueueUpdate) -> Result {
        self.parts.dev.alive()?;
        let mut guard = self.state.lock();
        let state = &mut *guard;
        state.check(&self.parts)?;
        let entry = state.entry(queue.process())?;
        let (trap, evicted) = (entry.config.has_trap(), entry.is_evicted());
        let ran = queue.state() == QueueState::Mapped;
        if ran {
            F::take_off(state, &self.parts, queue, QueueState::Disabled)?;
        }
        let may_run = F::may_run(queue)? && !evicted;
        queue.change(update);
        state.entry(queue.process())?.queues.consider(queue);
        let written = queue.write_mqd(trap, false);
        if may_run && queue.wants_to_run() {
            F::put_on(state, &self.parts, queue, ran)?;
        } else if ran {
            F::resume(state, &self.parts)?;
        }
        written
    }

    fn unmap(&self, queue: &Arc<HwQueue>) -> Result<Unscheduled> {
        let mut guard = self.state.lock();
        let state = &mut *guard;
        let ran = queue.state() == QueueState::Mapped;
        let result = match queue.state() {
            QueueState::Mapped => F::take_off(state, &self.parts, queue, QueueState::Gone),
            QueueState::Hung => Err(F::hung()),
            _ => Ok(()),
        };
        if let Ok(entry) = state.entry(queue.process()) {
            entry.queues.remove(queue);
        }
        let resumed = match result {
            Ok(()) if ran => F::resume(state, &self.parts),
            // The scheduler was stopped, and with it every queue.
            Ok(()) | Err(ENODEV) => Ok(()),
            Err(error) => {
                self.keep(queue);
                return Err(error);
            }
        };
        // It is off, whatever becomes of the others.
        if queue.state() != QueueState::Gone {
            queue.enter(QueueState::Gone)?;
        }
        resumed?;
        Ok(Unscheduled {
            _queue: queue.clone(),
        })
    }

    fn evict(&self, process: &Arc<SchedProcess>) -> Result {
        let find = |other: &SchedProcess| core::ptr::eq(other, &**process);
        self.state.lock().count_eviction(&self.parts, find, 1)
    }

    fn restore(&self, process: &Arc<SchedProcess>) -> Result {
        let find = |other: &SchedProcess| core::ptr::eq(other, &**process);
        self.state.lock().count_eviction(&self.parts, find, -1)
    }

    fn evict_pasid(&self, pasid: Pasid) -> Result {
        let find = |process: &SchedProcess| process.pasid() == pasid;
        match self.state.lock().count_eviction(&self.parts, find, 1) {
            // A late fault of a process that is gone.
            Err(EINVAL) => Ok(()),
            other => other,
        }
    }

    fn suspend(&self, queues: &mut [Suspension], order: Order) {
        let mut guard = self.state.lock();
        let state = &mut *guard;
        if state.check(&self.parts).is_ok() {
            F::suspend(state, &self.parts, queues, order);
        }
    }

    fn count_events(&self, on: bool) -> Result {
        let mut guard = self.state.lock();
        let state = &mut *guard;
        for n in 0..state.entries.len() {
            let Some(entry) = state.entries.get(n) else {
                break;
            };
            if !entry.queues.iter().any(|queue| queue.computes()) {
                continue;
            }
            let process = entry.process.clone();
            let find = |other: &SchedProcess| core::ptr::eq(other, &*process);
            let off = state.count_eviction(&self.parts, find, 1);
            let queues = state.entry(&process)?.queues.iter();
            let mut queues = queues.filter(|queue| queue.computes());
            let written = off.and_then(|()| queues.try_for_each(|queue| queue.count_events(on)));
            let on_again = state.count_eviction(&self.parts, find, -1);
            written.and(on_again)?;
        }
        Ok(())
    }

    fn hang_name(&self) -> &'static str {
        F::HANG_NAME
    }

    fn give_up(&self) {
        let mut state = self.state.lock();
        if state.firmware.is_some() && !state.stuck {
            state.lose(&self.parts);
        }
    }

    fn revive_copier(&self) -> Result {
        let mut guard = self.state.lock();
        let state = &mut *guard;
        state.check(&self.parts)?;
        F::leave_copy_engines(state, &self.parts)?;
        match self.parts.copier.revive() {
            Ok(()) => F::resume(state, &self.parts),
            Err(error) => {
                if error != ENODEV {
                    state.lose(&self.parts);
                }
                Err(error)
            }
        }
    }

    fn halt(&self) -> bool {
        let state = self.state.lock();
        let Some(firmware) = state.firmware.as_ref().filter(|_| state.stuck) else {
            return false;
        };
        firmware.halt(&self.parts);
        true
    }

    fn restart(&self) -> Result {
        // Dropped without the lock.
        let _stopped;
        let mut guard = self.state.lock();
        let state = &mut *guard;
        if let Some(firmware) = state.firmware.take() {
            firmware.abandon();
        }
        for entry in state.entries.iter_mut() {
            entry.evicted = entry.evicted.saturating_add(1);
            entry.process.note_lost();
            F::lost_process(&mut entry.known);
            for queue in entry.queues.iter() {
                // One that was reset before is gone already.
                let _ = queue.enter(QueueState::Gone);
            }
        }
        // What was given up since the engines were proven to be off, too. From here on no queue hangs.
        _stopped = self.parts.kept.take();
        state.firmware = Some(F::start(&self.parts)?);
        state.stuck = false;
        Ok(())
    }

    fn make_hang(&self) -> Result {
        F::make_hang(&mut self.state.lock(), &self.parts)
    }

    fn stop_bad_queue(&self, pasid: Pasid, doorbell: u32) -> Result {
        F::stop_bad(&mut self.state.lock(), &self.parts, pasid, doorbell)
    }
}
