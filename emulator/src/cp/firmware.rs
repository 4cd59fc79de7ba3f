// SPDX-License-Identifier: MIT OR Apache-2.0

//! The firmware's thread: it owns the queues, looks at doorbells and drives everything.

use super::aql::Aql;
use super::dispatch::Go;
use super::hqd::{Queue, Role};
use super::regs::Order;
use super::slot::{Pool, Slot, SLOTS};
use super::turns::Turns;
use super::units::Units;
use super::Shared;
use crate::device::Soc;
use crate::memory::{Hub, Space};
use crate::trace::Value;
use rkfd_hw::mqd::v9::ComputeMqd as Mqd;
use rkfd_hw::pm4::RunList;
use rkfd_isa::ComputeUnit;
use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Rounds without work before the thread sleeps between looks.
const SPIN: u32 = 200;
/// The longest sleep while a queue is connected, in microseconds.
const LONGEST: u64 = 1000;
/// The longest sleep while none is.
const NO_QUEUE: Duration = Duration::from_millis(100);
/// A doorbell's content while it was not rung: no queue gets that far.
pub(super) const NOT_RUNG: u64 = u64::MAX;

/// What an unmap wants of a queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stop {
    /// Waves are saved where they are, so that they can go on later.
    Save,
    /// Packets that were begun are completed.
    Drain,
    /// Waves end; what was begun is lost.
    Reset,
}

/// Whom a queue belongs to.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(super) struct Owner {
    /// Address space.
    pub vmid: u8,
    /// Process, 0 for the kernel.
    pub pasid: u16,
    /// The interpreter's name for the process.
    pub tag: u8,
}

/// A loaded queue.
pub(super) struct Hqd {
    pub slot: Slot,
    pub role: Role,
    pub q: Queue,
    /// The MQD's words as they were loaded.
    pub image: Box<Mqd>,
    pub owner: Owner,
    /// The doorbell's value when it was last looked at.
    pub rung: u64,
    /// Nothing more is taken from it: it met an error.
    pub broken: bool,
    /// An unmap by SELECT_ALL_NON_STATIC leaves it.
    pub is_static: bool,
    pub stop: Option<Stop>,
    pub aql: Aql,
    /// When it was connected, and its read pointer then.
    pub since: Instant,
    pub began: u64,
    /// How long it may stay when others wait.
    pub quantum: Duration,
}

impl Hqd {
    /// Whether it has something to do.
    pub(super) fn is_busy(&self) -> bool {
        !self.broken && (!self.aql.is_empty() || self.q.rptr < self.q.wptr)
    }

    /// Whether a packet was completed since it was connected.
    pub(super) fn has_worked(&self) -> bool {
        self.q.rptr != self.began
    }
}

/// A process of the run list.
#[derive(Clone, Copy, Debug)]
pub(super) struct Process {
    pub owner: Owner,
    pub queues: u32,
    /// When it got its VMID.
    pub since: Instant,
    /// How long it may keep it when others wait.
    pub quantum: Duration,
    /// Its queues are asked to leave, for its VMID.
    pub leaving: bool,
}

/// An unmap that the HIQ waits for.
#[derive(Clone, Debug)]
pub(super) struct Unmapping {
    pub slots: Vec<Slot>,
    pub until: Instant,
}

/// State of a queue that was unmapped with work in it, by its MQD's address.
///
/// The chip writes it to the queue's context save area; here it stays in the device.
pub(super) struct Saved {
    pub aql: Aql,
    pub broken: bool,
    pub tag: u8,
}

/// The firmware.
pub struct Firmware {
    pub(super) shared: Arc<Shared>,
    pub(super) soc: Arc<Soc>,
    pub(super) units: Units,
    pub(super) hqds: Vec<Option<Box<Hqd>>>,
    /// HQDs that the HIQ may use.
    pub(super) slots: Pool,
    /// VMIDs that it may use.
    pub(super) vmids: Pool,
    /// The longest time for an unmap.
    pub(super) latency: Duration,
    pub(super) resources_set: bool,
    pub(super) processes: Vec<Process>,
    /// The run list.
    pub(super) turns: Turns,
    pub(super) unmapping: Option<Unmapping>,
    /// A run list that starts when the one before it has stopped.
    pub(super) next_list: Option<RunList>,
    pub(super) saved: HashMap<u64, Saved>,
    /// Names of processes for the interpreter: one per PASID that has waves somewhere.
    pub(super) tags: HashMap<u16, u8>,
    /// For kernel descriptors and trial launches.
    pub(super) cu: ComputeUnit,
}

impl Firmware {
    /// A firmware without queues.
    pub fn new(shared: Arc<Shared>, units: Units) -> Self {
        Self {
            soc: shared.soc.clone(),
            shared,
            units,
            hqds: (0..SLOTS).map(|_| None).collect(),
            slots: Pool::default(),
            vmids: Pool::default(),
            latency: Duration::ZERO,
            resources_set: false,
            processes: Vec::new(),
            turns: Turns::default(),
            unmapping: None,
            next_list: None,
            saved: HashMap::new(),
            tags: HashMap::new(),
            cu: ComputeUnit::new(),
        }
    }

    /// Runs until the device ends.
    pub fn run(mut self) {
        let mut idle = 0u32;
        while !self.shared.stop.load(Ordering::Acquire) {
            self.reset_if_asked();
            if self.step() {
                idle = 0;
                continue;
            }
            idle = idle.saturating_add(1);
            self.shared.regs().busy = self.hqds.iter().flatten().any(|h| !h.aql.is_empty());
            if idle == SPIN {
                // Who follows the trace sees all that led to the quiet.
                self.soc.trace.flush();
            }
            if idle < SPIN {
                std::thread::yield_now();
            } else if self.hqds.iter().all(Option::is_none) {
                self.shared.wake.wait(NO_QUEUE);
            } else {
                let longer = u64::from(idle - SPIN) / 4 * 10;
                self.shared
                    .wake
                    .wait(Duration::from_micros((20 + longer).min(LONGEST)));
            }
        }
        self.drop_all();
    }

    /// One round over everything; whether anything happened.
    pub(super) fn step(&mut self) -> bool {
        let orders = std::mem::take(&mut self.shared.regs().orders);
        let mut worked = !orders.is_empty();
        for order in orders {
            self.obey(order);
        }
        self.soc.interrupts.poll();
        for slot in Slot::all() {
            if self.hqds.get(slot.index()).is_none_or(Option::is_none) {
                continue;
            }
            worked |= self.look_at_doorbell(slot);
            if self.shared.regs().is_halted(slot) {
                continue;
            }
            worked |= match self.role(slot) {
                Some(Role::User) => self.step_user(slot),
                Some(_) => self.step_pm4(slot),
                None => false,
            };
            worked |= self.step_stop(slot);
        }
        worked | self.step_unmapping() | self.step_turns()
    }

    fn obey(&mut self, order: Order) {
        match order {
            Order::Connect(slot, queue, role) => {
                let image = Box::new(*self.shared.regs().image(slot));
                self.connect(slot, role, *queue, image, Owner::default(), false);
            }
            Order::Drop(slot) => self.drop_queue(slot),
            Order::Dequeue(slot, request) => {
                let stop = match request {
                    2 => Stop::Reset,
                    3 => Stop::Save,
                    _ => Stop::Drain,
                };
                self.stop(slot, stop);
            }
            Order::Kill(slot) => self.stop(slot, Stop::Reset),
        }
    }

    /// Takes note of a ring of a queue's doorbell.
    fn look_at_doorbell(&mut self, slot: Slot) -> bool {
        if !self.soc.doorbells.is_enabled() || !self.shared.regs().doorbells_on() {
            return false;
        }
        let soc = self.soc.clone();
        let Some(h) = self.hqd(slot) else {
            return false;
        };
        let value = soc.doorbells.load(h.q.doorbell);
        if value == h.rung || value == NOT_RUNG {
            return false;
        }
        h.rung = value;
        let name = slot.to_string();
        soc.trace.event(
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
            soc.report.violation(format_args!(
                "doorbell {:#x} says {value:#x}, more than a ring ahead of the read pointer",
                h.q.doorbell
            ));
            return true;
        }
        let q = h.q.clone();
        q.save_pointers(self.shared.regs().image_mut(slot));
        true
    }

    /// Asks a queue to stop.
    pub(super) fn stop(&mut self, slot: Slot, stop: Stop) {
        let Some(h) = self.hqd(slot) else { return };
        // A reset overrides the patience of the others.
        if h.stop != Some(Stop::Reset) {
            h.stop = Some(stop);
        }
        let go = match stop {
            Stop::Save if h.q.cwsr => Go::Pause,
            Stop::Save | Stop::Drain => return,
            Stop::Reset => Go::Kill,
        };
        h.aql.set_all(go);
    }

    /// Completes a stop once no worker is on the queue.
    fn step_stop(&mut self, slot: Slot) -> bool {
        let Some(h) = self.hqd(slot) else {
            return false;
        };
        let Some(stop) = h.stop else { return false };
        let ready = match stop {
            Stop::Save if h.q.cwsr || h.broken => h.aql.is_idle(),
            Stop::Save | Stop::Drain => !h.aql.has_waves() || h.broken && h.aql.is_idle(),
            Stop::Reset => h.aql.is_idle(),
        };
        if ready {
            self.disconnect(slot, stop);
        }
        ready
    }

    fn reset_if_asked(&mut self) {
        let shared = self.shared.clone();
        let mut reset = shared
            .reset
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        if reset.done == reset.asked {
            return;
        }
        let asked = reset.asked;
        drop(reset);
        self.drop_all();
        *self.shared.regs() = super::regs::Regs::new(self.soc.chip);
        reset = shared
            .reset
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        reset.done = asked;
        self.shared.reset_done.notify_all();
    }

    /// Forgets all queues and processes; waits for the workers' turns to end.
    fn drop_all(&mut self) {
        self.turns = Turns::default();
        for slot in Slot::all() {
            self.drop_queue(slot);
        }
        for saved in self.saved.values() {
            saved.aql.set_all(Go::Kill);
        }
        self.saved.clear();
        self.tags.clear();
        self.processes.clear();
        self.unmapping = None;
        self.next_list = None;
        self.slots = Pool::default();
        self.vmids = Pool::default();
        self.resources_set = false;
    }

    /// Drops a queue as it is, writing nothing back.
    fn drop_queue(&mut self, slot: Slot) {
        if let Some(h) = self.hqd(slot) {
            h.aql.set_all(Go::Kill);
            while !h.aql.is_idle() {
                std::thread::yield_now();
            }
            self.release(slot, false);
        }
    }

    pub(super) fn hqd(&mut self, slot: Slot) -> Option<&mut Hqd> {
        self.hqds.get_mut(slot.index())?.as_deref_mut()
    }

    pub(super) fn role(&self, slot: Slot) -> Option<Role> {
        self.hqds.get(slot.index())?.as_ref().map(|h| h.role)
    }

    /// An address space of the graphics hub.
    pub(super) fn space(&self, vmid: u8) -> Space<'_> {
        self.soc.memory.space(Hub::Gfx, vmid)
    }

    pub(super) fn violation(&self, what: std::fmt::Arguments<'_>) {
        self.soc.report.violation(what);
    }
}
