// SPDX-License-Identifier: MIT OR Apache-2.0

//! Taking turns: a run list may name more queues than there are HQDs, or more processes than
//! VMIDs, if it is chained to itself.
//!
//! Source: Linux, `amdkfd/kfd_packet_manager.c` (`pm_calc_rlib_size`, `pm_create_runlist_ib`:
//! "Runlist is getting oversubscribed" chains it).
//!
//! Queues that have no HQD stand in line. Who is next is connected as by a new list: its MQD is
//! read anew, and what was rung meanwhile is in its write pointer's memory. Who finds no room has
//! some made ([`super::evict`]); who was taken off, saved as by an unmap, goes to the end of the
//! line. A queue that did nothing while it was connected rests before it is connected again, longer
//! each time up to [`REST`].1: that bounds what an idle list costs, and how late work is noticed.

use super::dispatch::Go;
use super::evict::Coming;
use super::firmware::{Firmware, Hqd, Stop};
use super::slot::Slot;
use crate::trace::Value;
use rkfd_hw::mqd::v9::ComputeMqd as Mqd;
use rkfd_hw::pm4::{MapProcess, MapQueues};
use rkfd_hw::regs::gc_9_4_3::CP_HQD_PERSISTENT_STATE as STATE;
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// The shortest and the longest rest of a queue that had nothing to do.
const REST: (Duration, Duration) = (Duration::from_micros(500), Duration::from_millis(16));
/// How often a chained list is read again.
const READ_AGAIN: Duration = Duration::from_millis(50);

/// A queue of the run list, and its process.
#[derive(Clone, Copy)]
pub(super) struct Entry {
    pub process: MapProcess,
    pub queue: MapQueues,
    /// It was connected before.
    seen: bool,
    /// It was unmapped by the driver, or is wrong: its turn does not come again.
    gone: bool,
    rest: Duration,
    /// When it may be connected.
    ready: Instant,
}

impl Entry {
    /// A queue as the list names it.
    pub fn new(process: MapProcess, queue: MapQueues) -> Self {
        Self {
            process,
            queue,
            seen: false,
            gone: false,
            rest: Duration::ZERO,
            ready: Instant::now(),
        }
    }

    pub fn pasid(&self) -> u16 {
        self.process.get(MapProcess::PASID) as u16
    }

    pub fn mqd(&self) -> u64 {
        self.queue.get(MapQueues::MQD_ADDR)
    }

    pub fn doorbell(&self) -> u32 {
        self.queue.get(MapQueues::DOORBELL_OFFSET) as u32
    }

    pub fn is_static(&self) -> bool {
        self.queue.get(MapQueues::QUEUE_TYPE) != 0
    }
}

/// The run list while it runs.
#[derive(Default)]
pub(super) struct Turns {
    entries: Vec<Entry>,
    /// Entries that have no HQD, next first.
    line: VecDeque<usize>,
    /// Processes that may have a VMID at a time.
    pub concurrent: usize,
    /// The list goes back to its start.
    chained: bool,
    /// The list in memory: the driver keeps it while it runs.
    at: u64,
    words: Vec<u32>,
    read_again: Option<Instant>,
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

impl Turns {
    /// A list of which nothing runs yet.
    pub fn new(entries: Vec<Entry>, concurrent: usize) -> Self {
        Self {
            line: (0..entries.len()).collect(),
            entries,
            concurrent,
            ..Self::default()
        }
    }

    /// The same, chained: what `words` at `at` say goes on for ever.
    pub fn chained(entries: Vec<Entry>, concurrent: usize, at: u64, words: Vec<u32>) -> Self {
        Self {
            chained: true,
            at,
            words,
            read_again: Some(Instant::now() + READ_AGAIN),
            ..Self::new(entries, concurrent)
        }
    }

    /// Whether there is a chained list.
    pub fn is_on(&self) -> bool {
        self.chained && self.entries.iter().any(|e| !e.gone)
    }

    /// Whether a process's queues take turns.
    pub fn has_process(&self, pasid: u16) -> bool {
        self.chained && self.entries.iter().any(|e| !e.gone && e.pasid() == pasid)
    }

    /// Whether a queue was connected before by the same list.
    pub fn knows(&self, mqd: u64) -> bool {
        let known = |e: &Entry| e.seen && !e.gone && e.mqd() == mqd;
        self.chained && self.entries.iter().any(known)
    }
}

impl Firmware {
    /// Connects waiting queues as far as there is room; whether one of them has something to do.
    pub(super) fn fill(&mut self) -> bool {
        let (now, line) = (Instant::now(), std::mem::take(&mut self.turns.line));
        let mut coming = self.coming();
        let mut kept = VecDeque::with_capacity(line.len());
        let mut worked = false;
        for n in line {
            let Some(entry) = self.turns.entries.get(n).filter(|e| !e.gone).copied() else {
                continue;
            };
            if now < entry.ready {
                kept.push_back(n);
                continue;
            }
            match self.place(&entry, now, &mut coming) {
                Placed::At(slot) => {
                    self.turns
                        .entries
                        .get_mut(n)
                        .into_iter()
                        .for_each(|e| e.seen = true);
                    let busy = self.hqd(slot).is_some_and(|h| h.is_busy());
                    if busy && self.turns.chained {
                        self.trace_switch(slot, "in", "turn");
                    }
                    worked |= busy;
                }
                Placed::NoRoom(_) if self.turns.chained => kept.push_back(n),
                Placed::NoRoom(what) => self.violation(format_args!(
                    "over-subscribed run list that is not chained: {what}"
                )),
                Placed::Refused => {
                    self.turns
                        .entries
                        .get_mut(n)
                        .into_iter()
                        .for_each(|e| e.gone = true);
                }
            }
        }
        self.turns.line = kept;
        worked
    }

    /// Lets queues leave whose time is over, and others come; whether there was work.
    pub(super) fn step_turns(&mut self) -> bool {
        self.read_again();
        self.turns.chained && !self.turns.line.is_empty() && self.fill()
    }

    /// Connects a queue of the list, and gives its process a VMID if it has none; if there is no
    /// room in a chained list, sees that there will be.
    fn place(&mut self, entry: &Entry, now: Instant, coming: &mut Coming) -> Placed {
        let known = self
            .processes
            .iter()
            .find(|p| p.owner.pasid == entry.pasid());
        let owner = match known.map(|p| (p.owner, p.leaving)) {
            Some((_, true)) => return Placed::NoRoom("its process leaves"),
            Some((owner, false)) => Some(owner),
            None => {
                let many = self.processes.len() >= self.turns.concurrent;
                if many || self.vmids.free() == 0 {
                    if self.turns.chained {
                        self.want_vmid(now, coming);
                    }
                    return Placed::NoRoom(match many {
                        true => "more processes than run at a time",
                        false => "no VMID is free",
                    });
                }
                None
            }
        };
        let Some(slot) = self.free_slot() else {
            if self.turns.chained {
                self.want_slot(now, coming);
            }
            return Placed::NoRoom("no HQD is free");
        };
        let owner = owner.or_else(|| self.map_process(&entry.process));
        let mapped = owner.is_some_and(|owner| self.map_user_queue(slot, owner, &entry.queue));
        if !mapped {
            self.slots.give(slot.index() as u32);
            self.release_unused();
            return Placed::Refused;
        }
        let all = Duration::from_millis(entry.process.get(MapProcess::PROCESS_QUANTUM));
        if let Some(h) = self.hqd(slot) {
            h.quantum = super::evict::quantum(&h.image, all);
        }
        Placed::At(slot)
    }

    /// A queue was taken off its HQD: unless it is the list's no more, it stands in line again.
    pub(super) fn stand_in_line(&mut self, h: &Hqd, stop: Stop) {
        let turns = &mut self.turns;
        let mut all = turns.entries.iter_mut().enumerate();
        let Some((n, entry)) = all.find(|(_, e)| !e.gone && e.mqd() == h.q.mqd) else {
            return;
        };
        if stop == Stop::Reset || !turns.chained {
            entry.gone = true;
            return;
        }
        entry.rest = match h.has_worked() || h.is_busy() {
            true => Duration::ZERO,
            false => (entry.rest * 2).clamp(REST.0, REST.1),
        };
        entry.ready = Instant::now() + entry.rest;
        turns.line.push_back(n);
    }

    /// Takes queues off the list: those that are unmapped do not come back. How many of them had
    /// no HQD; with a reset, waves that were saved for these end.
    pub(super) fn forget(&mut self, stop: Stop, gone: impl Fn(&Entry) -> bool) -> usize {
        let mut waited = Vec::new();
        for (n, e) in self.turns.entries.iter_mut().enumerate() {
            if !e.gone && gone(e) {
                e.gone = true;
                if self.turns.line.contains(&n) {
                    waited.push(e.mqd());
                }
            }
        }
        if stop == Stop::Reset {
            waited.iter().for_each(|&mqd| self.lose_waves(mqd));
        }
        if !self.turns.is_on() {
            self.turns = Turns::default();
        }
        self.release_unused();
        waited.len()
    }

    /// Takes back VMIDs that no queue uses and no list keeps.
    fn release_unused(&mut self) {
        while let Some(at) = self
            .processes
            .iter()
            .position(|p| p.queues == 0 && !self.turns.has_process(p.owner.pasid))
        {
            self.release_process(at);
        }
    }

    /// Ends the waves that were saved for an MQD.
    fn lose_waves(&mut self, mqd: u64) {
        let Some(saved) = self.saved.remove(&mqd) else {
            return;
        };
        saved.aql.set_all(Go::Kill);
        let at = mqd + Mqd::CP_HQD_PERSISTENT_STATE.word() as u64 * 4;
        let space = self.space(0);
        let done = space.load_u32(at).and_then(|state| {
            let state = STATE::RELAUNCH_WAVES.set(STATE::RESTORE_ACTIVE.set(state, 0), 0);
            space.store_u32(at, state)
        });
        if let Err(fault) = done {
            self.soc.vm_fault(&fault);
        }
    }

    /// The end of a chained list leads to its start, so it is read for ever: it must not change.
    fn read_again(&mut self) {
        let now = Instant::now();
        if !self.turns.is_on() || self.turns.read_again.is_none_or(|at| now < at) {
            return;
        }
        self.turns.read_again = Some(now + READ_AGAIN);
        let mut words = vec![0; self.turns.words.len()];
        if let Err(fault) = self.space(0).read_words(self.turns.at, &mut words) {
            self.soc.vm_fault(&fault);
        } else if words != self.turns.words {
            self.violation(format_args!("run list: changed while it is chained"));
            self.turns.words = words;
        }
    }

    pub(super) fn trace_switch(&self, slot: Slot, way: &str, why: &str) {
        let Some(h) = self.hqds.get(slot.index()).and_then(Option::as_deref) else {
            return;
        };
        let name = slot.to_string();
        self.soc.trace.event(
            "switch",
            &[
                ("queue", Value::Text(&name)),
                ("way", Value::Text(way)),
                ("why", Value::Text(why)),
                ("mqd", Value::Hex(h.q.mqd)),
                ("vmid", Value::Num(h.owner.vmid.into())),
                ("pasid", Value::Num(h.owner.pasid.into())),
            ],
        );
    }
}
