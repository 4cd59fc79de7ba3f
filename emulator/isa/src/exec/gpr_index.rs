// SPDX-License-Identifier: MIT OR Apache-2.0
//! gfx9's relative addressing of vector registers: while MODE.gpr_idx_en is set, M0 has an index and
//! a mask of the operands to which it is added (CDNA3 ISA, section 6.6.3, and S_SET_GPR_IDX_ON). A source
//! beyond the allocation is v0, and with such a destination nothing happens.

use super::valu;
use crate::decode::{code, Inst};
use crate::fault::FaultKind;
use crate::wave::Wave;

/// A vector operation while the index is on.
#[cold]
pub fn execute<const L: usize>(w: &mut Wave<L>, i: &Inst) -> Result<(), FaultKind> {
    let m0 = w.s[code::M0 as usize];
    let (index, which) = ((m0 & 0xff) as u16, m0 >> 12);
    let registers = w.registers().min(256);
    let moved = |operand: u16, bit: u32, width: u8| {
        let (first, count) = match operand {
            code::VGPR..code::AGPR => (code::VGPR, registers),
            code::NONE => return Some(operand),
            code::AGPR.. => (code::AGPR, w.registers() - w.acc_base),
            _ => return Some(operand),
        };
        if (which >> bit) & 1 == 0 {
            return Some(operand);
        }
        let to = operand + index;
        (to - first + u16::from(width.max(1)) <= count).then_some(to)
    };
    let mut relative = *i;
    for n in 0..3 {
        relative.src[n] = moved(i.src[n], n as u32, i.row.widths[n + 1]).unwrap_or(code::VGPR);
    }
    let Some(to) = moved(i.dst, 3, i.row.widths[0]) else {
        return Ok(());
    };
    relative.dst = to;
    valu::execute(w, &relative)
}
