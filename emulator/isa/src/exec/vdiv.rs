// SPDX-License-Identifier: MIT OR Apache-2.0
//! The three helpers of IEEE division: scale the sources away from trouble, fuse the last step,
//! fix up the special cases (CDNA3 ISA, V_DIV_SCALE, V_DIV_FMAS, V_DIV_FIXUP).

use super::arith;
use super::float::{Odd, Round};
use super::vdouble::{self, finish64};
use super::vfloat::{finish, scale};
use crate::decode::Inst;
use crate::decode::Op;
use crate::fault::FaultKind;
use crate::kernel::mode;
use crate::wave::{Wave, Wide};

/// True if the operation is one of these.
pub fn execute<const L: usize>(w: &mut Wave<L>, i: &Inst) -> Result<bool, FaultKind> {
    let is_double = match i.op {
        Op::VDivScaleF32 | Op::VDivFmasF32 | Op::VDivFixupF32 => false,
        Op::VDivScaleF64 | Op::VDivFmasF64 | Op::VDivFixupF64 => true,
        _ => return Ok(false),
    };
    if is_double {
        double(w, i)
    } else {
        single(w, i)
    }
    Ok(true)
}

fn sources<const L: usize>(w: &Wave<L>, i: &Inst) -> [[f32; L]; 3] {
    std::array::from_fn(|n| {
        let (abs, neg) = ((i.abs >> n) & 1 == 1, u32::from((i.neg >> n) & 1) << 31);
        w.lanes(i, n, &mut None)
            .map(|x| f32::from_bits((if abs { x & 0x7fff_ffff } else { x }) ^ neg))
    })
}

fn sources64<const L: usize>(w: &Wave<L>, i: &Inst) -> [[f64; L]; 3] {
    std::array::from_fn(|n| {
        let (abs, neg) = ((i.abs >> n) & 1 == 1, u64::from((i.neg >> n) & 1) << 63);
        w.lanes64(i, n, Wide::Float)
            .map(|x| f64::from_bits((if abs { x & !(1 << 63) } else { x }) ^ neg))
    })
}

fn single<const L: usize>(w: &mut Wave<L>, i: &Inst) {
    let [a, b, c] = sources(w, i);
    match i.op {
        Op::VDivScaleF32 => {
            // MODE says whether denormal sources count.
            let [a, b, c] =
                [a, b, c].map(|x| arith::input(w.mode, x.map(f32::to_bits)).map(f32::from_bits));
            let (mut r, mut mask) = ([0; L], 0);
            for l in 0..L {
                let (value, flag) = scale32(a[l], b[l], c[l]);
                r[l] = value.to_bits();
                mask |= u64::from(flag) << l;
            }
            finish(w, i, r);
            w.put_mask(i.sdst, mask);
        }
        Op::VDivFmasF32 => {
            let (vcc, round) = (w.vcc(), Round::from_bits(w.mode >> mode::ROUND));
            let r = std::array::from_fn(|l| {
                if (vcc >> l) & 1 == 0 {
                    return match round {
                        Round::Nearest => a[l].mul_add(b[l], c[l]),
                        round => Odd::fma(a[l], b[l], c[l]).to_f32(round),
                    }
                    .to_bits();
                }
                // The scale undoes the one that v_div_scale applied: up if only the denominator
                // was scaled (a large quotient), down otherwise. One rounding.
                let by = if exponent32(c[l]) > 127 { 64 } else { -64 };
                Odd(scale(Odd::fma(a[l], b[l], c[l]).0, by, 400))
                    .to_f32(round)
                    .to_bits()
            });
            finish(w, i, r);
        }
        _ => {
            let keep = (w.mode >> mode::DENORM) & 3 == 3;
            let r = std::array::from_fn(|l| fixup32(a[l], b[l], c[l], keep).to_bits());
            finish(w, i, r);
        }
    }
}

fn exponent32(x: f32) -> i32 {
    ((x.to_bits() >> 23) & 0xff) as i32
}

fn exponent64(x: f64) -> i32 {
    ((x.to_bits() >> 52) & 0x7ff) as i32
}

/// `a` is the source to scale: the denominator `b` or the numerator `c`.
fn scale32(a: f32, b: f32, c: f32) -> (f32, bool) {
    let same = |x: f32, y: f32| x.to_bits() == y.to_bits();
    let by = |n: i32| scale(a.into(), n, 400) as f32;
    let denormal = |x: f64| x != 0.0 && x.abs() < f64::from(f32::MIN_POSITIVE);
    // The manual prints no flag, cards of the generation before set it (tinygrad's tests on hardware,
    // test/amd/hw/test_vop3.py); v_div_fixup's result does not depend on it.
    if b == 0.0 || c == 0.0 {
        return (f32::NAN, true);
    }
    let (reciprocal, quotient) = (1.0 / f64::from(b), f64::from(c) / f64::from(b));
    if exponent32(c) - exponent32(b) >= 96 {
        (if same(a, b) { by(64) } else { a }, true)
    } else if b.is_subnormal() {
        (by(64), false)
    } else if denormal(reciprocal) && denormal(quotient) {
        // The manual prints +64 here, which would overflow the denominator; only a scale down
        // fits the one that v_div_fmas undoes.
        (if same(a, b) { by(-64) } else { a }, true)
    } else if denormal(reciprocal) {
        (by(-64), false)
    } else if denormal(quotient) || exponent32(c) - exponent32(b) <= -126 {
        // By exponents too: the same tests have the flag for the smallest normal number over one. That
        // other quotients of this difference have it is an inference; the result is the same.
        (if same(a, c) { by(64) } else { a }, true)
    } else if exponent32(c) <= 23 {
        (by(64), false)
    } else {
        (a, false)
    }
}

fn fixup32(a: f32, b: f32, c: f32, keep_denormals: bool) -> f32 {
    let sign = if b.is_sign_negative() != c.is_sign_negative() {
        -1f32
    } else {
        1.0
    };
    let quiet = |x: f32| f32::from_bits(x.to_bits() | 0x40_0000);
    let flush = |x: f32| {
        if keep_denormals || !x.is_subnormal() {
            x
        } else {
            0.0
        }
    };
    // A distance below -150 is below half the smallest denormal.
    let distance = exponent32(c) - exponent32(b);
    if c.is_nan() {
        quiet(c)
    } else if b.is_nan() {
        quiet(b)
    } else if (b == 0.0 && c == 0.0) || (b.is_infinite() && c.is_infinite()) {
        f32::from_bits(0xffc0_0000)
    } else if b == 0.0 || c.is_infinite() {
        f32::INFINITY.copysign(sign)
    } else if b.is_infinite() || c == 0.0 || distance < -150 {
        0f32.copysign(sign)
    } else if a.is_nan() {
        // The refinement steps make a NaN of ordinary sources only when the quotient overflows
        // inside them. The manual does not define that result, so it is IEEE's.
        f32::INFINITY.copysign(sign)
    } else {
        flush(a.abs()).copysign(sign)
    }
}

fn double<const L: usize>(w: &mut Wave<L>, i: &Inst) {
    let [a, b, c] = sources64(w, i);
    match i.op {
        Op::VDivScaleF64 => {
            let (mut r, mut mask) = ([0; L], 0);
            for l in 0..L {
                let (value, flag) = scale64(a[l], b[l], c[l]);
                r[l] = value.to_bits();
                mask |= u64::from(flag) << l;
            }
            finish64(w, i, r);
            w.put_mask(i.sdst, mask);
        }
        Op::VDivFmasF64 => {
            let vcc = w.vcc();
            let r = std::array::from_fn(|l| {
                let by = match (vcc >> l) & 1 {
                    0 => 0,
                    _ if exponent64(c[l]) > 1023 => 128,
                    _ => -128,
                };
                let [a, b, c] = [a[l], b[l], c[l]].map(f64::to_bits);
                vdouble::fma(w.mode, a, b, c, by)
            });
            finish64(w, i, r);
        }
        _ => {
            let r = std::array::from_fn(|l| fixup64(a[l], b[l], c[l]).to_bits());
            finish64(w, i, r);
        }
    }
}

fn scale64(a: f64, b: f64, c: f64) -> (f64, bool) {
    let same = |x: f64, y: f64| x.to_bits() == y.to_bits();
    let by = |n: i32| scale(a, n, 2200);
    if b == 0.0 || c == 0.0 {
        return (f64::NAN, true);
    }
    let (reciprocal, quotient) = (1.0 / b, c / b);
    if exponent64(c) - exponent64(b) >= 768 {
        (if same(a, b) { by(128) } else { a }, true)
    } else if b.is_subnormal() {
        (by(128), false)
    } else if reciprocal.is_subnormal() && (quotient.abs() < f64::MIN_POSITIVE) {
        (if same(a, b) { by(-128) } else { a }, true)
    } else if reciprocal.is_subnormal() {
        (by(-128), false)
    } else if quotient.abs() < f64::MIN_POSITIVE {
        (if same(a, c) { by(128) } else { a }, true)
    } else if exponent64(c) <= 53 {
        (by(128), false)
    } else {
        (a, false)
    }
}

fn fixup64(a: f64, b: f64, c: f64) -> f64 {
    let sign = if b.is_sign_negative() != c.is_sign_negative() {
        -1f64
    } else {
        1.0
    };
    let quiet = |x: f64| f64::from_bits(x.to_bits() | 0x8_0000_0000_0000);
    if c.is_nan() {
        quiet(c)
    } else if b.is_nan() {
        quiet(b)
    } else if (b == 0.0 && c == 0.0) || (b.is_infinite() && c.is_infinite()) {
        f64::from_bits(0xfff8_0000_0000_0000)
    } else if b == 0.0 || c.is_infinite() {
        f64::INFINITY.copysign(sign)
    } else if b.is_infinite() || c == 0.0 || exponent64(c) - exponent64(b) < -1075 {
        0f64.copysign(sign)
    } else if a.is_nan() {
        f64::INFINITY.copysign(sign)
    } else {
        a.abs().copysign(sign)
    }
}
