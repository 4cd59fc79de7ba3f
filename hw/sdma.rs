// SPDX-License-Identifier: MIT OR Apache-2.0

//! SDMA packets: what a copy queue's ring and indirect buffers hold.
//!
//! One generated table, of what the generations of the engine ([`v4_4`], [`v7_0`]) have in common and
//! what each adds; opcodes are the same in both. A packet's first word holds the opcode in bits 7:0 and the sub-opcode in 15:8; how many
//! words it has follows from them, and from a count for those that carry data.

/// Declares what the generations of a packet have in common and what each adds: [`v4_4`],
/// [`v7_0`].
macro_rules! packets {
    ($(
        #[doc = $doc:literal]
        pub struct $name:ident = $c:literal $common:tt
        $( v4_4 [$words4:literal $(, $note4:literal)?] $only4:tt )?
        $( v7_0 [$words7:literal $(, $note7:literal)?] $only7:tt )?
    )*) => {
        /// Packets of SDMA 4.0 to 4.4.
        pub mod v4_4 {
            use super::super::super::layout::*;
            layout! { $($(
                #[doc = $doc]
                $(#[doc = ""] #[doc = $note4])?
                pub struct $name: [u32; $words4] = $c $common $only4
            )?)* }
            /// The packets of this generation.
            pub const LAYOUTS: &[LayoutInfo] = &[ $($( packets!(@ $only4 $name), )?)* ];
        }
        /// Packets of SDMA 6.0 and 7.0.
        pub mod v7_0 {
            use super::super::super::layout::*;
            layout! { $($(
                #[doc = $doc]
                $(#[doc = ""] #[doc = $note7])?
                pub struct $name: [u32; $words7] = $c $common $only7
            )?)* }
            /// The packets of this generation.
            pub const LAYOUTS: &[LayoutInfo] = &[ $($( packets!(@ $only7 $name), )?)* ];
        }
    };
    (@ $only:tt $name:ident) => {
        LayoutInfo::of::<$name>()
    };
}

#[rustfmt::skip]
mod tables;

use super::layout::*;

pub use tables::{v4_4, v7_0};

/// Opcodes (`vega10_sdma_pkt_open.h`, `sdma_v6_0_0_pkt_open.h`, `SDMA_OP_*`).
pub mod op {
    /// `SDMA_OP_NOP`.
    pub const NOP: u8 = 0;
    /// `SDMA_OP_COPY`.
    pub const COPY: u8 = 1;
    /// `SDMA_OP_WRITE`.
    pub const WRITE: u8 = 2;
    /// `SDMA_OP_INDIRECT`.
    pub const INDIRECT: u8 = 4;
    /// `SDMA_OP_FENCE`.
    pub const FENCE: u8 = 5;
    /// `SDMA_OP_TRAP`.
    pub const TRAP: u8 = 6;
    /// `SDMA_OP_POLL_REGMEM`.
    pub const POLL_REGMEM: u8 = 8;
    /// `SDMA_OP_COND_EXE`.
    pub const COND_EXE: u8 = 9;
    /// `SDMA_OP_ATOMIC`.
    pub const ATOMIC: u8 = 10;
    /// `SDMA_OP_CONST_FILL`.
    pub const CONST_FILL: u8 = 11;
    /// `SDMA_OP_PTEPDE`.
    pub const PTEPDE: u8 = 12;
    /// `SDMA_OP_TIMESTAMP`.
    pub const TIMESTAMP: u8 = 13;
    /// `SDMA_OP_SRBM_WRITE`.
    pub const SRBM_WRITE: u8 = 14;
    /// SDMA 6.0 and later only.
    pub const GCR_REQ: u8 = 17;
}

/// Sub-opcodes that are not 0.
pub mod sub_op {
    /// `SDMA_SUBOP_COPY_RECT`.
    pub const COPY_RECT: u8 = 4;
    /// `SDMA_SUBOP_TIMESTAMP_GET_GLOBAL`.
    pub const TIMESTAMP_GET_GLOBAL: u8 = 2;
    /// GCR_REQ for user queues (ROCr, `sdma_registers.h`, `SDMA_SUBOP_USER_GCR`).
    pub const USER_GCR: u8 = 1;
}

/// Operations of ATOMIC that return the old value (`soc21_enum.h`, `TC_OP_ATOMIC_*_RTN_32`); those
/// that return nothing are [`atomic::NO_RETURN`] higher, those of 64 bits [`atomic::WIDE`].
pub mod atomic {
    /// `TC_OP_ATOMIC_SWAP_RTN_32`.
    pub const SWAP: u8 = 0x07;
    /// `TC_OP_ATOMIC_CMPSWAP_RTN_32`.
    pub const CMPSWAP: u8 = 0x08;
    /// `TC_OP_ATOMIC_ADD_RTN_32`.
    pub const ADD: u8 = 0x0f;
    /// `TC_OP_ATOMIC_SUB_RTN_32`.
    pub const SUB: u8 = 0x10;
    /// `TC_OP_ATOMIC_SMIN_RTN_32`.
    pub const SMIN: u8 = 0x11;
    /// `TC_OP_ATOMIC_UMIN_RTN_32`.
    pub const UMIN: u8 = 0x12;
    /// `TC_OP_ATOMIC_SMAX_RTN_32`.
    pub const SMAX: u8 = 0x13;
    /// `TC_OP_ATOMIC_UMAX_RTN_32`.
    pub const UMAX: u8 = 0x14;
    /// `TC_OP_ATOMIC_AND_RTN_32`.
    pub const AND: u8 = 0x15;
    /// `TC_OP_ATOMIC_OR_RTN_32`.
    pub const OR: u8 = 0x16;
    /// `TC_OP_ATOMIC_XOR_RTN_32`.
    pub const XOR: u8 = 0x17;
    /// `TC_OP_ATOMIC_INC_RTN_32`.
    pub const INC: u8 = 0x18;
    /// `TC_OP_ATOMIC_DEC_RTN_32`.
    pub const DEC: u8 = 0x19;
    /// Added for 64 bits.
    pub const WIDE: u8 = 0x20;
    /// Added for the operation that returns nothing.
    pub const NO_RETURN: u8 = 0x40;
}

/// FUNC of POLL_REGMEM: how the masked value is compared with the reference.
///
/// Linux has no names for them; it waits with 3 ("==") and, in `sdma_v4_4_2_wait_reg_mem`, names
/// 5 (">=") for values that grow.
pub mod func {
    /// Nothing is compared.
    pub const ALWAYS: u64 = 0;
    /// The value is below the reference.
    pub const LESS: u64 = 1;
    /// The value is not above the reference.
    pub const LESS_OR_EQUAL: u64 = 2;
    /// Both are equal.
    pub const EQUAL: u64 = 3;
    /// They differ.
    pub const NOT_EQUAL: u64 = 4;
    /// The value is not below the reference.
    pub const GREATER_OR_EQUAL: u64 = 5;
    /// The value is above the reference.
    pub const GREATER: u64 = 6;
}

/// RETRY_COUNT of POLL_REGMEM that never gives up.
pub const RETRY_FOREVER: u64 = 0xfff;
/// FILLSIZE of CONSTANT_FILL: the pattern is a whole word.
pub const FILL_WORDS: u64 = 2;
/// Bytes that one COPY_LINEAR or CONSTANT_FILL can name: its count has 30 bits.
pub const MAX_BYTES: u64 = 1 << 30;
/// The packet with which a process flushes HDP (ROCr, `sdma_registers.h`, `hdp_flush_cmd`): a
/// POLL_REGMEM of no register.
pub const HDP_FLUSH: [u32; 6] = [op::POLL_REGMEM as u32, 0, 0x8000_0000, 0, 0, 0];

/// The name of an opcode, for traces.
pub const fn name(op: u8) -> Option<&'static str> {
    Some(match op {
        op::NOP => "NOP",
        op::COPY => "COPY",
        op::WRITE => "WRITE",
        op::INDIRECT => "INDIRECT",
        op::FENCE => "FENCE",
        op::TRAP => "TRAP",
        op::POLL_REGMEM => "POLL_REGMEM",
        op::COND_EXE => "COND_EXE",
        op::ATOMIC => "ATOMIC",
        op::CONST_FILL => "CONST_FILL",
        op::PTEPDE => "PTEPDE",
        op::TIMESTAMP => "TIMESTAMP",
        op::SRBM_WRITE => "SRBM_WRITE",
        op::GCR_REQ => "GCR_REQ",
        _ => return None,
    })
}

/// The number constants of this file with their names in Linux, for the ABI test.
pub const CONSTANTS: &[(u64, &str)] = &[
    (op::NOP as u64, "SDMA_OP_NOP"),
    (op::COPY as u64, "SDMA_OP_COPY"),
    (op::WRITE as u64, "SDMA_OP_WRITE"),
    (op::INDIRECT as u64, "SDMA_OP_INDIRECT"),
    (op::FENCE as u64, "SDMA_OP_FENCE"),
    (op::TRAP as u64, "SDMA_OP_TRAP"),
    (op::POLL_REGMEM as u64, "SDMA_OP_POLL_REGMEM"),
    (op::COND_EXE as u64, "SDMA_OP_COND_EXE"),
    (op::ATOMIC as u64, "SDMA_OP_ATOMIC"),
    (op::CONST_FILL as u64, "SDMA_OP_CONST_FILL"),
    (op::TIMESTAMP as u64, "SDMA_OP_TIMESTAMP"),
    (op::SRBM_WRITE as u64, "SDMA_OP_SRBM_WRITE"),
    (sub_op::COPY_RECT as u64, "SDMA_SUBOP_COPY_LINEAR_SUB_WIND"),
    (
        sub_op::TIMESTAMP_GET_GLOBAL as u64,
        "SDMA_SUBOP_TIMESTAMP_GET_GLOBAL",
    ),
];

/// The operations of [`atomic`] with their names in Linux, for the ABI test.
pub const ATOMICS: &[(u64, &str)] = &[
    (atomic::SWAP as u64, "TC_OP_ATOMIC_SWAP_RTN_32"),
    (atomic::CMPSWAP as u64, "TC_OP_ATOMIC_CMPSWAP_RTN_32"),
    (atomic::ADD as u64, "TC_OP_ATOMIC_ADD_RTN_32"),
    (atomic::SUB as u64, "TC_OP_ATOMIC_SUB_RTN_32"),
    (atomic::SMIN as u64, "TC_OP_ATOMIC_SMIN_RTN_32"),
    (atomic::UMIN as u64, "TC_OP_ATOMIC_UMIN_RTN_32"),
    (atomic::SMAX as u64, "TC_OP_ATOMIC_SMAX_RTN_32"),
    (atomic::UMAX as u64, "TC_OP_ATOMIC_UMAX_RTN_32"),
    (atomic::AND as u64, "TC_OP_ATOMIC_AND_RTN_32"),
    (atomic::OR as u64, "TC_OP_ATOMIC_OR_RTN_32"),
    (atomic::XOR as u64, "TC_OP_ATOMIC_XOR_RTN_32"),
    (atomic::INC as u64, "TC_OP_ATOMIC_INC_RTN_32"),
    (atomic::DEC as u64, "TC_OP_ATOMIC_DEC_RTN_32"),
    (
        (atomic::ADD | atomic::WIDE) as u64,
        "TC_OP_ATOMIC_ADD_RTN_64",
    ),
    (
        (atomic::CMPSWAP | atomic::WIDE | atomic::NO_RETURN) as u64,
        "TC_OP_ATOMIC_CMPSWAP_64",
    ),
    (
        (atomic::DEC + atomic::WIDE + atomic::NO_RETURN) as u64,
        "TC_OP_ATOMIC_DEC_64",
    ),
];

/// The layouts of this folder, each with the header that it was read from.
pub const LAYOUTS: &[(&str, &[LayoutInfo])] = &[
    ("vega10_sdma_pkt_open.h", v4_4::LAYOUTS),
    ("sdma_v6_0_0_pkt_open.h", v7_0::LAYOUTS),
];
