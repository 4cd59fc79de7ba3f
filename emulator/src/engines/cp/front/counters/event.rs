// SPDX-License-Identifier: MIT OR Apache-2.0

//! What a counter can count, and how a generation numbers it.

use super::super::slot::Slot;
use rkfd_isa::{Issue, Tally};

/// What a counter counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Event {
    /// Nothing.
    None,
    /// Cycles.
    Cycles,
    /// Cycles in which waves are there: on the sequencer's engine, of the register bus on the whole XCC.
    BusyCycles,
    /// Waves that have begun, or gone on after they were saved.
    Waves,
    /// Those of so many lanes.
    WavesOf(u32),
    /// Instructions, each once for a wave.
    Instructions,
    /// Those of some kinds.
    InstructionsOf(&'static [Issue]),
}

/// Waves of a work-group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Waves {
    pub count: u32,
    pub lanes: u32,
}

impl Event {
    /// What waves' instructions add.
    pub fn of_instructions(self, tally: &Tally) -> u64 {
        match self {
            Self::Instructions => tally.all(),
            Self::InstructionsOf(kinds) => tally.of(kinds),
            _ => 0,
        }
    }

    /// What waves add that begin.
    pub fn of_waves(self, waves: Waves) -> u64 {
        match self {
            Self::Waves => waves.count.into(),
            Self::WavesOf(lanes) if lanes == waves.lanes => waves.count.into(),
            _ => 0,
        }
    }
}

/// The sequencers that GRBM_GFX_INDEX chooses; `None` where all are.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) struct Chosen {
    pub engine: Option<u32>,
    pub array: Option<u32>,
    pub unit: Option<u32>,
}

/// SQ_PERFCOUNTER_CTRL, SQ_PERFCOUNTER_CTRL2 and SQ_PERFCOUNTER_MASK.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) struct Control {
    pub control: u32,
    pub second: u32,
    pub mask: u32,
}

/// The counters of a generation.
pub(crate) struct Scheme {
    /// Compute units of a sequencer that counts by itself; 0 where a whole engine has one.
    pub units: u32,
    /// SQ_PERFCOUNTERn_SELECT of how many selects what the nth counter counts.
    pub selects: usize,
    /// Counters of a sequencer.
    pub counters: usize,
    /// MHz of the engine's clock.
    pub mhz: u32,
    /// The sequencers that GRBM_GFX_INDEX chooses.
    pub chosen: fn(u32) -> Chosen,
    /// A sequencer's event of a number; `None` if it isn't modelled.
    pub event: fn(u32) -> Option<Event>,
    /// The bits of SQ_PERFCOUNTER0_SELECT that must have one value, that value, and what others ask for.
    pub select: (u32, u32, &'static str),
    /// Whether a queue's waves are counted under a VMID by SQ's control registers, but for its own
    /// COMPUTE_PERFCOUNT_ENABLE.
    pub takes: fn(&Control, Slot, u8) -> bool,
    /// Whether they are even if that is not set.
    pub forced: fn(&Control) -> bool,
    /// Whether the waves of a compute unit of an array are counted.
    pub counts: fn(&Control, array: u32, unit: u32) -> bool,
}

/// GRBM's event of a number (`GRBM_PERF_SEL` of Linux's `vega10_enum.h` and `soc24_enum.h`).
pub(crate) fn of_bus(number: u32) -> Option<Event> {
    Some(match number {
        0 => Event::Cycles,
        2 => Event::BusyCycles,
        _ => return None,
    })
}
