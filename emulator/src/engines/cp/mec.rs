// SPDX-License-Identifier: MIT OR Apache-2.0

//! The compute micro engine: HQDs, the queues on them, and who has which address space.
//!
//! With several XCCs in a partition it is that of all of them: a process's queue is on the same HQD of
//! each ([`loads`]); a kernel's queue is on one.
//!
//! It knows neither packets of schedulers nor registers' names: a scheduler's firmware maps queues
//! and asks them to stop, and calls [`Mec::step`]; registers are seen through [`Registers`].

pub mod copying;
pub mod inflight;
pub mod line;
pub mod loads;
pub mod process;

use self::copying::Copying;
use self::inflight::Launched;
use self::line::Turns;
use self::loads::Loads;
use self::process::Process;
use super::front::buffer::Buffer;
use super::front::generation::Generation;
use super::front::hqd::{Queue, Role};
use super::front::look::Hqds;
use super::front::slot::{Pool, Slot, SLOTS};
use super::launch::workers::Units;
use crate::device::facts::Facts;
use crate::device::Env;
use crate::engines::cp::front::registers::Registers;
use crate::engines::sdma::Engines;
use crate::memory::Hub;
use crate::memory::Space;
use crate::rules::Holds;
use rkfd_isa::ComputeUnit;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What an unmap wants of a queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stop {
    /// Waves are saved where they are, so that they can go on later.
    Save,
    /// Packets that were begun are completed.
    Drain,
    /// Waves end; what was begun is lost.
    Reset,
}

/// The process to which a queue belongs.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) struct Owner {
    /// Address space.
    pub vmid: u8,
    /// Process, 0 for the kernel.
    pub pasid: u16,
    /// The interpreter's name for the process.
    pub tag: u8,
}

/// A loaded queue.
pub(crate) struct Hqd {
    pub slot: Slot,
    pub role: Role,
    pub q: Queue,
    pub loads: Loads,
    pub owner: Owner,
    /// The doorbell's value when it was last looked at.
    pub rung: u64,
    /// Nothing more is taken from it: it met an error.
    pub broken: bool,
    /// Its next packet waits for scratch memory that was asked for.
    pub starved: bool,
    /// An unmap by SELECT_ALL_NON_STATIC leaves it.
    pub is_static: bool,
    pub stop: Option<Stop>,
    /// When its waves are saved, if it is to stop and they have not ended.
    pub saves_at: Option<Instant>,
    pub launched: Launched,
    /// The indirect buffer that it is in.
    pub buffer: Option<Buffer>,
    /// When it was connected, and its read pointer then.
    pub since: Instant,
    pub began: u64,
    /// How long it may stay when others wait.
    pub quantum: Duration,
    /// Its scheduling level.
    pub level: u8,
}

impl Hqd {
    /// Whether it has something to do.
    pub fn is_busy(&self) -> bool {
        !self.broken && (!self.launched.is_empty() || self.q.rptr < self.q.wptr)
    }

    /// What rules can know of it.
    pub fn keys(&self) -> [(&'static str, u64); 3] {
        [
            ("doorbell", self.q.doorbell.into()),
            ("pasid", self.owner.pasid.into()),
            ("vmid", self.owner.vmid.into()),
        ]
    }

    /// Whether a packet was completed since it was connected.
    pub fn has_worked(&self) -> bool {
        self.q.rptr != self.began
    }
}

/// The engine.
pub(crate) struct Mec {
    pub env: Arc<dyn Env>,
    /// What the chip is like.
    pub facts: Facts,
    /// Where copy queues go.
    pub sdma: Arc<Engines>,
    pub generation: &'static Generation,
    pub regs: Arc<dyn Registers>,
    pub units: Units,
    pub hqds: Vec<Option<Box<Hqd>>>,
    /// HQDs that the scheduler may use.
    pub slots: Pool,
    /// VMIDs that it may use.
    pub vmids: Pool,
    /// Global wave sync resources that it may use.
    pub gws: u32,
    pub processes: Vec<Process>,
    /// The queues that the scheduler runs.
    pub turns: Turns,
    /// Copy queues that are mapped.
    pub copies: Vec<Copying>,
    /// Names of processes for the interpreter: one per PASID that has waves, or has its turn.
    pub tags: HashMap<u16, u8>,
    /// Dispatches that rules hold up.
    pub holds: Holds,
    /// The address of each XCC's cleaner shader, 0 without one.
    pub cleaners: Vec<u64>,
    /// For kernel descriptors and trial launches.
    pub cu: ComputeUnit,
}

impl Mec {
    /// An engine without queues.
    pub fn new(
        env: Arc<dyn Env>,
        facts: Facts,
        sdma: Arc<Engines>,
        generation: &'static Generation,
        regs: Arc<dyn Registers>,
        units: Units,
    ) -> Self {
        env.views().show_queues(Arc::new(Hqds {
            regs: regs.clone(),
            generation,
            xccs: facts.xccs,
        }));
        Self {
            generation,
            regs,
            units,
            hqds: (0..SLOTS * usize::from(facts.xccs)).map(|_| None).collect(),
            env,
            facts,
            sdma,
            slots: Pool::default(),
            vmids: Pool::default(),
            gws: 0,
            processes: Vec::new(),
            turns: Turns::default(),
            copies: Vec::new(),
            tags: HashMap::new(),
            holds: Holds::default(),
            cleaners: vec![0; usize::from(facts.xccs)],
            cu: ComputeUnit::with_checks(generation.isa, facts.checks),
        }
    }

    pub fn hqd(&mut self, slot: Slot) -> Option<&mut Hqd> {
        self.hqds.get_mut(slot.place())?.as_deref_mut()
    }

    pub fn role(&self, slot: Slot) -> Option<Role> {
        self.hqds.get(slot.place())?.as_ref().map(|h| h.role)
    }

    /// Whether any queue is at work.
    pub fn is_busy(&self) -> bool {
        self.hqds.iter().flatten().any(|h| !h.launched.is_empty())
    }

    /// An address space as the first XCC sees it.
    pub fn space(&self, vmid: u8) -> Space<'_> {
        self.space_on(0, vmid)
    }

    pub fn violation(&self, what: std::fmt::Arguments<'_>) {
        self.env.report().violation(what);
    }

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
}
