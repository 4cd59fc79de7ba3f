// SPDX-License-Identifier: MIT OR Apache-2.0

//! What a user queue has launched and is not complete: dispatches, and what waits.

use crate::engines::cp::front::shader::Registers;
use crate::engines::cp::front::slot::Slot;
use crate::engines::cp::front::waves::Allowed;
use crate::engines::cp::launch::dispatch::Go;
use crate::engines::cp::launch::split::SplitDispatch;
use crate::engines::cp::launch::workers::Units;
use crate::engines::cp::mec::loads::Loads;
use crate::engines::cp::packet::aql::Condition;
use crate::engines::cp::packet::command::Release;
use std::collections::VecDeque;
use std::sync::atomic::Ordering;

/// Packets of a queue that are under way at a time.
pub(crate) const UNDER_WAY: usize = 64;

/// A packet that was launched.
pub(crate) struct Item {
    pub(crate) work: Work,
    /// The signal to complete, or 0, and the fence before that: AQL's.
    pub(crate) signal: u64,
    pub(crate) release: u8,
    /// What a dispatch was made of: PM4's.
    pub(crate) registers: Option<Box<Registers>>,
    /// The device's time when it was launched.
    pub(crate) started: u64,
    pub(crate) done: bool,
}

pub(crate) enum Work {
    Dispatch(SplitDispatch),
    /// Holds the queue until a condition is met.
    Barrier(Condition),
    /// Holds the queue until the indirect buffer that it is in has been executed.
    Commands,
    /// RELEASE_MEM of a PM4 queue: done when everything before is. It holds nothing.
    Release(Release),
}

impl Item {
    /// Of a PM4 queue.
    pub(crate) fn of(work: Work, started: u64) -> Self {
        Self {
            work,
            signal: 0,
            release: 0,
            registers: None,
            started,
            done: false,
        }
    }

    /// Whether nothing behind it is launched before it is done.
    pub(crate) fn holds(&self) -> bool {
        !self.done && matches!(self.work, Work::Barrier(_) | Work::Commands)
    }
}

/// The packets of a queue that were launched and are not all complete, oldest first.
#[derive(Default)]
pub(crate) struct Launched {
    pub(crate) items: VecDeque<Item>,
}

impl Launched {
    /// Whether nothing is under way.
    pub(crate) fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// How many packets are under way.
    pub(crate) fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether no worker is on any of its dispatches.
    pub(crate) fn is_idle(&self) -> bool {
        self.dispatches().all(|d| d.is_idle())
    }

    /// Whether a packet is under way that is not taken from the ring again as it is.
    pub(crate) fn has_begun(&self) -> bool {
        self.items
            .iter()
            .any(|item| item.done || matches!(item.work, Work::Dispatch(_) | Work::Release(_)))
    }

    /// Whether waves of it have still to run.
    pub(crate) fn has_waves(&self) -> bool {
        self.items
            .iter()
            .any(|item| !item.done && matches!(item.work, Work::Dispatch(_)))
    }

    /// Whether one of its dispatches ran since it was connected, or none has to.
    pub(crate) fn had_turn(&self) -> bool {
        let waits = self.items.iter().filter(|item| !item.done);
        let mut waits = waits.filter_map(|item| match &item.work {
            Work::Dispatch(d) => Some(d),
            _ => None,
        });
        match waits.next() {
            None => true,
            Some(first) => first.had_turn() || waits.any(|d| d.had_turn()),
        }
    }

    /// Makes its dispatches run, pause or end.
    pub(crate) fn set_all(&self, go: Go) {
        self.dispatches().for_each(|d| d.set(go));
    }

    /// Goes on with dispatches that were paused, on the HQD and under the VMID of now, with what the MQDs have
    /// now.
    pub(crate) fn resume(&self, slot: Slot, vmid: u8, loads: &Loads, units: &Units) {
        for item in self.items.iter().filter(|item| !item.done) {
            if let Work::Dispatch(d) = &item.work {
                for d in &d.0 {
                    d.vmid.store(vmid, Ordering::Release);
                    let mut loads = loads.iter();
                    if let Some(load) = loads.find(|load| load.xcc == d.xcc()) {
                        d.move_to(slot, Allowed::of(&load.image));
                    }
                    if d.failure().is_none() && !d.is_finished() {
                        d.begin();
                        units.submit(d);
                    }
                }
            }
        }
    }

    /// Its dispatches, those that are complete, too.
    pub(crate) fn dispatches(&self) -> impl Iterator<Item = &SplitDispatch> {
        self.items.iter().filter_map(|item| match &item.work {
            Work::Dispatch(d) => Some(d),
            _ => None,
        })
    }
}
