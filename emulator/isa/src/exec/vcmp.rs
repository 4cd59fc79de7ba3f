// SPDX-License-Identifier: MIT OR Apache-2.0
//! Vector comparisons: a lane mask in VCC or a scalar pair, and in EXEC for v_cmpx.

use super::arith::Mode16;
use super::context::Step;
use super::float::{flush32, from_f16};
use super::lanes::half_of;
use crate::decode::kind::Type;
use crate::decode::{code, Inst};
use crate::fault::FaultKind;
use crate::kernel::mode;
use crate::wave::{gather, Halves, Wave, Wide};
use std::cmp::Ordering;

/// What turns a signed comparison into an unsigned one.
const SIGN: u32 = 1 << 31;

/// The bit of `when` that an order has; 8 for unordered.
pub fn bit(order: Option<Ordering>) -> u8 {
    match order {
        Some(Ordering::Less) => 1,
        Some(Ordering::Equal) => 2,
        Some(Ordering::Greater) => 4,
        None => 8,
    }
}

/// Lanes whose relation is among `when`. Each relation is a loop of its own.
#[inline]
fn relation<T: PartialOrd, const L: usize>(
    a: impl Fn(usize) -> T,
    b: impl Fn(usize) -> T,
    when: u8,
) -> u64 {
    // Unordered lanes are in one of two complements.
    let unordered = when & 8 != 0;
    let mask = match if unordered { 15 - when } else { when } {
        0b0001 => gather::<L>(|l| a(l) < b(l)),
        0b0010 => gather::<L>(|l| a(l) == b(l)),
        0b0011 => gather::<L>(|l| a(l) <= b(l)),
        0b0100 => gather::<L>(|l| a(l) > b(l)),
        0b0101 => gather::<L>(|l| (a(l) < b(l)) | (a(l) > b(l))),
        0b0110 => gather::<L>(|l| a(l) >= b(l)),
        0b0111 => gather::<L>(|l| (a(l) <= b(l)) | (a(l) >= b(l))),
        _ => 0,
    };
    if unordered {
        !mask
    } else {
        mask
    }
}

/// The same of integers, which are never unordered: not equal is one comparison.
#[inline]
fn ordered<T: Ord, const L: usize>(
    a: impl Fn(usize) -> T,
    b: impl Fn(usize) -> T,
    when: u8,
) -> u64 {
    match when & 7 {
        0b0101 => !gather::<L>(|l| a(l) == b(l)),
        0b0111 => u64::MAX,
        when => relation::<T, L>(a, b, when),
    }
}

fn write<const L: usize>(w: &mut Wave<L>, i: &Inst, mask: u64, exec: bool) {
    let mask = mask & w.exec();
    w.set_mask(i.sdst, mask);
    if exec {
        w.set_mask(code::EXEC, mask);
    }
}

/// Integers of 32 bits, signed ones with their sign bit flipped.
#[inline]
fn short<const L: usize>(w: &Wave<L>, i: &Inst, when: u8, flip: u32) -> u64 {
    let (mut s, mut t) = (None, None);
    let b = w.lanes(i, 1, &mut t);
    match w.uniform(i, 0) {
        Some(a) => ordered::<u32, L>(|_| a ^ flip, |l| b[l] ^ flip, when),
        None => {
            let a = w.lanes(i, 0, &mut s);
            ordered::<u32, L>(|l| a[l] ^ flip, |l| b[l] ^ flip, when)
        }
    }
}

/// Integers of 64 bits, by halves: the host has comparisons of those for vectors.
#[inline]
fn long<const L: usize>(w: &Wave<L>, i: &Inst, when: u8, flip: u32) -> u64 {
    let wide = if flip == 0 {
        Wide::Unsigned
    } else {
        Wide::Signed
    };
    let (mut s, mut t) = (None, None);
    let Halves { low: al, high: ah } = w.halves(i, 0, wide, &mut s);
    let Halves { low: bl, high: bh } = w.halves(i, 1, wide, &mut t);
    let equal = || gather::<L>(|l| (al[l] == bl[l]) & (ah[l] == bh[l]));
    let less = || {
        gather::<L>(|l| {
            let (a, b) = (ah[l] ^ flip, bh[l] ^ flip);
            (a < b) | ((a == b) & (al[l] < bl[l]))
        })
    };
    match when & 7 {
        0b0000 => 0,
        0b0001 => less(),
        0b0010 => equal(),
        0b0011 => less() | equal(),
        0b0100 => !(less() | equal()),
        0b0101 => !equal(),
        0b0110 => !less(),
        _ => u64::MAX,
    }
}

/// The function of an integer comparison of 32 or 64 bits that writes no EXEC.
pub fn step<const L: usize>(ty: Type, when: u8) -> Option<Step<L>> {
    macro_rules! each {
        ($compare:ident, $flip:expr) => {
            match when & 7 {
                0 => |w, i| write(w, i, $compare(w, i, 0, $flip), false),
                1 => |w, i| write(w, i, $compare(w, i, 1, $flip), false),
                2 => |w, i| write(w, i, $compare(w, i, 2, $flip), false),
                3 => |w, i| write(w, i, $compare(w, i, 3, $flip), false),
                4 => |w, i| write(w, i, $compare(w, i, 4, $flip), false),
                5 => |w, i| write(w, i, $compare(w, i, 5, $flip), false),
                6 => |w, i| write(w, i, $compare(w, i, 6, $flip), false),
                _ => |w, i| write(w, i, $compare(w, i, 7, $flip), false),
            }
        };
    }
    let step: Step<L> = match ty {
        Type::U32 => each!(short, 0),
        Type::I32 => each!(short, SIGN),
        Type::U64 => each!(long, 0),
        Type::I64 => each!(long, SIGN),
        _ => return None,
    };
    Some(step)
}

/// v_cmp and v_cmpx.
pub fn compare<const L: usize>(
    w: &mut Wave<L>,
    i: &Inst,
    ty: Type,
    when: u8,
    exec: bool,
) -> Result<(), FaultKind> {
    let (mut s, mut t) = (None, None);
    let float = matches!(ty, Type::F16 | Type::F32 | Type::F64);
    if !float && (i.abs | i.neg != 0) {
        return Err(FaultKind::Unsupported("modifiers of an integer operation"));
    }
    let (abs, neg) = (
        |n: usize| (i.abs >> n) & 1 == 1,
        |n: usize| (i.neg >> n) & 1 == 1,
    );
    let result = match ty {
        Type::U32 => short(w, i, when, 0),
        Type::I32 => short(w, i, when, SIGN),
        Type::U64 => long(w, i, when, 0),
        Type::I64 => long(w, i, when, SIGN),
        Type::U16 | Type::I16 => {
            let (a, b) = (w.lanes(i, 0, &mut s), w.lanes(i, 1, &mut t));
            let flip = if ty == Type::I16 { 1 << 15 } else { 0 };
            let value = |n, x| half_of(i, n, x) ^ flip;
            ordered::<u16, L>(|l| value(0, a[l]), |l| value(1, b[l]), when)
        }
        Type::F32 => {
            let flush = (w.mode >> mode::DENORM) & 1 == 0;
            let value = |n: usize, x: u32| {
                let x = if abs(n) { x & 0x7fff_ffff } else { x };
                let x = if neg(n) { x ^ 0x8000_0000 } else { x };
                f32::from_bits(if flush { flush32(x) } else { x })
            };
            let (a, b) = (w.lanes(i, 0, &mut s), w.lanes(i, 1, &mut t));
            let a: [f32; L] = std::array::from_fn(|l| value(0, a[l]));
            let b: [f32; L] = std::array::from_fn(|l| value(1, b[l]));
            relation::<f32, L>(|l| a[l], |l| b[l], when)
        }
        Type::F64 => {
            let value = |n: usize, x: u64| {
                let x = if abs(n) { x & !(1 << 63) } else { x };
                f64::from_bits(if neg(n) { x ^ (1 << 63) } else { x })
            };
            let (a, b) = (w.lanes64(i, 0, Wide::Float), w.lanes64(i, 1, Wide::Float));
            relation::<f64, L>(|l| value(0, a[l]), |l| value(1, b[l]), when)
        }
        Type::F16 => {
            let rules = Mode16::of(w.mode);
            let value = |n: usize, x: u32| {
                let x = half_of(i, n, x);
                let x = if abs(n) { x & 0x7fff } else { x };
                from_f16(rules.input(if neg(n) { x ^ 0x8000 } else { x }))
            };
            let (a, b) = (w.lanes16(i, 0), w.lanes16(i, 1));
            let a: [_; L] = std::array::from_fn(|l| value(0, a[l]));
            let b: [_; L] = std::array::from_fn(|l| value(1, b[l]));
            relation::<_, L>(|l| a[l], |l| b[l], when)
        }
    };
    write(w, i, result, exec);
    Ok(())
}

/// v_cmp_class: the source's class is among the bits of the second source.
pub fn class<const L: usize>(
    w: &mut Wave<L>,
    i: &Inst,
    ty: Type,
    exec: bool,
) -> Result<(), FaultKind> {
    let (abs, neg) = (i.abs & 1 == 1, i.neg & 1 == 1);
    let mut t = None;
    let wanted = w.lanes(i, 1, &mut t);
    // Exponent bits and fraction bits of each type.
    let (values, exponent, fraction): ([u64; L], u32, u32) = match ty {
        Type::F32 => {
            let mut s = None;
            (w.lanes(i, 0, &mut s).map(u64::from), 8, 23)
        }
        Type::F64 => (w.lanes64(i, 0, Wide::Float), 11, 52),
        Type::F16 => (w.lanes16(i, 0).map(|x| u64::from(half_of(i, 0, x))), 5, 10),
        _ => return Err(FaultKind::Illegal),
    };
    let sign_at = exponent + fraction;
    let result = (0..L).fold(0, |m, l| {
        let negative = ((values[l] >> sign_at) & 1 == 1 && !abs) != neg;
        let e = (values[l] >> fraction) & ((1 << exponent) - 1);
        let f = values[l] & ((1 << fraction) - 1);
        let class = if e == (1 << exponent) - 1 && f != 0 {
            f >> (fraction - 1)
        } else {
            // -inf 2, -normal 3, -denormal 4, -0 5, +0 6, +denormal 7, +normal 8, +inf 9.
            let distance = if e == (1 << exponent) - 1 {
                3
            } else if e != 0 {
                2
            } else if f != 0 {
                1
            } else {
                0
            };
            if negative {
                5 - distance
            } else {
                6 + distance
            }
        };
        m | (u64::from((wanted[l] >> class) & 1) << l)
    });
    write(w, i, result, exec);
    Ok(())
}
