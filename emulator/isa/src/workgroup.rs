// SPDX-License-Identifier: MIT OR Apache-2.0
//! A workgroup: its waves, and how they take turns.

mod cleaner;
mod launch;
mod relaunch;
mod trap;

use crate::blocks::{words, Decoded, Decoder, Steps};
use crate::cache::Caches;
use crate::cu::ComputeUnit;
use crate::decode::order::Order;
use crate::decode::uses::Uses;
use crate::exec::{self, Context, Next, Others};
use crate::fault::{Fault, FaultKind};
use crate::kernel::{mode, InOrder};
use crate::memory::{Env, PAGE};
use crate::races::memory::Memory;
use crate::races::Races;
use crate::schedule::Schedule;
use crate::waits::Pending;
use crate::watch::{Watches, Watching};
use crate::wave::{Barrier, State, Wave};

pub use crate::leftovers::LDS_SIZE;
pub use cleaner::CleanError;
pub use launch::{LaunchError, Scratch};
pub use relaunch::{stored_bytes, Relaunch, SavedWave};

/// How a slice of running ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Every wave reached its end.
    Done,
    /// The budget is used up; run again to go on.
    Budget,
    /// A wave cannot go on.
    Fault(Fault),
}

// A wave runs this long before the next one's turn, unless it waits or a seed draws how long.
const TURN: u64 = 2048;

/// A workgroup of waves of `L` lanes.
pub struct Workgroup<const L: usize = 64> {
    pub(crate) id: [u32; 3],
    pub(crate) vmid: u8,
    pub(crate) lds: Vec<u8>,
    pub(crate) waves: Vec<Wave<L>>,
    pub(crate) turn: usize,
    /// What each wave's memory operations have yet to do, if that is checked. It is not saved: who saves a
    /// wave waits for them.
    pub(crate) pending: Vec<Pending>,
    /// Who accessed LDS, if that is checked; not saved either.
    pub(crate) races: Option<Races>,
    /// What shows in which order its waves access memory.
    pub(crate) in_order: InOrder,
    /// Who accessed memory, if that is checked and can be.
    pub(crate) memory_races: Option<Memory>,
    /// Whose turn it is, if a seed draws it. One that was restored begins anew.
    pub(crate) schedule: Option<Schedule>,
    /// The first-level caches while it runs, if there are any.
    pub(crate) caches: Option<Caches>,
    /// Whether it begins with what the compute unit's caches have. Not if it was saved: it may have stored
    /// elsewhere what those have old values of.
    pub(crate) inherits: bool,
}

/// Execution of workgroups, for the lengths of waves that hardware has.
///
/// Not generic, so that the interpreter is compiled in this crate and not in each program that
/// uses it.
pub trait Run {
    /// Run until every wave has ended, `budget` instructions were executed, or one cannot be.
    ///
    /// The budget counts instructions of whole waves.
    fn run(&mut self, cu: &mut ComputeUnit, env: &mut dyn Env, budget: u64) -> Outcome;
}

impl Run for Workgroup<32> {
    fn run(&mut self, cu: &mut ComputeUnit, env: &mut dyn Env, budget: u64) -> Outcome {
        self.interpret(cu, env, budget)
    }
}

impl Run for Workgroup<64> {
    fn run(&mut self, cu: &mut ComputeUnit, env: &mut dyn Env, budget: u64) -> Outcome {
        self.interpret(cu, env, budget)
    }
}

impl<const L: usize> Workgroup<L> {
    fn interpret(&mut self, cu: &mut ComputeUnit, env: &mut dyn Env, budget: u64) -> Outcome
    where
        Wave<L>: Steps<L>,
    {
        if cu.checks.waits {
            self.pending.resize_with(self.waves.len(), Pending::default);
        }
        if cu.checks.waits && cu.checks.races && self.races.is_none() {
            self.races = Some(Races::new(self.lds.len(), self.waves.len()));
        }
        if cu.checks.waits && cu.checks.memory_races && self.memory_races.is_none() {
            self.memory_races = Memory::new(self.waves.len(), self.in_order);
        }
        if self.schedule.is_none() {
            self.schedule = schedule(cu, self.id, 0);
        }
        if !cu.has_caches() {
            self.caches = None;
        }
        if self.caches.is_none() {
            self.caches = cu.caches(self.inherits);
        }
        if let Some(caches) = &mut self.caches {
            caches.traffic = cu.traffic.take();
        }
        let outcome = self.take_turns(cu, env, budget);
        if let Some(caches) = &mut self.caches {
            cu.traffic = caches.traffic.take();
        }
        if outcome == Outcome::Done {
            cu.idle.extend(self.caches.take());
        }
        outcome
    }

    /// The same, with what it needs for that.
    fn take_turns(&mut self, cu: &mut ComputeUnit, env: &mut dyn Env, budget: u64) -> Outcome
    where
        Wave<L>: Steps<L>,
    {
        let mut left = budget;
        let watches = env.watches();
        // Turns in a row that ended at a global semaphore or barrier.
        let mut vain = 0;
        loop {
            cu.follow(env);
            if let Some(caches) = &mut self.caches {
                caches.follow(cu.acquires);
            }
            if self.waves.iter().all(|w| w.state.has_ended()) {
                return Outcome::Done;
            }
            self.release_barrier();
            if left == 0 {
                return Outcome::Budget;
            }
            // Nothing in this loop makes halted waves go on.
            if self.waves.iter().all(|w| w.state != State::Running) {
                return Outcome::Budget;
            }
            let (turn, length) = self.next_turn();
            if self.waves[turn].state != State::Running {
                continue;
            }
            let steps = self.waves[turn].steps(&cu.target().traps);
            let slice = if steps { 1 } else { left.min(length) };
            let (used, mut result) = self.run_wave(cu, env, watches, turn, slice);
            // At a barrier it traps no more: what it does then isn't published.
            if steps && result.is_ok() && self.waves[turn].state == State::Running {
                if let Some(pending) = self.pending.get_mut(turn) {
                    // The handler waits before it looks at registers.
                    pending.clear();
                }
                result = Err(FaultKind::Stepped);
            }
            left -= used;
            cu.instructions += used;
            if let Err(kind) = result {
                // Traps and returns use the budget up, too.
                left = left.saturating_sub(1);
                if let Some(fault) = self.trap(cu, env, turn, kind) {
                    return Outcome::Fault(fault);
                }
            }
            vain = match self.waves[turn].stands_in_line() {
                true => vain + 1,
                false => 0,
            };
            // All of them wait for waves of other workgroups, which may need this thread.
            let running = || self.waves.iter().filter(|w| w.state == State::Running);
            let each_waits = running().all(|w| w.stands_in_line());
            if vain > 0 && vain >= running().count() && each_waits {
                return Outcome::Budget;
            }
        }
    }

    /// The wave whose turn it is, which may not be running, and how long the turn is.
    fn next_turn(&mut self) -> (usize, u64) {
        let Some(schedule) = &mut self.schedule else {
            let turn = self.turn;
            self.turn = (turn + 1) % self.waves.len();
            return (turn, TURN);
        };
        let running = |w: &&(usize, &Wave<L>)| w.1.state == State::Running;
        let waves = || self.waves.iter().enumerate();
        let count = waves().filter(|w| running(&w)).count();
        let nth = schedule.below(count as u64) as usize;
        let turn = waves().filter(|w| running(&w)).nth(nth);
        (turn.map_or(0, |(turn, _)| turn), schedule.length())
    }

    /// When every wave that has not ended has arrived, all go on.
    fn release_barrier(&mut self) {
        self.release_handlers();
        let waits = |w: &Wave<L>| w.state == State::Barrier && !w.waits_in_handler();
        let (mut going, mut arrived) = (0, 0);
        for wave in &self.waves {
            let here = !wave.state.has_ended();
            going += u32::from(here);
            arrived += u32::from(here && wave.barrier == Barrier::Signalled) + wave.trap.arrivals;
        }
        if arrived < going {
            return;
        }
        if let Some(races) = &mut self.races {
            let waves = self.waves.iter().enumerate();
            let waiting = waves.filter(|(_, wave)| waits(wave));
            races.release(waiting.map(|(n, _)| n));
        }
        if let Some(memory) = &mut self.memory_races {
            let those = |which: fn(&Wave<L>) -> bool| {
                let waves = self.waves.iter().enumerate();
                waves.filter(move |(_, w)| which(w)).map(|(n, _)| n)
            };
            memory.release(those(waits), those(|w| w.state.has_ended()));
        }
        for wave in &mut self.waves {
            wave.trap.arrivals = 0;
            if wave.state.has_ended() {
                continue;
            }
            if waits(wave) {
                wave.state = State::Running;
                wave.barrier = Barrier::Idle;
            } else {
                wave.barrier = Barrier::Complete;
            }
        }
    }

    /// The same for the barrier of trap handlers.
    fn release_handlers(&mut self) {
        let mut waves = self.waves.iter().filter(|w| !w.state.has_ended());
        if !waves.all(|w| w.trap.barrier == Barrier::Signalled) {
            return;
        }
        for wave in self.waves.iter_mut().filter(|w| !w.state.has_ended()) {
            let waits = wave.state == State::Barrier && wave.waits_in_handler();
            wave.trap.barrier = Barrier::Complete;
            if waits {
                wave.state = State::Running;
                wave.trap.barrier = Barrier::Idle;
            }
        }
    }

    /// What one wave sees of the others, which stand still during its turn.
    fn others(&self, turn: usize) -> Others {
        let mut others = Others::default();
        for (n, wave) in self.waves.iter().enumerate() {
            if n != turn && !wave.state.has_ended() {
                others.going += 1;
                let own = u32::from(wave.barrier == Barrier::Signalled);
                others.signalled += own + wave.trap.arrivals;
            }
        }
        others
    }

    fn run_wave(
        &mut self,
        cu: &mut ComputeUnit,
        env: &mut dyn Env,
        watches: Watches,
        turn: usize,
        slice: u64,
    ) -> (u64, Result<(), FaultKind>)
    where
        Wave<L>: Steps<L>,
    {
        let others = self.others(turn);
        let wave = &mut self.waves[turn];
        let mut pending = self.pending.get_mut(turn);
        let registers = wave.registers();
        let (vgprs, agprs) = (registers.min(256), registers.saturating_sub(wave.acc_base));
        let mut context = Context {
            env,
            caches: self.caches.as_mut(),
            tlb: &mut cu.tlb,
            lds: &mut self.lds,
            vmid: self.vmid,
            others,
            // The handler has no exceptions.
            watching: Watching::new(match wave.trap.privileged {
                true => Watches::default(),
                false => watches,
            }),
        };
        let number = |pc: u64| pc / PAGE as u64;
        // Going into the trap handler or back ends the slice.
        let privileged = wave.trap.privileged;
        let first = cu.code.page(self.vmid, wave.pc, privileged);
        let (mut page, mut here) = (first, number(wave.pc));
        let mut indexed = wave.mode & mode::GPR_INDEX != 0;
        let traps = &cu.target.traps;
        let mut raises = wave.raises(traps);
        let mut used = 0;
        while used < slice {
            let pc = wave.pc;
            if number(pc) != here {
                (page, here) = (cu.code.page(self.vmid, pc, privileged), number(pc));
            }
            let decode = || {
                let mut decoder = Decoder {
                    target: cu.target,
                    checks: cu.checks,
                    tlb: context.tlb,
                    env: context.env,
                    vmid: context.vmid,
                    privileged,
                };
                let block = decoder.block(pc)?;
                cu.decoded += block.instructions.len() as u64;
                Ok(block)
            };
            let block = match page.block(pc, decode) {
                Ok(block) => block,
                Err(kind) => return (used, Err(kind)),
            };
            // As far as the wave has registers, and the slice time; the first without is executed by itself.
            let whole = block.instructions.len();
            let fitting = if block.vgprs <= vgprs && block.agprs <= agprs {
                whole
            } else {
                let beyond = |d: &Decoded| d.inst.vgprs > vgprs || d.inst.agprs > agprs;
                block.instructions.iter().position(beyond).unwrap_or(whole)
            };
            let time = usize::try_from(slice - used).unwrap_or(whole);
            let confined = match fitting {
                0 => Some(block.instructions[0].confined(vgprs, agprs)),
                _ => None,
            };
            let run = match &confined {
                Some(one) => std::slice::from_ref(one),
                None => &block.instructions[..fitting.min(time)],
            };
            let before = used;
            let ended = 'run: {
                for (n, decoded) in run.iter().enumerate() {
                    if let Some(pending) = &mut pending {
                        let uses = match &confined {
                            Some(one) => &Uses::new(&one.inst, cu.target.counters),
                            None => &block.uses[n],
                        };
                        let inst = &decoded.inst;
                        let mut checked = pending.check(wave, inst, uses);
                        if let (Ok(()), Some(races)) = (checked, &mut self.races) {
                            checked = races.check(wave, turn, inst, uses.counted, pending);
                        }
                        if uses.order != Order::None && checked.is_ok() {
                            if let Some(memory) = &mut self.memory_races {
                                let this = (inst, uses);
                                checked = memory.check(wave, turn, this, pending, &mut context);
                            }
                        }
                        if let Err(kind) = checked {
                            break 'run Some(Err(kind));
                        }
                    }
                    wave.pc = decoded.next;
                    match Wave::step(decoded) {
                        Some(step) if !(indexed || raises) => step(wave, &decoded.inst),
                        step => {
                            let inst = &decoded.inst;
                            let result = match raises && !indexed {
                                true => {
                                    exec::raised::execute(wave, inst, step, &mut context, traps)
                                }
                                false => exec::execute(wave, inst, &mut context),
                            };
                            match result {
                                Ok(Next::Go) if context.watching.met != 0 => {
                                    if let Some(pending) = &mut pending {
                                        // As below.
                                        pending.clear();
                                    }
                                    used += 1;
                                    let (met, pc) = (context.watching.met, decoded.pc());
                                    break 'run Some(Err(FaultKind::Watched { met, pc }));
                                }
                                Ok(Next::Go) => {
                                    indexed = wave.mode & mode::GPR_INDEX != 0;
                                    raises = wave.raises(traps);
                                }
                                Ok(next) => {
                                    wave.state = match next {
                                        Next::Barrier => State::Barrier,
                                        Next::Halt => State::Halted,
                                        Next::End => State::Done,
                                        Next::Saved => State::Saved,
                                        Next::Go | Next::Yield => wave.state,
                                    };
                                    used += 1;
                                    break 'run Some(Ok(()));
                                }
                                Err(kind) => {
                                    if let Some(pending) = &mut pending {
                                        // A trap handler may execute it again, or never.
                                        pending.clear();
                                    }
                                    match kind {
                                        // It was executed.
                                        FaultKind::Arithmetic { .. } => used += 1,
                                        _ => wave.pc = decoded.pc(),
                                    }
                                    break 'run Some(Err(kind));
                                }
                            }
                        }
                    }
                    used += 1;
                }
                None
            };
            if let Some(tally) = &mut cu.tally {
                let done = (used - before) as usize;
                run[..done].iter().for_each(|d| tally.count(&d.inst));
            }
            if let Some(result) = ended {
                return (used, result);
            }
        }
        (slice, Ok(()))
    }

    pub(crate) fn report(
        &self,
        cu: &mut ComputeUnit,
        env: &mut dyn Env,
        turn: usize,
        kind: FaultKind,
    ) -> Fault {
        let pc = kind.executed().unwrap_or(self.waves[turn].pc);
        let words = words(&mut cu.tlb, env, self.vmid, pc).unwrap_or([0; 3]);
        let other = kind.other().and_then(|pc| {
            let words = self::words(&mut cu.tlb, env, self.vmid, pc).ok()?;
            Some((pc, cu.target().text(words, L as u32)?))
        });
        Fault {
            kind,
            pc,
            words: [words[0], words[1]],
            text: cu.target().text(words, L as u32),
            other,
            wave: turn as u32,
            workgroup: self.id,
        }
    }

    /// The workgroup's number in its grid.
    pub fn id(&self) -> [u32; 3] {
        self.id
    }

    /// Its waves, to look at.
    pub fn waves(&self) -> &[Wave<L>] {
        &self.waves
    }

    /// Its waves, to restore or to debug.
    pub fn waves_mut(&mut self) -> &mut [Wave<L>] {
        &mut self.waves
    }

    /// It has ended, or is given up. What its waves had stays in the compute unit's registers and LDS, where the next
    /// ones find it.
    pub fn retire(self, cu: &mut ComputeUnit) {
        cu.leftovers.keep(&self.lds, self.waves);
    }

    /// Its LDS, to look at.
    pub fn lds(&self) -> &[u8] {
        &self.lds
    }

    /// Its LDS, to restore or to debug.
    pub fn lds_mut(&mut self) -> &mut [u8] {
        &mut self.lds
    }
}

/// A schedule, if the compute unit draws one.
fn schedule(cu: &ComputeUnit, id: [u32; 3], dispatch: u64) -> Option<Schedule> {
    let [x, y, z] = id.map(u64::from);
    let seed = cu.checks.seed?;
    Some(Schedule::new(seed, &[x, y, z, dispatch]))
}
