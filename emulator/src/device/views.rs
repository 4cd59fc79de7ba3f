// SPDX-License-Identifier: MIT OR Apache-2.0

//! What of the device can be looked into while it stands still: hardware queues, and waves with their registers.

use crate::memory::Hub;
use rkfd_isa::Target;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

/// A hardware queue's registers.
pub struct HqdView {
    /// Where it is: XCC, micro engine, pipe, queue.
    pub slot: String,
    /// CP_HQD_ACTIVE.
    pub active: bool,
    /// CP_HQD_VMID.
    pub vmid: u64,
    /// CP_HQD_PQ_BASE, an address in that VMID.
    pub base: u64,
    /// CP_HQD_PQ_RPTR and CP_HQD_PQ_WPTR, in words.
    pub pointers: [u64; 2],
    /// All of them, by the names of the MQD's words from which they are loaded.
    pub registers: Vec<(String, u32)>,
}

/// Who has hardware queues.
pub trait Queues: Send + Sync {
    /// All of them.
    fn hqds(&self) -> Vec<HqdView>;
}

/// A wave between two instructions.
#[derive(Clone)]
pub struct WaveView {
    /// Its number in its work-group.
    pub index: u32,
    /// Where its next instruction is.
    pub pc: u64,
    /// What it is doing.
    pub state: String,
    /// It is in its trap handler.
    pub privileged: bool,
    /// EXEC, VCC, SCC, MODE and M0.
    pub exec: u64,
    /// VCC.
    pub vcc: u64,
    /// The scalar condition code.
    pub scc: bool,
    /// MODE.
    pub mode: u32,
    /// M0.
    pub m0: u32,
    /// Scalar registers from s0.
    pub scalars: Vec<u32>,
    /// Vector registers from v0, a value for each lane.
    pub vectors: Vec<Vec<u32>>,
    /// The same from a0.
    pub accumulation: Vec<Vec<u32>>,
}

/// A work-group of a dispatch that has begun.
#[derive(Clone)]
pub struct GroupView {
    /// The hub through which it reaches memory, by which its XCC is known.
    pub hub: Hub,
    /// Its process' VMID.
    pub vmid: u8,
    /// Its place in the grid.
    pub id: [u32; 3],
    /// What its instructions are those of.
    pub target: &'static Target,
    /// Lanes of a wave.
    pub lanes: u32,
    /// Its waves.
    pub waves: Vec<WaveView>,
    /// Its LDS.
    pub lds: Vec<u8>,
}

/// Who has work-groups.
pub trait Groups: Send + Sync {
    /// Those that have begun and not ended, in the order in which they get their turns.
    fn groups(&self) -> Vec<GroupView>;
}

/// Who can be looked into.
#[derive(Default)]
pub struct Views {
    queues: OnceLock<Arc<dyn Queues>>,
    groups: Mutex<Vec<Weak<dyn Groups>>>,
}

impl Views {
    /// The hardware queues are these.
    pub fn show_queues(&self, queues: Arc<dyn Queues>) {
        let _ = self.queues.set(queues);
    }

    /// A dispatch begins.
    pub fn show_groups(&self, groups: Weak<dyn Groups>) {
        let mut all = self.groups.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|groups| groups.strong_count() > 0);
        all.push(groups);
    }

    /// The hardware queues.
    pub fn hqds(&self) -> Vec<HqdView> {
        self.queues.get().map_or(Vec::new(), |queues| queues.hqds())
    }

    /// The work-groups of all dispatches, those of the oldest first.
    pub fn groups(&self) -> Vec<GroupView> {
        let all = self.groups.lock().unwrap_or_else(PoisonError::into_inner);
        let live: Vec<_> = all.iter().filter_map(Weak::upgrade).collect();
        drop(all);
        live.iter().flat_map(|groups| groups.groups()).collect()
    }
}
