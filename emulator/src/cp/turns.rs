// SPDX-License-Identifier: MIT OR Apache-2.0

//! Taking turns: a run list may name more queues than there are HQDs, or more processes than
//! VMIDs, if it is chained to itself.
//!
//! The firmware goes through the list again and again. A queue that has work keeps its HQD for a
//! quantum; one that has none gives it up sooner, and the sooner the more recently any queue had
//! work, so that an idle list costs little. Who leaves is saved like by an unmap and goes to the
//! end of the line; whoever comes next is connected as by a new list, and what was rung meanwhile
//! is in its write pointer's memory.
//!
//! Source: Linux, `amdkfd/kfd_packet_manager.c` (`pm_calc_rlib_size`, `pm_create_runlist_ib`:
//! "Run list IB is over-subscribed" chains it).

use super::firmware::{Firmware, Stop};
use super::slot::Slot;
use rkfd_hw::pm4::{MapProcess, MapQueues};
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// How long a queue with work stays: MAP_PROCESS's quantum of 10, in milliseconds.
const QUANTUM: Duration = Duration::from_millis(10);
/// How long one without work stays, after work was seen somewhere.
const SHORT: Duration = Duration::from_micros(100);
/// The same, after none was seen for long.
const LONG: Duration = Duration::from_millis(5);

/// A queue of the run list, and its process.
#[derive(Clone)]
pub(super) struct Entry {
    pub process: MapProcess,
    pub queue: MapQueues,
}

/// A queue that has an HQD.
struct Running {
    entry: Entry,
    slot: Slot,
    since: Instant,
    /// Its read pointer then.
    rptr: u64,
    leaving: bool,
}

/// The run list while it runs.
pub(super) struct Turns {
    /// The list goes back to its start.
    chained: bool,
    /// Processes that may have a VMID at a time.
    pub concurrent: usize,
    waiting: VecDeque<Entry>,
    running: Vec<Running>,
    patience: Duration,
    /// Queues that left one after the other without having had work.
    idle: usize,
}

/// What becomes of a queue that is to be connected.
pub(super) enum Placed {
    /// It is there.
    At(Slot),
    /// It waits, for this.
    NoRoom(&'static str),
    /// It is wrong, which was reported.
    Refused,
}

impl Default for Turns {
    fn default() -> Self {
        Self::new(Vec::new(), 0, false)
    }
}

impl Turns {
    /// A list of which nothing runs yet.
    pub fn new(list: Vec<Entry>, concurrent: usize, chained: bool) -> Self {
        Self {
            chained,
            concurrent,
            waiting: list.into(),
            running: Vec::new(),
            patience: SHORT,
            idle: 0,
        }
    }

    /// Takes queues off the list: those that are unmapped do not come back.
    pub fn remove(&mut self, gone: impl Fn(&Entry) -> bool) {
        self.waiting.retain(|entry| !gone(entry));
        self.running.retain(|r| !gone(&r.entry));
    }

    /// Whether a queue with this doorbell waits for its turn.
    pub fn waits(&self, doorbell: u32) -> bool {
        let has = |e: &Entry| e.queue.get(MapQueues::DOORBELL_OFFSET) == u64::from(doorbell);
        self.waiting.iter().any(has)
    }
}

impl Firmware {
    /// Connects waiting queues as far as there is room; whether any was.
    pub(super) fn fill(&mut self) -> bool {
        let before = self.turns.running.len();
        for _ in 0..self.turns.waiting.len() {
            let Some(entry) = self.turns.waiting.pop_front() else { break };
            match self.place(&entry) {
                Placed::At(slot) => {
                    let rptr = self.hqd(slot).map_or(0, |h| h.q.rptr);
                    let (since, leaving) = (Instant::now(), false);
                    let running = Running { entry, slot, since, rptr, leaving };
                    self.turns.running.push(running);
                }
                Placed::NoRoom(_) if self.turns.chained => self.turns.waiting.push_back(entry),
                Placed::NoRoom(what) => self.violation(format_args!(
                    "over-subscribed run list that is not chained: {what}"
                )),
                Placed::Refused => {}
            }
        }
        self.turns.running.len() > before
    }

    /// Lets queues leave whose time is over, and others come; whether anything happened.
    pub(super) fn step_turns(&mut self) -> bool {
        if self.turns.waiting.is_empty() && !self.turns.running.iter().any(|r| r.leaving) {
            return false;
        }
        let left = self.collect();
        if self.unmapping.is_some() {
            return left;
        }
        let came = left && self.fill();
        left | came | self.send_away()
    }

    /// Puts those that have left to the end of the line.
    fn collect(&mut self) -> bool {
        let (gone, stay): (Vec<_>, Vec<_>) = std::mem::take(&mut self.turns.running)
            .into_iter()
            .partition(|r| self.hqds.get(r.slot.index()).is_none_or(Option::is_none));
        self.turns.running = stay;
        let any = !gone.is_empty();
        let leaving = gone.into_iter().filter(|r| r.leaving);
        self.turns.waiting.extend(leaving.map(|r| r.entry));
        any
    }

    /// Asks as many queues to leave as wait, if their time is over.
    fn send_away(&mut self) -> bool {
        let leaving = self.turns.running.iter().filter(|r| r.leaving).count();
        let mut wanted = self.turns.waiting.len().saturating_sub(leaving);
        let all = self.turns.waiting.len() + self.turns.running.len();
        let mut sent = false;
        for n in 0..self.turns.running.len() {
            let Some(r) = self.turns.running.get(n).filter(|r| wanted > 0 && !r.leaving) else {
                continue;
            };
            let (slot, age, start) = (r.slot, r.since.elapsed(), r.rptr);
            let Some(h) = self.hqd(slot).filter(|h| !h.is_static && h.stop.is_none()) else {
                continue;
            };
            let waits = h.aql.is_empty() && h.q.rptr >= h.q.wptr;
            let worked = !waits || h.q.rptr != start;
            let time = if waits || h.broken { self.turns.patience } else { QUANTUM };
            if age < time {
                continue;
            }
            self.turns.idle = if worked { 0 } else { self.turns.idle + 1 };
            if worked {
                self.turns.patience = SHORT;
            } else if self.turns.idle > all {
                self.turns.idle = 0;
                self.turns.patience = (self.turns.patience * 2).min(LONG);
            }
            if let Some(r) = self.turns.running.get_mut(n) {
                r.leaving = true;
            }
            self.stop(slot, Stop::Save);
            wanted -= 1;
            sent = true;
        }
        sent
    }
}
