// SPDX-License-Identifier: MIT OR Apache-2.0
//! f32 arithmetic on any number of lanes: vector operations on all of a wave's, scalar ones on one.

use super::exact::{Exact, Format};
use super::float::{extreme32, flush32, to_f16, Odd, Round, NAN32};
use crate::kernel::mode;

/// MODE's fields for half precision, and for the clamp of NaN.
#[derive(Clone, Copy)]
pub struct Mode16 {
    round: Round,
    denormals: u32,
    /// What overflows is the largest number.
    largest: bool,
    /// A clamped NaN is zero.
    pub nan_to_zero: bool,
    /// Output modifiers multiply.
    pub multiplies: bool,
}

impl Mode16 {
    /// From MODE.
    pub fn of(mode: u32) -> Self {
        Self {
            round: Round::from_bits(mode >> (mode::ROUND + 2)),
            denormals: mode >> (mode::DENORM + 2),
            largest: mode & mode::FP16_OVFL != 0,
            nan_to_zero: mode & mode::DX10_CLAMP != 0,
            multiplies: multiplies(mode, false),
        }
    }

    fn flush(x: u16) -> u16 {
        if x & 0x7c00 == 0 {
            x & 0x8000
        } else {
            x
        }
    }

    /// A source as MODE wants denormals.
    #[inline]
    pub fn input(self, x: u16) -> u16 {
        if self.denormals & 1 == 0 {
            Self::flush(x)
        } else {
            x
        }
    }

    /// A result as MODE wants denormals.
    #[inline]
    pub fn output(self, x: u16) -> u16 {
        if self.denormals & 2 == 0 {
            Self::flush(x)
        } else {
            x
        }
    }

    /// Rounded in MODE's direction. Not for NaN.
    #[inline]
    pub fn round(self, x: Odd) -> u16 {
        let r = match self.round {
            Round::Nearest => to_f16(x.0),
            round => Exact::of(x.0).round(&Format::F16, round) as u16,
        };
        // Infinities of infinite sources, and of divisions by zero, stay.
        let overflows = self.largest && r & 0x7fff == 0x7c00 && x.0.is_finite();
        r - u16::from(overflows)
    }
}

/// Whether output modifiers multiply, in single precision or in half and double: neither where denormal
/// results are kept nor in IEEE mode (LLVM, SIFoldOperands::tryFoldOMod: the hardware ignores them).
#[inline]
pub fn multiplies(mode: u32, single: bool) -> bool {
    let results = mode::DENORM + if single { 1 } else { 3 };
    (mode >> results) & 1 == 0 && mode & mode::IEEE == 0
}

/// A NaN that the host's way with NaNs cannot change: the first NaN source, quiet.
pub fn nan32(sources: &[u32]) -> u32 {
    sources
        .iter()
        .find(|x| f32::from_bits(**x).is_nan())
        .map_or(NAN32, |x| x | 0x40_0000)
}

/// Sources as MODE wants denormals.
#[inline]
pub fn input<const L: usize>(mode: u32, a: [u32; L]) -> [u32; L] {
    if (mode >> mode::DENORM) & 1 == 0 {
        std::array::from_fn(|l| flush32(a[l]))
    } else {
        a
    }
}

/// Results as MODE wants denormals.
#[inline]
pub fn output<const L: usize>(mode: u32, r: [u32; L]) -> [u32; L] {
    if (mode >> (mode::DENORM + 1)) & 1 == 0 {
        std::array::from_fn(|l| flush32(r[l]))
    } else {
        r
    }
}

/// Looks at every lane, for the compiler's vectors: the rule is that none is.
#[inline]
fn any_nan<const L: usize>(r: &[u32; L]) -> bool {
    r.iter()
        .fold(false, |any, x| any | (x & 0x7fff_ffff > 0x7f80_0000))
}

/// f(a, b): `exact` is used when MODE does not round to nearest.
#[inline]
pub fn rounded<const L: usize>(
    mode: u32,
    a: [u32; L],
    b: [u32; L],
    f: impl Fn(f32, f32) -> f32,
    exact: impl Fn(f32, f32) -> Odd,
) -> [u32; L] {
    let round = Round::from_bits(mode >> mode::ROUND);
    let mut r: [u32; L] =
        std::array::from_fn(|l| f(f32::from_bits(a[l]), f32::from_bits(b[l])).to_bits());
    if round != Round::Nearest {
        r = std::array::from_fn(|l| {
            exact(f32::from_bits(a[l]), f32::from_bits(b[l]))
                .to_f32(round)
                .to_bits()
        });
    }
    if any_nan(&r) {
        for l in 0..L {
            if f32::from_bits(r[l]).is_nan() {
                r[l] = nan32(&[a[l], b[l]]);
            }
        }
    }
    r
}

/// a + b.
#[inline]
pub fn add<const L: usize>(mode: u32, a: [u32; L], b: [u32; L]) -> [u32; L] {
    rounded(
        mode,
        a,
        b,
        |a, b| a + b,
        |a, b| Odd::sum(a.into(), b.into()),
    )
}

/// a - b.
#[inline]
pub fn sub<const L: usize>(mode: u32, a: [u32; L], b: [u32; L]) -> [u32; L] {
    let exact = |a: f32, b: f32| Odd::sum(a.into(), -f64::from(b));
    rounded(mode, a, b, |a, b| a - b, exact)
}

/// a * b.
#[inline]
pub fn mul<const L: usize>(mode: u32, a: [u32; L], b: [u32; L]) -> [u32; L] {
    let exact = |a: f32, b: f32| Odd(f64::from(a) * f64::from(b));
    rounded(mode, a, b, |a, b| a * b, exact)
}

/// a * b + c, rounded once.
#[inline]
pub fn fma<const L: usize>(mode: u32, a: [u32; L], b: [u32; L], c: [u32; L]) -> [u32; L] {
    let round = Round::from_bits(mode >> mode::ROUND);
    let value = f32::from_bits;
    let mut r: [u32; L] =
        std::array::from_fn(|l| value(a[l]).mul_add(value(b[l]), value(c[l])).to_bits());
    if round != Round::Nearest {
        r = std::array::from_fn(|l| {
            Odd::fma(value(a[l]), value(b[l]), value(c[l]))
                .to_f32(round)
                .to_bits()
        });
    }
    if any_nan(&r) {
        for l in 0..L {
            if value(r[l]).is_nan() {
                r[l] = nan32(&[a[l], b[l], c[l]]);
            }
        }
    }
    r
}

/// f(a) of one lane.
#[inline]
pub fn unary(a: u32, f: impl Fn(f32) -> f32) -> u32 {
    let r = f(f32::from_bits(a));
    if r.is_nan() {
        nan32(&[a])
    } else {
        r.to_bits()
    }
}

/// minimumNumber or maximumNumber of IEEE 754-2019: a number before a NaN of either kind, and a NaN
/// made quiet.
#[inline]
pub fn number(a: u32, b: u32, max: bool) -> u32 {
    let r = extreme32(a, b, max, false);
    if f32::from_bits(r).is_nan() {
        nan32(&[a])
    } else {
        r
    }
}

/// minimum or maximum of IEEE 754-2019: a NaN comes out, quiet; -0 is below +0.
#[inline]
pub fn propagate(a: u32, b: u32, max: bool) -> u32 {
    if [a, b].iter().any(|x| f32::from_bits(*x).is_nan()) {
        nan32(&[a, b])
    } else {
        extreme32(a, b, max, false)
    }
}

/// An integer, known as a double, as f32.
#[inline]
pub fn from_integer(mode: u32, value: f64) -> u32 {
    Odd(value)
        .to_f32(Round::from_bits(mode >> mode::ROUND))
        .to_bits()
}

/// To an unsigned integer: towards zero, saturated, NaN as zero, as Rust's cast does.
#[inline]
pub fn to_u32(a: u32) -> u32 {
    f32::from_bits(a) as u32
}

/// To a signed integer, likewise.
#[inline]
pub fn to_i32(a: u32) -> u32 {
    f32::from_bits(a) as i32 as u32
}
