// SPDX-License-Identifier: MIT OR Apache-2.0
//! A workgroup's state as words, and back: what preemption in the middle of a kernel writes to
//! memory.
//!
//! On the chip a trap handler and the hardware write it, in a layout of the driver's trap handler
//! (`amdkfd/cwsr_trap_handler_gfx9.asm`). This layout is the model's own: nothing but the model
//! reads it, and it is no larger than the chip's, since registers that were not allocated and
//! those above EXEC are left out.

use crate::dispatch::Apertures;
use crate::dispatch::Handler;
use crate::wave::Trap;
use crate::wave::{Barrier, State, Wave};
use crate::workgroup::Workgroup;
use std::num::NonZeroU32;

/// Words of a workgroup without its LDS and waves.
const GROUP: usize = 8;
/// Words of a wave without its vector registers.
const WAVE: usize = 18 + TRAP + SCALARS;
/// Words of what it has for traps.
const TRAP: usize = 7;
/// Scalar registers that are kept: up to EXEC, above which nothing is read.
const SCALARS: usize = 128;

/// Vector registers that a wave can have, of both kinds.
const MOST_REGISTERS: usize = 512;

/// Words of a workgroup of so many waves, each with so many vector registers.
pub fn words(lanes: usize, waves: usize, vgprs: usize, lds: usize) -> usize {
    GROUP + lds / 4 + waves * (WAVE + vgprs * lanes)
}

/// Words that are taken one after the other.
struct Reader<'a>(&'a [u32]);

impl<'a> Reader<'a> {
    fn take(&mut self, n: usize) -> Option<&'a [u32]> {
        let (taken, rest) = self.0.split_at_checked(n)?;
        self.0 = rest;
        Some(taken)
    }

    fn word(&mut self) -> Option<u32> {
        self.take(1)?.first().copied()
    }

    fn pair(&mut self) -> Option<u64> {
        Some(u64::from(self.word()?) | (u64::from(self.word()?) << 32))
    }
}

fn put(out: &mut Vec<u32>, value: u64) {
    out.extend([value as u32, (value >> 32) as u32]);
}

impl<const L: usize> Wave<L> {
    fn save(&self, out: &mut Vec<u32>) {
        let state = match self.state {
            State::Running => 0,
            State::Barrier => 1,
            State::Done | State::Saved => 2,
            State::Halted => 3,
        };
        let barrier = match self.barrier {
            Barrier::Idle => 0,
            Barrier::Signalled => 1,
            Barrier::Complete => 2,
            Barrier::Restored => 3,
        };
        // The registers that no program can name hold nothing from one instruction to the next.
        let registers = usize::from(self.registers());
        out.extend([registers as u32, u32::from(self.acc_base)]);
        put(out, self.pc);
        out.extend([u32::from(self.scc), self.mode, state, barrier, self.index]);
        for value in [
            self.apertures.shared,
            self.apertures.private,
            self.scratch.0,
            self.scratch.1,
        ] {
            put(out, value);
        }
        out.push(self.ticket.map_or(0, NonZeroU32::get));
        let trap = &self.trap;
        put(out, trap.handler.entry);
        put(out, trap.handler.memory);
        let bits = u32::from(trap.privileged) | (u32::from(trap.halt) << 1);
        out.extend([trap.doorbell, trap.flags, bits]);
        out.extend(&self.s[..SCALARS]);
        let allocated = self.v.iter().take(registers);
        allocated.for_each(|register| out.extend(register));
    }

    fn restore(from: &mut Reader<'_>) -> Option<Self> {
        let vgprs = from.word()? as usize;
        let acc_base = u16::try_from(from.word()?).ok()?;
        if vgprs > MOST_REGISTERS || usize::from(acc_base) > vgprs {
            return None;
        }
        let pc = from.pair()?;
        let scc = from.word()? != 0;
        let mode = from.word()?;
        let state = match from.word()? {
            0 => State::Running,
            1 => State::Barrier,
            2 => State::Done,
            3 => State::Halted,
            _ => return None,
        };
        let barrier = match from.word()? {
            0 => Barrier::Idle,
            1 => Barrier::Signalled,
            2 => Barrier::Complete,
            3 => Barrier::Restored,
            _ => return None,
        };
        let index = from.word()?;
        let apertures = Apertures {
            shared: from.pair()?,
            private: from.pair()?,
        };
        let scratch = (from.pair()?, from.pair()?);
        let ticket = NonZeroU32::new(from.word()?);
        let handler = Handler {
            entry: from.pair()?,
            memory: from.pair()?,
        };
        let (doorbell, flags) = (from.word()?, from.word()?);
        let bits = from.word()?;
        if bits > 3 {
            return None;
        }
        let trap = Trap {
            handler,
            doorbell,
            privileged: bits & 1 == 1,
            halt: bits & 2 == 2,
            flags,
            ..Trap::default()
        };
        let mut s = [0; 256];
        s[..SCALARS].copy_from_slice(from.take(SCALARS)?);
        let registers = from.take(vgprs.checked_mul(L)?)?;
        let mut v = registers
            .chunks_exact(L)
            .map(|lanes| <[u32; L]>::try_from(lanes).ok())
            .collect::<Option<Vec<_>>>()?;
        v.resize(vgprs + Self::STAGES, [0; L]);
        Some(Self {
            s,
            v,
            acc_base,
            pc,
            scc,
            mode,
            state,
            barrier,
            apertures,
            scratch,
            index,
            ticket,
            trap,
        })
    }
}

impl<const L: usize> Workgroup<L> {
    /// The state as words, [`words`] of them.
    pub fn save(&self) -> Vec<u32> {
        let mut out = vec![L as u32];
        out.extend(self.id);
        out.extend([
            self.turn as u32,
            self.lds.len() as u32,
            self.waves.len() as u32,
            0,
        ]);
        let lds = self.lds.chunks_exact(4);
        out.extend(lds.map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])));
        self.waves.iter().for_each(|wave| wave.save(&mut out));
        out
    }

    /// Make a workgroup from words that [`Workgroup::save`] has returned; its address space is now
    /// `vmid`. `None` if the words are not such.
    pub fn restore(words: &[u32], vmid: u8) -> Option<Self> {
        let mut from = Reader(words);
        if from.word()? as usize != L {
            return None;
        }
        let id = [from.word()?, from.word()?, from.word()?];
        let turn = from.word()? as usize;
        let lds = from.word()? as usize;
        let count = from.word()? as usize;
        from.word()?;
        let lds = from.take(lds / 4)?;
        let lds = lds.iter().flat_map(|word| word.to_le_bytes()).collect();
        let mut waves = Vec::new();
        for _ in 0..count {
            waves.push(Wave::restore(&mut from)?);
        }
        (turn < count && from.0.is_empty()).then_some(Self {
            id,
            vmid,
            lds,
            waves,
            turn,
            pending: Vec::new(),
            races: None,
            schedule: None,
            caches: None,
            inherits: false,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group() -> Workgroup<64> {
        let wave = |index: u32| Wave {
            s: std::array::from_fn(|n| if n < SCALARS { n as u32 * 3 + index } else { 0 }),
            v: (0..5)
                .map(|r| [r + index; 64])
                .chain([[0; 64]; Wave::<64>::STAGES])
                .collect(),
            acc_base: 4,
            pc: 0x1234_5678_9abc,
            scc: index == 1,
            mode: 0x2f0,
            state: [State::Running, State::Barrier, State::Done][index as usize],
            barrier: [Barrier::Idle, Barrier::Signalled, Barrier::Complete][index as usize],
            apertures: Apertures {
                shared: 1 << 48,
                private: 2 << 48,
            },
            scratch: (0x7000_0000_1000, 4096),
            index,
            ticket: NonZeroU32::new(index * 9),
            trap: Trap {
                handler: Handler {
                    entry: 0x7000_0001_0000,
                    memory: 0x7000_0002_0000,
                },
                doorbell: 5 + index,
                privileged: index == 0,
                halt: index < 2,
                flags: 0x800 >> index,
                ..Trap::default()
            },
        };
        Workgroup {
            id: [3, 2, 1],
            vmid: 7,
            lds: (0..512u32).map(|n| n as u8).collect(),
            waves: (0..3).map(wave).collect(),
            turn: 2,
            pending: Vec::new(),
            races: None,
            schedule: None,
            caches: None,
            inherits: false,
        }
    }

    #[test]
    fn a_group_comes_back_as_it_was() {
        let saved = group().save();
        assert_eq!(saved.len(), words(64, 3, 5, 512));
        let back = Workgroup::<64>::restore(&saved, 9).unwrap();
        assert_eq!(back.vmid, 9, "under the name that its process has now");
        assert_eq!(back.save(), saved);
        assert_eq!(back.waves[2].ticket, NonZeroU32::new(18));
    }

    #[test]
    fn words_of_something_else_are_refused() {
        let saved = group().save();
        assert!(
            Workgroup::<32>::restore(&saved, 1).is_none(),
            "waves of another size"
        );
        for cut in [0, 1, 7, 8, 200, saved.len() - 1] {
            assert!(
                Workgroup::<64>::restore(&saved[..cut], 1).is_none(),
                "{cut} words"
            );
        }
        let long: Vec<u32> = saved.iter().copied().chain([0]).collect();
        assert!(Workgroup::<64>::restore(&long, 1).is_none(), "a word more");
        for (at, value) in [
            (4, 3),
            (6, 4),
            (8 + 128 + 6, 4),
            (8 + 128 + 7, 4),
            (8 + 128 + 24, 4),
        ] {
            let mut wrong = saved.clone();
            wrong[at] = value;
            assert!(Workgroup::<64>::restore(&wrong, 1).is_none(), "word {at}");
        }
    }
}
