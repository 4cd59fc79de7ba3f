// SPDX-License-Identifier: MIT OR Apache-2.0
//! From instruction words to a form that is ready to execute.
//!
//! Which words mean which operation comes from a chip's generated table; where a family keeps its
//! operands is written in `families`, if all chips keep them there, or in the chip's own file.

pub mod atomic;
pub mod buffer;
pub(crate) mod confine;
pub mod counters;
pub mod families;
pub mod formatted;
pub mod halves;
pub mod kind;
pub mod matrix;
pub mod ops;
pub(crate) mod order;
pub mod pairs;
pub mod select;
pub mod table;
pub(crate) mod uses;

pub use ops::Op;
use table::{Family, Row};

/// Operand codes, the same for all chips: 0-127 scalar registers, 128-254 constants and special
/// values, 255 a literal, then the vector registers and, from 512, the accumulation registers.
pub mod code {
    /// VCC, low half.
    pub const VCC: u16 = 106;
    /// M0.
    pub const M0: u16 = 124;
    /// Zero. As a source, what gfx12 calls NULL.
    pub const ZERO: u16 = 128;
    /// As a destination, NULL: scalar registers that nothing reads, enough for the longest load.
    pub const NOWHERE: u16 = 160;
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

/// The name of a register that a memory operation may write.
pub struct Register(pub u16);

impl std::fmt::Display for Register {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            code::VCC => f.write_str("vcc_lo"),
            n if n == code::VCC + 1 => f.write_str("vcc_hi"),
            n @ 0..code::VCC => write!(f, "s{n}"),
            n @ 108..code::M0 => write!(f, "ttmp{}", n - 108),
            code::M0 => f.write_str("m0"),
            n @ 125..code::VGPR => write!(f, "scalar register {n}"),
            n @ code::VGPR..code::AGPR => write!(f, "v{}", n - code::VGPR),
            n => write!(f, "a{}", n - code::AGPR),
        }
    }
}

/// Why words are no instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecodeError {
    /// No encoding of the chip matches.
    Undecodable,
    /// An operand's code is reserved.
    ReservedOperand(Op, u16),
}

/// The second of two operations in one instruction; both have two sources at most, and share a
/// literal.
#[derive(Clone, Copy, Debug)]
pub struct Half {
    /// The operation.
    pub op: Op,
    /// Destination.
    pub dst: u16,
    /// Sources.
    pub src: [u16; 2],
}

/// An instruction with its operands taken apart.
#[derive(Clone, Copy, Debug)]
pub struct Inst {
    /// Its row in the chip's table.
    pub row: &'static Row,
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
    /// op_sel: which halves; of ds_bpermute_b32, whether it reads inactive lanes.
    pub op_sel: u8,
    /// VOP3P's op_sel_hi; a typed buffer's format.
    pub op_sel_hi: u8,
    /// A result of 16 bits leaves the other half of its register alone, and VOP3 chooses halves.
    pub keep: bool,
    /// The chip's formats of 8 bits are OCP's.
    pub ocp: bool,
    /// Cache policy: bit 0 sc0 (an atomic returns the old value), 1 nt, 2 sc1.
    pub cache: u8,
    /// How far away those are with whom a memory operation is coherent.
    pub scope: Scope,
    /// One past the highest v register named, and the highest a register.
    pub vgprs: u16,
    /// One past the highest a register named.
    pub agprs: u16,
    /// How the first sources come to a DPP or SDWA operation.
    pub select: select::Select,
    /// VOPD's second operation.
    pub half: Option<Half>,
}

impl Inst {
    /// The mnemonic.
    pub fn name(&self) -> &'static str {
        self.row.mnemonic
    }

    /// The mnemonic of a pair's second operation.
    pub fn second_name(&self) -> Option<&'static str> {
        pairs::second_name(self.half.as_ref()?)
    }

    /// The register that has a global synchronisation's value.
    pub fn gws_data(&self) -> u16 {
        // The records name it data0; the words have it where an address would be.
        self.src[0]
    }

    /// A form that decodes but is not executed, whatever the registers hold.
    pub fn unsupported(&self) -> Option<&'static str> {
        if pairs::bank_conflict(self) {
            return Some("a pair whose sources lie in one register bank");
        }
        if let Some(what) = self.forbidden() {
            return Some(what);
        }
        let sources = self.src.iter().filter(|_| {
            !matches!(
                self.family,
                Family::Flat | Family::Ds | Family::Smem | Family::Mubuf | Family::Mtbuf
            )
        });
        sources.copied().find_map(|operand| match operand {
            239 => Some("src_pops_exiting_wave_id"),
            254 => Some("src_lds_direct"),
            _ => None,
        })
    }

    /// A form that the manuals forbid and whose result they do not define (RDNA4 ISA, chapters 6 and 7).
    fn forbidden(&self) -> Option<&'static str> {
        if !matches!(self.family, Family::Sop1 | Family::Sop2 | Family::Sopc) {
            return None;
        }
        let [to, first, second, ..] = self.row.widths;
        let odd =
            |(operand, width): (u16, u8)| width >= 2 && operand < code::VCC && operand % 2 == 1;
        if [(self.dst, to), (self.src[0], first), (self.src[1], second)]
            .into_iter()
            .any(odd)
        {
            return Some("a pair of scalar registers that begins at an odd one");
        }
        if matches!(self.op, Op::SSetpcB64 | Op::SSwappcB64) && self.src[0] == code::LITERAL {
            return Some("a jump to a literal");
        }
        let exec = code::EXEC..code::EXEC + 2;
        if self.op.name().contains("wrexec") && exec.contains(&self.dst) {
            return Some("EXEC as the destination of an operation that writes EXEC as well");
        }
        None
    }

    /// The two operations of a pair, each as an instruction of its own.
    pub fn halves(&self) -> Option<[Self; 2]> {
        let half = self.half?;
        let mut both = [*self; 2];
        both[1].op = half.op;
        both[1].dst = half.dst;
        both[1].src = [half.src[0], half.src[1], code::NONE];
        for i in &mut both {
            i.family = Family::Vop2;
            families::special(i);
        }
        Some(both)
    }

    pub(crate) fn new(row: &'static Row) -> Self {
        Self {
            row,
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
            keep: false,
            ocp: false,
            cache: 0,
            scope: Scope::Wave,
            vgprs: 0,
            agprs: 0,
            select: select::Select::None,
            half: None,
        }
    }
}

/// Whom a memory operation is coherent with. gfx942 says it by SC0 and SC1, gfx12 by SCOPE, in the same order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// The wave (gfx942), or the compute unit (gfx12): nobody else.
    #[default]
    Wave,
    /// The workgroup (gfx942), or the shader engine (gfx12).
    Group,
    /// The device.
    Device,
    /// The whole system.
    System,
}

impl Scope {
    /// By its number in an instruction.
    pub(crate) fn of(number: u32) -> Self {
        match number & 3 {
            0 => Self::Wave,
            1 => Self::Group,
            2 => Self::Device,
            _ => Self::System,
        }
    }
}

/// `count` bits of a word from `low` on.
pub(crate) const fn bits(word: u32, low: u32, count: u32) -> u32 {
    (word >> low) & ((1 << count) - 1)
}

pub(crate) const fn vgpr(number: u32) -> u16 {
    code::VGPR + number as u16
}
