// SPDX-License-Identifier: MIT OR Apache-2.0
//! Double precision: arithmetic, rounding to integers, minima and maxima.
//!
//! The host rounds to nearest; for any other direction of MODE the result is computed exactly and then
//! rounded. rcp, rsq and sqrt are the host's results whatever MODE is: silicon ignores MODE, too, and
//! its last bits are not documented.

use super::arith;
use super::exact::{Exact, Format};
use super::float::{extreme64, Round, NAN64};
use crate::decode::Inst;
use crate::decode::Op;
use crate::fault::FaultKind;
use crate::kernel::mode;
use crate::wave::{Wave, Wide};

fn flush(x: u64) -> u64 {
    if x & (0x7ff << 52) == 0 {
        x & (1 << 63)
    } else {
        x
    }
}

fn direction(mode: u32) -> Round {
    Round::from_bits(mode >> (mode::ROUND + 2))
}

/// A source with its modifiers and MODE's treatment of denormals.
pub fn source64<const L: usize>(w: &Wave<L>, i: &Inst, n: usize) -> [u64; L] {
    let mut a = w.lanes64(i, n, Wide::Float);
    if (i.abs >> n) & 1 == 1 {
        a = a.map(|x| x & !(1 << 63));
    }
    if (i.neg >> n) & 1 == 1 {
        a = a.map(|x| x ^ (1 << 63));
    }
    if (w.mode >> (mode::DENORM + 2)) & 1 == 0 {
        a = a.map(flush);
    }
    a
}

/// Output modifier, clamp and denormals of a result, then write it.
pub fn finish64<const L: usize>(w: &mut Wave<L>, i: &Inst, mut r: [u64; L]) {
    if i.omod != 0 && arith::multiplies(w.mode, false) {
        let factor = [1.0, 2.0, 4.0, 0.5][(i.omod & 3) as usize];
        r = r.map(|x| (f64::from_bits(x) * factor).to_bits());
    }
    if i.clamp {
        let nan_to_zero = w.mode & mode::DX10_CLAMP != 0;
        r = r.map(|x| match f64::from_bits(x) {
            f if f.is_nan() => {
                if nan_to_zero {
                    0
                } else {
                    x
                }
            }
            f if f <= 0.0 => 0,
            f if f > 1.0 => 1f64.to_bits(),
            _ => x,
        });
    }
    if (w.mode >> (mode::DENORM + 3)) & 1 == 0 {
        r = r.map(flush);
    }
    w.put64(i.dst, &r);
}

fn nan64(sources: &[u64]) -> u64 {
    sources
        .iter()
        .find(|x| f64::from_bits(**x).is_nan())
        .map_or(NAN64, |x| x | 0x8_0000_0000_0000)
}

/// d = f(a).
fn one<const L: usize>(w: &mut Wave<L>, i: &Inst, f: impl Fn(f64) -> f64) {
    let a = source64(w, i, 0);
    let r = a.map(|x| match f(f64::from_bits(x)) {
        r if r.is_nan() => nan64(&[x]),
        r => r.to_bits(),
    });
    finish64(w, i, r);
}

/// d = f(a, b), of bits.
fn two<const L: usize>(w: &mut Wave<L>, i: &Inst, f: impl Fn(u64, u64) -> u64) {
    let (a, b) = (source64(w, i, 0), source64(w, i, 1));
    let r = std::array::from_fn(|l| f(a[l], b[l]));
    finish64(w, i, r);
}

/// The host's result, or the exact one rounded in MODE's direction.
fn rounded(mode: u32, sources: &[u64], host: f64, exact: impl Fn(Round) -> Exact) -> u64 {
    if host.is_nan() {
        return nan64(sources);
    }
    let finite = |x: &u64| f64::from_bits(*x).is_finite();
    match direction(mode) {
        Round::Nearest => host.to_bits(),
        _ if !sources.iter().all(finite) => host.to_bits(),
        round => exact(round).round(&Format::F64, round),
    }
}

/// a + b.
pub fn add(mode: u32, a: u64, b: u64) -> u64 {
    let [x, y] = [a, b].map(f64::from_bits);
    rounded(mode, &[a, b], x + y, |round| {
        Exact::sum(Exact::of(x), Exact::of(y), round)
    })
}

/// a * b.
pub fn mul(mode: u32, a: u64, b: u64) -> u64 {
    let [x, y] = [a, b].map(f64::from_bits);
    rounded(mode, &[a, b], x * y, |_| {
        Exact::product(Exact::of(x), Exact::of(y))
    })
}

/// (a * b + c) * 2^scale, rounded once.
pub fn fma(mode: u32, a: u64, b: u64, c: u64, scale: i32) -> u64 {
    let [x, y, z] = [a, b, c].map(f64::from_bits);
    let exact = |round| {
        let product = Exact::product(Exact::of(x), Exact::of(y));
        Exact::sum(product, Exact::of(z), round).scaled(scale)
    };
    let host = x.mul_add(y, z);
    if scale != 0 && host.is_finite() {
        let round = direction(mode);
        return exact(round).round(&Format::F64, round);
    }
    rounded(mode, &[a, b, c], host, exact)
}

/// minimum or maximum of IEEE 754-2019: a NaN comes out, quiet.
fn propagate(a: u64, b: u64, max: bool) -> u64 {
    if [a, b].iter().any(|x| f64::from_bits(*x).is_nan()) {
        nan64(&[a, b])
    } else {
        extreme64(a, b, max, false)
    }
}

/// minimumNumber or maximumNumber: a number comes before a NaN.
fn number(a: u64, b: u64, max: bool) -> u64 {
    match extreme64(a, b, max, false) {
        r if f64::from_bits(r).is_nan() => nan64(&[a]),
        r => r,
    }
}

/// a - floor(a), below one whatever rounding does; NaN of what is no number.
fn fraction(a: f64) -> f64 {
    let (r, below_one) = (a - a.floor(), 1.0 - f64::EPSILON / 2.0);
    if r > below_one {
        below_one
    } else {
        r
    }
}

/// The exponent for a mantissa between a half and one.
fn exponent(x: f64) -> i32 {
    if x == 0.0 || !x.is_finite() {
        return 0;
    }
    let biased = (x.to_bits() >> 52) as i32 & 0x7ff;
    if biased == 0 {
        return exponent(x * 2f64.powi(64)) - 64;
    }
    biased - 1022
}

fn mantissa(x: f64) -> f64 {
    if x == 0.0 || !x.is_finite() {
        return x;
    }
    let normal = if x.is_subnormal() {
        x * 2f64.powi(64)
    } else {
        x
    };
    f64::from_bits(normal.to_bits() & !(0x7ff << 52) | (1022 << 52))
}

/// The first 1,201 bits of 2 / pi's fraction, highest first.
const TWO_OVER_PI: [u64; 19] = [
    0xa2f9836e4e441529,
    0xfc2757d1f534ddc0,
    0xdb6295993c439041,
    0xfe5163abdebbc561,
    0xb7246e3a424dd2e0,
    0x06492eea09d1921c,
    0xfe1deb1cb129a73e,
    0xe88235f52ebb4484,
    0xe99c7026b45f7e41,
    0x3991d639835339f4,
    0x9c845f8bbdf9283b,
    0x1ff897ffde05980f,
    0xef2f118b5a0a6d1f,
    0x6d367ecf27cb09b7,
    0x4f463f669e5fea2d,
    0x7527bac7ebe5f17b,
    0x3d0739f78a5292ea,
    0x6bfb5fb11f8d5d08,
    0x56033046fc7b0000,
];

/// The 53 bits of 2 / pi that matter to the argument's reduction (CDNA3 ISA, V_TRIG_PREOP_F64).
fn trigonometric(x: u64, segment: u32) -> u64 {
    let exponent = (x >> 52) as i32 & 0x7ff;
    let shift = (segment & 31) as i32 * 53 + (exponent - 1077).max(0);
    let bit = |n: usize| {
        TWO_OVER_PI
            .get(n / 64)
            .map_or(0, |word| (word >> (63 - n % 64)) & 1)
    };
    let bits = (0..53).fold(0, |r, n| (r << 1) | bit(shift as usize + n));
    let scale = -53 - shift + if exponent >= 1968 { 128 } else { 0 };
    Exact::Finite(false, bits.into(), scale).round(&Format::F64, Round::Nearest)
}

/// True if the operation is one of these.
pub fn execute<const L: usize>(w: &mut Wave<L>, i: &Inst) -> Result<bool, FaultKind> {
    use Op::*;
    let mode = w.mode;
    let ieee = mode & mode::IEEE != 0;
    match i.op {
        VAddF64 => two(w, i, |a, b| add(mode, a, b)),
        VMulF64 => two(w, i, |a, b| mul(mode, a, b)),
        VFmaF64 | VFmacF64 => {
            let (a, b, c) = (source64(w, i, 0), source64(w, i, 1), source64(w, i, 2));
            let r = std::array::from_fn(|l| fma(mode, a[l], b[l], c[l], 0));
            finish64(w, i, r);
        }
        VMinF64 => two(w, i, |a, b| extreme64(a, b, false, ieee)),
        VMaxF64 => two(w, i, |a, b| extreme64(a, b, true, ieee)),
        VMinNumF64 => two(w, i, |a, b| number(a, b, false)),
        VMaxNumF64 => two(w, i, |a, b| number(a, b, true)),
        VMinimumF64 => two(w, i, |a, b| propagate(a, b, false)),
        VMaximumF64 => two(w, i, |a, b| propagate(a, b, true)),
        VFloorF64 => one(w, i, f64::floor),
        VCeilF64 => one(w, i, f64::ceil),
        VTruncF64 => one(w, i, f64::trunc),
        VRndneF64 => one(w, i, f64::round_ties_even),
        VFractF64 => one(w, i, fraction),
        VRcpF64 => one(w, i, |a| 1.0 / a),
        VRsqF64 => one(w, i, |a| 1.0 / a.sqrt()),
        VSqrtF64 => one(w, i, f64::sqrt),
        VFrexpMantF64 => one(w, i, mantissa),
        VFrexpExpI32F64 => {
            let r = source64(w, i, 0).map(|x| exponent(f64::from_bits(x)) as u32);
            w.put(i.dst, &r);
        }
        VLdexpF64 => {
            let (a, by) = (source64(w, i, 0), *w.lanes(i, 1, &mut None));
            let round = direction(mode);
            let r = std::array::from_fn(|l| match f64::from_bits(a[l]) {
                x if x.is_nan() => nan64(&[a[l]]),
                x => Exact::of(x).scaled(by[l] as i32).round(&Format::F64, round),
            });
            finish64(w, i, r);
        }
        VTrigPreopF64 => {
            let (a, segment) = (source64(w, i, 0), *w.lanes(i, 1, &mut None));
            let r = std::array::from_fn(|l| trigonometric(a[l], segment[l]));
            finish64(w, i, r);
        }
        _ => return Ok(false),
    }
    Ok(true)
}
