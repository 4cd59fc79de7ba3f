// SPDX-License-Identifier: MIT OR Apache-2.0

//! MQDs: the memory image of a queue, from which the firmware loads a hardware queue (HQD).
//!
//! One generated table per generation. In a compute MQD, the words from 128 on are the registers
//! from CP_MQD_BASE_ADDR on, in order ([`FIRST_HQD_WORD`]), so their fields are those of
//! [`super::regs`].

#[rustfmt::skip]
pub mod v12;
#[rustfmt::skip]
pub mod v9;

use super::layout::LayoutInfo;

/// The first word of a compute MQD (PM4 type 3, opcode 0x10, 51 words).
///
/// Source: Linux, `amdkfd/kfd_mqd_manager_v9.c`, `init_mqd`.
pub const COMPUTE_HEADER: u32 = 0xc031_0800;
/// The word of a compute MQD that holds CP_MQD_BASE_ADDR; the registers follow in order.
pub const FIRST_HQD_WORD: usize = 128;
/// Number of words from [`FIRST_HQD_WORD`] that are registers, up to CP_HQD_PQ_WPTR_HI.
pub const HQD_WORDS: usize = 56;

/// The layouts of this folder.
pub const LAYOUTS: &[LayoutInfo] = &[
    LayoutInfo::of::<v9::ComputeMqd>(),
    LayoutInfo::of::<v9::SdmaMqd>(),
    LayoutInfo::of::<v12::ComputeMqd>(),
    LayoutInfo::of::<v12::SdmaMqd>(),
];
