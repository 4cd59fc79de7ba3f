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
use crate::target::TrapLayout;
use crate::wave::{Barrier, State, Trap, Wave};

/// Set in the upper half of a place: the wave is the first of its workgroup, which stores and loads what
/// all of them share.
const FIRST: u64 = 1 << (32 + 26);

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
    /// Asks each wave to have itself saved where `place` says. They do so when the workgroup runs, which
    /// is done once all are saved. False if there is no trap handler: then nothing saves them.
    pub fn ask_to_save(
        &mut self,
        cu: &ComputeUnit,
        mut place: impl FnMut(&Wave<L>) -> u64,
    ) -> bool {
        let layout: &TrapLayout = &cu.target().traps;
        let mut waves = self.waves.iter().filter(|wave| !wave.state.has_ended());
        if waves.any(|wave| wave.trap.handler.entry == 0) {
            return false;
        }
        let mut first = FIRST;
        for wave in self.waves.iter_mut().filter(|wave| !wave.state.has_ended()) {
            let at = place(wave) | std::mem::take(&mut first);
            wave.ask_to_save(layout, at);
        }
        // Who saves a wave waits for its operations on memory.
        self.pending.clear();
        self.races = None;
        true
    }

    /// The workgroup again, of waves that begin in their trap handler and load themselves. `None` if there
    /// is no handler, no wave, or one with registers that no wave has.
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
                s: [0; 256],
                v: vec![[0; L]; usize::from(from.registers.max(1)) + Self::STAGES],
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
                ticket: None,
                trap: Trap {
                    handler: saved.handler,
                    doorbell: saved.doorbell,
                    privileged: true,
                    ..Trap::default()
                },
            };
            wave.set_pair(code::EXEC, from.place | std::mem::take(&mut first));
            wave
        };
        let waves: Vec<Wave<L>> = saved.waves.iter().map(wave).collect();
        cu.waves += waves.len() as u64;
        cu.workgroups += 1;
        Some(Self {
            id: saved.id,
            vmid: saved.vmid,
            lds: vec![0; saved.lds as usize],
            waves,
            turn: 0,
            pending: Vec::new(),
            races: None,
            schedule: schedule(cu, saved.id, 0),
            caches: None,
            inherits: false,
        })
    }

    const STAGES: usize = Wave::<L>::STAGES;
}
