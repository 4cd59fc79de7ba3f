// SPDX-License-Identifier: MIT OR Apache-2.0

//! The work-groups of a dispatch that have begun and not ended: those that a worker runs, and those that rest.

use super::{Counts, Inner};
use crate::engines::cp::front::slot::Slot;
use crate::engines::cp::front::waves::Allowed;
use crate::engines::cp::launch::group::Group;
use crate::engines::cp::launch::state::states;
use std::collections::{HashMap, VecDeque};

/// Why a worker has no workgroup.
pub(super) enum NoGroup {
    /// The device stands still.
    Still,
    /// It can't be launched.
    Failed,
}

impl Inner {
    /// Of a dispatch that may have so many work-groups at a time.
    pub(super) fn new(places: u32, slot: Slot, allowed: Allowed) -> Self {
        Self {
            waiting: VecDeque::new(),
            held: 0,
            halted: Vec::new(),
            coming: VecDeque::new(),
            saved: Vec::new(),
            resident: 0,
            free: (0..places).rev().collect(),
            slots: HashMap::new(),
            running: Vec::new(),
            slot,
            allowed,
            most: places,
            failure: None,
            counts: Counts::default(),
            notices: Vec::new(),
        }
    }

    /// A worker runs a work-group from now on.
    pub(super) fn runs(&mut self, group: &Group, place: u32, vmid: u8) {
        let states = states(group, self.slot, vmid);
        self.running.push((place, states));
    }

    /// One that waits, which a worker takes to run it.
    pub(super) fn take(&mut self, at: usize, vmid: u8) -> Option<(Group, u32)> {
        let (group, place) = self.waiting.remove(at)?;
        self.runs(&group, place, vmid);
        Some((group, place))
    }

    /// No worker runs it any more.
    pub(super) fn rests(&mut self, place: u32) {
        self.running.retain(|(other, _)| *other != place);
    }

    /// A work-group that no worker runs at the moment.
    pub(super) fn resting(&self, place: u32) -> Option<&Group> {
        let mut all = self.waiting.iter().chain(&self.halted);
        all.find(|(_, other)| *other == place)
            .map(|(group, _)| group)
    }
}
