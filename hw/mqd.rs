// SPDX-License-Identifier: MIT OR Apache-2.0

//! MQDs: the memory image of a queue, from which the firmware loads a hardware queue (HQD).
//!
//! One generated table, of what the generations have in common and what each adds. In a compute MQD, the words from 128 on are the registers
//! from CP_MQD_BASE_ADDR on, in order ([`FIRST_HQD_WORD`]), so their fields are those of
//! [`super::regs`].

/// Declares what the generations have in common and what each adds: [`Common`], [`v9`], [`v12`].
macro_rules! mqds {
    ($(
        $(#[$m:meta])*
        pub struct $name:ident: [u32; $words:literal] $common:tt
        v9 = $c9:literal $only9:tt
        v12 = $c12:literal $only12:tt
    )*) => {
        /// What all generations have at the same place: above all the HQD registers' words.
        pub mod common {
            use super::super::super::layout::*;
            layout! { $( $(#[$m])* pub struct $name: [u32; $words] = "" $common )* }
        }
        /// Memory queue descriptors of gfx9.
        pub mod v9 {
            use super::super::super::layout::*;
            layout! { $( $(#[$m])* pub struct $name: [u32; $words] = $c9 $common $only9 )* }
        }
        /// Memory queue descriptors of gfx12.
        pub mod v12 {
            use super::super::super::layout::*;
            layout! { $( $(#[$m])* pub struct $name: [u32; $words] = $c12 $common $only12 )* }
        }
    };
}

#[rustfmt::skip]
mod tables;

use super::layout::*;

pub use tables::common::{ComputeMqd as Common, SdmaMqd as CommonSdma};
pub use tables::{v12, v9};

/// The first word of a compute MQD (PM4 type 3, opcode 0x10, 51 words).
///
/// Source: Linux, `amdkfd/kfd_mqd_manager_v9.c`, `init_mqd`.
pub const COMPUTE_HEADER: u32 = 0xc031_0800;
/// The word of a compute MQD that holds CP_MQD_BASE_ADDR; the registers follow in order.
pub const FIRST_HQD_WORD: usize = 128;
/// Number of words from [`FIRST_HQD_WORD`] that are registers, up to CP_HQD_PQ_WPTR_HI.
pub const HQD_WORDS: usize = 56;

/// Registers of a copy queue that follow each other like words of its MQD.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SdmaRun {
    /// The first register, in words behind RB_CNTL.
    pub register: u32,
    /// The word of the MQD that it has.
    pub word: u32,
    /// How many they are.
    pub count: u32,
}

impl SdmaRun {
    const fn new(register: u32, word: u32, count: u32) -> Self {
        Self {
            register,
            word,
            count,
        }
    }

    /// The MQD's word of a register that is so many words behind RB_CNTL, if it is one of these.
    pub const fn word_of(&self, register: u32) -> Option<usize> {
        match register.checked_sub(self.register) {
            Some(n) if n < self.count => Some(self.word.saturating_add(n) as usize),
            _ => None,
        }
    }
}

/// The registers of a queue of SDMA 4.4.2 that its MQD has (`sdma_4_4_2_offset.h`, `struct v9_sdma_mqd`).
pub const V9_SDMA_RUNS: &[SdmaRun] = &[
    SdmaRun::new(0, 0, 19),
    SdmaRun::new(40, 19, 6),
    SdmaRun::new(47, 25, 7),
    SdmaRun::new(64, 32, 9),
    SdmaRun::new(75, 41, 1),
    SdmaRun::new(76, 44, 2),
];
/// The same of SDMA 7.0 (`gc_12_0_0_offset.h`, `struct v12_sdma_mqd`).
pub const V12_SDMA_RUNS: &[SdmaRun] = &[SdmaRun::new(0, 0, 28), SdmaRun::new(30, 30, 17)];

/// COMPUTE_DISPATCH_SCRATCH_BASE, divided by 256, in a compute MQD: by the order of the registers;
/// Linux's structure for gfx9 has other names there.
pub const COMPUTE_DISPATCH_SCRATCH_BASE: Field<Common, 64> = Field::new(17, 0);

/// The layouts of this folder.
pub const LAYOUTS: &[LayoutInfo] = &[
    LayoutInfo::of::<v9::ComputeMqd>(),
    LayoutInfo::of::<v9::SdmaMqd>(),
    LayoutInfo::of::<v12::ComputeMqd>(),
    LayoutInfo::of::<v12::SdmaMqd>(),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_common_is_in_every_generation() {
        for all in [v9::ComputeMqd::FIELDS, v12::ComputeMqd::FIELDS] {
            for field in Common::FIELDS {
                assert!(all.contains(field), "{}", field.name);
            }
        }
    }

    #[test]
    fn the_registers_of_an_hqd_are_common() {
        let of = |field: &&FieldInfo| field.bit / 32 >= FIRST_HQD_WORD as u16;
        let registers = Common::FIELDS
            .iter()
            .filter(of)
            .map(|field| field.width / 32);
        assert!(registers.map(usize::from).sum::<usize>() >= HQD_WORDS - 2);
    }
}
