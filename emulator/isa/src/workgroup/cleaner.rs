// SPDX-License-Identifier: MIT OR Apache-2.0
//! A cleaner shader: what gfx9.4.3's packet processor runs on every compute unit between two processes.
//!
//! It is launched twice, as `amdgpu/gfx_v9_4_3_cleaner_shader.asm` describes. First sixteen waves with 128 vector registers
//! each, which are all of a compute unit's, and all of LDS: s0 is 1, and bit 31 of s1 tells the first wave. Then 24 waves
//! for the scalar registers that the sixteen didn't have; they halt themselves first, and go on once all of them are there.

use super::{Outcome, Run, Workgroup, LDS_SIZE};
use crate::cu::ComputeUnit;
use crate::decode::code;
use crate::fault::Fault;
use crate::kernel::InOrder;
use crate::memory::Env;
use crate::wave::{Barrier, State, Trap, Wave};
use std::fmt;

/// Waves of the first launch, and vector registers of each.
const FIRST: (usize, usize) = (16, 128);
/// Waves of the second.
const SECOND: usize = 24;
/// Instructions that no cleaner shader needs.
const ENDLESS: u64 = 1_000_000;

/// Why a compute unit isn't clean.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CleanError {
    /// The shader can't go on.
    Fault(Fault),
    /// It does not come to an end.
    Endless,
    /// Waves of the second launch didn't halt: those that end before all have begun leave registers to others.
    NotHalted,
}

impl fmt::Display for CleanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fault(fault) => write!(f, "the cleaner shader stops: {fault}"),
            Self::Endless => f.write_str("the cleaner shader does not end"),
            Self::NotHalted => {
                f.write_str("the cleaner shader's second waves don't begin with s_sethalt 1")
            }
        }
    }
}

impl std::error::Error for CleanError {}

impl ComputeUnit {
    /// Runs a cleaner shader. Nothing else may be on the compute unit.
    ///
    /// # Errors
    /// The shader does not do its part; what it has cleared until then stays cleared.
    pub fn clean(&mut self, env: &mut dyn Env, entry: u64) -> Result<(), CleanError> {
        let (waves, registers) = FIRST;
        self.leftovers.seat(0);
        let vectors = |cu: &mut Self| cu.leftovers.vectors(registers + Wave::<64>::STAGES);
        let lds = self.leftovers.lds(LDS_SIZE as usize);
        let mut first = Workgroup::cleaner(self, entry, waves, lds, vectors);
        for (n, wave) in first.waves.iter_mut().enumerate() {
            wave.s[0] = 1;
            wave.s[1] = (u32::from(n == 0) << 31) | waves as u32;
        }
        self.leftovers.occupied();
        let ended = ended(first.run(self, env, ENDLESS));
        first.retire(self);
        ended?;

        // Vector registers it has some, too, but it is for the scalar ones.
        let some = |_: &mut Self| vec![[0; 64]; 8 + Wave::<64>::STAGES];
        let mut second = Workgroup::cleaner(self, entry, SECOND, Vec::new(), some);
        for wave in &mut second.waves {
            wave.s[..2].fill(0);
        }
        let halts = second.run(self, env, ENDLESS);
        if let Outcome::Fault(fault) = halts {
            return Err(CleanError::Fault(fault));
        }
        if second.waves.iter().any(|wave| wave.state != State::Halted) {
            return Err(CleanError::NotHalted);
        }
        for wave in &mut second.waves {
            wave.state = State::Running;
        }
        let ended = self::ended(second.run(self, env, ENDLESS));
        self.leftovers.keep_scalars(&second.waves);
        ended
    }
}

fn ended(outcome: Outcome) -> Result<(), CleanError> {
    match outcome {
        Outcome::Done => Ok(()),
        Outcome::Budget => Err(CleanError::Endless),
        Outcome::Fault(fault) => Err(CleanError::Fault(fault)),
    }
}

impl Workgroup<64> {
    fn cleaner(
        cu: &mut ComputeUnit,
        entry: u64,
        waves: usize,
        lds: Vec<u8>,
        vectors: impl Fn(&mut ComputeUnit) -> Vec<[u32; 64]>,
    ) -> Self {
        let wave = |index| {
            let mut wave = Wave {
                s: cu.leftovers.scalars(),
                v: vectors(cu),
                acc_base: FIRST.1 as u16,
                pc: entry,
                scc: false,
                mode: 0,
                state: State::Running,
                barrier: Barrier::Idle,
                apertures: Default::default(),
                scratch: (0, 0),
                index,
                ticket: None,
                trap: Trap::default(),
            };
            wave.set_pair(code::EXEC, u64::MAX);
            wave
        };
        let waves = (0..waves as u32).map(wave).collect();
        Self {
            id: [0; 3],
            vmid: 0,
            lds,
            waves,
            turn: 0,
            pending: Vec::new(),
            races: None,
            in_order: InOrder::Unknown,
            memory_races: None,
            schedule: None,
            caches: None,
            inherits: false,
        }
    }
}
