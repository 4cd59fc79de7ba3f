// SPDX-License-Identifier: MIT OR Apache-2.0
//! The way from an operation to a function of lanes.
//!
//! Operations are written as functions of one lane's values; the helpers here read whole
//! registers, apply the function to all lanes in a loop that the compiler vectorises, and write
//! the active ones.

use crate::decode::Inst;
use crate::fault::FaultKind;
use crate::wave::{gather, lane_bits, Halves, Wave, Wide};

/// The active lanes.
pub fn active<const L: usize>(w: &Wave<L>) -> impl Iterator<Item = usize> {
    let mut left = w.exec() & Wave::<L>::FULL;
    std::iter::from_fn(move || {
        if left == 0 {
            return None;
        }
        let lane = left.trailing_zeros() as usize;
        left &= left - 1;
        Some(lane)
    })
}

/// Integer operations take no float modifiers, and integer clamping is not executed.
pub fn plain(i: &Inst) -> Result<(), FaultKind> {
    if i.clamp {
        return Err(FaultKind::Unsupported("integer clamp"));
    }
    if i.abs | i.neg | i.omod | i.op_sel != 0 {
        return Err(FaultKind::Unsupported("modifiers of an integer operation"));
    }
    Ok(())
}

/// d = f(a), 32 bits.
#[inline]
pub fn one<const L: usize>(w: &mut Wave<L>, i: &Inst, f: impl Fn(u32) -> u32) {
    let mut s = None;
    let r = match w.uniform(i, 0) {
        Some(a) => [f(a); L],
        None => {
            let a = w.lanes(i, 0, &mut s);
            std::array::from_fn(|l| f(a[l]))
        }
    };
    w.put(i.dst, &r);
}

/// d = f(a, b), 32 bits. A first source that is the same for all lanes (where encodings have
/// scalars and constants) stays one value, by which hosts can shift vectors.
#[inline]
pub fn two<const L: usize>(w: &mut Wave<L>, i: &Inst, f: impl Fn(u32, u32) -> u32) {
    let (mut s, mut t) = (None, None);
    let b = w.lanes(i, 1, &mut t);
    let r = match w.uniform(i, 0) {
        Some(a) => std::array::from_fn(|l| f(a, b[l])),
        None => {
            let a = w.lanes(i, 0, &mut s);
            std::array::from_fn(|l| f(a[l], b[l]))
        }
    };
    w.put(i.dst, &r);
}

/// d = f(a, b, c), 32 bits.
#[inline]
pub fn three<const L: usize>(w: &mut Wave<L>, i: &Inst, f: impl Fn(u32, u32, u32) -> u32) {
    let (mut s, mut t, mut u) = (None, None, None);
    let (a, b, c) = (
        w.lanes(i, 0, &mut s),
        w.lanes(i, 1, &mut t),
        w.lanes(i, 2, &mut u),
    );
    let r = std::array::from_fn(|l| f(a[l], b[l], c[l]));
    w.put(i.dst, &r);
}

/// The half of a 16-bit source that op_sel chooses.
#[inline]
pub fn half_of(i: &Inst, n: usize, x: u32) -> u16 {
    if (i.op_sel >> n) & 1 == 1 {
        (x >> 16) as u16
    } else {
        x as u16
    }
}

/// Write a result of 16 bits. `clear` forms make the other half of d zero, the others keep it and
/// choose by op_sel where the result goes.
#[inline]
pub fn put16<const L: usize>(w: &mut Wave<L>, i: &Inst, clear: bool, r: [u16; L]) {
    let old = &w.v[w.slot(i.dst)];
    let high = i.op_sel & 8 != 0;
    let r = std::array::from_fn(|l| {
        let r = u32::from(r[l]);
        match (clear, high) {
            (true, _) => r,
            (false, false) => old[l] & 0xffff_0000 | r,
            (false, true) => old[l] & 0xffff | (r << 16),
        }
    });
    w.put(i.dst, &r);
}

/// d = f(a, b) of integers of 16 bits. A constant is the lower half of what it is in 32 bits, also a
/// floating one (LLVM, SIInstrInfo::isInlineConstant, on OPERAND_REG_IMM_INT16).
#[inline]
pub fn two16<const L: usize>(w: &mut Wave<L>, i: &Inst, f: impl Fn(u16, u16) -> u16) {
    let (mut s, mut t) = (None, None);
    let (a, b) = (w.lanes(i, 0, &mut s), w.lanes(i, 1, &mut t));
    let r = std::array::from_fn(|l| f(half_of(i, 0, a[l]), half_of(i, 1, b[l])));
    put16(w, i, !i.keep, r);
}

/// d = f(a, b, c) of integers of 16 bits. On chips where it makes a difference (LLVM's
/// zeroesHigh16BitsOfDest), `legacy` forms clear the other half of d.
#[inline]
pub fn three16<const L: usize>(
    w: &mut Wave<L>,
    i: &Inst,
    legacy: bool,
    f: impl Fn(u16, u16, u16) -> u16,
) {
    let (mut s, mut t, mut u) = (None, None, None);
    let (a, b, c) = (
        w.lanes(i, 0, &mut s),
        w.lanes(i, 1, &mut t),
        w.lanes(i, 2, &mut u),
    );
    let r = std::array::from_fn(|l| {
        f(
            half_of(i, 0, a[l]),
            half_of(i, 1, b[l]),
            half_of(i, 2, c[l]),
        )
    });
    put16(w, i, legacy && !i.keep, r);
}

/// d = b shifted right: 64 bits by 32, `f` a shift of 32 bits. By halves where the shift is the same
/// for all lanes, which hosts have vectors of.
#[inline]
pub fn shift_right<const L: usize>(
    w: &mut Wave<L>,
    i: &Inst,
    source: Wide,
    f: impl Fn(u32, u32) -> u32,
    wide: impl Fn(u64, u32) -> u64,
) {
    let mut t = None;
    let Some(by) = w.uniform(i, 0).map(|by| by & 63) else {
        return shift_each(w, i, source, wide);
    };
    let Halves { low, high } = w.halves(i, 1, source, &mut t);
    // Of zeroes, or of the sign.
    let fill = |high| f(f(high, 31), 1);
    let (low, high): ([u32; L], [u32; L]) = if by < 32 {
        let from_high = |l: usize| (high[l] << 1) << (31 - by);
        (
            std::array::from_fn(|l| (low[l] >> by) | from_high(l)),
            std::array::from_fn(|l| f(high[l], by)),
        )
    } else {
        (
            std::array::from_fn(|l| f(high[l], by - 32)),
            std::array::from_fn(|l| fill(high[l])),
        )
    };
    w.put(i.dst, &low);
    w.put(i.dst + 1, &high);
}

/// d = b shifted left: 64 bits by 32.
#[inline]
pub fn shift_left<const L: usize>(w: &mut Wave<L>, i: &Inst) {
    let mut t = None;
    let Some(by) = w.uniform(i, 0).map(|by| by & 63) else {
        return shift_each(w, i, Wide::Unsigned, |b, by| b << by);
    };
    let Halves { low, high } = w.halves(i, 1, Wide::Unsigned, &mut t);
    let (low, high): ([u32; L], [u32; L]) = if by < 32 {
        let from_low = |l: usize| (low[l] >> 1) >> (31 - by);
        (
            std::array::from_fn(|l| low[l] << by),
            std::array::from_fn(|l| (high[l] << by) | from_low(l)),
        )
    } else {
        ([0; L], std::array::from_fn(|l| low[l] << (by - 32)))
    };
    w.put(i.dst, &low);
    w.put(i.dst + 1, &high);
}

/// d = f(b, shift), each lane by its own.
fn shift_each<const L: usize>(
    w: &mut Wave<L>,
    i: &Inst,
    source: Wide,
    f: impl Fn(u64, u32) -> u64,
) {
    let (mut s, mut t) = (None, None);
    let b = w.halves(i, 1, source, &mut t);
    let a = w.lanes(i, 0, &mut s);
    let r = std::array::from_fn(|l| f(b.lane(l), a[l] & 63));
    w.put64(i.dst, &r);
}

/// d, mask = f(a, b, mask bit): additions and subtractions with a carry.
#[inline]
pub fn carry<const L: usize>(
    w: &mut Wave<L>,
    i: &Inst,
    carry_in: bool,
    f: impl Fn(u32, u32, u32) -> (u32, bool),
) {
    let (mut s, mut t) = (None, None);
    let mask_in = if carry_in { w.mask(i.src[2]) } else { 0 };
    let (a, b) = (w.lanes(i, 0, &mut s), w.lanes(i, 1, &mut t));
    let carry = lane_bits(mask_in);
    let lane = |l: usize| f(a[l], b[l], carry(l).into());
    let r = std::array::from_fn(|l| lane(l).0);
    // Whole registers first, so that the compiler makes vectors of the comparisons.
    let carries: [u32; L] = std::array::from_fn(|l| lane(l).1.into());
    w.put(i.dst, &r);
    w.put_mask(i.sdst, gather::<L>(|l| carries[l] != 0));
}
