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
//! Who has which queues is kept in [`super::common`]; here is what goes to the firmware.

use super::{
    common::Common,
    queue::{
        HwQueue,
        QueueState, //
    },
    state::{
        note_reset,
        Firmware,
        State, //
    },
    Order,
    Outcome,
    Parts,
    ProcessConfig,
    SchedProcess,
    Scheduler,
    Suspension, //
};
use crate::{
    glue::linux::{
        ENOTRECOVERABLE,
        ETIME, //
    },
    types::{
        Hang,
        HqdSlot, //
    }, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

mod hiq;
mod hqds;
mod kiq;
mod reset;
mod runlist;

use hiq::Hiq;
use runlist::List;

/// Makes a scheduler that isn't started.
pub(super) fn new(parts: &Arc<Parts>) -> Result<Arc<dyn Scheduler>> {
    Common::<Hiq>::make(parts)
}

/// Why a queue that hangs couldn't be reset: the device is gone, or ENOTRECOVERABLE.
fn unrecoverable(error: Error) -> Error {
    match error {
        ENODEV => ENODEV,
        _ => ENOTRECOVERABLE,
    }
}

impl State<Hiq> {
    /// Takes everything off the hardware. Queues that don't let go are reset, and gone.
    ///
    /// # Errors
    ///
    /// ETIME when the firmware doesn't answer or a reset fails, EIO when that was before, ENODEV.
    fn unmap_all(&mut self, parts: &Arc<Parts>) -> Result {
        let result = self.firmware(parts)?.unmap().and_then(|failed| {
            if failed {
                self.reset_hung(parts).map_err(unrecoverable)?;
            }
            self.reset_hung_copies(parts).map_err(unrecoverable)
        });
        let error = match result {
            Ok(()) => return Ok(()),
            Err(ENOTRECOVERABLE) => "a queue that hangs can't be reset",
            Err(error) if error == ETIME => {
                "the scheduling firmware didn't take its queues off in time"
            }
            Err(error) => return Err(error),
        };
        dev_err!(parts.dev.device(), "{}; it is stuck\n", error);
        self.lose(parts);
        Err(ETIME)
    }

    /// Resets the queues that are on the hardware after all were taken off.
    fn reset_hung(&mut self, parts: &Arc<Parts>) -> Result {
        let hung = reset::occupied(parts)?;
        if hung.is_empty() {
            return Err(ENOTRECOVERABLE);
        }
        for place in &hung {
            let queue = self
                .queues()
                .find(|queue| queue.doorbell() == place.doorbell)
                .ok_or(ENOTRECOVERABLE)?;
            place.end(parts)?;
            note_reset(queue)?;
        }
        parts.hangs.report(Hang::Queues);
        Ok(())
    }

    /// Resets the copy engines on which queues are after all were taken off. The firmware doesn't report these.
    fn reset_hung_copies(&mut self, parts: &Arc<Parts>) -> Result {
        let mut candidates = self
            .entries
            .iter()
            .flat_map(|entry| entry.queues.candidates());
        if !candidates.any(|queue| queue.is_copying()) {
            return Ok(());
        }
        let mut found = false;
        for engine in 0..parts.chip.sdma_counts.engines() {
            let Some(doorbell) = parts.copier.reset_hung(engine)? else {
                continue;
            };
            let queue = self
                .queues()
                .find(|queue| queue.doorbell() == doorbell)
                .ok_or(ENOTRECOVERABLE)?;
            note_reset(queue)?;
            found = true;
        }
        if found {
            parts.hangs.report(Hang::Queues);
        }
        Ok(())
    }

    /// Hands the list over.
    fn map_all(&mut self, parts: &Arc<Parts>) -> Result {
        self.check(parts)?;
        let firmware = self.firmware.as_mut().ok_or(ENODEV)?;
        let list = runlist::build(parts, &self.entries, firmware.spare())?;
        for entry in self.entries.iter_mut() {
            entry.queues.settle(entry.is_evicted())?;
        }
        match list {
            Some(list) => self.firmware(parts)?.run(list),
            None => Ok(()),
        }
    }

    /// `execute_queues_cpsch`.
    fn refresh(&mut self, parts: &Arc<Parts>) -> Result {
        self.unmap_all(parts)?;
        self.map_all(parts)
    }

    /// The same, with another grace period for waves that run.
    fn refresh_after(&mut self, parts: &Arc<Parts>, grace: u32) -> Result {
        self.firmware(parts)?.set_grace(Some(grace))?;
        // A firmware that is stuck gets nothing more.
        self.unmap_all(parts)?;
        let reset = self.firmware(parts)?.set_grace(None);
        // Everybody's queues run again, whatever became of that.
        self.map_all(parts).and(reset)
    }
}

/// The firmware takes whole lists: any change takes all queues off, and hands a new list over.
impl Firmware for Hiq {
    type Known = ();

    const HANG_NAME: &'static str = "HWS hang";

    const KIND: &'static str = "cpsch";

    const RINGS: &'static [(&'static str, HqdSlot)] = &[("hiq", hiq::SLOT)];

    const OWN_QUEUE: Option<HqdSlot> = Some(hiq::SLOT);

    fn run_list(&self) -> Option<impl Iterator<Item = u32>> {
        self.list().map(List::words)
    }

    fn start(parts: &Arc<Parts>) -> Result<Self> {
        Self::start(parts)
    }

    /// `dqm_debugfs_hang_hws`.
    fn make_hang(state: &mut State<Self>, parts: &Arc<Parts>) -> Result {
        state.firmware(parts)?.spoil()?;
        state.refresh(parts)
    }

    /// If HIQ was reset, so was all that ran.
    fn stop(self, parts: &Parts) -> bool {
        self.stop(parts)
    }

    fn halt(&self, parts: &Parts) {
        parts.tlb.set_firmware(None);
        self.give_up();
    }

    fn abandon(self) {
        self.abandon();
    }

    fn hung() -> Error {
        ETIME
    }

    fn known(_parts: &Parts) -> Result {
        Ok(())
    }

    fn configure(
        state: &mut State<Self>,
        parts: &Arc<Parts>,
        process: &Arc<SchedProcess>,
        _before: &ProcessConfig,
    ) -> Result {
        if state.entry(process)?.active().next().is_some() {
            state.refresh(parts)?;
        }
        Ok(())
    }

    fn switch(
        state: &mut State<Self>,
        parts: &Arc<Parts>,
        process: &Arc<SchedProcess>,
        _on: bool,
    ) -> Result {
        let entry = state.entry(process)?;
        if entry.queues.candidates().any(|queue| queue.wants_to_run()) {
            state.refresh(parts)?;
        }
        Ok(())
    }

    fn take_all_off(state: &mut State<Self>, parts: &Arc<Parts>) -> Result {
        state.unmap_all(parts)
    }

    fn suspend(
        state: &mut State<Self>,
        parts: &Arc<Parts>,
        queues: &mut [Suspension],
        order: Order,
    ) {
        let mut changed = false;
        for it in queues.iter_mut() {
            changed |= it.queue.set_suspended(order.suspends());
            if let Ok(entry) = state.entry(it.queue.process()) {
                entry.queues.consider(&it.queue);
            }
            it.outcome = Outcome::Done;
        }
        let refreshed = match order {
            _ if !changed => Ok(()),
            Order::Resume => state.refresh(parts),
            Order::Suspend { grace } => state.refresh_after(parts, grace),
        };
        if order.suspends() {
            // As upstream: `suspend_queues`.
            parts.vram.flush_hdp();
        }
        if refreshed.is_err() {
            for it in queues.iter_mut() {
                it.outcome = Outcome::ListFailed;
            }
        }
    }

    /// `sdma_v4_4_2_reset_queue`: all of KFD's queues are off while the engine is reset.
    fn leave_copy_engines(state: &mut State<Self>, parts: &Arc<Parts>) -> Result {
        state.unmap_all(parts)
    }

    fn put_on(
        state: &mut State<Self>,
        parts: &Arc<Parts>,
        _queue: &Arc<HwQueue>,
        off: bool,
    ) -> Result {
        match off {
            true => state.map_all(parts),
            false => state.refresh(parts),
        }
    }

    fn take_off(
        state: &mut State<Self>,
        parts: &Arc<Parts>,
        _queue: &Arc<HwQueue>,
        _next: QueueState,
    ) -> Result {
        state.unmap_all(parts)
    }

    fn resume(state: &mut State<Self>, parts: &Arc<Parts>) -> Result {
        state.map_all(parts)
    }
}
