// SPDX-License-Identifier: MIT OR Apache-2.0

//! Scratch: memory for what work-items spill, and for their stacks.
//!
//! The GPU finds it by two words of the queue's structure: where it begins, and how many waves of
//! which size it is large enough for. A wave's part holds one dword of all its lanes after the
//! other, so only the product matters. When a dispatch needs more than there is, a larger area
//! takes the old one's place, before the packet is written. Waves may still use the old area, and
//! the packet processor may read one word old and the other new: so areas only grow, the address
//! is stored before the size, and no area is freed before its queue is.
//!
//! Sources: HSA Runtime, `amd_hsa_queue.h` (`scratch_backing_memory_location`,
//! `compute_tmpring_size`), `AqlQueue::FillComputeTmpRingSize`; LLVM AMDGPUUsage, "Architected
//! Flat Scratch".

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use crate::error::{DispatchError, Error, Result};
use crate::memory::{flags, Bo};
use crate::process::{lock, Link};
use crate::topology::Node;

/// Byte offset of `compute_tmpring_size` in the queue's structure.
const TMPRING: usize = 0x8c;
/// Byte offset of `scratch_backing_memory_location`.
const LOCATION: usize = 0xa0;
/// Byte offset of `scratch_wave64_lane_byte_size`.
const LANE_BYTES: usize = 0xb0;
/// WAVESIZE counts these bytes.
const UNIT: u64 = 1024;
/// WAVESIZE has 13 bits.
const MOST_UNITS: u64 = (1 << 13) - 1;
/// WAVES has 12 bits.
const MOST_WAVES: u64 = (1 << 12) - 1;
/// Waves of the largest work-group, all of which must run at the same time.
const GROUP_WAVES: u64 = 16;
const LANES: u64 = 64;
/// An area is not made larger than this for the sake of more waves.
const ENOUGH: u64 = 32 << 20;

/// A queue's scratch.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    shape: Shape,
    /// All areas that there were, the last one in use.
    areas: Vec<Bo>,
}

/// What an area is large enough for, on each XCC.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
struct Shape {
    waves: u64,
    /// Units of a wave.
    units: u64,
}

impl Shape {
    /// The shape for work-items that need `bytes`, on a GPU that runs so many waves; `None` when
    /// the GPU can't give that much.
    fn of(bytes: u32, max_waves: u64) -> Option<Self> {
        let units = (u64::from(bytes) * LANES).div_ceil(UNIT);
        if units > MOST_UNITS {
            return None;
        }
        let enough = ENOUGH / (units.max(1) * UNIT);
        let waves = enough.min(max_waves).clamp(GROUP_WAVES, MOST_WAVES);
        Some(Self { waves, units })
    }

    fn bytes(self) -> u64 {
        self.waves * self.units * UNIT
    }

    /// COMPUTE_TMPRING_SIZE.
    fn register(self) -> u32 {
        (self.waves | (self.units << 12)) as u32
    }
}

impl Scratch {
    /// Makes sure that a work-item has `bytes` when the next packet runs. `control` is the queue's
    /// structure.
    pub(crate) fn reserve(
        &self,
        link: &Arc<Link>,
        node: &Node,
        control: &Bo,
        bytes: u32,
    ) -> Result<(), Failure> {
        let cus = u64::from(node.compute_units() / node.xccs().max(1));
        let most = cus * node.property("max_slots_scratch_cu");
        let shape = Shape::of(bytes, most).ok_or(Failure::TooMuch)?;
        let mut state = lock(&self.state);
        if shape.units <= state.shape.units {
            return Ok(());
        }
        // Never smaller than the old one, whose size may be read with the new address.
        let size = shape.bytes().max(state.shape.bytes()) * u64::from(node.xccs().max(1));
        let area = Bo::new(link, size as usize, flags::VRAM_PRIVATE)?;
        let host = control.host()?;
        let place = |offset| host.word64(offset).ok_or(Error::NotHostVisible);
        place(LOCATION)?.store(area.address(), Ordering::Relaxed);
        let lane_bytes = (shape.units * UNIT / LANES) as u32;
        let word = |offset| {
            let words = host.words32(offset, 1).and_then(|words| words.first());
            words.ok_or(Error::NotHostVisible)
        };
        word(LANE_BYTES)?.store(lane_bytes, Ordering::Relaxed);
        word(TMPRING)?.store(shape.register(), Ordering::Release);
        state.shape = shape;
        state.areas.push(area);
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
        let max = 80 * 32;
        let small = Shape::of(96, max).unwrap();
        assert_eq!((small.waves, small.units), (max, 6));
        assert_eq!(small.register(), 2560 | (6 << 12));
        assert_eq!(Shape::of(1, max).unwrap().units, 1);
        let large = Shape::of(64 << 10, max).unwrap();
        assert_eq!((large.waves, large.units), (16, 4096));
        assert_eq!(Shape::of(16 * 8191, max).unwrap().units, MOST_UNITS);
        assert_eq!(Shape::of(16 * 8191 + 1, max), None);
    }
}
