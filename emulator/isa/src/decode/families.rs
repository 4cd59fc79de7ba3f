// SPDX-License-Identifier: MIT OR Apache-2.0
//! Operand positions that gfx9 and gfx12 share: the scalar families, the vector ones and LDS.
//!
//! From AMD's CDNA3 ISA, section 13, RDNA4 ISA, section 15, and LLVM's SIInstrFormats.td,
//! VOPInstructions.td and DSInstructions.td.

use super::table::Family;
use super::{bits, code, vgpr, DecodeError, Inst};
use crate::decode::Op;

/// Take the operands of a scalar or vector family apart; false if it is neither.
pub fn operands(i: &mut Inst, words: [u32; 3]) -> bool {
    let [low, high, _] = words;
    match i.family {
        Family::Sop2 => {
            i.dst = bits(low, 16, 7) as u16;
            i.src = [bits(low, 0, 8) as u16, bits(low, 8, 8) as u16, code::NONE];
        }
        Family::Sopk => {
            i.dst = bits(low, 16, 7) as u16;
            i.imm = i32::from(low as u16 as i16) as u32;
        }
        Family::Sop1 => {
            i.dst = bits(low, 16, 7) as u16;
            i.src[0] = bits(low, 0, 8) as u16;
        }
        Family::Sopc => i.src = [bits(low, 0, 8) as u16, bits(low, 8, 8) as u16, code::NONE],
        Family::Sopp => i.imm = low & 0xffff,
        Family::Vop1 => {
            i.dst = vgpr(bits(low, 17, 8));
            i.src[0] = bits(low, 0, 9) as u16;
        }
        Family::Vop2 => {
            i.dst = vgpr(bits(low, 17, 8));
            i.src = [bits(low, 0, 9) as u16, vgpr(bits(low, 9, 8)), code::NONE];
            i.sdst = code::VCC;
        }
        Family::Vopc => {
            i.sdst = code::VCC;
            i.src = [bits(low, 0, 9) as u16, vgpr(bits(low, 9, 8)), code::NONE];
        }
        Family::Vop3 => vop3(i, low, high),
        Family::Vop3p => vop3p(i, low, high),
        _ => return false,
    }
    true
}

fn vop3(i: &mut Inst, low: u32, high: u32) {
    let number = bits(low, 0, 8);
    let is_compare = i.op.name().starts_with("v_cmp");
    // v_s_exp_f32 and its like have a scalar result too.
    let is_scalar = i.op.name().starts_with("v_s_");
    if is_compare || is_scalar || matches!(i.op, Op::VReadlaneB32 | Op::VReadfirstlaneB32) {
        // A scalar result in the vector destination's place.
        if is_compare {
            i.sdst = number as u16;
        } else {
            i.dst = number as u16;
        }
    } else {
        i.dst = vgpr(number);
    }
    let three = |at| bits(high, at, 9) as u16;
    i.src = [three(0), three(9), three(18)];
    // The carry-in/out form keeps a scalar destination where abs and op_sel are.
    if has_sdst(i.op) {
        i.sdst = bits(low, 8, 7) as u16;
    } else {
        i.abs = bits(low, 8, 3) as u8;
        i.op_sel = bits(low, 11, 4) as u8;
    }
    i.clamp = bits(low, 15, 1) == 1;
    i.omod = bits(high, 27, 2) as u8;
    i.neg = bits(high, 29, 3) as u8;
    for n in 0..3 {
        let mask_source = n == 2 && has_mask_source(i.op);
        if i.row.widths[n + 1] == 0 && !mask_source {
            i.src[n] = code::NONE;
        }
    }
}

/// VOP3b or VOP3SD: the operations with a scalar destination of their own.
pub(crate) fn has_sdst(op: Op) -> bool {
    use Op::*;
    matches!(
        op,
        VAddCoU32
            | VSubCoU32
            | VSubrevCoU32
            | VAddcCoU32
            | VSubbCoU32
            | VSubbrevCoU32
            | VDivScaleF32
            | VDivScaleF64
            | VMadU64U32
            | VMadI64I32
    )
}

/// Operations whose third source is a lane mask.
pub(crate) fn has_mask_source(op: Op) -> bool {
    use Op::*;
    matches!(
        op,
        VCndmaskB32 | VCndmaskB16 | VAddcCoU32 | VSubbCoU32 | VSubbrevCoU32
    )
}

fn vop3p(i: &mut Inst, low: u32, high: u32) {
    let three = |at| bits(high, at, 9) as u16;
    i.dst = vgpr(bits(low, 0, 8));
    i.src = [three(0), three(9), three(18)];
    i.abs = bits(low, 8, 3) as u8;
    i.op_sel = bits(low, 11, 3) as u8;
    i.op_sel_hi = (bits(high, 27, 2) | (bits(low, 14, 1) << 2)) as u8;
    i.clamp = bits(low, 15, 1) == 1;
    i.neg = bits(high, 29, 3) as u8;
}

/// LDS: the data registers begin at `base`.
pub fn ds(i: &mut Inst, low: u32, high: u32, base: u16) {
    i.src = [
        vgpr(bits(high, 0, 8)),
        base + bits(high, 8, 8) as u16,
        base + bits(high, 16, 8) as u16,
    ];
    i.dst = base + bits(high, 24, 8) as u16;
    // Two 8-bit offsets or one of 16 bits.
    i.imm = low & 0xffff;
}

/// A literal follows when a source asks for one, or the encoding always has one.
pub fn literal(i: &mut Inst, words: [u32; 3]) {
    let row = i.row;
    let [_, high, third] = words;
    // s_sendmsg_rtn's source is a bare number.
    let first = i.src[0] == code::LITERAL && row.widths[1] > 0;
    match row.family {
        Family::Sop1 | Family::Vop1 | Family::Sop2 | Family::Sopc | Family::Vop2 | Family::Vopc => {
            // s_set_gpr_idx_on's second source is a bare number.
            let scalar = matches!(row.family, Family::Sop2 | Family::Sopc);
            let second = scalar && i.src[1] == code::LITERAL && row.widths[2] > 0;
            if row.size == 8 || first || second {
                i.imm = high;
                i.size = 8;
            }
        }
        Family::Vop3 | Family::Vop3p if i.src.contains(&code::LITERAL) => {
            i.imm = third;
            i.size = 12;
        }
        Family::Sopk if row.size == 8 => {
            i.src[0] = i.imm as u16;
            i.imm = high;
        }
        _ => {}
    }
}

/// Operands that the encoding implies, and those that it has but does not use.
pub fn special(i: &mut Inst) {
    use Op::*;
    match (i.op, i.family) {
        // The old value of the destination is a source.
        (VFmacF32 | VFmacF64 | VFmacF16 | VMacF16, _) => i.src[2] = i.dst,
        // And both halves are taken as they lie.
        (VPkFmacF16 | VDot2cF32F16 | VDot2cI32I16 | VDot4cI32I8 | VDot8cI32I4, _) => {
            i.src[2] = i.dst;
            i.op_sel_hi = 7;
        }
        // The literal is among the sources.
        (VFmaakF16 | VMadakF16, _) => i.src[2] = code::LITERAL,
        (VFmamkF16 | VMadmkF16, _) => i.src = [i.src[0], code::LITERAL, i.src[1]],
        (VCndmaskB32 | VAddcCoU32 | VSubbCoU32 | VSubbrevCoU32, Family::Vop2) => {
            i.src[2] = code::VCC
        }
        (VReadfirstlaneB32, Family::Vop1) => i.dst -= code::VGPR,
        _ => {}
    }
}

/// Registers spanned by destination, three sources and scalar destination, where `special` left them.
pub(crate) fn spans(i: &Inst) -> [u8; 5] {
    let mut widths = i.row.widths;
    if matches!(i.op, Op::VFmamkF16 | Op::VMadmkF16) {
        // The literal came between.
        widths = [widths[0], widths[1], 0, 1, 0];
    }
    widths
}

/// Note the highest registers, and refuse codes that mean nothing.
pub fn ranges(i: &mut Inst, reserved: impl Fn(u16) -> bool) -> Result<(), DecodeError> {
    let widths = spans(i);
    let operands = [
        (i.dst, widths[0]),
        (i.src[0], widths[1]),
        (i.src[1], widths[2]),
        (i.src[2], widths[3]),
    ];
    for (operand, width) in operands {
        let width = u16::from(width);
        if operand == code::NONE || width == 0 {
            continue;
        }
        if operand >= code::AGPR {
            i.agprs = i.agprs.max(operand - code::AGPR + width);
        } else if operand >= code::VGPR {
            i.vgprs = i.vgprs.max(operand - code::VGPR + width);
        } else if operand + width > 128 && operand < 128 {
            return Err(DecodeError::ReservedOperand(i.op, operand));
        }
    }
    if matches!(i.family, Family::Mubuf | Family::Mtbuf) {
        let (data, address) = crate::decode::buffer::widths(i);
        for (operand, width) in [(i.dst, data), (i.src[0], address)] {
            match operand {
                _ if width == 0 => {}
                code::AGPR.. => i.agprs = i.agprs.max(operand - code::AGPR + width),
                _ => i.vgprs = i.vgprs.max(operand - code::VGPR + width),
            }
        }
        return Ok(());
    }
    if matches!(i.family, Family::Flat | Family::Ds) {
        return Ok(());
    }
    match i.src.iter().find(|operand| reserved(**operand)) {
        Some(&operand) => Err(DecodeError::ReservedOperand(i.op, operand)),
        None => Ok(()),
    }
}
