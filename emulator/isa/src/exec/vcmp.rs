// SPDX-License-Identifier: MIT OR Apache-2.0
//! Vector comparisons: a lane mask in VCC or a scalar pair, and in EXEC for v_cmpx.

use super::arith::Mode16;
use super::float::{flush32, from_f16};
use super::valu::half_of;
use crate::decode::kind::Type;
use crate::decode::{code, Inst};
use crate::fault::FaultKind;
use crate::wave::{mode, Wave, Wide};
use std::cmp::Ordering;

pub fn bit(order: Option<Ordering>) -> u8 {
    match order {
        Some(Ordering::Less) => 1,
        Some(Ordering::Equal) => 2,
        Some(Ordering::Greater) => 4,
        None => 8,
    }
}

/// Lanes whose relation is among `when`.
#[inline]
fn mask<T: Copy, const L: usize>(
    a: &[T; L],
    b: &[T; L],
    when: u8,
    order: impl Fn(T, T) -> Option<Ordering>,
) -> u64 {
    (0..L).fold(0, |m, l| {
        m | (u64::from(bit(order(a[l], b[l])) & when != 0) << l)
    })
}

fn write<const L: usize>(w: &mut Wave<L>, i: &Inst, mask: u64, exec: bool) {
    let mask = mask & w.exec();
    w.set_mask(i.sdst, mask);
    if exec {
        w.set_mask(code::EXEC, mask);
    }
}

/// v_cmp and v_cmpx.
pub fn compare<const L: usize>(
    w: &mut Wave<L>,
    i: &Inst,
    ty: Type,
    when: u8,
    exec: bool,
) -> Result<(), FaultKind> {
    let (mut s, mut t) = ([0; L], [0; L]);
    let float = matches!(ty, Type::F16 | Type::F32 | Type::F64);
    if !float && (i.abs | i.neg != 0) {
        return Err(FaultKind::Unsupported("modifiers of an integer operation"));
    }
    let (abs, neg) = (
        |n: usize| (i.abs >> n) & 1 == 1,
        |n: usize| (i.neg >> n) & 1 == 1,
    );
    let result = match ty {
        Type::U32 | Type::I32 => {
            let (a, b) = (w.lanes(i, 0, &mut s), w.lanes(i, 1, &mut t));
            integers(a, b, when, ty == Type::I32)
        }
        Type::U64 => mask(
            &w.lanes64(i, 0, Wide::Unsigned),
            &w.lanes64(i, 1, Wide::Unsigned),
            when,
            |a, b| Some(a.cmp(&b)),
        ),
        Type::I64 => mask(
            &w.lanes64(i, 0, Wide::Signed),
            &w.lanes64(i, 1, Wide::Signed),
            when,
            |a, b| Some((a as i64).cmp(&(b as i64))),
        ),
        Type::U16 => mask(&w.lanes16(i, 0), &w.lanes16(i, 1), when, |a, b| {
            Some(half_of(i, 0, a).cmp(&half_of(i, 1, b)))
        }),
        Type::I16 => mask(&w.lanes16(i, 0), &w.lanes16(i, 1), when, |a, b| {
            Some((half_of(i, 0, a) as i16).cmp(&(half_of(i, 1, b) as i16)))
        }),
        Type::F32 => {
            let flush = (w.mode >> mode::DENORM) & 1 == 0;
            let value = |n: usize, x: u32| {
                let x = if abs(n) { x & 0x7fff_ffff } else { x };
                let x = if neg(n) { x ^ 0x8000_0000 } else { x };
                f32::from_bits(if flush { flush32(x) } else { x })
            };
            let (a, b) = (w.lanes(i, 0, &mut s), w.lanes(i, 1, &mut t));
            mask(a, b, when, |a, b| value(0, a).partial_cmp(&value(1, b)))
        }
        Type::F64 => {
            let value = |n: usize, x: u64| {
                let x = if abs(n) { x & !(1 << 63) } else { x };
                f64::from_bits(if neg(n) { x ^ (1 << 63) } else { x })
            };
            mask(
                &w.lanes64(i, 0, Wide::Float),
                &w.lanes64(i, 1, Wide::Float),
                when,
                |a, b| value(0, a).partial_cmp(&value(1, b)),
            )
        }
        Type::F16 => {
            let rules = Mode16::of(w.mode);
            let value = |n: usize, x: u32| {
                let x = half_of(i, n, x);
                let x = if abs(n) { x & 0x7fff } else { x };
                from_f16(rules.input(if neg(n) { x ^ 0x8000 } else { x }))
            };
            mask(&w.lanes16(i, 0), &w.lanes16(i, 1), when, |a, b| {
                value(0, a).partial_cmp(&value(1, b))
            })
        }
    };
    write(w, i, result, exec);
    Ok(())
}

/// Written so that each relation is a loop of its own.
#[inline]
fn integers<const L: usize>(a: &[u32; L], b: &[u32; L], when: u8, signed: bool) -> u64 {
    // Flipping the sign bit turns a signed comparison into an unsigned one.
    let flip = if signed { 0x8000_0000 } else { 0 };
    let gather = |f: &dyn Fn(u32, u32) -> bool| {
        (0..L).fold(0, |m, l| m | (u64::from(f(a[l] ^ flip, b[l] ^ flip)) << l))
    };
    match when {
        0b0001 => gather(&|a, b| a < b),
        0b0010 => gather(&|a, b| a == b),
        0b0011 => gather(&|a, b| a <= b),
        0b0100 => gather(&|a, b| a > b),
        0b0101 => gather(&|a, b| a != b),
        0b0110 => gather(&|a, b| a >= b),
        0 => 0,
        _ => u64::MAX,
    }
}

/// v_cmp_class: the source's class is among the bits of the second source.
pub fn class<const L: usize>(
    w: &mut Wave<L>,
    i: &Inst,
    ty: Type,
    exec: bool,
) -> Result<(), FaultKind> {
    let (abs, neg) = (i.abs & 1 == 1, i.neg & 1 == 1);
    let mut t = [0; L];
    let wanted = w.lanes(i, 1, &mut t);
    // Exponent bits and fraction bits of each type.
    let (values, exponent, fraction): ([u64; L], u32, u32) = match ty {
        Type::F32 => {
            let mut s = [0; L];
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
