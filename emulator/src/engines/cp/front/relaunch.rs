// SPDX-License-Identifier: MIT OR Apache-2.0

//! The control stack of a queue that was taken off: the writes of COMPUTE_RELAUNCH that launch its waves again.
//!
//! Source: ROCdbgapi, `src/architecture.cpp` (`control_stack_iterate` of gfx9 and gfx10, `cwsr_record_t` of
//! gfx90a, whose layout gfx942 has, and of gfx10, whose layout later ones have): two words of SET_SH_REG, then
//! for each workgroup its state and its waves, from the last that was saved to the first. Where a wave's state
//! lies isn't said: each ends where the one before it begins.

use rkfd_hw::pm4::commands::op::SET_SH_REG;
use rkfd_hw::pm4::header;

/// What a workgroup's waves have in common.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub lanes: usize,
    /// Vector registers of a wave, and the first one for accumulation.
    pub registers: u32,
    pub acc_base: u32,
    /// Bytes of LDS.
    pub lds: u32,
}

/// A wave's scratch memory: its shader engine, and its place among that one's.
pub(crate) type Slot = (u32, u32);

/// A generation's way to write it.
pub struct Format {
    /// COMPUTE_RELAUNCH, counted as SET_SH_REG counts registers (Linux, `gc_9_4_3_offset.h`, `gc_12_0_0_offset.h`).
    register: u32,
    /// The state's words.
    state: fn(&Shape) -> Vec<u32>,
    /// A wave's word: its scratch, and whether it is the workgroup's first and its last.
    wave: fn(Option<Slot>, bool, bool) -> u32,
}

/// The word is a state's.
const STATE: u32 = 1 << 31;
/// Bytes of a unit of LDS.
const LDS: u32 = 512;

/// How many units beyond the first.
fn beyond_first(count: u32, unit: u32) -> u32 {
    (count / unit).saturating_sub(1) & 0x3f
}

/// gfx942's.
pub static GFX9_4_3: Format = Format {
    register: 0x222,
    state: |shape| {
        // 128 scalar registers, in units of 16.
        let scalars = 7 << 6;
        let lds = (shape.lds.div_ceil(LDS) & 0xff) << 9;
        let plain = beyond_first(shape.acc_base, 4) << 24;
        vec![STATE | beyond_first(shape.registers, 8) | scalars | lds | plain]
    },
    wave: |scratch, first, last| {
        let (engine, slot) = scratch.unwrap_or_default();
        (slot & 0x1ff)
            | ((engine & 7) << 9)
            | (u32::from(scratch.is_some()) << 15)
            | (u32::from(last) << 16)
            | (u32::from(first) << 17)
    },
};

/// gfx12's: the second word of the state, COMPUTE_RELAUNCH2, is 0.
pub static GFX12: Format = Format {
    register: 0x230,
    state: |shape| {
        let narrow = shape.lanes == 32;
        let unit = if narrow { 8 } else { 4 };
        let lds = (shape.lds.div_ceil(LDS) & 0xff) << 10;
        let word = STATE | beyond_first(shape.registers, unit) | lds | (u32::from(narrow) << 24);
        vec![word, 0]
    },
    wave: |scratch, first, last| {
        let (engine, slot) = scratch.unwrap_or_default();
        (slot & 0x3ff)
            | (u32::from(scratch.is_some()) << 11)
            | (u32::from(first) << 12)
            | ((engine & 3) << 24)
            | (u32::from(last) << 29)
    },
};

impl Format {
    /// The words of a stack, of workgroups in the order in which they were saved: what their waves have in
    /// common, and each one's scratch. An XCC that saved none has none.
    pub(crate) fn words(&self, groups: &[(Shape, Vec<Option<Slot>>)]) -> Vec<u32> {
        let mut words = Vec::new();
        for (shape, waves) in groups.iter().rev() {
            words.extend((self.state)(shape));
            let last = waves.len().saturating_sub(1);
            let waves = waves.iter().enumerate();
            words.extend(waves.map(|(n, scratch)| (self.wave)(*scratch, n == 0, n == last)));
        }
        let leader = [header(SET_SH_REG, words.len() as u32 + 2), self.register];
        words.splice(0..0, leader);
        words
    }
}
