// SPDX-License-Identifier: MIT OR Apache-2.0
//! Conversions between floating point formats, and between them and integers of 8 and 16 bits.
//!
//! What the manuals leave open: normalised integers round to nearest even; conversions to packed
//! integers of 8 and 16 bits truncate, as those to 32 bits do; stochastic rounding adds the upper
//! bits of the second source below the kept fraction and truncates.

use super::arith::{self, Mode16};
use super::exact::{Exact, Format};
use super::float::{from_f16, to_f16, Odd, Round};
use super::lanes::{half_of, put16};
use super::vdouble::{finish64, source64};
use super::vfloat::{finish, source};
use super::vhalf;
use crate::decode::Inst;
use crate::decode::Op;
use crate::fault::FaultKind;
use crate::kernel::mode;
use crate::wave::Wave;

fn widen(bits: u32) -> u64 {
    let f = f32::from_bits(bits);
    if f.is_nan() {
        return (u64::from(bits & 0x8000_0000) << 32)
            | 0x7ff8_0000_0000_0000
            | (u64::from(bits & 0x3f_ffff) << 29);
    }
    f64::from(f).to_bits()
}

fn narrow(x: u64, round: Round) -> u32 {
    match f64::from_bits(x) {
        f if f.is_nan() => {
            (x >> 32) as u32 & 0x8000_0000 | 0x7fc0_0000 | (x >> 29) as u32 & 0x3f_ffff
        }
        f => Odd(f).to_f32(round).to_bits(),
    }
}

/// To a normalised integer whose one is `one`.
fn normalised(x: f64, one: f64, lowest: f64) -> u16 {
    (x.clamp(lowest, 1.0) * one).round_ties_even() as i32 as u16
}
fn snorm(x: f64) -> u16 {
    normalised(x, 32767.0, -1.0)
}
fn unorm(x: f64) -> u16 {
    normalised(x, 65535.0, 0.0)
}

fn single(x: u32) -> f64 {
    f32::from_bits(x).into()
}
fn half(x: u16) -> f64 {
    from_f16(x).into()
}

fn pack(low: u16, high: u16) -> u32 {
    u32::from(low) | (u32::from(high) << 16)
}

/// Two sources of single precision to two halves of the result.
fn pack_singles<const L: usize>(w: &mut Wave<L>, i: &Inst, f: impl Fn(f64) -> u16) {
    let (a, b) = (source(w, i, 0), source(w, i, 1));
    let r = std::array::from_fn(|l| pack(f(single(a[l])), f(single(b[l]))));
    w.put(i.dst, &r);
}

fn pack_halves<const L: usize>(w: &mut Wave<L>, i: &Inst, f: impl Fn(f64) -> u16) {
    let (a, b) = (vhalf::source(w, i, 0), vhalf::source(w, i, 1));
    let r = std::array::from_fn(|l| pack(f(half(a[l])), f(half(b[l]))));
    w.put(i.dst, &r);
}

/// d = f(a), from half precision to 16 bits.
fn from_half<const L: usize>(w: &mut Wave<L>, i: &Inst, f: impl Fn(f64) -> u16) {
    let r = vhalf::source(w, i, 0).map(|x| f(half(x)));
    put16(w, i, !i.keep, r);
}

/// d = an integer of 16 bits as half precision.
fn to_half<const L: usize>(w: &mut Wave<L>, i: &Inst, f: impl Fn(u16) -> f64) {
    let rules = Mode16::of(w.mode);
    let r = w
        .lanes(i, 0, &mut None)
        .map(|x| vhalf::finish(rules, i, rules.round(Odd(f(half_of(i, 0, x))))));
    put16(w, i, !i.keep, r);
}

/// Rounds towards zero, whatever MODE is; a NaN keeps what fits of its payload.
fn half_towards_zero(x: f64) -> u16 {
    if x.is_nan() {
        to_f16(x)
    } else {
        Exact::of(x).round(&Format::F16, Round::Zero) as u16
    }
}

/// A format of 8 bits as this chip has it.
fn small(i: &Inst, bf8: bool) -> Format {
    match (i.ocp, bf8) {
        (false, false) => Format::FP8_FNUZ,
        (false, true) => Format::BF8_FNUZ,
        (true, false) => Format::FP8_OCP,
        (true, true) => Format::BF8_OCP,
    }
}

/// Eight bits to single precision.
pub fn from_small(format: &Format, code: u8) -> u32 {
    let x = format.value(code.into()) as f32;
    if x.is_nan() {
        0x7fc0_0000
    } else {
        x.to_bits()
    }
}

/// Write `count` bits of the destination at `low`, the others stay.
fn put_part<const L: usize>(w: &mut Wave<L>, i: &Inst, low: u32, count: u32, r: [u32; L]) {
    let mask = ((1u64 << count) - 1) as u32;
    let old = w.v[w.slot(i.dst)];
    let r = std::array::from_fn(|l| old[l] & !(mask << low) | ((r[l] & mask) << low));
    w.put(i.dst, &r);
}

/// v_cvt_f32_fp8 and its like: the byte is chosen by op_sel, its first bit the higher.
fn unpack_one<const L: usize>(w: &mut Wave<L>, i: &Inst, bf8: bool) {
    let format = small(i, bf8);
    let byte = u32::from(((i.op_sel & 1) << 1) | ((i.op_sel >> 1) & 1));
    let r = w
        .lanes(i, 0, &mut None)
        .map(|x| from_small(&format, (x >> (8 * byte)) as u8));
    w.put(i.dst, &r);
}

fn unpack_two<const L: usize>(w: &mut Wave<L>, i: &Inst, bf8: bool) {
    let format = small(i, bf8);
    let a = w
        .lanes(i, 0, &mut None)
        .map(|x| x >> (16 * u32::from(i.op_sel & 1)));
    w.put(i.dst, &a.map(|x| from_small(&format, x as u8)));
    w.put(i.dst + 1, &a.map(|x| from_small(&format, (x >> 8) as u8)));
}

fn pack_two<const L: usize>(w: &mut Wave<L>, i: &Inst, bf8: bool) {
    let format = small(i, bf8);
    let (a, b) = (source(w, i, 0), source(w, i, 1));
    let code = |x: u32| Exact::of(single(x)).round(&format, Round::Nearest) as u32;
    let r = std::array::from_fn(|l| code(a[l]) | (code(b[l]) << 8));
    put_part(w, i, 16 * u32::from(i.op_sel >> 3), 16, r);
}

fn stochastic<const L: usize>(w: &mut Wave<L>, i: &Inst, bf8: bool) {
    let format = small(i, bf8);
    let (a, noise) = (source(w, i, 0), *w.lanes(i, 1, &mut None));
    let r = std::array::from_fn(|l| {
        if !f32::from_bits(a[l]).is_finite() {
            return Exact::of(single(a[l])).round(&format, Round::Nearest) as u32;
        }
        // A carry goes into the exponent.
        let noisy = a[l] + (noise[l] >> if bf8 { 11 } else { 12 });
        Exact::of(single(noisy)).round(&format, Round::Zero) as u32
    });
    put_part(w, i, 8 * u32::from(i.op_sel >> 2), 8, r);
}

/// True if the operation is one of these.
pub fn execute<const L: usize>(w: &mut Wave<L>, i: &Inst) -> Result<bool, FaultKind> {
    use Op::*;
    let rules = Mode16::of(w.mode);
    match i.op {
        VCvtF64F32 => {
            let a = source(w, i, 0);
            finish64(w, i, a.map(widen))
        }
        VCvtF64U32 | VCvtF64I32 => {
            let signed = i.op == VCvtF64I32;
            let r = w.lanes(i, 0, &mut None).map(|x| {
                if signed {
                    f64::from(x as i32).to_bits()
                } else {
                    f64::from(x).to_bits()
                }
            });
            finish64(w, i, r);
        }
        VCvtF32F64 => {
            let round = Round::from_bits(w.mode >> mode::ROUND);
            let r = source64(w, i, 0).map(|x| narrow(x, round));
            finish(w, i, r);
        }
        VCvtU32F64 => {
            let r = source64(w, i, 0).map(|x| f64::from_bits(x) as u32);
            w.put(i.dst, &r)
        }
        VCvtI32F64 => {
            let r = source64(w, i, 0).map(|x| f64::from_bits(x) as i32 as u32);
            w.put(i.dst, &r)
        }
        VCvtF16F32 => {
            let r = source(w, i, 0).map(|x| {
                let x = single(x);
                let r = if x.is_nan() {
                    to_f16(x)
                } else {
                    rules.round(Odd(x))
                };
                vhalf::finish(rules, i, r)
            });
            put16(w, i, !i.keep, r);
        }
        VCvtF32F16 => {
            let r = vhalf::source(w, i, 0).map(|x| arith::unary(from_f16(x).to_bits(), |x| x));
            finish(w, i, r);
        }
        VCvtF16U16 => to_half(w, i, f64::from),
        VCvtF16I16 => to_half(w, i, |x| f64::from(x as i16)),
        VCvtU16F16 => from_half(w, i, |x| x as u16),
        VCvtI16F16 => from_half(w, i, |x| x as i16 as u16),
        VCvtNormI16F16 => from_half(w, i, snorm),
        VCvtNormU16F16 => from_half(w, i, unorm),
        VCvtPknormI16F32 | VCvtPkNormI16F32 => pack_singles(w, i, snorm),
        VCvtPknormU16F32 | VCvtPkNormU16F32 => pack_singles(w, i, unorm),
        VCvtPknormI16F16 | VCvtPkNormI16F16 => pack_halves(w, i, snorm),
        VCvtPknormU16F16 | VCvtPkNormU16F16 => pack_halves(w, i, unorm),
        VCvtPkrtzF16F32 | VCvtPkRtzF16F32 => pack_singles(w, i, half_towards_zero),
        VCvtPkI16F32 => pack_singles(w, i, |x| x as i16 as u16),
        VCvtPkU16F32 => pack_singles(w, i, |x| x as u16),
        VCvtI32I16 => {
            let r = w
                .lanes(i, 0, &mut None)
                .map(|x| half_of(i, 0, x) as i16 as u32);
            w.put(i.dst, &r);
        }
        VCvtU32U16 => {
            let r = w.lanes(i, 0, &mut None).map(|x| half_of(i, 0, x).into());
            w.put(i.dst, &r);
        }
        // Sixteenths from -8 to 7.
        VCvtOffF32I4 => {
            let r = *w.lanes(i, 0, &mut None);
            let r = r.map(|x| (((x << 28) as i32 >> 28) as f32 / 16.0).to_bits());
            finish(w, i, r);
        }
        VCvtPkU8F32 | VCvtPkaccumU8F32 => {
            let (a, byte) = (source(w, i, 0), *w.lanes(i, 1, &mut None));
            let rest = if i.op == VCvtPkU8F32 {
                *w.lanes(i, 2, &mut None)
            } else {
                w.v[w.slot(i.dst)]
            };
            let r = std::array::from_fn(|l| {
                let at = 8 * (byte[l] & 3);
                rest[l] & !(0xff << at) | (u32::from(f32::from_bits(a[l]) as u8) << at)
            });
            w.put(i.dst, &r);
        }
        VSatPkU8I16 => {
            let byte = |x: u32| (x as u16 as i16).clamp(0, 255) as u16;
            let r = w
                .lanes(i, 0, &mut None)
                .map(|x| byte(x) | (byte(x >> 16) << 8));
            put16(w, i, !i.keep, r);
        }
        VCvtF32Fp8 => unpack_one(w, i, false),
        VCvtF32Bf8 => unpack_one(w, i, true),
        VCvtPkF32Fp8 => unpack_two(w, i, false),
        VCvtPkF32Bf8 => unpack_two(w, i, true),
        VCvtPkFp8F32 => pack_two(w, i, false),
        VCvtPkBf8F32 => pack_two(w, i, true),
        VCvtSrFp8F32 => stochastic(w, i, false),
        VCvtSrBf8F32 => stochastic(w, i, true),
        _ => return Ok(false),
    }
    Ok(true)
}
