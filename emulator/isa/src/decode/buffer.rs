// SPDX-License-Identifier: MIT OR Apache-2.0
//! The forms of a buffer operation, and the registers that it spans.

use super::atomic::Atomic;
use super::kind::Kind;
use super::{Inst, Op};

/// The forms of an address, in `op_sel`.
pub mod form {
    /// A register has an offset.
    pub const OFFEN: u8 = 1;
    /// A register has an index; it comes first.
    pub const IDXEN: u8 = 2;
    /// The data goes to LDS.
    pub const LDS: u8 = 4;
}

/// The registers that a buffer operation's data spans, and its address.
pub fn widths(i: &Inst) -> (u16, u16) {
    let data = match i.kind {
        _ if i.op_sel & form::LDS != 0 => 0,
        Kind::Load(count) | Kind::Store(count) => count.into(),
        Kind::Atomic(op, wide) => {
            let words = if wide { 2 } else { 1 };
            if matches!(op, Atomic::Cmpswap) {
                2 * words
            } else {
                words
            }
        }
        Kind::LoadSmall { .. } | Kind::StoreSmall(..) => 1,
        Kind::Formatted(data) => data.registers(),
        _ => 0,
    };
    let address = u16::from(i.op_sel & form::OFFEN != 0) + u16::from(i.op_sel & form::IDXEN != 0);
    // Cache control has neither.
    match i.op {
        Op::BufferInv | Op::BufferWbl2 => (0, 0),
        _ => (data, address),
    }
}
