// SPDX-License-Identifier: MIT OR Apache-2.0

//! Scratch: memory for what work-items spill, and for their stacks.
//!
//! The GPU finds it by two values: where it begins, and how many waves of which size it is large
//! enough for. A wave's part holds one dword of all its lanes after the other, so only the product
//! matters. An AQL queue has them in its structure ([`Area::store`]), the commands of a PM4 queue set
//! the registers themselves. When a dispatch needs more than there is, a larger area takes the old
//! one's place, before the packet is written. Waves may still use the old area, and the packet
//! processor may read one word old and the other new: so areas only grow, the address is stored
//! before the size, and no area is freed before its queue is.
//!
//! Sources: HSA Runtime, `amd_hsa_queue.h` (`scratch_backing_memory_location`,
//! `compute_tmpring_size`), `AqlQueue::FillComputeTmpRingSize` with its variants for gfx11 and
//! gfx12; Linux, the field masks of COMPUTE_TMPRING_SIZE; LLVM AMDGPUUsage, "Architected Flat
//! Scratch".

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use crate::driver::{lock, Link};
use crate::error::{DispatchError, Error, Result};
use crate::memory::{flags, Bo};
use crate::topology::Node;

/// Byte offset of `compute_tmpring_size` in the queue's structure.
const TMPRING: usize = 0x8c;
/// Byte offset of `scratch_backing_memory_location`.
const LOCATION: usize = 0xa0;
/// Byte offset of `scratch_wave64_lane_byte_size`.
const LANE_BYTES: usize = 0xb0;
/// WAVES has 12 bits.
const MOST_WAVES: u64 = (1 << 12) - 1;
/// Work-items of the largest work-group, all of whose waves must run at the same time.
const GROUP: u64 = 1024;
/// A wave's size counts so many lanes, however many the wave has.
const LANES: u64 = 64;
/// An area is not made larger than this for the sake of more waves.
const ENOUGH: u64 = 32 << 20;

/// A queue's scratch: on each XCC there is as much.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    shape: Shape,
    /// The area in use.
    area: Option<Area>,
    /// The memory of all areas that there were.
    memory: Vec<Bo>,
}

/// What the GPU gets to know of an area.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Area {
    /// Where it begins, a multiple of 256.
    pub(crate) address: u64,
    /// COMPUTE_TMPRING_SIZE.
    pub(crate) size: u32,
    /// Bytes of a lane, of waves of 64.
    lane_bytes: u32,
}

impl Area {
    /// One of a test's.
    #[cfg(test)]
    pub(crate) fn at(address: u64, size: u32) -> Self {
        Self {
            address,
            size,
            lane_bytes: 0,
        }
    }

    /// Stores it in an AQL queue's structure.
    pub(crate) fn store(&self, control: &Bo) -> Result<()> {
        let host = control.host()?;
        let word = |offset| {
            let words = host.words32(offset, 1).and_then(|words| words.first());
            words.ok_or(Error::NotHostVisible)
        };
        let location = host.word64(LOCATION).ok_or(Error::NotHostVisible)?;
        location.store(self.address, Ordering::Relaxed);
        word(LANE_BYTES)?.store(self.lane_bytes, Ordering::Relaxed);
        word(TMPRING)?.store(self.size, Ordering::Release);
        Ok(())
    }
}

/// How a GPU wants scratch to be counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Format {
    /// WAVESIZE counts these bytes.
    unit: u64,
    /// The most that WAVESIZE holds.
    most_units: u64,
    /// WAVES are those of one of so many shader engines.
    engines: u64,
    /// Waves of the largest work-group.
    group_waves: u64,
    /// Waves that run at the same time on an XCC.
    most_waves: u64,
}

impl Format {
    fn of(node: &Node) -> Self {
        let xccs = u64::from(node.xccs().max(1));
        let arrays = node.property("array_count") / xccs;
        let engines = arrays / node.property("simd_arrays_per_engine").max(1);
        let (unit, bits, engines) = match node.gfx_target_version() / 10000 {
            ..=10 => (1024, 13, 1),
            11 => (256, 15, engines.max(1)),
            _ => (256, 18, engines.max(1)),
        };
        let cus = u64::from(node.compute_units()) / xccs;
        Self {
            unit,
            most_units: (1 << bits) - 1,
            engines,
            group_waves: GROUP / node.property("wave_front_size").clamp(1, GROUP),
            most_waves: cus * node.property("max_slots_scratch_cu"),
        }
    }
}

/// What an area is large enough for, on each XCC.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
struct Shape {
    /// Waves, as the register counts them.
    waves: u64,
    /// Units of a wave.
    units: u64,
    /// Bytes of the whole area.
    bytes: u64,
}

impl Shape {
    /// The shape for work-items that need `bytes`; `None` when the GPU can't give that much.
    fn of(bytes: u32, format: &Format) -> Option<Self> {
        let units = (u64::from(bytes) * LANES).div_ceil(format.unit);
        if units > format.most_units {
            return None;
        }
        let wave = units.max(1) * format.unit;
        let waves = (ENOUGH / wave)
            .min(format.most_waves)
            .max(format.group_waves);
        // Every engine can hold a whole work-group.
        let waves = waves
            .div_ceil(format.engines)
            .clamp(format.group_waves, MOST_WAVES);
        Some(Self {
            waves,
            units,
            bytes: waves * format.engines * units * format.unit,
        })
    }

    /// COMPUTE_TMPRING_SIZE.
    fn register(self) -> u32 {
        (self.waves | (self.units << 12)) as u32
    }
}

impl Scratch {
    /// The area in use.
    pub(crate) fn area(&self) -> Option<Area> {
        lock(&self.state).area
    }

    /// Makes sure that a work-item has `bytes` when the next packet runs, on each of the `xccs` that
    /// a dispatch is split to. `publish` passes a new area to the GPU.
    pub(crate) fn reserve(
        &self,
        link: &Arc<Link>,
        node: &Node,
        xccs: u32,
        bytes: u32,
        publish: impl FnOnce(&Area) -> Result<()>,
    ) -> Result<(), Failure> {
        let format = Format::of(node);
        let shape = Shape::of(bytes, &format).ok_or(Failure::TooMuch)?;
        let mut state = lock(&self.state);
        if shape.units <= state.shape.units {
            return Ok(());
        }
        // Never smaller than the old one, whose size may be read with the new address.
        let size = shape.bytes.max(state.shape.bytes) * u64::from(xccs.max(1));
        let memory = Bo::new(link, size as usize, flags::VRAM_PRIVATE)?;
        let area = Area {
            address: memory.address(),
            size: shape.register(),
            lane_bytes: (shape.units * format.unit / LANES) as u32,
        };
        // The GPU may know of it from here on, whatever fails.
        state.memory.push(memory);
        publish(&area)?;
        state.shape = shape;
        state.area = Some(area);
        Ok(())
    }
}

/// Why there is no scratch.
pub(crate) enum Failure {
    /// More than the GPU can give to a work-item.
    TooMuch,
    /// No memory, or the like.
    Other(Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Other(error)
    }
}

impl Failure {
    /// The error of a dispatch of `kernel` that needs `bytes`.
    pub(crate) fn of_dispatch(self, kernel: &str, bytes: u32) -> Error {
        match self {
            Self::TooMuch => Error::Dispatch {
                kernel: kernel.into(),
                error: DispatchError::Scratch { bytes },
            },
            Self::Other(error) => error,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shape_holds_at_least_a_work_group_and_no_more_waves_than_run() {
        let format = Format::of(&Node::of_properties(&[
            ("gfx_target_version", 90402),
            ("simd_count", 320),
            ("simd_per_cu", 4),
            ("array_count", 4),
            ("simd_arrays_per_engine", 1),
            ("wave_front_size", 64),
            ("max_slots_scratch_cu", 32),
        ]));
        let small = Shape::of(96, &format).unwrap();
        assert_eq!((small.waves, small.units), (80 * 32, 6));
        assert_eq!(small.register(), 2560 | (6 << 12));
        assert_eq!(Shape::of(1, &format).unwrap().units, 1);
        let large = Shape::of(64 << 10, &format).unwrap();
        assert_eq!((large.waves, large.units), (16, 4096));
        assert_eq!(Shape::of(16 * 8191, &format).unwrap().units, 8191);
        assert_eq!(Shape::of(16 * 8191 + 1, &format), None);
    }

    #[test]
    fn gfx12_counts_waves_of_an_engine_and_smaller_units() {
        let format = Format::of(&Node::of_properties(&[
            ("gfx_target_version", 120001),
            ("simd_count", 128),
            ("simd_per_cu", 2),
            ("array_count", 8),
            ("simd_arrays_per_engine", 2),
            ("wave_front_size", 32),
            ("max_slots_scratch_cu", 32),
        ]));
        // 64 units of 32 waves on 4 engines; 96 bytes for 64 lanes are 24 units of 256 bytes.
        let small = Shape::of(96, &format).unwrap();
        assert_eq!((small.waves, small.units), (512, 24));
        assert_eq!(small.bytes, 64 * 32 * 96 * 64);
        // A work-group of 1,024 work-items is 32 waves, on one engine.
        let large = Shape::of(64 << 10, &format).unwrap();
        assert_eq!((large.waves, large.units), (32, 16384));
        assert_eq!(Shape::of(4 * 0x3ffff + 1, &format), None);
    }
}
