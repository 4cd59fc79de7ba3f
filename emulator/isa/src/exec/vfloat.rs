// SPDX-License-Identifier: MIT OR Apache-2.0
//! Vector floating point: arithmetic, rounding to integers, conversions.
//!
//! Add, subtract, multiply, fma and the conversions round once, in MODE's direction. A NaN result is the
//! first NaN source made quiet, or the default NaN. rcp, rsq, sqrt, exp and log are the host's correctly
//! rounded (or its best) results; silicon's are within about 1 ULP and not documented bit by bit.

use super::arith;
use super::context::Step;
use super::float::{extreme32, Odd, Round};
use super::vhalf::Rule;
use crate::decode::Inst;
use crate::decode::Op;
use crate::kernel::mode;
use crate::wave::Wave;

/// A 32-bit float source with its modifiers and MODE's treatment of denormals.
#[inline]
pub fn source<const L: usize>(w: &Wave<L>, i: &Inst, n: usize) -> [u32; L] {
    let mut splat = None;
    let a = w.lanes(i, n, &mut splat);
    let keep = !(u32::from((i.abs >> n) & 1) << 31);
    let flip = u32::from((i.neg >> n) & 1) << 31;
    arith::input(w.mode, std::array::from_fn(|l| a[l] & keep ^ flip))
}

/// Output modifier, clamp and denormals of a 32-bit result, then write it.
#[inline]
pub fn finish<const L: usize>(w: &mut Wave<L>, i: &Inst, mut r: [u32; L]) {
    if i.omod != 0 && arith::multiplies(w.mode, true) {
        let factor = [1.0, 2.0, 4.0, 0.5][(i.omod & 3) as usize];
        r = r.map(|x| (f32::from_bits(x) * factor).to_bits());
    }
    if i.clamp {
        let nan_to_zero = w.mode & mode::DX10_CLAMP != 0;
        r = r.map(|x| clamp32(x, nan_to_zero));
    }
    w.put(i.dst, &arith::output(w.mode, r));
}

/// Between zero and one.
pub fn clamp32(x: u32, nan_to_zero: bool) -> u32 {
    let f = f32::from_bits(x);
    if f.is_nan() {
        return if nan_to_zero { 0 } else { x };
    }
    if f <= 0.0 {
        0
    } else if f > 1.0 {
        1f32.to_bits()
    } else {
        x
    }
}

/// d = f(MODE, a, b), f32 bits.
#[inline]
fn two<const L: usize>(w: &mut Wave<L>, i: &Inst, f: impl Fn(u32, [u32; L], [u32; L]) -> [u32; L]) {
    let r = f(w.mode, source(w, i, 0), source(w, i, 1));
    finish(w, i, r);
}

/// d = a * b + c, rounded once.
#[inline]
fn fma<const L: usize>(w: &mut Wave<L>, i: &Inst, a: [u32; L], b: [u32; L], c: [u32; L]) {
    let r = arith::fma(w.mode, a, b, c);
    finish(w, i, r);
}

/// d = f(a), f32 bits.
fn one<const L: usize>(w: &mut Wave<L>, i: &Inst, f: impl Fn(f32) -> f32) {
    let a = source(w, i, 0);
    finish(w, i, a.map(|x| arith::unary(x, &f)));
}

fn extreme<const L: usize>(w: &mut Wave<L>, i: &Inst, max: bool) {
    let (a, b) = (source(w, i, 0), source(w, i, 1));
    let ieee = w.mode & mode::IEEE != 0;
    let r = std::array::from_fn(|l| extreme32(a[l], b[l], max, ieee));
    finish(w, i, r);
}

fn extreme3<const L: usize>(w: &mut Wave<L>, i: &Inst, f: impl Fn(u32, u32, u32) -> u32) {
    let (a, b, c) = (source(w, i, 0), source(w, i, 1), source(w, i, 2));
    let r = std::array::from_fn(|l| f(a[l], b[l], c[l]));
    finish(w, i, r);
}

fn picked<const L: usize>(rule: Rule, a: [u32; L], b: [u32; L], max: bool) -> [u32; L] {
    std::array::from_fn(|l| rule.pick(a[l], b[l], max))
}

/// d = second(first(a, b), c), each a minimum or a maximum.
fn nested<const L: usize>(w: &mut Wave<L>, i: &Inst, rule: Rule, first: bool, second: bool) {
    extreme3(w, i, |a, b, c| rule.pick(rule.pick(a, b, first), c, second));
}

/// d = f(a) with integers on one side or both.
fn convert<const L: usize>(w: &mut Wave<L>, i: &Inst, f: impl Fn(u32) -> u32) {
    let a = source(w, i, 0);
    w.put(i.dst, &a.map(f));
}

/// d = an integer as f32, rounded in MODE's direction.
fn to_float<const L: usize>(w: &mut Wave<L>, i: &Inst, f: impl Fn(u32) -> f64) {
    let mut splat = None;
    let r = w
        .lanes(i, 0, &mut splat)
        .map(|x| arith::from_integer(w.mode, f(x)));
    finish(w, i, r);
}

/// The function of an operation.
pub fn step<const L: usize>(op: Op) -> Option<Step<L>> {
    use Op::*;
    let step: Step<L> = match op {
        VAddF32 => |w, i| two(w, i, arith::add),
        VSubF32 => |w, i| two(w, i, arith::sub),
        VSubrevF32 => |w, i| {
            two(w, i, |mode, a, b| {
                let exact = |a, b| Odd::sum(wide(b), -wide(a));
                arith::rounded(mode, a, b, |a, b| b - a, exact)
            })
        },
        VMulF32 => |w, i| two(w, i, arith::mul),
        VMulLegacyF32 => |w, i| {
            two(w, i, |mode, a, b| {
                let any_zero = |a: f32, b: f32| a == 0.0 || b == 0.0;
                let product = |a, b| if any_zero(a, b) { 0.0 } else { a * b };
                let exact = |a, b| {
                    Odd(if any_zero(a, b) {
                        0.0
                    } else {
                        wide(a) * wide(b)
                    })
                };
                arith::rounded(mode, a, b, product, exact)
            })
        },
        VFmaF32 | VFmacF32 => |w, i| {
            let (a, b, c) = (source(w, i, 0), source(w, i, 1), source(w, i, 2));
            fma(w, i, a, b, c)
        },
        VFmamkF32 => |w, i| {
            let (a, c) = (source(w, i, 0), source(w, i, 1));
            fma(w, i, a, [i.imm; L], c)
        },
        VFmaakF32 => |w, i| {
            let (a, b) = (source(w, i, 0), source(w, i, 1));
            fma(w, i, a, b, [i.imm; L])
        },
        VMinF32 => |w, i| extreme(w, i, false),
        VMaxF32 => |w, i| extreme(w, i, true),
        VMinNumF32 => |w, i| two(w, i, |_, a, b| picked(Rule::Number, a, b, false)),
        VMaxNumF32 => |w, i| two(w, i, |_, a, b| picked(Rule::Number, a, b, true)),
        VMinmaxNumF32 => |w, i| nested(w, i, Rule::Number, false, true),
        VMaxminNumF32 => |w, i| nested(w, i, Rule::Number, true, false),
        VMin3NumF32 => |w, i| nested(w, i, Rule::Number, false, false),
        VMax3NumF32 => |w, i| nested(w, i, Rule::Number, true, true),
        VMin3F32 => |w, i| nested(w, i, old(w), false, false),
        VMax3F32 => |w, i| nested(w, i, old(w), true, true),
        VMed3F32 => |w, i| {
            let rule = old(w);
            extreme3(w, i, |a, b, c| median(a, b, c, rule))
        },
        VFloorF32 => |w, i| one(w, i, f32::floor),
        VCeilF32 => |w, i| one(w, i, f32::ceil),
        VTruncF32 => |w, i| one(w, i, f32::trunc),
        VRndneF32 => |w, i| one(w, i, f32::round_ties_even),
        VFractF32 => |w, i| one(w, i, fraction),
        VRcpF32 | VRcpIflagF32 => |w, i| one(w, i, |a| 1.0 / a),
        VRsqF32 => |w, i| one(w, i, |a| (1.0 / wide(a).sqrt()) as f32),
        VSqrtF32 => |w, i| one(w, i, f32::sqrt),
        VExpF32 => |w, i| one(w, i, f32::exp2),
        VLogF32 => |w, i| one(w, i, f32::log2),
        VExpLegacyF32 => |w, i| one(w, i, f32::exp2),
        VLogLegacyF32 => |w, i| one(w, i, f32::log2),
        VFrexpMantF32 => |w, i| one(w, i, mantissa),
        VFrexpExpI32F32 => |w, i| convert(w, i, |a| exponent(f32::from_bits(a)) as u32),
        VFmaDx9ZeroF32 => |w, i| {
            let (a, b, c) = (source(w, i, 0), source(w, i, 1), source(w, i, 2));
            let zero = |x: u32| x & 0x7fff_ffff == 0;
            let either: [bool; L] = std::array::from_fn(|l| zero(a[l]) || zero(b[l]));
            let pick = |x: [u32; L]| std::array::from_fn(|l| if either[l] { 0 } else { x[l] });
            fma(w, i, pick(a), pick(b), c)
        },
        VMullitF32 => |w, i| {
            let (a, b, c) = (source(w, i, 0), source(w, i, 1), source(w, i, 2));
            let product = arith::mul(w.mode, a, b);
            let r = std::array::from_fn(|l| {
                let (b, c) = (f32::from_bits(b[l]), f32::from_bits(c[l]));
                if b.is_nan() || b <= f32::MIN || c.is_nan() || c <= 0.0 {
                    f32::MIN.to_bits()
                } else {
                    product[l]
                }
            });
            finish(w, i, r);
        },
        VCubeidF32 => |w, i| extreme3(w, i, |a, b, c| cube(a, b, c)[0].to_bits()),
        VCubescF32 => |w, i| extreme3(w, i, |a, b, c| cube(a, b, c)[1].to_bits()),
        VCubetcF32 => |w, i| extreme3(w, i, |a, b, c| cube(a, b, c)[2].to_bits()),
        VCubemaF32 => |w, i| extreme3(w, i, |a, b, c| cube(a, b, c)[3].to_bits()),
        VMinimumF32 => |w, i| two(w, i, |_, a, b| picked(Rule::Propagate, a, b, false)),
        VMaximumF32 => |w, i| two(w, i, |_, a, b| picked(Rule::Propagate, a, b, true)),
        VMinimum3F32 => |w, i| nested(w, i, Rule::Propagate, false, false),
        VMaximum3F32 => |w, i| nested(w, i, Rule::Propagate, true, true),
        VMinimummaximumF32 => |w, i| nested(w, i, Rule::Propagate, false, true),
        VMaximumminimumF32 => |w, i| nested(w, i, Rule::Propagate, true, false),
        VMed3NumF32 => |w, i| extreme3(w, i, |a, b, c| median(a, b, c, Rule::Number)),
        // Sources in turns of 2 pi.
        VSinF32 => |w, i| one(w, i, |a| (wide(a) * std::f64::consts::TAU).sin() as f32),
        VCosF32 => |w, i| one(w, i, |a| (wide(a) * std::f64::consts::TAU).cos() as f32),
        VLdexpF32 => |w, i| {
            let round = Round::from_bits(w.mode >> mode::ROUND);
            let a = source(w, i, 0);
            let mut s = None;
            let b = *w.lanes(i, 1, &mut s);
            let r = std::array::from_fn(|l| {
                let x = f32::from_bits(a[l]);
                if x.is_nan() {
                    return arith::nan32(&[a[l]]);
                }
                Odd(scale(wide(x), b[l] as i32, 400))
                    .to_f32(round)
                    .to_bits()
            });
            finish(w, i, r);
        },
        VCvtF32U32 => |w, i| to_float(w, i, wide_u32),
        VCvtF32I32 => |w, i| to_float(w, i, |a| f64::from(a as i32)),
        VCvtF32Ubyte0 => |w, i| to_float(w, i, |a| f64::from(a as u8)),
        VCvtF32Ubyte1 => |w, i| to_float(w, i, |a| f64::from((a >> 8) as u8)),
        VCvtF32Ubyte2 => |w, i| to_float(w, i, |a| f64::from((a >> 16) as u8)),
        VCvtF32Ubyte3 => |w, i| to_float(w, i, |a| f64::from((a >> 24) as u8)),
        VCvtU32F32 => |w, i| convert(w, i, arith::to_u32),
        VCvtI32F32 => |w, i| convert(w, i, arith::to_i32),
        VCvtRpiI32F32 => |w, i| {
            convert(w, i, |a| {
                (wide(f32::from_bits(a)) + 0.5).floor() as i32 as u32
            })
        },
        VCvtFlrI32F32 => |w, i| convert(w, i, |a| f32::from_bits(a).floor() as i32 as u32),
        _ => return None,
    };
    Some(step)
}

/// The rule by which the older operations choose a minimum or maximum.
fn old<const L: usize>(w: &Wave<L>) -> Rule {
    Rule::Old(w.mode & mode::IEEE != 0)
}

fn wide(a: f32) -> f64 {
    f64::from(a)
}

fn wide_u32(a: u32) -> f64 {
    f64::from(a)
}

fn median(a: u32, b: u32, c: u32, rule: Rule) -> u32 {
    let pick = |a, b, max| rule.pick(a, b, max);
    if [a, b, c].iter().any(|x| f32::from_bits(*x).is_nan()) {
        return pick(pick(a, b, false), c, false);
    }
    let (low, high) = (pick(a, b, false), pick(a, b, true));
    pick(low, pick(high, c, false), true)
}

/// Face, s, t and twice the major axis of a cube map's direction.
fn cube(x: u32, y: u32, z: u32) -> [f32; 4] {
    let [x, y, z] = [x, y, z].map(f32::from_bits);
    let signed = |v: f32, negative: f32| if v < 0.0 { negative } else { 0.0 };
    if z.abs() >= x.abs() && z.abs() >= y.abs() {
        [
            4.0 + signed(z, 1.0),
            if z < 0.0 { -x } else { x },
            -y,
            2.0 * z,
        ]
    } else if y.abs() >= x.abs() {
        [
            2.0 + signed(y, 1.0),
            x,
            if y < 0.0 { -z } else { z },
            2.0 * y,
        ]
    } else {
        [signed(x, 1.0), if x < 0.0 { z } else { -z }, -y, 2.0 * x]
    }
}

/// a - floor(a), below one whatever rounding does; NaN of what is no number (RDNA4 ISA, V_FRACT_F32).
fn fraction(a: f32) -> f32 {
    const BELOW_ONE: f32 = f32::from_bits(0x3f7f_ffff);
    let r = a - a.floor();
    // A comparison, and no minimum: Rust's drops a NaN.
    if r > BELOW_ONE {
        BELOW_ONE
    } else {
        r
    }
}

/// The exponent for a mantissa between a half and one.
fn exponent(a: f32) -> i32 {
    if a == 0.0 || !a.is_finite() {
        return 0;
    }
    // Denormals are normal as doubles.
    ((f64::from(a).to_bits() >> 52) as i32 & 0x7ff) - 1022
}

fn mantissa(a: f32) -> f32 {
    if a == 0.0 || !a.is_finite() {
        return a;
    }
    (f64::from(a) / 2f64.powi(exponent(a))) as f32
}

/// x * 2^n with a single rounding: only the last step can be inexact.
pub fn scale(x: f64, n: i32, limit: i32) -> f64 {
    let n = n.clamp(-limit, limit);
    if (-1022..=1023).contains(&n) {
        return x * 2f64.powi(n);
    }
    if n > 0 {
        return x
            * 2f64.powi(1023)
            * 2f64.powi((n - 1023).min(1023))
            * 2f64.powi((n - 2046).max(0));
    }
    // Down: bring a large x down exactly first, so that one multiplication rounds.
    let exponent = ((x.to_bits() >> 52) as i32 & 0x7ff) - 1023;
    let exact = (exponent + 1000).clamp(0, -n - 1);
    x * 2f64.powi(-exact.min(1022)) * 2f64.powi((n + exact.min(1022)).max(-1074))
}
