// SPDX-License-Identifier: MIT OR Apache-2.0

//! A queue on the XCCs of a partition: an MQD and an HQD on each, and a part of every dispatch.
//!
//! Source: Linux, `amdkfd/kfd_mqd_manager_v9.c` (`init_mqd_v9_4_3`): the MQDs lie one behind the
//! other, CP_MQD_STRIDE_SIZE apart. An AQL queue's dispatches are split: workgroups go to the XCCs by
//! turns, COMPUTE_TG_CHUNK_SIZE (1) at a time, in the order of COMPUTE_CURRENT_LOGIC_XCC_ID; the
//! first XCC alone reports the read pointer. A PM4 queue runs on the XCC that PM4_TARGET_XCC_IN_XCP
//! names; on the others it is loaded, too, and does nothing.

use crate::engines::cp::front::hqd::{Image, Queue, Role};
use crate::engines::cp::front::slot::Slot;
use crate::engines::cp::launch::dispatch::{Counts, Dispatch, Failure, Go};
use crate::engines::cp::launch::gws::Gws;
use crate::engines::cp::launch::workers::Units;
use crate::engines::cp::mec::{Hqd, Mec};
use crate::engines::cp::run::save::Room;
use crate::engines::cp::sched::connect::BadQueue;
use crate::engines::cp::sched::turns::QueueMap;
use crate::memory::{Hub, Space};
use std::sync::Arc;

/// A queue as it is loaded on one XCC.
pub(crate) struct Load {
    pub xcc: u8,
    /// Address of its MQD there.
    pub mqd: u64,
    /// The MQD's words as they were loaded.
    pub image: Box<Image>,
    /// What is left of its save area.
    pub room: Arc<Room>,
    /// Its semaphores and barriers, if it was given any.
    pub gws: Option<Arc<Gws>>,
}

/// A queue as it is loaded on all its XCCs.
pub(crate) struct Loads {
    /// Where packets are taken.
    pub lead: Load,
    pub others: Vec<Load>,
}

impl Load {
    fn new(xcc: u8, mqd: u64, image: Box<Image>) -> Self {
        let room = Room::endless();
        Self {
            xcc,
            mqd,
            image,
            room,
            gws: None,
        }
    }
}

impl Loads {
    /// A queue of one XCC.
    pub fn alone(xcc: u8, mqd: u64, image: Box<Image>) -> Self {
        Self {
            lead: Load::new(xcc, mqd, image),
            others: Vec::new(),
        }
    }

    /// All of them, the leading one first.
    pub fn iter(&self) -> impl Iterator<Item = &Load> {
        std::iter::once(&self.lead).chain(&self.others)
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Load> {
        std::iter::once(&mut self.lead).chain(&mut self.others)
    }

    /// Gives it so many semaphores and barriers on each XCC.
    pub fn give_gws(&mut self, count: u32) {
        for load in self.iter_mut() {
            load.gws = (count > 0).then(|| Arc::new(Gws::new(count)));
        }
    }

    /// Whether semaphores or barriers of it have to be saved.
    pub fn has_used_gws(&self) -> bool {
        self.iter()
            .any(|load| load.gws.as_ref().is_some_and(|gws| gws.is_used()))
    }

    /// Whether a workgroup of so many words can be saved, wherever it runs.
    pub fn have_room(&self, words: u64) -> bool {
        self.iter().all(|load| load.room.has(words))
    }
}

/// Where the MQDs of a generation store how a queue is spread over XCCs.
pub struct Spread {
    /// CP_MQD_STRIDE_SIZE: bytes from one XCC's MQD to the next one's.
    pub stride: fn(&Image) -> u64,
    /// COMPUTE_CURRENT_LOGIC_XCC_ID.
    pub logical: fn(&Image) -> u32,
    /// PM4_TARGET_XCC_IN_XCP.
    pub target: fn(&Image) -> u32,
}

/// Which workgroups of a dispatch an XCC runs: of each `of`, the one at `index`.
#[derive(Clone, Copy, Debug)]
pub struct Share {
    /// The XCC.
    pub xcc: u8,
    /// Its turn.
    pub index: u64,
    /// XCCs that have turns.
    pub of: u64,
}

impl Share {
    /// All of them.
    pub fn whole(xcc: u8) -> Self {
        let (index, of) = (0, 1);
        Self { xcc, index, of }
    }

    /// How many of so many workgroups.
    pub fn count(&self, all: u64) -> u64 {
        all.saturating_sub(self.index).div_ceil(self.of.max(1))
    }

    /// Which one of all the `n`th of these is.
    pub fn nth(&self, n: u64) -> u64 {
        n.saturating_mul(self.of).saturating_add(self.index)
    }
}

/// A dispatch: what each XCC has of it, in the order of the queue's [`Loads`].
#[derive(Clone, Default)]
pub(crate) struct Gang(pub Vec<Arc<Dispatch>>);

impl Gang {
    pub fn is_idle(&self) -> bool {
        self.0.iter().all(|d| d.is_idle())
    }

    pub fn is_finished(&self) -> bool {
        self.0.iter().all(|d| d.is_finished())
    }

    /// What stopped it, and on which XCC.
    pub fn failure(&self) -> Option<(u8, Failure)> {
        let mut failed = self.0.iter().filter_map(|d| Some((d.xcc(), d.failure()?)));
        failed.next()
    }

    pub fn had_turn(&self) -> bool {
        self.0.iter().any(|d| d.had_turn())
    }

    pub fn set(&self, go: Go) {
        self.0.iter().for_each(|d| d.set(go));
    }

    /// The device's time when it was launched.
    pub fn started(&self) -> u64 {
        self.0.first().map_or(0, |d| d.started)
    }

    pub fn waves_per_group(&self) -> u32 {
        self.0.first().map_or(0, |d| d.waves_per_group())
    }

    /// Workgroups in all.
    pub fn total(&self) -> u64 {
        self.0.iter().fold(0, |sum, d| d.total.saturating_add(sum))
    }

    /// What each XCC executed.
    pub fn counts(&self) -> Vec<Counts> {
        self.0.iter().map(|d| d.counts()).collect()
    }

    /// Gives the compute units what there is to do.
    pub fn submit(&self, units: &Units) {
        for d in self.0.iter().filter(|d| !d.is_finished()) {
            units.submit(d);
        }
    }
}

impl Mec {
    /// An address space as an XCC sees it.
    pub fn space_on(&self, xcc: u8, vmid: u8) -> Space<'_> {
        self.env.memory().space(Hub::Gfx(xcc), vmid)
    }

    /// The address space of a queue's process, where its packets are taken.
    pub fn space_of(&self, h: &Hqd) -> Space<'_> {
        self.space_on(h.slot.xcc(), h.owner.vmid)
    }

    /// Shows a queue's pointers in the HQD registers of its XCCs.
    pub fn show_pointers(&self, h: &Hqd) {
        for load in h.loads.iter() {
            let slot = h.slot.on(load.xcc);
            self.regs
                .change(slot, &mut |image| h.q.save_pointers(image));
        }
    }

    /// Where the queue is kept that is on an HQD: at the same slot of the XCC that leads it.
    pub fn loaded_at(&self, slot: Slot) -> Slot {
        let xccs = 0..self.facts.xccs;
        let mut all = std::iter::once(slot).chain(xccs.map(|xcc| slot.on(xcc)));
        let there = |at: &Slot| {
            let found = self.hqds.get(at.place()).and_then(Option::as_ref);
            found.is_some_and(|h| h.loads.iter().any(|load| load.xcc == slot.xcc()))
        };
        all.find(there).unwrap_or(slot)
    }

    /// Reads and checks the MQDs of a queue on all XCCs, or on one for a kernel's queue.
    pub(crate) fn fetch_loads(
        &self,
        map: &QueueMap,
        role: Role,
        xcc: u8,
    ) -> Result<(Queue, Loads), BadQueue> {
        let format = &self.generation.mqd;
        let bad = |what: String| BadQueue::Mqd(role, what);
        let fetch = |xcc: u8, at: u64| -> Result<(Queue, Load), BadQueue> {
            let mut image = Box::new(Image::zeroed());
            let read = self.space_on(xcc, 0).read_words(at, &mut image.0);
            read.map_err(BadQueue::Memory)?;
            if !self.turns.knows(map.mqd) {
                self.trace_mqd(at, &image);
            }
            let queue = Queue::from_mqd(format, &image, at, role).map_err(bad)?;
            Ok((queue, Load::new(xcc, at, image)))
        };
        let (mut queue, first) = fetch(xcc, map.mqd)?;
        let Some(spread) = format.spread.as_ref().filter(|_| role == Role::User) else {
            let others = Vec::new();
            let lead = first;
            return Ok((queue, Loads { lead, others }));
        };
        let stride = (spread.stride)(&first.image);
        let xccs = self.facts.xccs;
        let mut loads = vec![first];
        for xcc in 1..xccs {
            let at = map.mqd.wrapping_add(stride * u64::from(xcc));
            let (own, load) = fetch(xcc, at)?;
            if queue.aql && own.reports {
                return Err(bad(format!("XCC {xcc} reports the read pointer, too")));
            }
            let same = Queue {
                mqd: queue.mqd,
                reports: queue.reports,
                ..own
            };
            if same != queue {
                return Err(bad(format!("XCC {xcc} has another queue than the first")));
            }
            loads.push(load);
        }
        let logical = loads.iter().map(|load| (spread.logical)(&load.image));
        let turns = logical.fold(0u64, |all, id| all | 1u64.checked_shl(id).unwrap_or(0));
        if queue.aql && turns != (1 << xccs) - 1 {
            return Err(bad(
                "COMPUTE_CURRENT_LOGIC_XCC_ID are not 0 to the number of XCCs, each once".into(),
            ));
        }
        let lead = match queue.aql {
            true => 0,
            false => (spread.target)(&loads[0].image) as usize,
        };
        if lead >= loads.len() {
            return Err(bad(format!(
                "PM4_TARGET_XCC_IN_XCP is {lead}, and there are {xccs} XCCs"
            )));
        }
        let lead = loads.remove(lead);
        queue.mqd = map.mqd;
        let others = loads;
        Ok((queue, Loads { lead, others }))
    }

    /// Which workgroups the XCCs of an AQL queue run.
    pub(crate) fn shares(&self, h: &Hqd) -> Vec<Share> {
        let spread = self.generation.mqd.spread.as_ref();
        let of = h.loads.iter().count() as u64;
        let share = |load: &Load| Share {
            xcc: load.xcc,
            index: spread.map_or(0, |s| (s.logical)(&load.image).into()),
            of,
        };
        h.loads.iter().map(share).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::Share;

    #[test]
    fn shares_are_all_workgroups_once() {
        for (all, of) in [
            (0u64, 4u64),
            (1, 4),
            (3, 4),
            (4, 4),
            (4096, 4),
            (17, 3),
            (5, 1),
        ] {
            let mut seen: Vec<u64> = (0..of)
                .flat_map(|index| {
                    let share = Share { xcc: 0, index, of };
                    (0..share.count(all)).map(move |n| share.nth(n))
                })
                .collect();
            seen.sort_unstable();
            assert_eq!(seen, (0..all).collect::<Vec<_>>());
        }
    }
}
