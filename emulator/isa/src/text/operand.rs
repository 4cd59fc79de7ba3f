// SPDX-License-Identifier: MIT OR Apache-2.0
//! Registers and constants (AMDGPUDisassembler::decodeSrcOp, AMDGPUInstPrinter::printRegularOperand).

use super::{Bits, Number, Piece, Text};
use crate::decode::halves;
use crate::decode::table::Family;
use std::fmt;

/// Inline constants 240 to 248 in half, single and double precision; their texts.
const FLOATS: [&str; 9] = [
    "0.5",
    "-0.5",
    "1.0",
    "-1.0",
    "2.0",
    "-2.0",
    "4.0",
    "-4.0",
    "0.15915494",
];
const HALF: [u32; 9] = [
    0x3800, 0xb800, 0x3c00, 0xbc00, 0x4000, 0xc000, 0x4400, 0xc400, 0x3118,
];
const BRAIN: [u32; 9] = [
    0x3f00, 0xbf00, 0x3f80, 0xbf80, 0x4000, 0xc000, 0x4080, 0xc080, 0x3e22,
];
const SINGLE: [u32; 9] = [
    0x3f00_0000,
    0xbf00_0000,
    0x3f80_0000,
    0xbf80_0000,
    0x4000_0000,
    0xc000_0000,
    0x4080_0000,
    0xc080_0000,
    0x3e22_f983,
];
/// The upper words of those doubles whose lower word is zero.
const DOUBLE: [u32; 8] = [
    0x3fe0_0000,
    0xbfe0_0000,
    0x3ff0_0000,
    0xbff0_0000,
    0x4000_0000,
    0xc000_0000,
    0x4010_0000,
    0xc010_0000,
];
const VGPR: u32 = 256;
/// Bit 9 of a code: the accumulation registers.
const ACCUMULATION: u32 = 512;

/// The text of a value among `values`.
fn float(values: &[u32], value: u32) -> Option<&'static str> {
    let at = values.iter().position(|v| *v == value)?;
    FLOATS.get(at).copied()
}

/// Small integers are always written as such.
fn small(value: i32) -> bool {
    (-16..=64).contains(&value)
}

fn several(f: &mut fmt::Formatter<'_>, kind: &str, first: u32, count: u8) -> fmt::Result {
    match count {
        0 | 1 => write!(f, "{kind}{first}"),
        _ => write!(f, "{kind}[{first}:{}]", first + u32::from(count) - 1),
    }
}

impl Text {
    pub(super) fn operand(&self, f: &mut fmt::Formatter<'_>, piece: &Piece) -> fmt::Result {
        let mask = if self.lanes == 64 { 2 } else { 1 };
        match *piece {
            Piece::Vector(count, bits) => {
                let value = self.value(bits);
                if self.is_upper(bits, value) {
                    return write!(f, "v{}.h", value & 0x7f);
                }
                let kind = if value & ACCUMULATION == 0 { "v" } else { "a" };
                several(f, kind, value & 0xff, count)
            }
            Piece::Accumulation(count, bits) => several(f, "a", self.value(bits) & 0xff, count),
            Piece::Source(_, _, bits) if self.is_upper(bits, self.value(bits)) => {
                write!(f, "v{}.h", self.value(bits) & 0x7f)
            }
            Piece::Source(count, number, bits) => self.source(f, self.value(bits), count, number),
            Piece::Accumulated(count, number, bits) => {
                self.source(f, self.value(bits) | ACCUMULATION, count, number)
            }
            Piece::Parts(number, bits) => self.source(f, self.value(bits) ^ VGPR, 1, number),
            Piece::Mask(bits) => self.source(f, self.value(bits), mask, Number::B32),
            Piece::MaskOrVcc(bits) if self.value(bits) & 0x80 != 0 => {
                self.source(f, self.value(bits) & 0x7f, mask, Number::B32)
            }
            Piece::MaskOrVcc(_) | Piece::Vcc => {
                f.write_str(if mask == 2 { "vcc" } else { "vcc_lo" })
            }
            Piece::Odd(bits, other) => {
                write!(f, "v{}", self.value(bits) | (!self.value(other) & 1))
            }
            Piece::Float(bits, source) => self.float(f, self.value(bits), source),
            Piece::Integer(bits, source) if self.value(bits) & 1 != 0 => {
                f.write_str("sext(")?;
                self.operand(f, source)?;
                f.write_str(")")
            }
            Piece::Integer(_, source) => self.operand(f, source),
            Piece::Immediate(bits) => constant(f, self.value(bits), Number::B32),
            _ => Ok(()),
        }
    }

    /// A source with the modifiers negation, bit 0, and absolute value, bit 1.
    fn float(&self, f: &mut fmt::Formatter<'_>, modifiers: u32, source: &Piece) -> fmt::Result {
        let (negate, absolute) = (modifiers & 1 != 0, modifiers & 2 != 0);
        // A minus sign would be the constant's own.
        let around = negate && !absolute && self.is_constant(source);
        f.write_str(match (negate, around) {
            (true, true) => "neg(",
            (true, false) => "-",
            _ => "",
        })?;
        let bar = if absolute { "|" } else { "" };
        f.write_str(bar)?;
        self.operand(f, source)?;
        f.write_str(bar)?;
        f.write_str(if around { ")" } else { "" })
    }

    /// Whether an operand's code, from those bits of the words, is a register's upper half.
    fn is_upper(&self, bits: Bits, code: u32) -> bool {
        let Some(&(at, ..)) = bits.first() else {
            return false;
        };
        // DPP's first source is in the second word. A scalar has no bit 8, where there is one.
        let (which, is_vector) = match at {
            17 => (0, true),
            0 => (1, code & VGPR != 0),
            32 => (1, true),
            9 => (2, true),
            _ => return false,
        };
        let small = match self.row.family {
            Family::Vop1 | Family::Vop2 | Family::Vopc => true,
            Family::Dpp => self.row.size == 8,
            _ => false,
        };
        let upper = small && self.names().halves && is_vector && code & 0x80 != 0;
        upper && halves::operands(self.row.mnemonic)[which]
    }

    fn is_constant(&self, source: &Piece) -> bool {
        let code = match *source {
            Piece::Source(_, _, bits) => self.value(bits),
            Piece::Parts(_, bits) => self.value(bits) ^ VGPR,
            _ => return false,
        };
        matches!(code, 128..=208 | 240..=248 | 255)
    }

    /// A source by its operand code.
    fn source(
        &self,
        f: &mut fmt::Formatter<'_>,
        code: u32,
        count: u8,
        number: Number,
    ) -> fmt::Result {
        let accumulation = code & ACCUMULATION != 0;
        match code & (ACCUMULATION - 1) {
            code @ VGPR.. => several(f, if accumulation { "a" } else { "v" }, code - VGPR, count),
            code @ 0..=127 => self.scalar(f, code, count),
            code @ 128..=192 => write!(f, "{}", code - 128),
            code @ 193..=208 => write!(f, "-{}", code - 192),
            code @ 240..=248 => {
                let at = code as usize - 240;
                match number {
                    // Half precision's bits, but no integer's.
                    Number::I16 => write!(f, "{:#x}", HALF[at]),
                    Number::I64 | Number::F64 if code == 248 => f.write_str("0.15915494309189532"),
                    _ => f.write_str(FLOATS[at]),
                }
            }
            255 => constant(f, self.literal(), number),
            code => f.write_str(match code {
                235 => "src_shared_base",
                236 => "src_shared_limit",
                237 => "src_private_base",
                238 => "src_private_limit",
                239 => "src_pops_exiting_wave_id",
                251 => "src_vccz",
                252 => "src_execz",
                253 => "src_scc",
                254 => "src_lds_direct",
                _ => "reserved",
            }),
        }
    }

    fn scalar(&self, f: &mut fmt::Formatter<'_>, code: u32, count: u8) -> fmt::Result {
        let names = self.names();
        if code < u32::from(names.scalars) || (108..=123).contains(&code) {
            // Pairs begin at even numbers, larger ones at multiples of four.
            let (kind, first) = if code < 108 {
                ("s", code)
            } else {
                ("ttmp", code - 108)
            };
            let aligned = match count {
                0 | 1 => first,
                2 => first & !1,
                _ => first & !3,
            };
            return several(f, kind, aligned, count);
        }
        if code == u32::from(names.null) {
            return f.write_str("null");
        }
        if code == u32::from(names.m0) {
            return f.write_str("m0");
        }
        let pair = names
            .pairs
            .iter()
            .find(|(first, _)| u32::from(*first) == code & !1);
        let name = pair.map_or("reserved", |(_, name)| name);
        match count {
            0 | 1 => write!(f, "{name}_{}", if code & 1 == 0 { "lo" } else { "hi" }),
            _ => f.write_str(name),
        }
    }
}

/// A literal. One that an inline constant could replace is written like that constant.
fn constant(f: &mut fmt::Formatter<'_>, value: u32, number: Number) -> fmt::Result {
    let lower = value & 0xffff;
    let (integer, text, shown) = match number {
        Number::B32 => (value as i32, float(&SINGLE, value), value),
        Number::I16 => (value as i32, float(&SINGLE, value), lower),
        Number::F16 => (i32::from(lower as u16 as i16), float(&HALF, lower), lower),
        Number::B16 => (i32::from(lower as u16 as i16), float(&BRAIN, lower), value),
        Number::V2I16 => (value as i32, float(&SINGLE, value), value),
        Number::V2F16 => (value as i32, float(&HALF, value), value),
        Number::V2B16 => (value as i32, float(&BRAIN, value), value),
        // Not extended, so never negative.
        Number::I64 => (i32::try_from(value).unwrap_or(i32::MAX), None, value),
        // The upper word.
        Number::F64 => (
            if value == 0 { 0 } else { i32::MAX },
            float(&DOUBLE, value),
            value,
        ),
    };
    if small(integer) {
        return write!(f, "{integer}");
    }
    match text {
        Some(text) => f.write_str(text),
        None => write!(f, "{shown:#x}"),
    }
}
