// SPDX-License-Identifier: MIT OR Apache-2.0

//! Taking turns: there may be more queues than HQDs, or more processes than VMIDs, if a run list is
//! chained to itself, and always with MES.
//!
//! Source: Linux, `amdkfd/kfd_packet_manager.c` (`pm_calc_rlib_size`, `pm_create_runlist_ib`:
//! "Runlist is getting oversubscribed" chains it), `amdgpu/mes_v12_0.c`
//! (`mes_v12_0_set_hw_resources`: what unmapped doorbells do).
//!
//! Queues that have no HQD stand in line, the highest level first. Who is next is connected as by a
//! new list: its MQD is read anew, and what was rung meanwhile is in its write pointer's memory. Who
//! finds no room has some made ([`super::evict`]); who was taken off, saved as by an unmap, goes to
//! the end of the line. A queue that did nothing while it was connected waits until its doorbell
//! changes, where the scheduler hears of that. Otherwise it rests before it is connected again,
//! longer each time up to [`REST`].1: that bounds what an idle list costs, and how late work is
//! noticed.

use super::evict::Coming;
use super::fetch::BadQueue;
use crate::engines::cp::front::hqd::Role;
use crate::engines::cp::front::slot::Slot;
use crate::engines::cp::mec::copying::Engine;
use crate::engines::cp::mec::line::Entry;
use crate::engines::cp::mec::line::Pointer;
use crate::engines::cp::mec::line::QueueMap;
use crate::engines::cp::mec::{Hqd, Mec, Owner, Stop};
use crate::trace::Value;
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// The shortest and the longest rest of a queue that had nothing to do.
const REST: (Duration, Duration) = (Duration::from_micros(500), Duration::from_millis(16));

/// What becomes of a queue that is to be connected.
pub(crate) enum Placed {
    /// It is there.
    At(Slot),
    /// It is on an SDMA engine.
    Copies,
    /// It waits, for this.
    NoRoom(&'static str),
    /// It is wrong, which was reported.
    Refused,
}

impl Mec {
    /// Connects waiting queues as far as there is room; whether one of them has something to do.
    pub fn fill(&mut self) -> bool {
        let (now, line) = (Instant::now(), std::mem::take(&mut self.turns.line));
        let mut line = Vec::from(line);
        let level = |n: &usize| self.turns.entries.get(*n).map(|e| e.queue.level);
        line.sort_by_key(|n| std::cmp::Reverse(level(n)));
        let mut coming = self.coming();
        let mut kept = VecDeque::with_capacity(line.len());
        let mut worked = false;
        for n in line {
            let Some(entry) = self.turns.entries.get(n).filter(|e| !e.gone).copied() else {
                continue;
            };
            let rung = |bell| self.env.doorbells().load(entry.queue.doorbell) != bell;
            if entry.held || now < entry.ready || !entry.bell.is_none_or(rung) {
                kept.push_back(n);
                continue;
            }
            match self.place(&entry, now, &mut coming) {
                Placed::At(slot) => {
                    if let Some(e) = self.turns.entries.get_mut(n) {
                        (e.seen, e.bell) = (true, None);
                    }
                    let busy = self.hqd(slot).is_some_and(|h| h.is_busy());
                    if busy && self.turns.shared {
                        self.trace_switch(slot, "in", "turn");
                    }
                    worked |= busy;
                }
                Placed::Copies => {
                    if let Some(e) = self.turns.entries.get_mut(n) {
                        (e.seen, e.bell) = (true, None);
                    }
                }
                Placed::NoRoom(_) if self.turns.shared => kept.push_back(n),
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
    pub fn step_turns(&mut self) -> bool {
        let left = self.step_copies();
        left | (self.turns.shared && !self.turns.line.is_empty() && self.fill())
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
                    if self.turns.shared {
                        self.want_vmid(now, entry.queue.level, coming);
                    }
                    return Placed::NoRoom(match many {
                        true => "more processes than run at a time",
                        false => "no VMID is free",
                    });
                }
                None
            }
        };
        if entry.queue.engine != Engine::Compute {
            let owner = owner.or_else(|| self.map_process(&entry.process));
            if owner.is_some_and(|owner| self.map_copies(owner, &entry.queue)) {
                return Placed::Copies;
            }
            self.release_unused();
            return Placed::Refused;
        }
        if entry.queue.gws > self.gws_left() {
            if self.turns.shared {
                self.want_slot(now, entry.queue.level, coming);
            }
            return Placed::NoRoom("the global wave sync resources are another queue's");
        }
        let Some(slot) = self.free_slot() else {
            if self.turns.shared {
                self.want_slot(now, entry.queue.level, coming);
            }
            return Placed::NoRoom("no HQD is free");
        };
        let owner = owner.or_else(|| self.map_process(&entry.process));
        if let Some(owner) = owner {
            self.set_handler(owner.vmid, entry.process.handler);
        }
        let mapped = owner.map(|owner| self.map_queue(slot, owner, &entry.queue));
        if let Some(Err(bad)) = &mapped {
            self.refuse(&entry.queue, bad);
        }
        let Some(Ok(slot)) = mapped else {
            self.slots.give(slot.index() as u32);
            self.release_unused();
            return Placed::Refused;
        };
        let all = entry.process.quantum;
        if let Some(h) = self.hqd(slot) {
            let own = entry.queue.quantum;
            h.quantum = own.unwrap_or_else(|| super::evict::quantum(&h.loads.lead.image, all));
        }
        Placed::At(slot)
    }

    /// Connects a process's queue; where it is kept.
    fn map_queue(&mut self, slot: Slot, owner: Owner, map: &QueueMap) -> Result<Slot, BadQueue> {
        let (queue, mut loads) = self.fetch_mqd(map, Role::User, 0)?;
        loads.give_gws(map.gws);
        if queue.cwsr && self.regs.vmid(owner.vmid).handler.entry == 0 {
            self.violation(format_args!(
                "the queue with MQD {:#x} has a context save area, and its process no trap handler, by which waves \
                 store themselves there",
                map.mqd
            ));
        }
        let slot = slot.on(loads.lead.xcc);
        if let Some(process) = self.processes.iter_mut().find(|p| p.owner == owner) {
            process.queues += 1;
        }
        self.show_users();
        let wptr = match map.wptr {
            Pointer::Process(at) => (owner.vmid, at),
            Pointer::Gart(at) => (0, at),
        };
        self.connect(slot, Role::User, queue, loads, owner, Some(wptr));
        if let Some(h) = self.hqd(slot) {
            (h.is_static, h.level) = (map.is_static, map.level);
        }
        Ok(slot)
    }

    /// Global wave sync resources that no connected queue has.
    fn gws_left(&self) -> u32 {
        let connected = |mqd| self.hqds.iter().flatten().any(|h| h.q.mqd == mqd);
        let entries = self.turns.entries.iter().filter(|e| !e.gone);
        let used = entries.filter(|e| e.queue.gws > 0 && connected(e.queue.mqd));
        let used: u32 = used.map(|e| e.queue.gws).sum();
        self.gws.saturating_sub(used)
    }

    /// Records why a queue is not mapped.
    pub fn refuse(&self, map: &QueueMap, bad: &BadQueue) {
        match bad {
            BadQueue::Memory(fault) => self.env.vm_fault(fault),
            BadQueue::Mqd(..) => self.env.report().record(bad.whose(), format_args!("{bad}")),
            BadQueue::Map(_) => self.violation(format_args!("{}: {bad}", map.by)),
        }
    }

    /// An HQD for a user queue.
    fn free_slot(&mut self) -> Option<Slot> {
        while let Some(bit) = self.slots.take() {
            // One that the driver set up by registers stays out.
            let slot = self.generation.slots.from_bit(bit);
            let free = |slot: &Slot| {
                let mut xccs = 0..self.facts.xccs;
                xccs.all(|xcc| self.role(slot.on(xcc)).is_none())
            };
            if let Some(slot) = slot.filter(free) {
                return Some(slot);
            }
        }
        None
    }

    /// A queue was taken off its HQD: unless it is the list's no more, it stands in line again.
    pub fn stand_in_line(&mut self, h: &Hqd, stop: Stop) {
        let turns = &mut self.turns;
        let mut all = turns.entries.iter_mut().enumerate();
        let Some((n, entry)) = all.find(|(_, e)| !e.gone && e.queue.mqd == h.q.mqd) else {
            return;
        };
        if stop == Stop::Reset || !turns.shared {
            entry.gone = true;
            return;
        }
        entry.rest = match h.has_worked() || h.is_busy() || turns.hears {
            true => Duration::ZERO,
            false => (entry.rest * 2).clamp(REST.0, REST.1),
        };
        entry.ready = Instant::now() + entry.rest;
        entry.bell = (turns.hears && !h.is_busy()).then_some(h.rung);
        turns.line.push_back(n);
    }

    /// Takes queues off the list: those that are unmapped do not come back. How many of them had
    /// no HQD; with a reset, waves that were saved for these end.
    pub fn forget(&mut self, stop: Stop, gone: impl Fn(&Entry) -> bool) -> usize {
        let mut waited = Vec::new();
        for (n, e) in self.turns.entries.iter_mut().enumerate() {
            if !e.gone && gone(e) {
                e.gone = true;
                if self.turns.line.contains(&n) {
                    waited.push(e.queue.mqd);
                }
            }
        }
        if stop == Stop::Reset {
            waited.iter().for_each(|&mqd| self.lose_waves(mqd));
        }
        if !self.turns.is_on() {
            self.turns.entries.clear();
            self.turns.line.clear();
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

    pub fn trace_switch(&self, slot: Slot, way: &str, why: &str) {
        let Some(h) = self.hqds.get(slot.place()).and_then(Option::as_deref) else {
            return;
        };
        let name = slot.to_string();
        self.env.trace().event(
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
