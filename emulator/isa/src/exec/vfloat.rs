// SPDX-License-Identifier: MIT OR Apache-2.0
//! Vector floating point: arithmetic, rounding to integers, conversions.
//!
//! Add, subtract, multiply, fma and the conversions round once, as MODE says for f32; f64 and f16
//! only to nearest even, and any other MODE is refused by name. A NaN result is the first NaN
//! source made quiet, or the default NaN. rcp, rsq, sqrt, exp and log are the host's correctly
//! rounded (or its best) results; silicon's are within about 1 ULP and not documented bit by bit.

use super::arith;
use super::float::{extreme32, extreme64, from_f16, to_f16, Odd, Round, NAN64};
use super::valu::{half_of, put16, three16};
use crate::decode::Inst;
use crate::fault::FaultKind;
use crate::target::Op;
use crate::wave::{mode, Wave, Wide};

/// A 32-bit float source with its modifiers and MODE's treatment of denormals.
#[inline]
fn source<const L: usize>(w: &Wave<L>, i: &Inst, n: usize) -> [u32; L] {
    let mut splat = [0; L];
    let mut a = *w.lanes(i, n, &mut splat);
    if (i.abs >> n) & 1 == 1 {
        a = a.map(|x| x & 0x7fff_ffff);
    }
    if (i.neg >> n) & 1 == 1 {
        a = a.map(|x| x ^ 0x8000_0000);
    }
    arith::input(w.mode, a)
}

fn source64<const L: usize>(w: &Wave<L>, i: &Inst, n: usize) -> [u64; L] {
    let mut a = w.lanes64(i, n, Wide::Float);
    if (i.abs >> n) & 1 == 1 {
        a = a.map(|x| x & !(1 << 63));
    }
    if (i.neg >> n) & 1 == 1 {
        a = a.map(|x| x ^ (1 << 63));
    }
    a
}

/// Output modifier, clamp and denormals of a 32-bit result, then write it.
#[inline]
fn finish<const L: usize>(w: &mut Wave<L>, i: &Inst, mut r: [u32; L]) {
    if i.omod != 0 {
        let factor = [1.0, 2.0, 4.0, 0.5][(i.omod & 3) as usize];
        r = r.map(|x| (f32::from_bits(x) * factor).to_bits());
    }
    if i.clamp {
        let nan_to_zero = w.mode & mode::DX10_CLAMP != 0;
        r = r.map(|x| clamp32(x, nan_to_zero));
    }
    w.put(i.dst, &arith::output(w.mode, r));
}

fn clamp32(x: u32, nan_to_zero: bool) -> u32 {
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

fn finish64<const L: usize>(w: &mut Wave<L>, i: &Inst, mut r: [u64; L]) {
    if i.omod != 0 {
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
    w.put64(i.dst, &r);
}

fn nan64(sources: &[u64]) -> u64 {
    sources
        .iter()
        .find(|x| f64::from_bits(**x).is_nan())
        .map_or(NAN64, |x| x | 0x8_0000_0000_0000)
}

/// d = f(a, b), f32 bits; `f` is told MODE.
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

fn numbers<const L: usize>(a: [u32; L], b: [u32; L], max: bool) -> [u32; L] {
    std::array::from_fn(|l| arith::number(a[l], b[l], max))
}

fn nearest_only<const L: usize>(w: &Wave<L>) -> Result<(), FaultKind> {
    let plain = (w.mode >> (mode::ROUND + 2)) & 3 == 0 && (w.mode >> (mode::DENORM + 2)) & 3 == 3;
    plain
        .then_some(())
        .ok_or(FaultKind::Unsupported("this MODE for f64 and f16"))
}

fn one64<const L: usize>(
    w: &mut Wave<L>,
    i: &Inst,
    f: impl Fn(f64) -> f64,
) -> Result<(), FaultKind> {
    nearest_only(w)?;
    let a = source64(w, i, 0);
    let r = a.map(|x| {
        let r = f(f64::from_bits(x));
        if r.is_nan() {
            nan64(&[x])
        } else {
            r.to_bits()
        }
    });
    finish64(w, i, r);
    Ok(())
}

fn two64<const L: usize>(
    w: &mut Wave<L>,
    i: &Inst,
    f: impl Fn(f64, f64) -> f64,
) -> Result<(), FaultKind> {
    nearest_only(w)?;
    let (a, b) = (source64(w, i, 0), source64(w, i, 1));
    let r = std::array::from_fn(|l| {
        let r = f(f64::from_bits(a[l]), f64::from_bits(b[l]));
        if r.is_nan() {
            nan64(&[a[l], b[l]])
        } else {
            r.to_bits()
        }
    });
    finish64(w, i, r);
    Ok(())
}

fn fma64<const L: usize>(w: &mut Wave<L>, i: &Inst) -> Result<(), FaultKind> {
    nearest_only(w)?;
    let (a, b, c) = (source64(w, i, 0), source64(w, i, 1), source64(w, i, 2));
    let value = f64::from_bits;
    let r = std::array::from_fn(|l| {
        let r = value(a[l]).mul_add(value(b[l]), value(c[l]));
        if r.is_nan() {
            nan64(&[a[l], b[l], c[l]])
        } else {
            r.to_bits()
        }
    });
    finish64(w, i, r);
    Ok(())
}

/// Half precision: computed in f64, where sums and products of halves are exact.
fn half<const L: usize>(
    w: &mut Wave<L>,
    i: &Inst,
    legacy: bool,
    f: impl Fn(f64, f64, f64) -> f64,
) -> Result<(), FaultKind> {
    nearest_only(w)?;
    if i.omod != 0 || i.clamp {
        return Err(FaultKind::Unsupported("f16 output modifiers"));
    }
    let (abs, neg) = (i.abs, i.neg);
    let modified = move |n: usize, x: u16| {
        let x = if (abs >> n) & 1 == 1 { x & 0x7fff } else { x };
        from_f16(if (neg >> n) & 1 == 1 { x ^ 0x8000 } else { x })
    };
    three16(w, i, legacy, |a, b, c| {
        let r = f(
            modified(0, a).into(),
            modified(1, b).into(),
            modified(2, c).into(),
        );
        if r.is_nan() {
            let nan = [a, b, c].into_iter().find(|x| x & 0x7fff > 0x7c00);
            return nan.map_or(0x7e00, |x| x | 0x200);
        }
        to_f16(r)
    });
    Ok(())
}

/// d = f(a) with integers on one side or both.
fn convert<const L: usize>(w: &mut Wave<L>, i: &Inst, f: impl Fn(u32) -> u32) {
    let a = source(w, i, 0);
    w.put(i.dst, &a.map(f));
}

/// d = an integer as f32, rounded as MODE says.
fn to_float<const L: usize>(w: &mut Wave<L>, i: &Inst, f: impl Fn(u32) -> f64) {
    let mut splat = [0; L];
    let r = w
        .lanes(i, 0, &mut splat)
        .map(|x| arith::from_integer(w.mode, f(x)));
    finish(w, i, r);
}

/// True if the operation is one of these.
#[inline]
pub fn execute<const L: usize>(w: &mut Wave<L>, i: &Inst) -> Result<bool, FaultKind> {
    use Op::*;
    let wide = f64::from;
    match i.op {
        VAddF32 => two(w, i, arith::add),
        VSubF32 => two(w, i, arith::sub),
        VSubrevF32 => two(w, i, |mode, a, b| {
            let exact = |a, b| Odd::sum(wide(b), -wide(a));
            arith::rounded(mode, a, b, |a, b| b - a, exact)
        }),
        VMulF32 => two(w, i, arith::mul),
        VMulLegacyF32 => two(w, i, |mode, a, b| {
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
        }),
        VFmaF32 | VFmacF32 => {
            let (a, b, c) = (source(w, i, 0), source(w, i, 1), source(w, i, 2));
            fma(w, i, a, b, c)
        }
        VFmamkF32 => {
            let (a, c) = (source(w, i, 0), source(w, i, 1));
            fma(w, i, a, [i.imm; L], c)
        }
        VFmaakF32 => {
            let (a, b) = (source(w, i, 0), source(w, i, 1));
            fma(w, i, a, b, [i.imm; L])
        }
        VMinF32 => extreme(w, i, false),
        VMaxF32 => extreme(w, i, true),
        VMinNumF32 => two(w, i, |_, a, b| numbers(a, b, false)),
        VMaxNumF32 => two(w, i, |_, a, b| numbers(a, b, true)),
        VMinmaxNumF32 => extreme3(w, i, |a, b, c| {
            arith::number(arith::number(a, b, false), c, true)
        }),
        VMaxminNumF32 => extreme3(w, i, |a, b, c| {
            arith::number(arith::number(a, b, true), c, false)
        }),
        VMin3NumF32 => extreme3(w, i, |a, b, c| {
            arith::number(arith::number(a, b, false), c, false)
        }),
        VMax3NumF32 => extreme3(w, i, |a, b, c| {
            arith::number(arith::number(a, b, true), c, true)
        }),
        VMinNumF64 | VMaxNumF64 => {
            let (a, b) = (source64(w, i, 0), source64(w, i, 1));
            let max = i.op == VMaxNumF64;
            let r = std::array::from_fn(|l| match extreme64(a[l], b[l], max, false) {
                r if f64::from_bits(r).is_nan() => nan64(&[a[l]]),
                r => r,
            });
            finish64(w, i, r);
        }
        VMin3F32 => {
            let e = w.mode & mode::IEEE != 0;
            extreme3(w, i, |a, b, c| {
                extreme32(extreme32(a, b, false, e), c, false, e)
            })
        }
        VMax3F32 => {
            let e = w.mode & mode::IEEE != 0;
            extreme3(w, i, |a, b, c| {
                extreme32(extreme32(a, b, true, e), c, true, e)
            })
        }
        VMed3F32 => {
            let e = w.mode & mode::IEEE != 0;
            extreme3(w, i, |a, b, c| median(a, b, c, e))
        }
        VFloorF32 => one(w, i, f32::floor),
        VCeilF32 => one(w, i, f32::ceil),
        VTruncF32 => one(w, i, f32::trunc),
        VRndneF32 => one(w, i, f32::round_ties_even),
        VFractF32 => one(w, i, |a| (a - a.floor()).min(f32::from_bits(0x3f7f_ffff))),
        VRcpF32 | VRcpIflagF32 => one(w, i, |a| 1.0 / a),
        VRsqF32 => one(w, i, |a| (1.0 / wide(a).sqrt()) as f32),
        VSqrtF32 => one(w, i, f32::sqrt),
        VExpF32 => one(w, i, f32::exp2),
        VLogF32 => one(w, i, f32::log2),
        // Sources in turns of 2 pi.
        VSinF32 => one(w, i, |a| (wide(a) * std::f64::consts::TAU).sin() as f32),
        VCosF32 => one(w, i, |a| (wide(a) * std::f64::consts::TAU).cos() as f32),
        VLdexpF32 => {
            let a = source(w, i, 0);
            let mut s = [0; L];
            let b = *w.lanes(i, 1, &mut s);
            let r =
                std::array::from_fn(|l| scale(wide(f32::from_bits(a[l])), b[l] as i32, 400) as f32)
                    .map(f32::to_bits);
            finish(w, i, r);
        }
        VAddF64 => two64(w, i, |a, b| a + b)?,
        VMulF64 => two64(w, i, |a, b| a * b)?,
        VMinF64 | VMaxF64 => {
            let (a, b) = (source64(w, i, 0), source64(w, i, 1));
            let (max, ieee) = (i.op == VMaxF64, w.mode & mode::IEEE != 0);
            let r = std::array::from_fn(|l| extreme64(a[l], b[l], max, ieee));
            finish64(w, i, r);
        }
        VFmaF64 | VFmacF64 => fma64(w, i)?,
        VFloorF64 => one64(w, i, f64::floor)?,
        VCeilF64 => one64(w, i, f64::ceil)?,
        VTruncF64 => one64(w, i, f64::trunc)?,
        VRndneF64 => one64(w, i, f64::round_ties_even)?,
        VRcpF64 => one64(w, i, |a| 1.0 / a)?,
        VRsqF64 => one64(w, i, |a| 1.0 / a.sqrt())?,
        VSqrtF64 => one64(w, i, f64::sqrt)?,
        VLdexpF64 => {
            nearest_only(w)?;
            let a = source64(w, i, 0);
            let mut s = [0; L];
            let b = *w.lanes(i, 1, &mut s);
            let r =
                std::array::from_fn(|l| scale(f64::from_bits(a[l]), b[l] as i32, 2200).to_bits());
            finish64(w, i, r);
        }
        VAddF16 => half(w, i, true, |a, b, _| a + b)?,
        VSubF16 => half(w, i, true, |a, b, _| a - b)?,
        VSubrevF16 => half(w, i, true, |a, b, _| b - a)?,
        VMulF16 => half(w, i, true, |a, b, _| a * b)?,
        VFmaF16 | VFmacF16 | VFmaakF16 | VFmamkF16 => half(w, i, false, |a, b, c| a * b + c)?,
        VFmaLegacyF16 => half(w, i, true, |a, b, c| a * b + c)?,

        VCvtF32U32 => to_float(w, i, wide_u32),
        VCvtF32I32 => to_float(w, i, |a| f64::from(a as i32)),
        VCvtF32Ubyte0 => to_float(w, i, |a| f64::from(a as u8)),
        VCvtF32Ubyte1 => to_float(w, i, |a| f64::from((a >> 8) as u8)),
        VCvtF32Ubyte2 => to_float(w, i, |a| f64::from((a >> 16) as u8)),
        VCvtF32Ubyte3 => to_float(w, i, |a| f64::from((a >> 24) as u8)),
        VCvtU32F32 => convert(w, i, arith::to_u32),
        VCvtI32F32 => convert(w, i, arith::to_i32),
        VCvtRpiI32F32 => convert(w, i, |a| {
            (wide(f32::from_bits(a)) + 0.5).floor() as i32 as u32
        }),
        VCvtFlrI32F32 => convert(w, i, |a| f32::from_bits(a).floor() as i32 as u32),
        VCvtF64F32 => {
            let a = source(w, i, 0);
            finish64(w, i, a.map(widen))
        }
        VCvtF64U32 | VCvtF64I32 => {
            let (mut s, signed) = ([0; L], i.op == VCvtF64I32);
            let r = w.lanes(i, 0, &mut s).map(|x| {
                if signed {
                    f64::from(x as i32)
                } else {
                    f64::from(x)
                }
                .to_bits()
            });
            finish64(w, i, r);
        }
        VCvtF32F64 => {
            let a = source64(w, i, 0);
            let round = Round::from_bits(w.mode >> mode::ROUND);
            let r = a.map(|x| match f64::from_bits(x) {
                f if f.is_nan() => {
                    (x >> 32) as u32 & 0x8000_0000 | 0x7fc0_0000 | (x >> 29) as u32 & 0x3f_ffff
                }
                f => Odd(f).to_f32(round).to_bits(),
            });
            finish(w, i, r);
        }
        VCvtU32F64 => {
            let a = source64(w, i, 0);
            w.put(i.dst, &a.map(|x| f64::from_bits(x) as u32))
        }
        VCvtI32F64 => {
            let a = source64(w, i, 0);
            w.put(i.dst, &a.map(|x| f64::from_bits(x) as i32 as u32))
        }
        VCvtF16F32 => {
            nearest_only(w)?;
            let a = source(w, i, 0);
            put16(w, i, !i.keep, a.map(|x| to_f16(f32::from_bits(x).into())));
        }
        VCvtF32F16 => {
            let a = w.lanes16(i, 0);
            let (abs, neg) = (i.abs & 1 == 1, i.neg & 1 == 1);
            let r = a.map(|x| {
                let x = half_of(i, 0, x);
                let x = if abs { x & 0x7fff } else { x };
                from_f16(if neg { x ^ 0x8000 } else { x }).to_bits()
            });
            finish(w, i, r);
        }
        _ => return Ok(false),
    }
    Ok(true)
}

fn wide_u32(a: u32) -> f64 {
    f64::from(a)
}

fn widen(bits: u32) -> u64 {
    let f = f32::from_bits(bits);
    if f.is_nan() {
        return (u64::from(bits & 0x8000_0000) << 32)
            | 0x7ff8_0000_0000_0000
            | (u64::from(bits & 0x3f_ffff) << 29);
    }
    f64::from(f).to_bits()
}

fn median(a: u32, b: u32, c: u32, ieee: bool) -> u32 {
    if [a, b, c].iter().any(|x| f32::from_bits(*x).is_nan()) {
        return extreme32(extreme32(a, b, false, ieee), c, false, ieee);
    }
    let (low, high) = (extreme32(a, b, false, ieee), extreme32(a, b, true, ieee));
    extreme32(low, extreme32(high, c, false, ieee), true, ieee)
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
