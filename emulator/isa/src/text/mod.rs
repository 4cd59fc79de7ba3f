// SPDX-License-Identifier: MIT OR Apache-2.0
//! Instructions as text, written as LLVM's llvm-objdump writes them.
//!
//! A chip's generated table names for each encoding the pieces that follow the mnemonic, and which bits
//! of the words they come from; here is how each piece is written (LLVM's AMDGPUInstPrinter.cpp).
//! Nothing is taken from the decoder that executes, so one can be held against the other.

mod control;
mod format;
mod operand;

use crate::decode::table::Row;
use std::fmt;

/// Runs of bits: the first in the words, how many, and the first in the operand.
pub type Bits = &'static [(u8, u8, u8)];

/// What follows an encoding's mnemonic.
#[derive(Debug)]
pub struct Layout {
    /// The word that has the literal, if there is one.
    pub literal: u8,
    /// In the order in which they are written; none for graphics.
    pub pieces: &'static [Piece],
}

/// How a constant's type shows in its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are those of types; V2 is a pair")]
pub enum Number {
    I16,
    F16,
    B16,
    V2I16,
    V2F16,
    V2B16,
    /// Any type of 32 bits.
    B32,
    I64,
    F64,
}

/// What the bits of a cache policy are called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// gfx9, scalar: glc.
    Scalar,
    /// gfx942: sc0, nt, sc1.
    Scope,
    /// gfx12: temporal hint and scope of a load.
    Load,
    /// Of a store.
    Store,
    /// Of an atomic.
    Atomic,
}

/// A part of an instruction's text.
#[derive(Clone, Copy, Debug)]
pub enum Piece {
    /// As it stands.
    Text(&'static str),
    /// So many v registers; a registers if bit 9 is set.
    Vector(u8, Bits),
    /// So many a registers.
    Accumulation(u8, Bits),
    /// A source of any kind, by its operand code; a registers if bit 9 is set.
    Source(u8, Number, Bits),
    /// The same, with a registers for v registers.
    Accumulated(u8, Number, Bits),
    /// SDWA's source: a v register, or with bit 8 an operand code.
    Parts(Number, Bits),
    /// A mask of lanes.
    Mask(Bits),
    /// The same with bit 7, otherwise vcc.
    MaskOrVcc(Bits),
    /// vcc as a mask.
    Vcc,
    /// The v register whose lowest bit is not the other's.
    Odd(Bits, Bits),
    /// Negation and absolute value of a source.
    Float(Bits, &'static Piece),
    /// Sign extension of a source.
    Integer(Bits, &'static Piece),
    /// A text if any bit is set.
    Flag(&'static str, Bits),
    /// A decimal number after a text, unless it is zero.
    Value(&'static str, Bits),
    /// The same with a sign, of so many bits.
    Signed(&'static str, u8, Bits),
    /// A hexadecimal number of so many bits.
    Hex(&'static str, u8, Bits),
    /// The same with a sign.
    SignedHex(&'static str, u8, Bits),
    /// A number as a source of 32 bits is written.
    Immediate(Bits),
    /// A branch's offset, in words.
    Target(Bits),
    /// A list of bits, unless all have the default value. 254 and 255: no bit of the words, but a
    /// zero or a one.
    Halves(&'static str, u8, &'static [u8]),
    /// Output modifier.
    Multiply(Bits),
    /// SDWA's choice of a part.
    Part(&'static str, Bits),
    /// SDWA's filling of the rest.
    Unused(Bits),
    /// Cache policy, and bits that are always set.
    Cache(Policy, u8, Bits),
    /// DPP's control, and whether the operation is on doubles.
    Lanes(Bits, bool),
    /// DPP8's control.
    Eights(Bits),
    /// ds_swizzle's pattern.
    Swizzle(Bits),
    /// s_waitcnt's counters.
    Waits(Bits),
    /// s_waitcnt_depctr's counters.
    Dependencies(Bits),
    /// s_delay_alu's dependencies.
    Delay(Bits),
    /// A hardware register.
    Hardware(Bits),
    /// A message.
    Message(Bits),
    /// s_set_gpr_idx's mode.
    Indexed(Bits),
    /// s_version's version.
    Version(Bits),
    /// A typed buffer's format.
    Format(Bits),
}

/// What a chip calls things.
#[derive(Debug)]
pub struct Names {
    /// The codes of NULL and M0.
    pub null: u16,
    /// See above.
    pub m0: u16,
    /// Scalar registers that have names: the first of a pair, and the pair's.
    pub pairs: &'static [(u16, &'static str)],
    /// One past the last scalar register that is no more than a number.
    pub scalars: u16,
    /// s_waitcnt's counters, and where they are in the instruction.
    pub waits: &'static [(&'static str, Bits)],
    /// Hardware registers.
    pub hardware: &'static [(u16, &'static str)],
    /// Messages, and the mask of their number.
    pub messages: &'static [(u16, &'static str)],
    /// See above.
    pub message_mask: u16,
    /// Messages have operations and streams.
    pub streams: bool,
    /// DPP shares a row's lane under this name.
    pub share: &'static str,
    /// DPP rotates whole waves and broadcasts rows, or exchanges lanes by a mask.
    pub whole_waves: bool,
    /// Registers above v127 are upper halves where operands have 16 bits.
    pub halves: bool,
    /// Typed buffers have one number for their format.
    pub unified_formats: bool,
}

/// How a chip's instructions are written.
#[derive(Debug)]
pub struct Syntax {
    /// The chip's name.
    pub chip: &'static str,
    /// How its encodings are written.
    pub layouts: &'static [Layout],
    /// What it calls its registers.
    pub names: &'static Names,
}

/// An instruction's text.
#[derive(Clone, Copy)]
pub struct Text {
    syntax: &'static Syntax,
    row: &'static Row,
    words: [u32; 3],
    lanes: u32,
}

impl PartialEq for Text {
    fn eq(&self, other: &Self) -> bool {
        (self.syntax.chip, self.words, self.lanes) == (other.syntax.chip, other.words, other.lanes)
    }
}

impl Eq for Text {}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl Text {
    /// The text of the words of a row of the chip's table, of a wave with 32 lanes or 64.
    pub(crate) fn new(
        syntax: &'static Syntax,
        row: &'static Row,
        words: [u32; 3],
        lanes: u32,
    ) -> Self {
        Self {
            syntax,
            row,
            words,
            lanes,
        }
    }

    /// The mnemonic, without its encoding's suffix.
    pub fn mnemonic(&self) -> &'static str {
        self.row.mnemonic
    }

    /// Operands are known, not only the mnemonic. Those of graphics are not.
    pub fn is_whole(&self) -> bool {
        self.row.layout != 0
    }

    fn layout(&self) -> &'static Layout {
        let layouts = self.syntax.layouts;
        layouts
            .get(usize::from(self.row.layout))
            .unwrap_or(&layouts[0])
    }

    fn bit(&self, at: u8) -> u32 {
        let word = self.words.get(usize::from(at / 32)).copied();
        word.map_or(0, |word| (word >> (at % 32)) & 1)
    }

    fn value(&self, bits: Bits) -> u32 {
        let mut value = 0;
        for &(from, count, to) in bits {
            for n in 0..count {
                value |= self.bit(from + n) << (to + n);
            }
        }
        value
    }

    fn literal(&self) -> u32 {
        let at = usize::from(self.layout().literal);
        self.words.get(at).copied().unwrap_or(0)
    }

    fn names(&self) -> &'static Names {
        self.syntax.names
    }
}

/// A number of so many bits with its sign.
fn signed(value: u32, bits: u8) -> i32 {
    let shift = 32 - u32::from(bits);
    (value << shift) as i32 >> shift
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.row.mnemonic)?;
        for piece in self.layout().pieces {
            self.piece(f, piece)?;
        }
        Ok(())
    }
}

impl Text {
    fn piece(&self, f: &mut fmt::Formatter<'_>, piece: &Piece) -> fmt::Result {
        let value = |bits| self.value(bits);
        match *piece {
            Piece::Text(text) => f.write_str(text),
            Piece::Flag(text, bits) if value(bits) != 0 => f.write_str(text),
            Piece::Value(text, bits) if value(bits) != 0 => write!(f, "{text}{}", value(bits)),
            Piece::Signed(text, width, bits) if value(bits) != 0 => {
                write!(f, "{text}{}", signed(value(bits), width))
            }
            Piece::Flag(..) | Piece::Value(..) | Piece::Signed(..) => Ok(()),
            Piece::Hex(text, _, bits) => write!(f, "{text}{:#x}", value(bits)),
            Piece::SignedHex(text, width, bits) => {
                let number = signed(value(bits), width);
                let sign = if number < 0 { "-" } else { "" };
                write!(f, "{text}{sign}{:#x}", number.unsigned_abs())
            }
            Piece::Target(bits) => write!(f, "{}", value(bits)),
            Piece::Halves(text, default, bits) => {
                let bit = |at: &u8| match at {
                    254 => 0,
                    255 => 1,
                    at => self.bit(*at),
                };
                let all: Vec<String> = bits.iter().map(|at| bit(at).to_string()).collect();
                if bits.iter().all(|at| bit(at) == u32::from(default)) {
                    return Ok(());
                }
                write!(f, "{text}{}]", all.join(","))
            }
            Piece::Multiply(bits) => {
                f.write_str(["", " mul:2", " mul:4", " div:2"][value(bits) as usize & 3])
            }
            Piece::Vector(..)
            | Piece::Accumulation(..)
            | Piece::Source(..)
            | Piece::Accumulated(..)
            | Piece::Parts(..)
            | Piece::Mask(..)
            | Piece::MaskOrVcc(..)
            | Piece::Vcc
            | Piece::Odd(..)
            | Piece::Float(..)
            | Piece::Integer(..)
            | Piece::Immediate(..) => self.operand(f, piece),
            _ => self.control(f, piece),
        }
    }
}
