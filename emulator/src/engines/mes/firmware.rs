// SPDX-License-Identifier: MIT OR Apache-2.0

//! The firmware: it owns the rings, looks at their doorbells, takes frames and writes their completions,
//! in order and in rounds ([`runner`]).

use super::failure::code;
use super::frame::{self, ErrorWord, Frame, Status, Words, CATEGORY_API};
use super::members::Members;
use super::regs::Order;
use super::ring::Ring;
use super::slot::{Bank, Pipe, PIPES};
use super::state::Control;
use super::state::Outcome;
use super::Shared;
use crate::device::doorbell::NOT_RUNG;
use crate::engines::cp::front::generation::GFX12;
use crate::engines::cp::front::hqd::{self, Image as Mqd};
use crate::engines::cp::front::slot::Slot;
use crate::engines::cp::launch::workers::Units;
use crate::engines::cp::mec::line::Entry;
use crate::engines::cp::mec::{Mec, Stop};
use crate::engines::runner;
use crate::memory::{Hub, Space, VmFault};
use crate::rules::{Effect, Event, Go, Holds, Kind};
use crate::trace::Value;
use rkfd_hw::mes::v12::{AddQueue, RemoveQueue};
use rkfd_hw::mes::FRAME_WORDS;
use std::sync::Arc;

/// A connected ring.
pub(super) struct Connected {
    pub ring: Ring,
    /// The doorbell's value when it was last looked at.
    rung: u64,
    /// Nothing more is taken from it: it can't be read.
    broken: bool,
}

/// The firmware.
pub(super) struct Firmware {
    pub shared: Arc<Shared>,
    pub rings: [Option<Connected>; PIPES],
    pub control: Control,
    /// User queues on HQDs and in line.
    pub mec: Mec,
    /// All user queues.
    pub members: Members,
    /// The aggregated doorbells' values when they were last looked at.
    aggregated: [u64; 5],
    /// Frames that the rules hold up.
    holds: Holds,
}

impl Firmware {
    /// A firmware without rings.
    pub fn new(shared: Arc<Shared>) -> Self {
        let env = shared.env.clone();
        let units = Units::new(&*env, &shared.facts, GFX12.isa, &shared.runner.wake);
        Self {
            mec: Mec::new(
                env,
                shared.facts,
                shared.sdma.clone(),
                &GFX12,
                shared.clone(),
                units,
            ),
            shared,
            rings: Default::default(),
            control: Control::default(),
            members: Members::default(),
            aggregated: Default::default(),
            holds: Holds::default(),
        }
    }

    /// Everything is lost: rings, queues and what frames have set up.
    fn drop_all(&mut self) {
        self.rings = Default::default();
        self.holds = Holds::default();
        self.control = Control::default();
        self.mec.drop_all();
        self.members = Members::default();
    }

    fn obey(&mut self, order: Order) {
        match order {
            Order::Connect(pipe, ring, image) => {
                if let Err(what) = hqd::check_beside_registers(&GFX12.mqd, self.space(), &image) {
                    self.shared.env.report().violation(format_args!("{what}"));
                }
                self.connect(pipe, *ring);
            }
            Order::Drop(Bank::Mes(pipe)) => self.disconnect(pipe),
            Order::Drop(Bank::Compute(slot)) => {
                let gone = self.mec.hqd(slot).map(|h| h.q.mqd);
                self.mec.drop_queue(slot);
                // Its packets are lost with it.
                self.mec.forget(Stop::Reset, |e| Some(e.queue.mqd) == gone);
            }
            Order::Dequeue(slot, request) => {
                let mqd = self.mec.hqd(slot).map(|h| h.q.mqd);
                let mut queues = self.members.queues.iter();
                if queues.any(|q| q.hung && Some(q.mqd) == mqd) {
                    // Its waves don't follow: they have to be reset, too.
                    return;
                }
                let stop = match request {
                    2 => Stop::Reset,
                    3 => Stop::Save,
                    _ => Stop::Drain,
                };
                self.stop(slot, stop);
            }
            // Without its waves the queue still has its HQD, unless it was asked to leave
            // (`mes_v12_0_reset_queue_mmio`).
            Order::Kill(slot) => {
                let image = *self.shared.regs().image(Bank::Compute(slot));
                if image.get(Mqd::CP_HQD_DEQUEUE_REQUEST) != 0 {
                    self.stop(slot, Stop::Reset);
                }
            }
        }
    }

    /// Asks the queue of an HQD to leave it.
    fn stop(&mut self, slot: Slot, how: Stop) {
        let mqd = self.mec.hqd(slot).map(|h| h.q.mqd);
        if !mqd.is_some_and(|mqd| self.members.is_wedged(mqd)) {
            self.mec.stop(slot, how);
        }
    }

    /// A ring of a level's doorbell: there may be work for all of the level's queues that wait.
    fn hear_aggregated(&mut self) -> bool {
        let mut heard = false;
        for level in 0..self.aggregated.len() {
            let Some(bell) = self.shared.regs().aggregated(level) else {
                continue;
            };
            let aggregated = self.control.aggregated.get(level).copied();
            let Some(last) = self.aggregated.get_mut(level) else {
                continue;
            };
            let value = self.shared.env.doorbells().load(bell);
            if aggregated == Some(bell) && std::mem::replace(last, value) != value {
                let chosen = |e: &Entry| usize::from(e.queue.level) == level;
                self.mec.turns.change(chosen, Entry::wake);
                heard = true;
            }
        }
        heard
    }

    /// Puts a checked ring on a pipe, whose registers have it.
    pub fn connect(&mut self, pipe: Pipe, ring: Ring) {
        let members = [
            ("pipe", Value::Num(pipe.index() as u64)),
            ("ring", Value::Hex(ring.base)),
            ("words", Value::Num(ring.size)),
            ("doorbell", Value::Num(ring.doorbell.into())),
        ];
        self.shared.env.trace().event("mes_ring", &members);
        if let Some(place) = self.rings.get_mut(pipe.index()) {
            *place = Some(Connected {
                ring,
                rung: NOT_RUNG,
                broken: false,
            });
        }
    }

    /// Takes a pipe's ring away. The scheduler's takes all that it manages with it.
    pub fn disconnect(&mut self, pipe: Pipe) {
        if let Some(connected) = self.rings.get_mut(pipe.index()).and_then(Option::take) {
            let mut regs = self.shared.regs();
            connected
                .ring
                .save_pointers(regs.image_mut(Bank::Mes(pipe)));
            regs.set_active(Bank::Mes(pipe), false);
        }
        self.control.forget(pipe);
        if pipe == Pipe::Scheduler {
            self.mec.drop_all();
            self.members = Members::default();
        }
    }

    fn look_at_doorbell(&mut self, pipe: Pipe) -> bool {
        let env = &self.shared.env;
        let Some(connected) = self.rings.get_mut(pipe.index()).and_then(Option::as_mut) else {
            return false;
        };
        if !env.doorbells().lets_through(connected.ring.doorbell) {
            return false;
        }
        let value = env.doorbells().load(connected.ring.doorbell);
        if value == connected.rung || value == NOT_RUNG {
            return false;
        }
        connected.rung = value;
        let members = [
            ("index", Value::Num(connected.ring.doorbell.into())),
            ("value", Value::Hex(value)),
            ("pipe", Value::Num(pipe.index() as u64)),
        ];
        env.trace().event("doorbell", &members);
        if !env.doorbells().reaches_graphics() {
            env.report().violation(format_args!(
                "doorbell {:#x} of MES is not routed to the graphics core",
                connected.ring.doorbell
            ));
        } else if !connected.ring.advance(value) {
            env.report().violation(format_args!(
                "doorbell {:#x} of MES has {value:#x}, which is not within a ring of the read pointer",
                connected.ring.doorbell
            ));
        } else {
            let poll = connected.ring.poll;
            let stored = env.memory().space(Hub::Gfx(0), 0).load_u64(poll);
            if stored.is_ok_and(|stored| stored < value) {
                env.report().violation(format_args!(
                    "the doorbell of MES has {value:#x}, which its write pointer in memory has not reached"
                ));
            }
        }
        true
    }

    /// Carries out the next frame of a pipe; whether anything happened.
    fn take_frame(&mut self, pipe: Pipe) -> bool {
        let Some(connected) = self.rings.get(pipe.index()).and_then(Option::as_ref) else {
            return false;
        };
        let frame_words = FRAME_WORDS as u64;
        let (rptr, wptr) = (connected.ring.rptr, connected.ring.wptr);
        if connected.broken || wptr - rptr < frame_words {
            return false;
        }
        let mut words: Words = [0; FRAME_WORDS];
        for (n, word) in words.iter_mut().enumerate() {
            let at = connected.ring.at(rptr + n as u64);
            match self.space().load_u32(at) {
                Ok(value) => *word = value,
                Err(fault) => {
                    self.fault("ring of MES", &fault);
                    if let Some(c) = self.rings.get_mut(pipe.index()).and_then(Option::as_mut) {
                        c.broken = true;
                    }
                    return true;
                }
            }
        }
        self.shared.regs().busy = true;
        let went_on = self.carry_out(pipe, &words);
        self.shared.regs().busy = false;
        if !went_on {
            return false;
        }
        // The frame may have taken its own ring away.
        let Some(connected) = self.rings.get_mut(pipe.index()).and_then(Option::as_mut) else {
            return true;
        };
        connected.ring.rptr += frame_words;
        let ring = connected.ring.clone();
        ring.save_pointers(self.shared.regs().image_mut(Bank::Mes(pipe)));
        if let Some(report) = ring.report {
            if let Err(fault) = self.space().store_u64(report, ring.rptr) {
                self.fault("read pointer of MES", &fault);
            }
        }
        true
    }

    /// Carries out a frame and writes its completion; false when it has to wait.
    fn carry_out(&mut self, pipe: Pipe, words: &Words) -> bool {
        let opcode = frame::opcode(words);
        let (parsed, status) = match frame::parse(words) {
            Ok(parsed) => parsed,
            Err(bad) => {
                self.shared
                    .env
                    .report()
                    .violation(format_args!("MES: {}", bad.what));
                let error = ErrorWord {
                    code: code::UNKNOWN,
                    opcode: bad.opcode,
                    misc: 0,
                    category: CATEGORY_API,
                };
                self.trace(pipe, words, "malformed");
                self.complete(bad.status.unwrap_or_default(), error.status());
                return true;
            }
        };
        let effect = match self.ask_rules(pipe, &parsed, opcode) {
            Go::Wait => return false,
            Go::First(effect) | Go::On(Some(effect)) => Some(effect),
            Go::On(None) => None,
        };
        let outcome = match effect {
            Some(Effect::Drop) => {
                self.trace(pipe, words, "dropped");
                return true;
            }
            Some(Effect::Fail(code)) => Outcome::Failed(ErrorWord {
                code,
                opcode,
                misc: 0,
                category: frame::CATEGORY_SCHEDULING,
            }),
            _ => self.execute(pipe, &parsed),
        };
        let (text, value) = match outcome {
            Outcome::Wait => return false,
            Outcome::Done => ("done", status.value),
            Outcome::Failed(error) => ("failed", error.status()),
        };
        if effect == Some(Effect::Twice) {
            // Nobody hears how it went.
            self.execute(pipe, &parsed);
        }
        self.trace(pipe, words, text);
        let answer = effect.map_or(Some(value), |effect| effect.answer(value));
        if let Some(value) = answer {
            self.complete(status, value);
        }
        true
    }

    /// What the rules make of a frame. Those of kernel queues have names of their own.
    fn ask_rules(&mut self, pipe: Pipe, frame: &Frame, opcode: u8) -> Go {
        let env = self.shared.env.clone();
        if !env.rules().is_about(Kind::Packet) {
            return Go::On(None);
        }
        let mut keys = vec![("pipe", pipe.index() as u64)];
        let name = match frame {
            Frame::AddQueue(p) => {
                keys.push(("doorbell", p.get(AddQueue::DOORBELL_OFFSET)));
                keys.push(("pasid", p.get(AddQueue::PROCESS_ID)));
                match p.get(AddQueue::MAP_LEGACY_KQ) {
                    0 => "ADD_QUEUE",
                    _ => "ADD_LEGACY_QUEUE",
                }
            }
            Frame::RemoveQueue(p) => {
                keys.push(("doorbell", p.get(RemoveQueue::DOORBELL_OFFSET)));
                match p.get(RemoveQueue::UNMAP_LEGACY_QUEUE) {
                    0 => "REMOVE_QUEUE",
                    _ => "REMOVE_LEGACY_QUEUE",
                }
            }
            _ => frame::name(opcode),
        };
        let event = Event {
            kind: Kind::Packet,
            ring: "MES",
            name,
            keys: &keys,
        };
        let ring = self.rings.get(pipe.index()).and_then(Option::as_ref);
        let rptr = ring.map_or(0, |connected| connected.ring.rptr);
        self.holds
            .ask(env.rules(), pipe.index() as u64, rptr, &event)
    }

    fn complete(&self, status: Status, value: u64) {
        if status.address == 0 {
            return;
        }
        if let Err(fault) = self.space().store_u64(status.address, value) {
            self.fault("completion fence of MES", &fault);
        }
    }

    fn trace(&self, pipe: Pipe, words: &Words, outcome: &str) {
        let members = [
            ("pipe", Value::Num(pipe.index() as u64)),
            ("op", Value::Text(frame::name(frame::opcode(words)))),
            ("outcome", Value::Text(outcome)),
            ("words", Value::Words(words)),
        ];
        self.shared.env.trace().event("mes", &members);
    }

    /// Records an access of the firmware that failed.
    pub fn fault(&self, what: &str, fault: &VmFault) {
        let env = &self.shared.env;
        env.report().violation(format_args!("{what}: {fault}"));
        env.vm_fault(fault);
    }

    /// The firmware's address space.
    pub fn space(&self) -> Space<'_> {
        self.shared.env.memory().space(Hub::Gfx(0), 0)
    }
}

impl runner::Firmware for Firmware {
    fn step(&mut self) -> bool {
        let orders = std::mem::take(&mut self.shared.regs().orders);
        let mut worked = !orders.is_empty();
        for order in orders {
            self.obey(order);
        }
        self.shared.env.poll_interrupts();
        for pipe in Pipe::ALL {
            worked |= self.look_at_doorbell(pipe);
            worked |= self.take_frame(pipe);
        }
        for slot in GFX12.slots.all() {
            if self.mec.role(slot).is_some() {
                worked |= self.mec.step(slot) | self.mec.step_stop(slot);
            }
        }
        worked |= self.mec.step_copies();
        if self.mec.turns.waits() {
            worked |= self.hear_aggregated() | self.mec.step_turns();
        }
        self.mec.turns.hears = self.control.hears && self.shared.regs().hears_unmapped();
        if worked {
            self.log_changes();
        }
        worked
    }

    fn show_busy(&mut self) {
        self.shared.regs().busy = self.mec.is_busy();
    }

    fn listens(&self) -> bool {
        self.rings.iter().any(Option::is_some)
    }

    fn reset(&mut self) {
        self.mec.lose_all();
        self.drop_all();
        *self.shared.regs() = self.shared.start_up();
    }

    fn soft_reset(&mut self, _: u8, _: u32) {
        self.drop_all();
        self.shared.regs().lose_cp(&self.shared.facts);
        self.shared.env.trace().event("soft_reset", &[]);
    }

    fn end(&mut self) {
        self.mec.lose_all();
    }
}
