// SPDX-License-Identifier: MIT OR Apache-2.0
//! Integer operations with clamp: the exact result, limited to what the destination can hold.

use super::integer::{borrow, i24, limit, sad, u24};
use super::lanes::{self, half_of, put16};

use crate::decode::Inst;
use crate::decode::Op;
use crate::fault::FaultKind;
use crate::wave::{Wave, Wide};

/// d = f(a, b, c) of 32 bits, limited.
fn words<const L: usize>(
    w: &mut Wave<L>,
    i: &Inst,
    signed: bool,
    f: impl Fn(i128, i128, i128) -> i128,
) {
    let value = |x: u32| {
        if signed {
            i128::from(x as i32)
        } else {
            i128::from(x)
        }
    };
    let (a, b, c) = (
        *w.lanes(i, 0, &mut None),
        *w.lanes(i, 1, &mut None),
        *w.lanes(i, 2, &mut None),
    );
    let r =
        std::array::from_fn(|l| limit(f(value(a[l]), value(b[l]), value(c[l])), 32, signed) as u32);
    w.put(i.dst, &r);
}

/// d = f(a, b, c) of 16 bits, limited. Forms that have op_sel keep the destination's other half.
fn halves<const L: usize>(
    w: &mut Wave<L>,
    i: &Inst,
    clear: bool,
    signed: bool,
    f: impl Fn(i128, i128, i128) -> i128,
) {
    let [a, b, c] = [0, 1, 2].map(|n| {
        w.lanes(i, n, &mut None)
            .map(|x| half(half_of(i, n, x), signed))
    });
    let r = std::array::from_fn(|l| limit(f(a[l], b[l], c[l]), 16, signed) as u16);
    put16(w, i, clear && !i.keep, r);
}

/// d = a * b + c: halves by halves plus a whole register.
fn mixed<const L: usize>(w: &mut Wave<L>, i: &Inst, signed: bool) {
    let [a, b] = [0, 1].map(|n| {
        w.lanes(i, n, &mut None)
            .map(|x| half(half_of(i, n, x), signed))
    });
    let c = w.lanes(i, 2, &mut None).map(|x| {
        if signed {
            i128::from(x as i32)
        } else {
            i128::from(x)
        }
    });
    let r = std::array::from_fn(|l| limit(a[l] * b[l] + c[l], 32, signed) as u32);
    w.put(i.dst, &r);
}

fn half(x: u16, signed: bool) -> i128 {
    if signed {
        i128::from(x as i16)
    } else {
        i128::from(x)
    }
}

/// Additions and subtractions with a carry: the carry is as without clamp.
fn carry<const L: usize>(
    w: &mut Wave<L>,
    i: &Inst,
    carry_in: bool,
    limited: u32,
    f: impl Fn(u32, u32, u32) -> (u32, bool),
) {
    lanes::carry(w, i, carry_in, |a, b, c| match f(a, b, c) {
        (_, true) => (limited, true),
        exact => exact,
    });
}

fn long<const L: usize>(w: &mut Wave<L>, i: &Inst, signed: bool) {
    let wide = if signed { Wide::Signed } else { Wide::Unsigned };
    let c = w.lanes64(i, 2, wide);
    let (a, b) = (*w.lanes(i, 0, &mut None), *w.lanes(i, 1, &mut None));
    let (mut r, mut mask) = ([0; L], 0);
    for l in 0..L {
        let exact = if signed {
            i128::from(a[l] as i32) * i128::from(b[l] as i32) + i128::from(c[l] as i64)
        } else {
            i128::from(a[l]) * i128::from(b[l]) + i128::from(c[l])
        };
        r[l] = limit(exact, 64, signed);
        let fits = if signed {
            i128::from(r[l] as i64) == exact
        } else {
            i128::from(r[l]) == exact
        };
        // Bit 64 of the sum: for signed ones, its sign.
        mask |= u64::from(if signed { exact < 0 } else { !fits }) << l;
    }
    w.put64(i.dst, &r);
    w.put_mask(i.sdst, mask);
}

/// An integer operation whose clamp bit is set. False if it is none.
pub fn execute<const L: usize>(w: &mut Wave<L>, i: &Inst) -> Result<bool, FaultKind> {
    use Op::*;
    let word = |x: i128| x as u32;
    match i.op {
        VAddU32 => words(w, i, false, |a, b, _| a + b),
        VSubU32 => words(w, i, false, |a, b, _| a - b),
        VSubrevU32 => words(w, i, false, |a, b, _| b - a),
        VAddI32 => words(w, i, true, |a, b, _| a + b),
        VSubI32 => words(w, i, true, |a, b, _| a - b),
        VMadU32U24 => words(w, i, false, |a, b, c| {
            i128::from(u24(word(a))) * i128::from(u24(word(b))) + c
        }),
        VMadI32I24 => words(w, i, true, |a, b, c| {
            i128::from(i24(word(a))) * i128::from(i24(word(b))) + c
        }),
        VMulU32U24 => words(w, i, false, |a, b, _| {
            i128::from(u24(word(a))) * i128::from(u24(word(b)))
        }),
        VMulI32I24 => words(w, i, true, |a, b, _| {
            i128::from(i24(word(a))) * i128::from(i24(word(b)))
        }),
        VSadU32 => words(w, i, false, |a, b, c| (a - b).abs() + c),
        VSadU16 => words(w, i, false, |a, b, c| {
            i128::from(sad(word(a), word(b), 16, false)) + c
        }),
        VSadU8 => words(w, i, false, |a, b, c| {
            i128::from(sad(word(a), word(b), 8, false)) + c
        }),
        VMsadU8 => words(w, i, false, |a, b, c| {
            i128::from(sad(word(a), word(b), 8, true)) + c
        }),
        VSadHiU8 => words(w, i, false, |a, b, c| {
            (i128::from(sad(word(a), word(b), 8, false)) << 16) + c
        }),
        VMadI32I16 => mixed(w, i, true),
        VMadU32U16 => mixed(w, i, false),
        VAddU16 => halves(w, i, true, false, |a, b, _| a + b),
        VSubU16 => halves(w, i, true, false, |a, b, _| a - b),
        VSubrevU16 => halves(w, i, true, false, |a, b, _| b - a),
        VMulLoU16 => halves(w, i, true, false, |a, b, _| a * b),
        VAddI16 => halves(w, i, false, true, |a, b, _| a + b),
        VSubI16 => halves(w, i, false, true, |a, b, _| a - b),
        VMadU16 => halves(w, i, false, false, |a, b, c| a * b + c),
        VMadI16 => halves(w, i, false, true, |a, b, c| a * b + c),
        VMadLegacyU16 => halves(w, i, true, false, |a, b, c| a * b + c),
        VMadLegacyI16 => halves(w, i, true, true, |a, b, c| a * b + c),
        VMadU64U32 => long(w, i, false),
        VMadI64I32 => long(w, i, true),
        VAddCoU32 => carry(w, i, false, u32::MAX, |a, b, _| a.overflowing_add(b)),
        VAddcCoU32 => carry(w, i, true, u32::MAX, |a, b, c| {
            let sum = u64::from(a) + u64::from(b) + u64::from(c);
            (sum as u32, sum >> 32 != 0)
        }),
        VSubCoU32 => carry(w, i, false, 0, |a, b, _| a.overflowing_sub(b)),
        VSubrevCoU32 => carry(w, i, false, 0, |a, b, _| b.overflowing_sub(a)),
        VSubbCoU32 => carry(w, i, true, 0, borrow),
        VSubbrevCoU32 => carry(w, i, true, 0, |a, b, c| borrow(b, a, c)),
        _ => return Ok(false),
    }
    Ok(true)
}
