// SPDX-License-Identifier: MIT OR Apache-2.0

//! The firmware: it owns the queues, looks at doorbells and drives everything, in rounds
//! ([`runner`]).

use super::regs::Order;
use super::stuck::BadQueues;
use super::Shared;
use crate::device::Env;
use crate::engines::cp::front::generation::GFX9_4_3;
use crate::engines::cp::front::hqd::{self, Role};
use crate::engines::cp::front::slot::Slot;
use crate::engines::cp::launch::workers::Units;
use crate::engines::cp::mec::loads::Loads;
use crate::engines::cp::mec::{Mec, Owner, Stop};
use crate::engines::runner;
use crate::rules::{Effect, Holds};
use crate::trace::Value;
use rkfd_hw::pm4::RunList;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// An unmap that the HIQ waits for.
#[derive(Clone, Debug)]
pub(crate) struct Unmapping {
    pub slots: Vec<Slot>,
    pub until: Instant,
}

/// A list that is chained to itself: the driver keeps it as it is while it runs.
pub(crate) struct Chain {
    pub at: u64,
    pub words: Vec<u32>,
    pub read_again: Instant,
}

/// The firmware.
pub struct Firmware {
    pub(crate) shared: Arc<Shared>,
    pub(crate) env: Arc<dyn Env>,
    pub(crate) mec: Mec,
    /// The longest time for an unmap.
    pub(crate) latency: Duration,
    pub(crate) resources_set: bool,
    /// The XCCs, as bits, whose KIQ was told what the kernel's own queues have.
    pub(crate) reserved: u64,
    pub(crate) unmapping: Option<Unmapping>,
    /// A run list that starts when the one before it has stopped.
    pub(crate) next_list: Option<RunList>,
    /// The run list that is read for ever.
    pub(crate) chain: Option<Chain>,
    /// Queues that don't leave, by the rules.
    bad: BadQueues,
    /// Packets that the rules hold up.
    pub(crate) holds: Holds,
    /// What the rules do to the next fence of an XCC's kernel queues.
    pub(crate) spoilt: HashMap<u8, Effect>,
    /// Where the read pointer is of a queue, by its place, whose WAIT_REG_MEM has written its register.
    pub(super) written: HashMap<usize, u64>,
    /// The HIQ was found rung before every XCC has one.
    pub(super) hiq_waited: bool,
}

impl Firmware {
    /// A firmware without queues.
    pub fn new(shared: Arc<Shared>) -> Self {
        let env = shared.env.clone();
        let units = Units::new(&*env, &shared.facts, GFX9_4_3.isa, &shared.runner.wake);
        Self {
            mec: Mec::new(
                env.clone(),
                shared.facts,
                shared.sdma.clone(),
                &GFX9_4_3,
                shared.clone(),
                units,
            ),
            env,
            shared,
            latency: Duration::ZERO,
            resources_set: false,
            reserved: 0,
            unmapping: None,
            next_list: None,
            chain: None,
            bad: BadQueues::default(),
            holds: Holds::default(),
            spoilt: HashMap::new(),
            written: HashMap::new(),
            hiq_waited: false,
        }
    }

    fn obey(&mut self, order: Order) {
        match order {
            Order::Connect(slot, queue, role, image) => {
                if role == Role::Kiq {
                    self.reserved &= !(1 << slot.xcc());
                }
                let space = self.mec.space_on(slot.xcc(), 0);
                if let Err(what) = hqd::check_beside_registers(&GFX9_4_3.mqd, space, &image) {
                    self.violation(format_args!("{what}"));
                }
                let load = Loads::alone(slot.xcc(), queue.mqd, image);
                self.mec
                    .connect(slot, role, *queue, load, Owner::default(), None);
            }
            Order::Drop(slot) => {
                let slot = self.mec.loaded_at(slot);
                self.bad.ends(&mut self.mec, slot);
                self.mec.drop_queue(slot);
            }
            Order::Dequeue(slot, request) => {
                let (slot, here) = (self.mec.loaded_at(slot), slot);
                if self.mec.role(slot).is_none() {
                    // One of a driver before.
                    self.shared.regs(here.xcc()).set_active(here, false);
                }
                let stop = match request {
                    2 => Stop::Reset,
                    3 => Stop::Save,
                    _ => Stop::Drain,
                };
                self.mec.stop(slot, stop);
            }
            Order::Kill(slot) => {
                let (slot, here) = (self.mec.loaded_at(slot), slot);
                if self.mec.role(slot).is_none() {
                    // Another XCC's reset has ended the queue.
                    self.shared.regs(here.xcc()).set_active(here, false);
                }
                if !self.bad.is_wedged(&mut self.mec, slot) {
                    self.bad.ends(&mut self.mec, slot);
                    self.mec.stop(slot, Stop::Reset);
                }
            }
        }
    }

    fn lose_all(&mut self) {
        self.mec.lose_all();
        self.forget_lists();
    }

    /// Run lists and their resources are lost.
    fn forget_lists(&mut self) {
        self.unmapping = None;
        self.next_list = None;
        self.chain = None;
        self.resources_set = false;
        self.reserved = 0;
        self.bad = BadQueues::default();
        self.holds = Holds::default();
        self.spoilt.clear();
        self.written.clear();
        self.hiq_waited = false;
    }

    pub(crate) fn violation(&self, what: std::fmt::Arguments<'_>) {
        self.env.report().violation(what);
    }
}

impl runner::Firmware for Firmware {
    fn step(&mut self) -> bool {
        let taken = |xcc| std::mem::take(&mut self.shared.regs(xcc).orders);
        let orders: Vec<Order> = self.shared.xccs().flat_map(taken).collect();
        let mut worked = !orders.is_empty();
        for order in orders {
            self.obey(order);
        }
        self.env.poll_interrupts();
        let xccs = self.shared.xccs();
        for slot in xccs.flat_map(|xcc| GFX9_4_3.slots.all().map(move |slot| slot.on(xcc))) {
            let Some(role) = self.mec.role(slot) else {
                continue;
            };
            // The first XCC's HIQ takes the packets for all.
            let follows = role == Role::Hiq && slot.xcc() != 0;
            worked |= !follows && self.mec.step(slot);
            if self.shared.regs(slot.xcc()).is_halted(slot) {
                continue;
            }
            worked |= role != Role::User && !follows && self.step_pm4(slot);
            if !self.bad.stays(&mut self.mec, slot) {
                worked |= self.mec.step_stop(slot);
            }
        }
        self.read_again();
        worked | self.step_unmapping() | self.mec.step_turns()
    }

    fn show_busy(&mut self) {
        for xcc in self.shared.xccs() {
            self.shared.regs(xcc).busy = self.mec.is_busy();
        }
    }

    fn listens(&self) -> bool {
        self.mec.hqds.iter().any(Option::is_some)
    }

    /// The XCC's queues are dropped as they are, with their waves. What the partition's scheduler knows
    /// is the first XCC's.
    fn soft_reset(&mut self, xcc: u8, value: u32) {
        for slot in GFX9_4_3.slots.all().map(|slot| slot.on(xcc)) {
            let at = self.mec.loaded_at(slot);
            self.bad.ends(&mut self.mec, at);
            self.mec.drop_queue(at);
        }
        if xcc == 0 {
            self.mec.forget_all();
            self.forget_lists();
        }
        self.spoilt.remove(&xcc);
        self.shared.regs(xcc).soft_reset(value);
        let members = [("xcc", Value::Num(xcc.into()))];
        self.env.trace().event("soft_reset", &members);
    }

    fn reset(&mut self) {
        self.lose_all();
        for xcc in self.shared.xccs() {
            *self.shared.regs(xcc) = super::start_up(&*self.env, &self.shared.facts, xcc);
        }
    }

    fn end(&mut self) {
        self.lose_all();
    }
}
