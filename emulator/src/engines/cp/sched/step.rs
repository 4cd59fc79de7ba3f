// SPDX-License-Identifier: MIT OR Apache-2.0

//! One round over a queue: its doorbell, its packets, and its leaving when it was asked to.

use crate::device::doorbell::NOT_RUNG;
use crate::device::Env;
use crate::engines::cp::front::hqd::Role;
use crate::engines::cp::front::slot::{Pool, Slot};
use crate::engines::cp::launch::dispatch::Go;
use crate::engines::cp::mec::line::Turns;
use crate::engines::cp::mec::{Hqd, Mec, Stop};
use crate::memory::Hub;
use crate::report::Whose;
use crate::rules::{Event, Holds, Kind};
use crate::trace::Value;
use std::time::{Duration, Instant};

/// How often it is looked whether workgroups have ended.
const LOOK: Duration = Duration::from_micros(50);

impl Mec {
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
        let env = self.env.clone();
        let on = self.regs.doorbells_on(slot);
        let Some(h) = self.hqd(slot) else {
            return false;
        };
        if !env.doorbells().lets_through(h.q.doorbell) || !on {
            return false;
        }
        let value = env.doorbells().load(h.q.doorbell);
        if value == h.rung || value == NOT_RUNG {
            return false;
        }
        if h.role == Role::User {
            env.pass(&Event::of(Kind::Doorbell).with(&h.keys()));
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
        if !env.doorbells().reaches_graphics() {
            env.report().violation(format_args!(
                "doorbell {:#x} is not routed to the graphics core",
                h.q.doorbell
            ));
            return true;
        }
        // AQL: the index of the last packet written; PM4: the write pointer.
        let units = if h.q.aql {
            value.checked_add(1)
        } else {
            Some(value)
        };
        if !units.is_some_and(|units| h.q.advance(units)) {
            // Programs ring their own queues' doorbells.
            let (whose, whom) = match h.role {
                Role::User => (Whose::Program, "a program's queue"),
                Role::Kiq | Role::Hiq | Role::Kernel => (Whose::Driver, "a kernel's queue"),
            };
            env.report().record(
                whose,
                format_args!(
                    "doorbell {:#x} of {whom} has {value:#x}, more than a ring ahead of the read \
                     pointer",
                    h.q.doorbell
                ),
            );
            return true;
        }
        if h.role != Role::User {
            check_stored(&*env, h, slot.xcc(), value);
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
            Stop::Save if h.q.cwsr || h.broken => self.has_saved(slot),
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
            h.launched.resume(h.slot, h.owner.vmid, &h.loads, units);
        }
    }

    /// The device is reset, or ends: besides the queues, what caches hold back is lost. Its memory may be somebody
    /// else's by now.
    pub fn lose_all(&mut self) {
        for xcc in 0..self.facts.xccs {
            for slot in self.generation.slots.all() {
                self.kill(slot.on(xcc));
            }
        }
        self.units.lose();
        self.drop_all();
    }

    /// Forgets all queues and processes; waits for the workers' turns to end.
    pub fn drop_all(&mut self) {
        self.turns = Turns::default();
        for xcc in 0..self.facts.xccs {
            for slot in self.generation.slots.all() {
                self.drop_queue(slot.on(xcc));
            }
        }
        self.forget_all();
    }

    /// Forgets the scheduler's queues and resources. None of the queues is on an HQD any more.
    pub fn forget_all(&mut self) {
        self.turns = Turns::default();
        self.tags.clear();
        self.holds = Holds::default();
        // The engines forget theirs by themselves.
        self.copies.clear();
        self.processes.clear();
        self.show_users();
        self.slots = Pool::default();
        self.vmids = Pool::default();
        self.gws = 0;
    }

    /// Drops a queue as it is, writing nothing back.
    pub fn drop_queue(&mut self, slot: Slot) {
        if self.kill(slot) {
            self.release(slot, false);
        }
    }

    /// Kills a queue's waves and waits for the workers' turns to end. Says whether there is a queue.
    fn kill(&mut self, slot: Slot) -> bool {
        let Some(h) = self.hqd(slot) else {
            return false;
        };
        h.launched.set_all(Go::Kill);
        while !h.launched.is_idle() {
            std::thread::sleep(LOOK);
        }
        true
    }
}

/// A kernel queue's write pointer is in memory before its doorbell has it: from there firmware reads it
/// when the queue is mapped anew (Linux, `gfx_v9_0_ring_set_wptr_compute`, `kq_submit_packet`).
fn check_stored(env: &dyn Env, h: &Hqd, xcc: u8, rung: u64) {
    let stored = env.memory().space(Hub::Gfx(xcc), 0).load_u64(h.q.poll);
    if stored.is_ok_and(|stored| stored < rung) {
        env.report().violation(format_args!(
            "doorbell {:#x} of a kernel's queue has {rung:#x}, which its write pointer in memory has not reached",
            h.q.doorbell
        ));
    }
}
