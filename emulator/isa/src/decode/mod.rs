// SPDX-License-Identifier: MIT OR Apache-2.0
//! From instruction words to a form that is ready to execute.
//!
//! Which words mean which operation comes from the generated table; where a family keeps its
//! operands is written here, from AMD's CDNA3 ISA, section 13, and LLVM's SIInstrFormats.td,
//! VOPInstructions.td, FLATInstructions.td, DSInstructions.td and SMInstructions.td.

pub mod kind;
pub mod table;

use crate::target::gfx942::Op;
use table::{Family, Row};

/// Operand codes: 0-127 scalar registers, 128-254 constants and special values, 255 a literal,
/// then the vector registers and, from 512, the accumulation registers.
pub mod code {
    /// VCC, low half.
    pub const VCC: u16 = 106;
    /// M0.
    pub const M0: u16 = 124;
    /// EXEC, low half.
    pub const EXEC: u16 = 126;
    /// A 32-bit literal follows the instruction.
    pub const LITERAL: u16 = 255;
    /// v0.
    pub const VGPR: u16 = 256;
    /// a0.
    pub const AGPR: u16 = 512;
    /// No register here.
    pub const NONE: u16 = 0xffff;
}

/// Why words are no instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecodeError {
    /// No encoding of the chip matches.
    Undecodable,
    /// An operand's code is reserved.
    ReservedOperand(Op, u16),
}

/// An instruction with its operands taken apart.
#[derive(Clone, Copy, Debug)]
pub struct Inst {
    /// The operation.
    pub op: Op,
    /// Its regular family, if it belongs to one.
    pub kind: kind::Kind,
    /// The encoding it came in.
    pub family: Family,
    /// Bytes, with the literal.
    pub size: u8,
    /// Destination, an operand code.
    pub dst: u16,
    /// Second, scalar destination: a carry or comparison mask.
    pub sdst: u16,
    /// Sources, operand codes.
    pub src: [u16; 3],
    /// Literal, or a memory instruction's offset, or a SOPK/SOPP immediate.
    pub imm: u32,
    /// VOP3's absolute value bits; VOP3P's neg_hi.
    pub abs: u8,
    /// VOP3's and VOP3P's negate bits.
    pub neg: u8,
    /// Output modifier: 0 none, 1 times two, 2 times four, 3 half.
    pub omod: u8,
    /// Clamp the result.
    pub clamp: bool,
    /// op_sel: which halves.
    pub op_sel: u8,
    /// VOP3P's op_sel_hi.
    pub op_sel_hi: u8,
    /// Cache policy: bit 0 sc0 (an atomic returns the old value), 1 nt, 2 sc1.
    pub cache: u8,
    /// One past the highest v register named, and the highest a register.
    pub vgprs: u16,
    /// One past the highest a register named.
    pub agprs: u16,
}

impl Inst {
    /// The mnemonic.
    pub fn name(&self) -> &'static str {
        self.op.name()
    }

    /// A form that decodes but is not executed, whatever the registers hold.
    pub fn unsupported(&self) -> Option<&'static str> {
        let sources = self
            .src
            .iter()
            .filter(|_| !matches!(self.family, Family::Flat | Family::Ds | Family::Smem));
        sources.copied().find_map(|operand| match operand {
            239 => Some("src_pops_exiting_wave_id"),
            254 => Some("src_lds_direct"),
            _ => None,
        })
    }

    fn new(row: &Row) -> Self {
        Self {
            op: row.op,
            kind: kind::of(row.op),
            family: row.family,
            size: row.size,
            dst: code::NONE,
            sdst: code::NONE,
            src: [code::NONE; 3],
            imm: 0,
            abs: 0,
            neg: 0,
            omod: 0,
            clamp: false,
            op_sel: 0,
            op_sel_hi: 0,
            cache: 0,
            vgprs: 0,
            agprs: 0,
        }
    }
}

const fn bits(word: u32, low: u32, count: u32) -> u32 {
    (word >> low) & ((1 << count) - 1)
}

const fn vgpr(number: u32) -> u16 {
    code::VGPR + number as u16
}

/// Decode one instruction. `words` are the next two; one past the end of code may be anything.
pub fn decode(words: [u32; 2]) -> Result<Inst, DecodeError> {
    let [low, high] = words;
    let row = table::find(low, high).ok_or(DecodeError::Undecodable)?;
    let mut i = Inst::new(row);
    // The records call accumulation register moves and matrix operations VOP3; their words are
    // VOP3P's.
    if row.family == Family::Vop3 && low >> 23 == 0x1a7 {
        i.family = Family::Vop3p;
    }
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
        Family::Smem => smem(&mut i, low, high),
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
        Family::Vop3 => vop3(&mut i, row, low, high),
        Family::Vop3p => vop3p(&mut i, low, high),
        Family::Ds => ds(&mut i, low, high),
        Family::Flat => flat(&mut i, low, high),
        // Known by name, not executed.
        Family::Sdwa
        | Family::Dpp
        | Family::Mubuf
        | Family::Mtbuf
        | Family::Mimg
        | Family::Exp
        | Family::Vintrp => return Ok(i),
    }
    literal(&mut i, row, high);
    special(&mut i, row);
    ranges(&mut i, row)?;
    Ok(i)
}

fn smem(i: &mut Inst, low: u32, high: u32) {
    i.dst = bits(low, 6, 7) as u16;
    i.src[0] = (bits(low, 0, 6) * 2) as u16;
    i.cache = bits(low, 16, 1) as u8;
    let (imm, soffset_en) = (bits(low, 17, 1) == 1, bits(low, 14, 1) == 1);
    // A 21-bit signed byte offset, a register, or both.
    if imm {
        i.imm = (((high << 11) as i32) >> 11) as u32;
    } else if !soffset_en {
        i.src[1] = bits(high, 0, 7) as u16;
    }
    if soffset_en {
        i.src[1] = bits(high, 25, 7) as u16;
    }
}

fn vop3(i: &mut Inst, row: &Row, low: u32, high: u32) {
    let number = bits(low, 0, 8);
    let is_compare = i.op.name().starts_with("v_cmp");
    if is_compare || matches!(i.op, Op::VReadlaneB32 | Op::VReadfirstlaneB32) {
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
        if row.widths[n + 1] == 0 && !mask_source {
            i.src[n] = code::NONE;
        }
    }
}

/// VOP3b: the operations with a scalar destination of their own.
fn has_sdst(op: Op) -> bool {
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
fn has_mask_source(op: Op) -> bool {
    use Op::*;
    matches!(op, VCndmaskB32 | VAddcCoU32 | VSubbCoU32 | VSubbrevCoU32)
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
    match i.op {
        Op::VAccvgprReadB32 => {
            i.src = [code::AGPR + (i.src[0] & 0xff), code::NONE, code::NONE];
        }
        Op::VAccvgprWriteB32 => {
            i.dst = code::AGPR + (i.dst & 0xff);
            i.src = [i.src[0], code::NONE, code::NONE];
        }
        _ => {}
    }
}

fn ds(i: &mut Inst, low: u32, high: u32) {
    let base = if bits(low, 25, 1) == 1 {
        code::AGPR
    } else {
        code::VGPR
    };
    i.src = [
        vgpr(bits(high, 0, 8)),
        base + bits(high, 8, 8) as u16,
        base + bits(high, 16, 8) as u16,
    ];
    i.dst = base + bits(high, 24, 8) as u16;
    // Two 8-bit offsets or one of 16 bits; gds in cache bit 0.
    i.imm = low & 0xffff;
    i.cache = bits(low, 16, 1) as u8;
}

fn flat(i: &mut Inst, low: u32, high: u32) {
    let base = if bits(high, 23, 1) == 1 {
        code::AGPR
    } else {
        code::VGPR
    };
    i.dst = base + bits(high, 24, 8) as u16;
    i.src[0] = vgpr(bits(high, 0, 8));
    i.src[1] = base + bits(high, 8, 8) as u16;
    i.src[2] = bits(high, 16, 7) as u16;
    let segment = bits(low, 14, 2);
    i.op_sel = segment as u8;
    // flat: 12 bits unsigned; global and scratch: 13 bits signed.
    i.imm = if segment == 0 {
        low & 0xfff
    } else {
        (((low << 19) as i32) >> 19) as u32
    };
    if segment == 0 || i.src[2] == 0x7f {
        i.src[2] = code::NONE;
    }
    // Scratch says with a bit of its own whether there is a vector address.
    if segment == 1 && bits(low, 13, 1) == 0 {
        i.src[0] = code::NONE;
    }
    i.cache = (bits(low, 16, 2) | (bits(low, 25, 1) << 2)) as u8;
}

/// A literal follows when a source asks for one, or the encoding always has one.
fn literal(i: &mut Inst, row: &Row, high: u32) {
    let wants = match row.family {
        Family::Sop1 | Family::Vop1 => i.src[0] == code::LITERAL,
        // s_set_gpr_idx_on's second source is a bare number.
        Family::Sop2 | Family::Sopc => {
            i.src[0] == code::LITERAL || (i.src[1] == code::LITERAL && row.widths[2] > 0)
        }
        Family::Vop2 | Family::Vopc => i.src[0] == code::LITERAL,
        _ => false,
    };
    if wants {
        i.imm = high;
        if row.size == 4 {
            i.size = 8;
        }
    }
    if row.family == Family::Sopk && row.size == 8 {
        i.src[0] = i.imm as u16;
        i.imm = high;
    } else if row.family == Family::Vop2 && row.size == 8 {
        i.imm = high;
    }
}

/// Operands that the encoding implies, and those that it has but does not use.
fn special(i: &mut Inst, row: &Row) {
    use Op::*;
    match (i.op, row.family) {
        // The old value of the destination is a source.
        (VFmacF32 | VFmacF64, _) => i.src[2] = i.dst,
        (VCndmaskB32 | VAddcCoU32 | VSubbCoU32 | VSubbrevCoU32, Family::Vop2) => {
            i.src[2] = code::VCC
        }
        (VReadfirstlaneB32, Family::Vop1) => i.dst -= code::VGPR,
        _ => {}
    }
}

/// Note the highest registers, and refuse codes that mean nothing.
fn ranges(i: &mut Inst, row: &Row) -> Result<(), DecodeError> {
    let memory = matches!(row.family, Family::Flat | Family::Ds);
    let operands = [
        (i.dst, row.widths[0]),
        (i.src[0], row.widths[1]),
        (i.src[1], row.widths[2]),
        (i.src[2], row.widths[3]),
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
    if memory {
        return Ok(());
    }
    for &operand in &i.src {
        let reserved = matches!(operand, 209..=234 | 249 | 250)
            || (operand == code::LITERAL
                && matches!(row.family, Family::Vop3 | Family::Vop3p | Family::Smem));
        if reserved {
            return Err(DecodeError::ReservedOperand(i.op, operand));
        }
    }
    Ok(())
}
