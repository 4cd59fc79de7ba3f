// SPDX-License-Identifier: MIT OR Apache-2.0

//! Windows: a register that takes an address, and one that is what lies there.
//!
//! Sources: Linux, `amdgpu_device_indirect_wreg` (`BIF_BX0_PCIE_INDEX2`, `_HI` and `_DATA2`, and on gfx12
//! `BIF_BX_PF0_RSMU_INDEX` and `_DATA`) and
//! `amdgpu_device_mm_access` (`MM_INDEX`, `_HI` and `MM_DATA`), which reads the discovery table before
//! any BAR of memory is mapped.

use std::sync::atomic::{AtomicU32, Ordering};

/// `MM_INDEX`: the address is one of video memory, whose bits from 31 on are in `MM_INDEX_HI`.
const VIDEO_MEMORY: u32 = 1 << 31;

/// What is behind a window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Behind {
    /// Registers, by their byte address in the chip: `PCIE_INDEX2`.
    Chip,
    /// The same by another way: `RSMU_INDEX`.
    Rsmu,
    /// Video memory, or registers of BAR5: `MM_INDEX`.
    Memory,
}

/// A place behind `MM_INDEX`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// A byte offset in video memory.
    Memory(u64),
    /// A byte offset in BAR5.
    Register(u64),
}

/// The address of a window.
#[derive(Default)]
pub struct Window {
    low: AtomicU32,
    high: AtomicU32,
}

impl Window {
    /// The address' low word.
    pub fn low(&self) -> u32 {
        self.low.load(Ordering::Relaxed)
    }

    /// Its high word.
    pub fn high(&self) -> u32 {
        self.high.load(Ordering::Relaxed)
    }

    /// Writes the low word.
    pub fn set_low(&self, value: u32) {
        self.low.store(value, Ordering::Relaxed);
    }

    /// Writes the high word.
    pub fn set_high(&self, value: u32) {
        self.high.store(value, Ordering::Relaxed);
    }

    /// Both words as one number.
    pub fn address(&self) -> u64 {
        u64::from(self.low()) | (u64::from(self.high()) << 32)
    }

    /// What the address names if it is that of `MM_INDEX`.
    pub fn place(&self) -> Place {
        let low = self.low();
        let offset = u64::from(low & !VIDEO_MEMORY);
        match low & VIDEO_MEMORY {
            0 => Place::Register(offset),
            _ => Place::Memory(offset | (u64::from(self.high()) << 31)),
        }
    }

    /// Start-up state.
    pub fn reset(&self) {
        self.set_low(0);
        self.set_high(0);
    }
}
