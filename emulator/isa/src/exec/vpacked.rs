// SPDX-License-Identifier: MIT OR Apache-2.0
//! Packed operations: pairs of f32, pairs of 16 bits, and accumulation register moves.

use super::float::NAN32;
use super::valu::one;
use crate::decode::{code, Inst};
use crate::fault::FaultKind;
use crate::target::Op;
use crate::wave::{mode, Wave};

/// True if the operation is one of these.
pub fn execute<const L: usize>(w: &mut Wave<L>, i: &Inst) -> Result<bool, FaultKind> {
    match i.op {
        Op::VAccvgprReadB32 | Op::VAccvgprWriteB32 => one(w, i, |a| a),
        Op::VPkMovB32 => {
            let (low, high) = (half(w, i, 0, false), half(w, i, 1, true));
            w.put(i.dst, &low);
            w.put(i.dst + 1, &high);
        }
        Op::VPkAddF32 => pair(w, i, |a, b, _| a + b)?,
        Op::VPkMulF32 => pair(w, i, |a, b, _| a * b)?,
        Op::VPkFmaF32 => pair(w, i, f32::mul_add)?,
        Op::VPkAddU16 | Op::VPkAddI16 => sixteen(w, i, u16::wrapping_add)?,
        Op::VPkSubU16 | Op::VPkSubI16 => sixteen(w, i, u16::wrapping_sub)?,
        Op::VPkMulLoU16 => sixteen(w, i, u16::wrapping_mul)?,
        Op::VPkLshlrevB16 => sixteen(w, i, |a, b| b << (a & 15))?,
        Op::VPkLshrrevB16 => sixteen(w, i, |a, b| b >> (a & 15))?,
        Op::VPkAshrrevI16 => sixteen(w, i, |a, b| (b as i16 >> (a & 15)) as u16)?,
        Op::VPkMinU16 => sixteen(w, i, |a, b| a.min(b))?,
        Op::VPkMaxU16 => sixteen(w, i, |a, b| a.max(b))?,
        Op::VPkMinI16 => sixteen(w, i, |a, b| (a as i16).min(b as i16) as u16)?,
        Op::VPkMaxI16 => sixteen(w, i, |a, b| (a as i16).max(b as i16) as u16)?,
        _ => return Ok(false),
    }
    Ok(true)
}

/// The 32-bit half of a 64-bit source that op_sel (low result) or op_sel_hi (high) chooses. A
/// constant is the same in both halves.
fn half<const L: usize>(w: &Wave<L>, i: &Inst, n: usize, high_result: bool) -> [u32; L] {
    let select = if high_result { i.op_sel_hi } else { i.op_sel };
    let second = u16::from((select >> n) & 1);
    match i.src[n] {
        v @ code::VGPR.. => w.v[w.slot(v + second)],
        s @ 0..=127 => [w.scalar((s + second) & 127, 0); L],
        constant => [w.scalar(constant, 0); L],
    }
}

fn pair<const L: usize>(
    w: &mut Wave<L>,
    i: &Inst,
    f: impl Fn(f32, f32, f32) -> f32,
) -> Result<(), FaultKind> {
    if (w.mode >> mode::ROUND) & 3 != 0 || (w.mode >> mode::DENORM) & 3 != 3 {
        return Err(FaultKind::Unsupported("this MODE for packed f32"));
    }
    let mut results = [[0u32; L]; 2];
    for (high, result) in results.iter_mut().enumerate() {
        let negate = if high == 1 { i.abs } else { i.neg };
        let source = |n: usize| {
            if i.src[n] == code::NONE {
                return [0; L];
            }
            let sign = u32::from((negate >> n) & 1) << 31;
            half(w, i, n, high == 1).map(|x| x ^ sign)
        };
        let (a, b, c) = (source(0), source(1), source(2));
        let value = f32::from_bits;
        *result = std::array::from_fn(|l| {
            let r = f(value(a[l]), value(b[l]), value(c[l]));
            if r.is_nan() {
                let nan = [a[l], b[l], c[l]].into_iter().find(|x| value(*x).is_nan());
                return nan.map_or(NAN32, |x| x | 0x40_0000);
            }
            r.to_bits()
        });
        if i.clamp {
            *result = result.map(|x| value(x).clamp(0.0, 1.0).to_bits());
        }
    }
    w.put(i.dst, &results[0]);
    w.put(i.dst + 1, &results[1]);
    Ok(())
}

fn sixteen<const L: usize>(
    w: &mut Wave<L>,
    i: &Inst,
    f: impl Fn(u16, u16) -> u16,
) -> Result<(), FaultKind> {
    if i.clamp || i.abs | i.neg != 0 {
        return Err(FaultKind::Unsupported(
            "modifiers of a packed integer operation",
        ));
    }
    let (a, b) = (w.lanes16(i, 0), w.lanes16(i, 1));
    let pick = |x: u32, select: u8, n: usize| (x >> (16 * u32::from((select >> n) & 1))) as u16;
    let r = std::array::from_fn(|l| {
        let low = f(pick(a[l], i.op_sel, 0), pick(b[l], i.op_sel, 1));
        let high = f(pick(a[l], i.op_sel_hi, 0), pick(b[l], i.op_sel_hi, 1));
        u32::from(low) | (u32::from(high) << 16)
    });
    w.put(i.dst, &r);
    Ok(())
}
