// SPDX-License-Identifier: MIT OR Apache-2.0
//! A work-group that is taken off and comes back: its waves execute their trap handler, which stores what
//! they are, and later waves without anything of their own do, which load it.
//!
//! From Linux's handlers (`amdkfd/cwsr_trap_handler_gfx9.asm` and `_gfx12.asm`): a wave learns by SAVECTX
//! that it is to be saved, says when it is ready, and gets in EXEC where to store; it comes back at the
//! handler's second instruction, with the same value there.

use super::{schedule, Workgroup};
use crate::cu::ComputeUnit;
use crate::decode::code;
use crate::dispatch::{Apertures, Handler};
use crate::kernel::InOrder;
use crate::target::{Target, TrapLayout};
use crate::wave::{Barrier, State, Trap, Wave};
use std::num::NonZeroU32;

/// Set in the upper half of a place: the wave is the first of its workgroup, which stores and loads what
/// all of them share.
const FIRST: u64 = 1 << (32 + 26);

/// Bytes of a stored wave's hardware registers and trap temporaries.
const HARDWARE: u64 = 128;

/// Bytes that a wave of so many lanes and vector registers is stored in, of a workgroup whose first wave it is
/// or not (Linux's handlers: vector registers, scalar registers, hardware registers, and the first wave's LDS).
pub fn stored_bytes(target: &Target, lanes: u64, registers: u64, lds: Option<u64>) -> u64 {
    registers * lanes * 4 + target.traps.scalars + HARDWARE + lds.unwrap_or(0) + target.traps.unused
}

/// What hardware knows of a wave that was saved: what it is given before it loads the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SavedWave {
    /// Its vector registers, of both kinds, and the first that is for accumulation.
    pub registers: u16,
    /// The first that is for accumulation.
    pub acc_base: u16,
    /// Base of its scratch, and its bytes.
    pub scratch: (u64, u64),
    /// Its number in its workgroup.
    pub index: u32,
    /// Its place in the line of the global semaphore or barrier that it waits at.
    pub ticket: Option<NonZeroU32>,
    /// Where it was stored.
    pub place: u64,
}

/// A workgroup that was saved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Relaunch {
    /// Its number in its grid.
    pub id: [u32; 3],
    /// The process, as it is called now.
    pub vmid: u8,
    /// Bytes of LDS.
    pub lds: u32,
    /// The process's trap handler.
    pub handler: Handler,
    /// The number of the queue's doorbell.
    pub doorbell: u32,
    /// Flat apertures.
    pub apertures: Apertures,
    /// Its waves, the first of which loads what they share.
    pub waves: Vec<SavedWave>,
}

impl<const L: usize> Workgroup<L> {
    /// Bytes that its waves take when they are saved now.
    pub fn bytes_to_save(&self, target: &Target) -> u64 {
        let waves = self.waves.iter().filter(|wave| !wave.state.has_ended());
        let mut lds = Some(self.lds.len() as u64);
        let bytes = waves.map(|w| stored_bytes(target, L as u64, w.registers().into(), lds.take()));
        bytes.sum()
    }

    /// Asks each wave to have itself saved, from `from` on: the first one behind the others, as the next that
    /// comes back. They do so when the workgroup runs, which is done once all are saved. Returns where the last
    /// one ends; `None` if there is no trap handler: then nothing saves them.
    pub fn ask_to_save(&mut self, target: &Target, from: u64) -> Option<u64> {
        let layout: &TrapLayout = &target.traps;
        let mut waves = self.waves.iter().filter(|wave| !wave.state.has_ended());
        if waves.any(|wave| wave.trap.handler.entry == 0) {
            return None;
        }
        let lds = self.lds.len() as u64;
        let first = self.waves.iter().position(|w| !w.state.has_ended());
        let mut end = from;
        for (n, wave) in self.waves.iter_mut().enumerate().rev() {
            if wave.state.has_ended() {
                continue;
            }
            let leads = first == Some(n);
            let flag = if leads { FIRST } else { 0 };
            wave.ask_to_save(layout, end | flag);
            let shared = leads.then_some(lds);
            end += stored_bytes(target, L as u64, wave.registers().into(), shared);
        }
        // Who saves a wave waits for its operations on memory.
        self.pending.clear();
        self.races = None;
        self.memory_races = None;
        Some(end)
    }

    /// Whether a wave is being saved, or loaded.
    pub fn is_moving(&self) -> bool {
        let moves =
            |w: &Wave<L>| !w.state.has_ended() && (w.trap.loading || w.trap.place.is_some());
        self.waves.iter().any(moves)
    }

    /// Its waves that were saved: what is needed to launch them again. The others have ended.
    pub fn saved(&self) -> Vec<SavedWave> {
        let saved = self.waves.iter().filter(|w| w.state == State::Saved);
        let of = |w: &Wave<L>| SavedWave {
            registers: w.registers(),
            acc_base: w.acc_base,
            scratch: w.scratch,
            index: w.index,
            ticket: w.ticket,
            place: w.trap.place.unwrap_or(0) & !FIRST,
        };
        saved.map(of).collect()
    }

    /// The workgroup again, of waves that begin in their trap handler and load themselves: they were counted when
    /// they were started. `None` if there is no handler, no wave, or one with registers that no wave has.
    pub fn relaunch(cu: &mut ComputeUnit, saved: &Relaunch) -> Option<Self> {
        let fits = |wave: &SavedWave| wave.registers <= 512 && wave.acc_base <= wave.registers;
        if saved.handler.entry == 0 || saved.waves.is_empty() || !saved.waves.iter().all(fits) {
            return None;
        }
        let TrapLayout {
            split_barrier: split,
            mode,
            ..
        } = cu.target().traps;
        let mut first = FIRST;
        let wave = |from: &SavedWave| {
            let mut wave = Wave {
                s: cu.leftovers.scalars(),
                v: cu
                    .leftovers
                    .vectors(usize::from(from.registers.max(1)) + Self::STAGES),
                acc_base: from.acc_base,
                // The handler's second instruction.
                pc: saved.handler.entry.wrapping_add(4),
                scc: false,
                mode,
                state: State::Running,
                barrier: if split {
                    Barrier::Restored
                } else {
                    Barrier::Idle
                },
                apertures: saved.apertures,
                scratch: from.scratch,
                index: from.index,
                ticket: from.ticket,
                trap: Trap {
                    handler: saved.handler,
                    doorbell: saved.doorbell,
                    privileged: true,
                    loading: true,
                    ..Trap::default()
                },
            };
            wave.set_pair(code::EXEC, from.place | std::mem::take(&mut first));
            wave
        };
        let waves: Vec<Wave<L>> = saved.waves.iter().map(wave).collect();
        Some(Self {
            id: saved.id,
            vmid: saved.vmid,
            lds: cu.leftovers.lds(saved.lds as usize),
            waves,
            turn: 0,
            pending: Vec::new(),
            races: None,
            in_order: InOrder::Unknown,
            memory_races: None,
            schedule: schedule(cu, saved.id, 0),
            caches: None,
            inherits: false,
        })
    }

    const STAGES: usize = Wave::<L>::STAGES;
}
