// SPDX-License-Identifier: MIT OR Apache-2.0

//! What a counter can count, and how a generation numbers it.

use super::super::slot::Slot;
use rkfd_hw::regs::gc_9_4_3::GRBM_PERFCOUNTER0_SELECT as BusSelect;
use rkfd_hw::regs::Value;
use rkfd_isa::{Issue, Lookup, Lookups, Tally};

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
    /// Look-ups of some kinds in the block's cache.
    Lookups(&'static [Lookup]),
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

    /// What look-ups in the block's cache add.
    pub fn of_lookups(self, lookups: &Lookups) -> u64 {
        match self {
            Self::Lookups(kinds) => lookups.of(kinds),
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

/// The instances of a block that GRBM_GFX_INDEX chooses; `None` where all are.
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

/// Where the instances of a block are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Instances {
    /// One of an XCC.
    One,
    /// One of a shader engine.
    Engines,
    /// One of so many compute units.
    Units(u32),
    /// One of a channel of the second-level cache.
    Channels,
}

/// A block that has counters.
pub(crate) struct Block {
    /// How the names of its registers begin.
    pub name: &'static str,
    /// Where its instances are.
    pub instances: Instances,
    /// The instances that GRBM_GFX_INDEX chooses.
    pub chosen: fn(u32) -> Chosen,
    /// Counters of an instance.
    pub counters: usize,
    /// A counter has so many SELECT registers, of which the first says what it counts.
    pub selects: usize,
    /// The event's number in that.
    pub number: fn(u32) -> u32,
    /// The other bits of it that must have one value, that value, and what others ask for.
    pub select: (u32, u32, &'static str),
    /// The event of a number; `None` if it isn't modelled.
    pub event: fn(u32) -> Option<Event>,
}

/// The counters of a generation.
pub(crate) struct Scheme {
    /// MHz of the engine's clock.
    pub mhz: u32,
    /// Those of sequencers.
    pub sequencer: Block,
    /// Those of compute units' vector caches.
    pub vector: Block,
    /// Those of the second-level cache.
    pub second: Block,
    /// Whether a queue's waves are counted under a VMID by SQ's control registers, but for its own
    /// COMPUTE_PERFCOUNT_ENABLE.
    pub takes: fn(&Control, Slot, u8) -> bool,
    /// Whether they are even if that is not set.
    pub forced: fn(&Control) -> bool,
    /// Whether the waves of a compute unit of an array are counted.
    pub counts: fn(&Control, array: u32, unit: u32) -> bool,
}

/// What selects of caches' blocks may have beside the event's number: nothing.
pub(crate) const ONE_EVENT: &str = "a second event, or a mode that is not modelled";

/// The register bus' counters, which are the same on all chips (`GRBM_PERF_SEL` of Linux's `vega10_enum.h` and
/// `soc24_enum.h`).
pub(crate) static BUS: Block = Block {
    name: "GRBM",
    instances: Instances::One,
    chosen: |_| Chosen {
        engine: None,
        array: None,
        unit: None,
    },
    counters: 2,
    selects: 1,
    number: |select| Value::<BusSelect>::new(select).get(BusSelect::PERF_SEL),
    select: (0, 0, ""),
    event: |number| {
        Some(match number {
            0 => Event::Cycles,
            2 => Event::BusyCycles,
            _ => return None,
        })
    },
};
