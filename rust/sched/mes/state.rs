// SPDX-License-Identifier: GPL-2.0

//! Processes and queues as MES has them, and how they come and go.
//!
//! Sources: `add_queue_mes`, `remove_queue_mes_on_reset_option`, `reset_queues_mes`,
//! `kfd_dbg_set_mes_debug_mode`, `suspend_queues`.

use super::{
    engine::{
        Add,
        Engine,
        Victim,
        TYPE_COMPUTE,
        TYPE_SDMA, //
    },
    frame::report,
    pipe::Failure,
    Mes, //
};
use crate::{
    glue::{
        linux::ENOTRECOVERABLE,
        ratelimit::ratelimited, //
    },
    gmc::{
        KernelBuf,
        HEAVY, //
    },
    sched::{
        queue::{
            HwQueue,
            QueueState, //
        },
        state::{
            note_reset,
            State, //
        },
        Format,
        Order,
        Outcome,
        Parts,
        SchedProcess,
        Suspension, //
    },
    types::{
        DoorbellWord,
        Hang,
        Pasid, //
    }, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// How a queue is taken back.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Taking {
    /// It is asked to leave, and reset if it doesn't.
    Asked,
    /// Its packets are bad: all stand still while it is taken off.
    Bad,
}

impl State<Mes> {
    /// MES, if it works. Errors as [`State::check`].
    fn engine(&mut self, parts: &Parts) -> Result<Arc<Engine>> {
        Ok(self.firmware(parts)?.0.clone())
    }

    /// Hands a queue over.
    pub(super) fn add(&mut self, parts: &Arc<Parts>, queue: &Arc<HwQueue>) -> Result {
        let engine = self.engine(parts)?;
        let entry = self.entry(queue.process())?;
        let contexts = queue.contexts().ok_or(EINVAL)?;
        let vm = queue.process().vm();
        let add = queue.with_spec(|spec| Add {
            pasid: queue.process().pasid(),
            page_table_base: vm.page_table_base(),
            process_context: contexts.process.gpu_addr(),
            gang_context: contexts.gang.gpu_addr(),
            priority: spec.ring.priority,
            doorbell: spec.doorbell,
            mqd: queue.mqd_addr(),
            wptr: contexts.wptr,
            keep_context: entry.config.runtime,
            tba: entry.config.tba,
            tma: entry.config.tma,
            kind: kind(spec.format),
            aql: spec.format == Format::Aql,
            ring_size: spec.ring.size,
        });
        match engine.add(&add) {
            Ok(()) => queue.enter(QueueState::Mapped),
            Err(Failure::Lost(error)) => {
                if error == ETIMEDOUT {
                    // It may have it or not.
                    queue.enter(QueueState::Hung)?;
                    self.lose(parts);
                }
                Err(error)
            }
            // As upstream does after each failure.
            Err(Failure::Refused(refusal)) if refusal.is_silent() => {
                queue.enter(QueueState::Hung)?;
                self.lose(parts);
                Err(report(parts, "ADD_QUEUE", Failure::Refused(refusal)))
            }
            Err(failure) => {
                queue.enter(QueueState::Disabled)?;
                Err(report(parts, "ADD_QUEUE", failure))
            }
        }
    }

    /// Takes a queue back that MES has, and sets its state: `next`, or Gone if it had to be reset, as
    /// other queues that hung may be.
    ///
    /// # Errors
    ///
    /// ENOTRECOVERABLE or ETIMEDOUT when it hangs, ETIMEDOUT when MES does. A copy queue that hangs has the GPU reset
    /// (`remove_queue_mes_on_reset_option`): its engine does nothing for anybody any more.
    pub(super) fn remove(
        &mut self,
        parts: &Arc<Parts>,
        queue: &Arc<HwQueue>,
        next: QueueState,
        how: Taking,
    ) -> Result {
        let it = victim(queue).ok_or(EINVAL)?;
        let engine = self.engine(parts)?;
        let find = |doorbell| self.mapped(doorbell).and_then(|queue| victim(queue));
        let mut reset = KVec::new();
        let removed = match how {
            Taking::Asked => engine.remove(&it, &find, &mut reset),
            Taking::Bad => engine.stop_bad(&it, &find, &mut reset),
        };
        if !reset.is_empty() {
            parts.dev.note_reset();
            parts.hangs.report(Hang::Queues);
        }
        for doorbell in &reset {
            if let Some(other) = self.mapped(*doorbell) {
                note_reset(other)?;
            }
        }
        match removed {
            Ok(()) => match queue.state() {
                QueueState::Gone => Ok(()),
                _ => queue.enter(next),
            },
            Err(failure) => {
                let answers = matches!(
                    &failure,
                    Failure::Refused(_) | Failure::Lost(ENOTRECOVERABLE)
                );
                let error = report(parts, "to give a queue back", failure);
                if answers && queue.state() == QueueState::Gone {
                    // It was reset itself: another one that hangs is still there.
                    return Ok(());
                }
                if let Ok(entry) = self.entry(queue.process()) {
                    entry.known.held = true;
                }
                if error == ENODEV || error == EIO {
                    return Err(error);
                }
                ratelimited!(
                    dev_err,
                    parts.dev.device(),
                    "the queue with doorbell {:#x} doesn't let go\n",
                    it.doorbell.get()
                );
                if answers && !queue.is_copying() {
                    queue.process().note_reset();
                    queue.enter(QueueState::Hung)?;
                    parts.hangs.report(Hang::Queues);
                } else {
                    self.lose(parts);
                }
                Err(error)
            }
        }
    }

    /// The queue that MES has by that doorbell.
    fn mapped(&self, doorbell: DoorbellWord) -> Option<&Arc<HwQueue>> {
        let mut queues = self.queues();
        queues.find(|q| q.state() == QueueState::Mapped && q.doorbell() == doorbell)
    }

    /// The queues of a process that pass a test.
    fn queues_of(
        &mut self,
        process: &Arc<SchedProcess>,
        test: impl Fn(&HwQueue) -> bool,
    ) -> Result<KVec<Arc<HwQueue>>> {
        let mut found = KVec::new();
        for queue in self.entry(process)?.queues.iter().filter(|q| test(q)) {
            found.push(queue.clone(), GFP_KERNEL)?;
        }
        Ok(found)
    }

    /// Takes the queues of a process off or puts them on. Every queue is tried.
    pub(super) fn switch(
        &mut self,
        parts: &Arc<Parts>,
        process: &Arc<SchedProcess>,
        on: bool,
    ) -> Result {
        let mut result = Ok(());
        if on {
            let wanted =
                |queue: &HwQueue| queue.wants_to_run() && queue.state() != QueueState::Mapped;
            for queue in self.queues_of(process, wanted)? {
                result = result.and(self.add(parts, &queue));
            }
            // It is a debugger that still keeps them off.
            let suspended =
                |queue: &HwQueue| queue.is_suspended() && queue.state() == QueueState::Evicted;
            for queue in self.queues_of(process, suspended)? {
                queue.enter(QueueState::Disabled)?;
            }
        } else {
            let mapped = |queue: &HwQueue| queue.state() == QueueState::Mapped;
            for queue in self.queues_of(process, mapped)? {
                result = result.and(self.remove(parts, &queue, QueueState::Evicted, Taking::Asked));
            }
        }
        result
    }

    /// Suspends or resumes queues of a process for a debugger, up to the first that fails. MES has no grace period.
    pub(super) fn suspend(&mut self, parts: &Arc<Parts>, queues: &mut [Suspension], order: Order) {
        for it in queues.iter_mut() {
            let queue = &it.queue;
            let changed = queue.set_suspended(order.suspends());
            let result = match (order, queue.state()) {
                _ if !changed => Ok(()),
                (Order::Suspend { .. }, QueueState::Mapped) => {
                    self.remove(parts, queue, QueueState::Disabled, Taking::Asked)
                }
                // One that was taken off for its bad packets stays off.
                (Order::Resume, QueueState::Created | QueueState::Disabled) => {
                    self.add_if_wanted(parts, queue)
                }
                _ => Ok(()),
            };
            it.outcome = match result {
                Ok(()) => Outcome::Done,
                Err(_) => Outcome::Failed,
            };
            if it.outcome == Outcome::Failed {
                break;
            }
        }
        let Some(done) = queues.iter().find(|it| it.outcome == Outcome::Done) else {
            return;
        };
        if order.suspends() {
            // Whoever takes this for done sees what they have stored. One that isn't acknowledged is seen to elsewhere.
            let _ = parts.tlb.flush_pasid(done.queue.process().pasid(), HEAVY);
        }
    }

    /// Hands a queue over if it should run.
    fn add_if_wanted(&mut self, parts: &Arc<Parts>, queue: &Arc<HwQueue>) -> Result {
        match !self.entry(queue.process())?.is_evicted() && queue.wants_to_run() {
            true => self.add(parts, queue),
            false => Ok(()),
        }
    }

    /// Takes a queue off whose packets are bad: until its process is restored, as upstream.
    pub(super) fn stop_bad(&mut self, parts: &Arc<Parts>, pasid: Pasid, doorbell: u32) -> Result {
        let mut queues = self
            .entries
            .iter()
            .filter(|entry| entry.process.pasid() == pasid)
            .flat_map(|entry| entry.queues.iter());
        let found = queues.find(|queue| {
            queue.state() == QueueState::Mapped
                && queue.with_spec(|spec| spec.doorbell_index.get()) == doorbell
        });
        match found.cloned() {
            Some(queue) => self.remove(parts, &queue, QueueState::Evicted, Taking::Bad),
            // It was destroyed meanwhile.
            None => Ok(()),
        }
    }

    /// Sets in MES what the waves of a process do for a debugger.
    ///
    /// # Errors
    ///
    /// ETIMEDOUT: MES may have the context, so it is kept.
    pub(super) fn set_debugger(
        &mut self,
        parts: &Arc<Parts>,
        process: &Arc<SchedProcess>,
    ) -> Result {
        let entry = self.entry(process)?;
        let config = entry.config;
        let context = entry.known.context.clone();
        let done = self
            .engine(parts)?
            .set_debugger(context.gpu_addr(), &config);
        self.settle(parts, "SET_SHADER_DEBUGGER", &context, done)
    }

    /// Has MES forget a process that has no queues there any more. Its context is free then.
    pub(super) fn forget(&mut self, parts: &Arc<Parts>, context: &Arc<KernelBuf>) -> Result {
        let done = match self.engine(parts) {
            Ok(engine) => engine.forget_process(context.gpu_addr()),
            Err(error) => Err(Failure::Lost(error)),
        };
        self.settle(parts, "to forget a process", context, done)
    }

    /// What follows from an answer about a process' context.
    fn settle(
        &mut self,
        parts: &Arc<Parts>,
        what: &str,
        context: &Arc<KernelBuf>,
        done: Result<(), Failure>,
    ) -> Result {
        let Err(failure) = done else {
            return Ok(());
        };
        let lost = matches!(&failure, Failure::Lost(ETIMEDOUT));
        let error = report(parts, what, failure);
        if lost {
            self.lose(parts);
        }
        // A scheduler that was stopped has nothing any more.
        if error != ENODEV {
            parts.kept.keep(context.clone());
        }
        Err(error)
    }
}

/// MES' name for a kind of queue.
fn kind(format: Format) -> u32 {
    match format {
        Format::Aql | Format::Pm4 => TYPE_COMPUTE,
        Format::Sdma => TYPE_SDMA,
    }
}

/// What MES needs to take a queue back.
fn victim(queue: &HwQueue) -> Option<Victim> {
    Some(Victim {
        doorbell: queue.doorbell(),
        gang_context: queue.contexts()?.gang.gpu_addr(),
        kind: queue.with_spec(|spec| kind(spec.format)),
    })
}
