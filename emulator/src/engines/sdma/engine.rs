// SPDX-License-Identifier: MIT OR Apache-2.0

//! An engine's thread: it owns the engine's queues, takes packets from them in turn, and looks at
//! doorbells more and more seldom while there is nothing to do.

use super::execute::{execute, Done, Halt};
use super::generation::TICK;
use super::memory::Abort;
use super::packet::{self, Bad, Packet};
use super::queue::{Loaded, Queue};
use super::{Engine, Engines, Order, State, Stop, PER_DIE, PLACES};
use crate::device::doorbell::NOT_RUNG;
use crate::device::Env;
use crate::engines::Idle;
use crate::memory::{Hub, VmFault};
use crate::rules::{Event, Go, Holds, Kind};
use crate::trace::Value;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

/// Packets of a queue before the next one's turn.
const TURN: u32 = 64;
/// The longest sleep while no queue is connected: orders wake it.
const NO_QUEUE: Duration = Duration::from_secs(1);

/// The thread.
pub(super) struct Worker {
    env: Arc<dyn Env>,
    all: Arc<Engines>,
    number: u8,
    queues: [Option<Loaded>; PLACES],
}

impl Worker {
    pub fn new(all: Arc<Engines>, number: u8) -> Self {
        Self {
            env: all.env.clone(),
            all,
            number,
            queues: Default::default(),
        }
    }

    /// Runs until the device ends.
    pub fn run(mut self) {
        let (env, all) = (self.env.clone(), self.all.clone());
        let Some(engine) = all.engines.get(usize::from(self.number)) else {
            return;
        };
        let mut idle = Idle::default();
        while !all.ends() {
            env.pause().hold();
            if self.step(engine) {
                idle.end();
                continue;
            }
            if idle.round() {
                env.trace().flush();
            }
            if self.queues.iter().all(Option::is_none) {
                engine.wake.wait(NO_QUEUE);
            } else {
                idle.wait(&engine.wake);
            }
        }
    }

    /// One round over the queues; whether anything happened.
    fn step(&mut self, engine: &Engine) -> bool {
        let mut worked = self.obey(engine);
        let hung = |h: &Loaded| h.hung.is_some();
        let hung = self.queues.iter().flatten().any(hung);
        let switches = !self.all.shape.generation.switches_if_told || engine.regs.switches();
        for n in 0..PLACES {
            let Some(mut h) = self.queues.get_mut(n).and_then(Option::take) else {
                continue;
            };
            worked |= self.look_at_doorbell(&mut h);
            // A packet that doesn't end has the engine: no other queue gets further, and its own can't be
            // taken off between packets.
            let has_turn = if hung {
                h.hung.is_some()
            } else {
                h.stop.is_none() && (h.q.is_kernels() || switches)
            };
            if has_turn && engine.regs.runs() {
                let ran = self.turn(engine, &mut h);
                h.worked |= ran;
                worked |= ran;
            }
            if let Some(stop) = h
                .stop
                .filter(|stop| *stop == Stop::Reset || h.hung.is_none())
            {
                self.disconnect(engine, h, stop);
                worked = true;
                continue;
            }
            self.show(engine, &h);
            if let Some(place) = self.queues.get_mut(n) {
                *place = Some(h);
            }
        }
        worked
    }

    /// Takes orders.
    fn obey(&mut self, engine: &Engine) -> bool {
        let mut shared = engine.shared();
        if shared.done < shared.asked {
            // Reset: everything is dropped as it is.
            drop_all(&*self.env, &mut self.queues);
            shared.orders.clear();
            shared.views = Default::default();
            engine.abort.store(0, Ordering::Release);
            shared.done = shared.asked;
            engine.reset_done.notify_all();
            return true;
        }
        let orders = std::mem::take(&mut shared.orders);
        drop(shared);
        let any = !orders.is_empty();
        for order in orders {
            match order {
                Order::DropAll => {
                    drop_all(&*self.env, &mut self.queues);
                    self.env
                        .trace()
                        .event("sdma_reset", &[("engine", Value::Num(self.number.into()))]);
                    engine.abort.store(0, Ordering::Release);
                }
                Order::Connect(q) => {
                    let place = usize::from(q.slot.queue);
                    // The kernel's, taken off and set up again meanwhile.
                    if let Some(old) = self.queues.get_mut(place).and_then(Option::take) {
                        self.disconnect(engine, old, Stop::Preempt);
                    }
                    self.trace_queue("queue_connect", &q);
                    if let Some(place) = self.queues.get_mut(place) {
                        *place = Some(Loaded {
                            q: *q,
                            tried: 0,
                            hung: None,
                            rung: NOT_RUNG,
                            halted: false,
                            stop: None,
                            worked: false,
                            holds: Holds::default(),
                        });
                    }
                }
                Order::Stop(queue, stop) => {
                    if let Some(h) = self.loaded(queue) {
                        h.stop = Some(stop);
                    }
                    if stop == Stop::Reset {
                        engine.abort.fetch_and(!(1 << queue), Ordering::Release);
                    }
                }
                Order::GoOn(queue) => {
                    if let Some(h) = self.loaded(queue) {
                        h.stop = None;
                    }
                }
            }
        }
        any
    }

    fn loaded(&mut self, queue: u8) -> Option<&mut Loaded> {
        self.queues.get_mut(usize::from(queue))?.as_mut()
    }

    /// Takes note of a ring of a queue's doorbell.
    fn look_at_doorbell(&self, h: &mut Loaded) -> bool {
        let bells = &self.env.doorbells();
        if !bells.lets_through(h.q.doorbell) {
            return false;
        }
        let value = bells.load(h.q.doorbell);
        if value == h.rung || value == NOT_RUNG {
            return false;
        }
        h.rung = value;
        let name = h.q.name();
        self.env.trace().event(
            "doorbell",
            &[
                ("index", Value::Num(h.q.doorbell.into())),
                ("value", Value::Hex(value)),
                ("queue", Value::Text(&name)),
            ],
        );
        if !bells.reaches_sdma(self.number, h.q.doorbell) {
            self.env.report().violation(format_args!(
                "doorbell {:#x} is not routed to SDMA engine {}",
                h.q.doorbell, self.number
            ));
        } else if !h.q.advance(value) {
            let what = "a doorbell has a write pointer inside a word, or more than a ring ahead";
            self.wrong(&h.q, what);
        }
        true
    }

    /// Records what is wrong: of a process' queue it is the program's fault, of the kernel's the
    /// driver's.
    fn wrong(&self, q: &Queue, what: impl std::fmt::Display) {
        let report = self.env.report();
        match q.is_kernels() {
            true => report.violation(format_args!("SDMA, the kernel's queue: {what}")),
            false => report.fault(format_args!("SDMA: {what}")),
        }
    }

    /// Executes packets of a queue; whether there were any.
    fn turn(&self, engine: &Engine, h: &mut Loaded) -> bool {
        let mut any = false;
        for _ in 0..TURN {
            let turn = engine.turn.lock().unwrap_or_else(PoisonError::into_inner);
            if h.halted || !h.q.has_work() || !engine.regs.runs() {
                break;
            }
            let hung = h.hung.take();
            let was_hung = hung.is_some();
            let fetched = hung.map_or_else(|| self.fetch(engine, h), Ok);
            let done = fetched.and_then(|(words, packet)| {
                if h.tried == 0 {
                    self.trace_packet(h, &words);
                }
                let size = words.len() as u64;
                if self.hangs(h, &packet, was_hung) {
                    h.tried += 1;
                    h.hung = Some((words, packet));
                    return Ok((size, Done::Waits));
                }
                let _busy = self.env.load().copies.work();
                let begin = self.env.trace().now();
                let clock = Instant::now();
                let done = execute(&self.all, h, &packet, Abort::of(engine, &h.q));
                let took = u64::try_from(clock.elapsed().as_nanos());
                h.q.worked = h.q.worked.saturating_add(took.unwrap_or(0));
                let done = done?;
                self.trace_done(h, &words, begin);
                Ok((size, done))
            });
            match done {
                Ok((_, Done::Waits)) => break,
                Ok((words, Done::Next(skip))) => self.advance(h, words + skip),
                Ok((words, Done::Into(ib))) => {
                    self.advance(h, words);
                    h.q.ib = Some(ib);
                }
                Err(why) => {
                    self.halt(h, why);
                    break;
                }
            }
            drop(turn);
            h.tried = 0;
            any = true;
            if !engine.shared().orders.is_empty() {
                break;
            }
        }
        any
    }

    /// Whether a packet doesn't go on now, by the rules.
    fn hangs(&self, h: &mut Loaded, packet: &Packet, did: bool) -> bool {
        let kind = match (h.q.is_kernels(), packet) {
            (true, Packet::FillWords { .. } | Packet::FillBytes { .. }) => Kind::Fill,
            (true, Packet::Copy { .. }) => Kind::KernelCopy,
            (true, _) => return false,
            (false, _) => Kind::Copy,
        };
        if !self.env.rules().is_about(kind) && !did {
            return false;
        }
        let keys = [("engine", self.number.into())];
        let event = Event::of(kind).with(&keys);
        h.holds.ask(self.env.rules(), 0, h.q.rptr, &event) == Go::Wait
    }

    /// The packet that comes next.
    fn fetch(&self, engine: &Engine, h: &Loaded) -> Result<(Vec<u32>, Packet), Halt> {
        let generation = self.all.shape.generation;
        if !engine.regs.translates(generation) {
            // Also for a process' queue this is the driver's doing.
            let what = "an engine takes packets while UTC_L1_ENABLE of SDMA_CNTL is 0";
            self.env.report().violation(format_args!("{what}"));
            return Err(Halt::Aborted);
        }
        let space = (self.env.memory()).space((generation.hub)(self.number), h.q.vmid);
        let left = match h.q.ib {
            Some(ib) => ib.words - ib.at,
            None => (h.q.wptr - h.q.rptr) / 4,
        };
        let word = |n: u64| {
            space.load_u32(match h.q.ib {
                Some(ib) => ib.base.wrapping_add((ib.at + n) * 4),
                None => h.q.at(h.q.rptr + n * 4),
            })
        };
        let mut words = vec![word(0)?];
        let past = |name: &str| {
            let what = format!("{name} runs past the end of what was written");
            Err(Halt::Bad(Bad(what)))
        };
        let size = match packet::size(generation.packets, &words).map_err(Halt::Bad)? {
            Some(size) => size,
            None => {
                let head = packet::WRITE_HEAD as u64;
                if head > left {
                    return past("WRITE");
                }
                words.extend((1..head).map(word).collect::<Result<Vec<_>, VmFault>>()?);
                let size = packet::size(generation.packets, &words).map_err(Halt::Bad)?;
                size.unwrap_or(packet::WRITE_HEAD)
            }
        };
        if size as u64 > left {
            return past(packet::name(words.first().copied().unwrap_or(0)));
        }
        let rest = words.len() as u64..size as u64;
        words.extend(rest.map(word).collect::<Result<Vec<_>, VmFault>>()?);
        let packet = (generation.parse)(&words).map_err(Halt::Bad)?;
        // "An IB packet must end on a 8 DW boundary" (`sdma_v4_4_2_ring_emit_ib`).
        if matches!(packet, Packet::Indirect { .. }) && (h.q.rptr / 4 + size as u64) % 8 != 0 {
            let what = "INDIRECT: the packet does not end on a boundary of eight words";
            return Err(Halt::Bad(Bad(what.into())));
        }
        Ok((words, packet))
    }

    /// Moves on behind a packet, and reports the read pointer.
    fn advance(&self, h: &mut Loaded, words: u64) {
        if let Some(ib) = &mut h.q.ib {
            ib.at = (ib.at + words).min(ib.words);
            if ib.at < ib.words {
                return;
            }
            h.q.ib = None;
        } else {
            // Words that a condition skips may not be there yet: no more than what is.
            h.q.rptr = (h.q.rptr + words * 4).min(h.q.wptr);
        }
        if h.q.report != 0 {
            let generation = self.all.shape.generation;
            let space = (self.env.memory()).space((generation.hub)(self.number), h.q.vmid);
            if let Err(fault) = space.store_u64(h.q.report, h.q.rptr) {
                self.halt(h, Halt::Fault(fault));
            }
        }
    }

    /// Halts a queue. The engine raises no interrupt for a packet that it does not know: Linux's
    /// lists of its interrupts (`sdma_v4_4_2_sw_init`, `sdma_v7_0_sw_init`) have none.
    fn halt(&self, h: &mut Loaded, why: Halt) {
        let name = h.q.name();
        h.halted = true;
        match why {
            Halt::Aborted => {}
            Halt::Bad(Bad(what)) => {
                self.wrong(&h.q, &what);
                let members = [("queue", Value::Text(&name)), ("error", Value::Text(&what))];
                self.env.trace().event("packet_error", &members);
            }
            Halt::Fault(fault) => {
                self.wrong(&h.q, fault);
                let cid = self.all.shape.generation.first_cid + u32::from(self.number % PER_DIE);
                self.env.vm_fault_of(&fault, cid);
            }
        }
    }

    /// Takes a queue off and writes its MQD back, if it has one.
    fn disconnect(&self, engine: &Engine, mut h: Loaded, stop: Stop) {
        let runs = h.q.save(self.all.shape.generation);
        let space = self.env.memory().space(Hub::Gfx(0), 0);
        let mut write = runs.iter().filter_map(|(first, words)| {
            let at = h.q.mqd?.wrapping_add(*first as u64 * 4);
            space.write_words(at, words).err()
        });
        if let Some(fault) = write.next() {
            self.env.vm_fault(&fault);
        }
        drop(write);
        self.trace_queue("queue_disconnect", &h.q);
        if stop == Stop::Reset && h.q.has_work() {
            let name = h.q.name();
            let members = [("queue", Value::Text(&name))];
            self.env.trace().event("queue_reset", &members);
        }
        let mut shared = engine.shared();
        // The next at this place has the doorbell already.
        if let Some(view) = shared.view_of(&h.q) {
            *view = None;
            self.env.doorbells().store(h.q.doorbell, 0);
        }
    }

    /// Lets others see what became of a queue.
    fn show(&self, engine: &Engine, h: &Loaded) {
        let mut shared = engine.shared();
        if let Some(view) = shared.view_of(&h.q).and_then(Option::as_mut) {
            view.state = State {
                busy: !h.halted && h.q.has_work(),
                worked: h.worked,
            };
            let at = self.all.shape.generation.mqd;
            let ib = h.q.ib.unwrap_or_default();
            let wide = [
                (at.rptr, h.q.rptr),
                (at.wptr, h.q.wptr),
                (at.ib_base, ib.base),
            ];
            let worked = at.utilization.map(|word| (word, h.q.worked / TICK));
            for (first, value) in wide.into_iter().chain(worked) {
                let halves = [value as u32, (value >> 32) as u32];
                for (to, from) in view.image.iter_mut().skip(first).zip(halves) {
                    *to = from;
                }
            }
            for (word, value) in [(at.ib_rptr, ib.at * 4), (at.ib_size, ib.words)] {
                if let Some(to) = view.image.get_mut(word) {
                    *to = value as u32;
                }
            }
        }
    }

    fn trace_queue(&self, event: &str, q: &Queue) {
        let name = q.name();
        let role = if q.is_kernels() { "Kernel" } else { "Sdma" };
        self.env.trace().event(
            event,
            &[
                ("queue", Value::Text(&name)),
                ("role", Value::Text(role)),
                ("vmid", Value::Num(q.vmid.into())),
                ("pasid", Value::Num(q.pasid.into())),
                ("mqd", Value::Hex(q.mqd.unwrap_or(0))),
                ("ring", Value::Hex(q.ring)),
                ("words", Value::Num(q.size / 4)),
                ("doorbell", Value::Num(q.doorbell.into())),
                ("rptr", Value::Num(q.rptr)),
                ("wptr", Value::Num(q.wptr)),
            ],
        );
    }

    /// A packet is complete that the engine began to execute then.
    fn trace_done(&self, h: &Loaded, words: &[u32], begin: u64) {
        if !self.env.trace().is_on() {
            return;
        }
        let name = h.q.name();
        let header = words.first().copied().unwrap_or(0);
        let members = [
            ("queue", Value::Text(&name)),
            ("op", Value::Text(packet::name(header))),
            ("begin_ns", Value::Num(begin)),
        ];
        self.env.trace().event("sdma_done", &members);
    }

    fn trace_packet(&self, h: &Loaded, words: &[u32]) {
        if !self.env.trace().is_on() {
            return;
        }
        let name = h.q.name();
        let header = words.first().copied().unwrap_or(0);
        // A packet's data may be long, so only its first words are shown.
        let head = words.get(..words.len().min(16)).unwrap_or_default();
        self.env.trace().event(
            "sdma",
            &[
                ("queue", Value::Text(&name)),
                ("op", Value::Text(packet::name(header))),
                ("rptr", Value::Num(h.q.rptr)),
                ("words", Value::Words(head)),
            ],
        );
    }
}

/// Drops queues as they are, writing nothing back.
fn drop_all(env: &dyn Env, queues: &mut [Option<Loaded>]) {
    for loaded in queues.iter_mut().filter_map(Option::take) {
        env.doorbells().store(loaded.q.doorbell, 0);
    }
}
