// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a compute unit does to find mistakes of programs, beyond what it needs to execute them.

/// Checks of programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checks {
    /// Registers that are used before the program has waited for the memory operation that writes them.
    pub waits: bool,
    /// Caches are there: what was loaded before and nobody invalidated is old, and what was stored and nobody released
    /// is the XCC's own.
    pub caches: bool,
    /// Races of waves for LDS. They are found only where waits are checked, too. Not by default: what a program does
    /// with plain loads of a flag is one for this check, and right on hardware.
    pub races: bool,
    /// Races of the waves of a workgroup for memory. They are found only where waits are checked, too.
    pub memory_races: bool,
    /// Waves take turns in an order and of lengths that this seed draws, else one after the other.
    pub seed: Option<u64>,
}

impl Default for Checks {
    fn default() -> Self {
        Self {
            waits: true,
            caches: true,
            races: false,
            memory_races: true,
            seed: Some(Self::SEED),
        }
    }
}

impl Checks {
    /// None: the fastest.
    pub const NONE: Self = Self {
        waits: false,
        caches: false,
        races: false,
        memory_races: false,
        seed: None,
    };

    /// The seed of who names none.
    pub const SEED: u64 = 1;

    /// The default with another seed.
    pub fn seeded(seed: u64) -> Self {
        Self {
            seed: Some(seed),
            ..Self::default()
        }
    }
}
