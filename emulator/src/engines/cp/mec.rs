// SPDX-License-Identifier: MIT OR Apache-2.0

//! The compute micro engine: HQDs, the queues on them, and who has which address space.
//!
//! With several XCCs in a partition it is that of all of them: a process's queue is on the same HQD of
//! each ([`loads`]); a kernel's queue is on one.
//!
//! It knows neither packets of schedulers nor registers' names: a scheduler's firmware maps queues
//! and asks them to stop, and calls [`Mec::step`]; registers are seen through [`Registers`].

pub mod inflight;
pub mod loads;

use self::inflight::Launched;
use self::loads::Loads;
use super::front::generation::Generation;
use super::front::hqd::{Image, Queue, Role};
use super::front::slot::{Pool, Slot, SLOTS};
use super::launch::dispatch::Go;
use super::launch::workers::Units;
use super::run::commands::Buffer;
use super::sched::turns::Turns;
use crate::device::facts::Facts;
use crate::device::Env;
use crate::engines::sdma::Engines;
use crate::memory::Space;
use crate::trace::Value;
use rkfd_isa::{ComputeUnit, Handler};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A doorbell's content while it was not rung: no queue gets that far.
pub(crate) const NOT_RUNG: u64 = u64::MAX;

/// A VMID's bank of registers.
#[derive(Clone, Copy, Default, Debug)]
pub struct Vmid {
    /// SH_MEM_BASES.
    pub sh_mem_bases: u32,
    /// SH_MEM_CONFIG.
    pub sh_mem_config: u32,
    /// SPI_GDBG_PER_VMID_CNTL.
    pub spi_gdbg: u32,
    /// SQ_SHADER_TBA and SQ_SHADER_TMA.
    pub handler: Handler,
}

/// What the engine sees of its registers, which the transport's thread accesses at the same time.
pub(crate) trait Registers: Send + Sync {
    /// Changes an HQD's registers.
    fn change(&self, slot: Slot, change: &mut dyn FnMut(&mut Image));
    /// Changes the registers of a queue that leaves, unless the driver has cleared CP_HQD_ACTIVE
    /// and so made them its own.
    fn leave(&self, slot: Slot, change: &mut dyn FnMut(&mut Image));
    /// Whether the slot's micro engine is halted.
    fn is_halted(&self, slot: Slot) -> bool;
    /// Whether doorbells reach the slot's engine.
    fn doorbells_on(&self, slot: Slot) -> bool;
    /// How long waves may go on after a preemption was asked for; `None`: until they end.
    fn grace(&self) -> Option<Duration>;
    /// CPC_INT_CNTL of the slot's pipe.
    fn int_cntl(&self, slot: Slot) -> u32;
    /// A VMID's bank.
    fn vmid(&self, vmid: u8) -> Vmid;
    /// Sets a VMID's bank.
    fn set_vmid(&self, vmid: u8, bank: Vmid);
}

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
    pub processes: Vec<super::sched::process::Process>,
    /// The queues that the scheduler runs.
    pub turns: Turns,
    /// Copy queues that are mapped.
    pub copies: Vec<super::sched::copies::Copying>,
    /// Names of processes for the interpreter: one per PASID that has waves, or has its turn.
    pub tags: HashMap<u16, u8>,
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
            cu: ComputeUnit::for_target(generation.isa),
        }
    }

    /// One round over a queue, of which the scheduler's firmware takes the packets if it is the
    /// kernel's; whether anything happened.
    pub fn step(&mut self, slot: Slot) -> bool {
        let worked = self.look_at_doorbell(slot);
        if self.role(slot) == Some(Role::User) && !self.regs.is_halted(slot) {
            return self.step_user(slot) | worked;
        }
        worked
    }

    /// Takes note of a ring of a queue's doorbell.
    fn look_at_doorbell(&mut self, slot: Slot) -> bool {
        if !self.env.doorbells().is_enabled() || !self.regs.doorbells_on(slot) {
            return false;
        }
        let env = self.env.clone();
        let Some(h) = self.hqd(slot) else {
            return false;
        };
        let value = env.doorbells().load(h.q.doorbell);
        if value == h.rung || value == NOT_RUNG {
            return false;
        }
        h.rung = value;
        let name = slot.to_string();
        env.trace().event(
            "doorbell",
            &[
                ("index", Value::Num(h.q.doorbell.into())),
                ("value", Value::Hex(value)),
                ("queue", Value::Text(&name)),
            ],
        );
        // AQL: the index of the last packet written; PM4: the write pointer.
        let units = if h.q.aql {
            value.checked_add(1)
        } else {
            Some(value)
        };
        if !units.is_some_and(|units| h.q.advance(units)) {
            env.report().violation(format_args!(
                "doorbell {:#x} has {value:#x}, more than a ring ahead of the read pointer",
                h.q.doorbell
            ));
            return true;
        }
        if let Some(h) = self.hqds.get(slot.place()).and_then(Option::as_ref) {
            self.show_pointers(h);
        }
        true
    }

    /// Asks a queue to stop.
    pub fn stop(&mut self, slot: Slot, stop: Stop) {
        let grace = self.regs.grace();
        let Some(h) = self.hqd(slot) else { return };
        // A reset overrides the patience of the others.
        if h.stop != Some(Stop::Reset) {
            h.stop = Some(stop);
        }
        let go = match stop {
            Stop::Save if h.q.cwsr => {
                h.saves_at = grace.map(|grace| Instant::now() + grace);
                Go::Finish
            }
            Stop::Save | Stop::Drain => return,
            Stop::Reset => Go::Kill,
        };
        h.launched.set_all(go);
    }

    /// Completes a stop once no worker is on the queue.
    pub fn step_stop(&mut self, slot: Slot) -> bool {
        let Some(h) = self.hqd(slot) else {
            return false;
        };
        let Some(stop) = h.stop else { return false };
        let saves_at = h.saves_at.filter(|_| stop == Stop::Save);
        if saves_at.is_some_and(|at| Instant::now() >= at) {
            h.saves_at = None;
            h.launched.set_all(Go::Pause);
        }
        let ready = match stop {
            Stop::Save if h.q.cwsr || h.broken => h.launched.is_idle(),
            Stop::Save | Stop::Drain => !h.launched.has_waves() || h.broken && h.launched.is_idle(),
            Stop::Reset => h.launched.is_idle(),
        };
        if ready {
            self.disconnect(slot, stop);
        }
        ready
    }

    /// Gives up a queue's stop: it goes on where it is.
    pub fn go_on(&mut self, slot: Slot) {
        let units = &self.units;
        let place = self.hqds.get_mut(slot.place());
        let Some(h) = place.and_then(Option::as_deref_mut) else {
            return;
        };
        if h.stop.take() == Some(Stop::Save) && h.q.cwsr {
            h.launched.set_all(Go::Pause);
            h.launched.resume(h.owner.vmid, units);
        }
    }

    /// Forgets all queues and processes; waits for the workers' turns to end.
    pub fn drop_all(&mut self) {
        self.turns = Turns::default();
        for xcc in 0..self.facts.xccs {
            for slot in self.generation.slots.all() {
                self.drop_queue(slot.on(xcc));
            }
        }
        self.tags.clear();
        // The engines forget theirs by themselves.
        self.copies.clear();
        self.processes.clear();
        self.slots = Pool::default();
        self.vmids = Pool::default();
        self.gws = 0;
    }

    /// Drops a queue as it is, writing nothing back.
    pub fn drop_queue(&mut self, slot: Slot) {
        if let Some(h) = self.hqd(slot) {
            h.launched.set_all(Go::Kill);
            while !h.launched.is_idle() {
                std::thread::yield_now();
            }
            self.release(slot, false);
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
}
