// SPDX-License-Identifier: MIT OR Apache-2.0
//! Races between the waves of a workgroup for LDS: two waves access the same dword, one of them writes, and
//! nothing orders the two.
//!
//! As FastTrack (Flanagan and Freund, 2009) does it: each wave has a clock, which counts its LDS operations, and
//! knows up to which of their operations the other waves are before it. A barrier tells all waves each
//! other's clocks, and an atomic operation those of the waves that accessed its dword so before. What
//! a wave has not waited for when it arrives at a barrier is not before it: the LDS has several queues, and operations of
//! two waves may change places (LLVM, AMDGPU usage, memory model of gfx942 and gfx12).
//!
//! Two atomic operations are no race. A dword that is written with what it has already is one nevertheless, and so
//! is a flag that plain loads wait for. What a load into LDS from memory writes is not looked at.

use crate::decode::counters::{Class, Counted};
use crate::decode::{Inst, Op};
use crate::exec::touched::{self, Touch};
use crate::fault::{FaultKind, Space};
use crate::waits::{Pending, Sequence};
use crate::wave::{Barrier, Wave};

pub(crate) mod memory;

/// An operation: whose, which of its operations, and where its instruction is.
#[derive(Clone, Copy, Debug)]
struct Access {
    wave: usize,
    clock: u32,
    pc: u64,
    atomic: bool,
}

/// Who accessed a dword last.
#[derive(Clone, Debug, Default)]
struct Dword {
    write: Option<Access>,
    /// The last of each wave.
    reads: Vec<Access>,
    /// The clocks of those that accessed it by atomic operations.
    atomics: Clocks,
}

/// For each wave, or for each of its clocks, up to which operation it is known.
#[derive(Clone, Debug, Default)]
struct Clocks(Vec<u32>);

impl Clocks {
    fn of(&self, wave: usize) -> u32 {
        self.0.get(wave).copied().unwrap_or(0)
    }

    fn set(&mut self, wave: usize, clock: u32) {
        if self.0.len() <= wave {
            self.0.resize(wave + 1, 0);
        }
        if let Some(mine) = self.0.get_mut(wave) {
            *mine = clock;
        }
    }

    fn join(&mut self, other: &Self) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        for (mine, other) in self.0.iter_mut().zip(&other.0) {
            *mine = (*mine).max(*other);
        }
    }
}

/// What is known of a workgroup's accesses of LDS.
#[derive(Clone, Debug)]
pub(crate) struct Races {
    dwords: Vec<Dword>,
    waves: Vec<Clocks>,
    /// What those that have arrived at the barrier tell, and what they learn when all have.
    arrived: Clocks,
    released: Clocks,
}

impl Races {
    /// Nothing yet, of so many bytes and waves.
    pub fn new(bytes: usize, waves: usize) -> Self {
        Self {
            dwords: vec![Dword::default(); bytes.div_ceil(4)],
            waves: vec![Clocks(vec![0; waves]); waves],
            arrived: Clocks::default(),
            released: Clocks::default(),
        }
    }

    /// An instruction, before it is executed.
    ///
    /// # Errors
    /// [`FaultKind::Race`].
    pub fn check<const L: usize>(
        &mut self,
        w: &Wave<L>,
        me: usize,
        i: &Inst,
        counted: Counted,
        pending: &Pending,
    ) -> Result<(), FaultKind> {
        match i.op {
            Op::SBarrier | Op::SBarrierSignal | Op::SBarrierSignalIsfirst => {
                let told = self.told(me, pending);
                self.arrived.join(&told);
            }
            Op::SBarrierWait if w.barrier == Barrier::Complete => self.learn(me),
            _ => {}
        }
        let lds = matches!(counted, Counted::By(_, Class::Lds) | Counted::Flat { .. });
        if !lds {
            return Ok(());
        }
        let access = |atomic| Access {
            wave: me,
            clock: pending.issued(Sequence::Lds),
            pc: w.pc,
            atomic,
        };
        let mut found = Ok(());
        touched::by(w, i, &mut |touch: Touch| {
            for at in (touch.at & !3..touch.at + touch.bytes).step_by(4) {
                if found.is_ok() {
                    found = self.touch(at, touch.writes, access(touch.atomic), pending);
                }
            }
        });
        found
    }

    /// All waves have arrived at the barrier; those of `waiting` go on.
    pub fn release(&mut self, waiting: impl Iterator<Item = usize>) {
        self.released = std::mem::take(&mut self.arrived);
        waiting.for_each(|wave| self.learn(wave));
    }

    fn learn(&mut self, wave: usize) {
        if let Some(clocks) = self.waves.get_mut(wave) {
            clocks.join(&self.released);
        }
    }

    /// What a wave tells others: of its own operations those for which it has waited.
    fn told(&self, me: usize, pending: &Pending) -> Clocks {
        let mut told = self.waves.get(me).cloned().unwrap_or_default();
        if let Some(own) = told.0.get_mut(me) {
            *own = pending.completed(Sequence::Lds);
        }
        told
    }

    fn touch(
        &mut self,
        at: u64,
        writes: bool,
        access: Access,
        pending: &Pending,
    ) -> Result<(), FaultKind> {
        let me = access.wave;
        let told = access.atomic.then(|| self.told(me, pending));
        let dword = usize::try_from(at / 4).ok();
        let dword = dword.and_then(|n| self.dwords.get_mut(n));
        // Beyond the allocation is nothing to race for.
        let (Some(dword), Some(clocks)) = (dword, self.waves.get_mut(me)) else {
            return Ok(());
        };
        if let Some(told) = told {
            clocks.join(&dword.atomics);
            dword.atomics.join(&told);
        }
        let races = |other: &Access| {
            let both_atomic = other.atomic && access.atomic;
            other.wave != me && !both_atomic && other.clock > clocks.of(other.wave)
        };
        let write = dword.write.iter().map(|a| (a, true));
        let reads = dword.reads.iter().filter(|_| writes).map(|a| (a, false));
        if let Some((other, wrote)) = write.chain(reads).find(|(other, _)| races(other)) {
            return Err(FaultKind::Race {
                space: Space::Lds,
                at,
                pc: other.pc,
                wave: other.wave as u8,
                wrote,
                writes,
            });
        }
        if writes {
            dword.write = Some(access);
            dword.reads.clear();
        } else {
            match dword.reads.iter_mut().find(|read| read.wave == me) {
                Some(read) => *read = access,
                None => dword.reads.push(access),
            }
        }
        Ok(())
    }
}
