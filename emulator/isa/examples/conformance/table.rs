// SPDX-License-Identifier: MIT OR Apache-2.0
//! Instructions and the same in LLVM's language.

pub mod rows;

use rkfd_isa::Target;
use Type::*;

/// Type of an operand or a result. A result of one bit is a lane's in VCC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    Bit,
    I16,
    I32,
    I64,
    F16,
    F32,
    F64,
}

impl Type {
    /// Exponent and fraction bits of a float.
    fn float(self) -> Option<(u32, u32)> {
        match self {
            F16 => Some((5, 10)),
            F32 => Some((8, 23)),
            F64 => Some((11, 52)),
            _ => None,
        }
    }

    fn bits(self) -> u32 {
        match self {
            Bit => 1,
            I16 | F16 => 16,
            I32 | F32 => 32,
            I64 | F64 => 64,
        }
    }

    /// Values at which operations change.
    pub fn edges(self) -> Vec<u64> {
        let all = u64::MAX >> (64 - self.bits());
        let Some((exponent, fraction)) = self.float() else {
            let top = 1 << (self.bits() - 1);
            return vec![0, 1, 2, 3, 31, 63, all, all - 1, top, top - 1, top + 1];
        };
        let (one, infinity) = (
            ((1 << (exponent - 1)) - 1) << fraction,
            ((1 << exponent) - 1) << fraction,
        );
        let sign = 1 << (exponent + fraction);
        let unit = 1 << fraction;
        // 0, 1, 1 and a bit, 2, 0.5, 1.5, the smallest, the largest denormal, the smallest normal, the largest,
        // infinity and NaN, some negative.
        vec![
            0,
            one,
            one + 1,
            one + unit,
            one - unit,
            one + unit / 2,
            1,
            unit - 1,
            unit,
            infinity - 1,
            infinity,
            infinity | (unit >> 1),
            sign,
            sign | one,
            sign | (one + unit / 2),
            sign | 1,
            sign | infinity,
        ]
    }

    /// A value of the type out of random bits; no signalling NaN, which LLVM's constants do not define.
    pub fn number(self, random: u64) -> u64 {
        let value = random & (u64::MAX >> (64 - self.bits()));
        let Some((exponent, fraction)) = self.float() else {
            return value;
        };
        let infinity: u64 = ((1 << exponent) - 1) << fraction;
        let is_nan = value & infinity == infinity;
        value | if is_nan { 1 << (fraction - 1) } else { 0 }
    }

    /// Whether two results are the same: NaNs have payloads that are no result of arithmetic.
    pub fn same(self, a: u64, b: u64) -> bool {
        let Some((exponent, fraction)) = self.float() else {
            return a == b;
        };
        let magnitude = (1u64 << (exponent + fraction)) - 1;
        let infinity: u64 = ((1 << exponent) - 1) << fraction;
        let is_nan = |x: u64| x & magnitude > infinity;
        a == b || is_nan(a) && is_nan(b)
    }
}

/// An operation.
pub struct Row {
    /// gfx942's instruction.
    pub gfx942: &'static str,
    /// gfx1201's.
    pub gfx1201: &'static str,
    /// Types of the operands in v2, v4 and v6.
    pub from: &'static [Type],
    /// Type of the result in v0.
    pub to: Type,
    /// What computes %r of $0, $1 and $2.
    pub llvm: &'static str,
}

impl Row {
    /// The instruction of a chip; empty if it has none.
    pub fn text(&self, target: &Target) -> &'static str {
        match target.name {
            "gfx942" => self.gfx942,
            _ => self.gfx1201,
        }
    }
}

/// The intrinsics that the rows call.
pub const DECLARATIONS: &str = include_str!("declarations.ll");
