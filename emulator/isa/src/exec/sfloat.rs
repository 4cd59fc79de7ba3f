// SPDX-License-Identifier: MIT OR Apache-2.0
//! Scalar floating point: the vector operations' arithmetic on one lane.

use super::arith;
use super::vcmp::bit;
use crate::decode::kind::Kind;
use crate::decode::Inst;
use crate::fault::FaultKind;
use crate::target::Op;
use crate::wave::Wave;

/// True if the operation is one of these.
pub fn execute<const L: usize>(w: &mut Wave<L>, i: &Inst) -> Result<bool, FaultKind> {
    use Op::*;
    let mode = w.mode;
    let raw = |w: &Wave<L>, n: usize| w.scalar(i.src[n], i.imm);
    let source = |w: &Wave<L>, n: usize| arith::input(mode, [w.scalar(i.src[n], i.imm)]);
    let unary = |w: &Wave<L>, f: fn(f32) -> f32| [arith::unary(source(w, 0)[0], f)];
    if let Kind::Compare { when, .. } = i.kind {
        let [a, b] = [source(w, 0), source(w, 1)].map(|[x]| f32::from_bits(x));
        w.scc = bit(a.partial_cmp(&b)) & when != 0;
        return Ok(true);
    }
    let result = match i.op {
        SAddF32 => arith::add(mode, source(w, 0), source(w, 1)),
        SSubF32 => arith::sub(mode, source(w, 0), source(w, 1)),
        SMulF32 => arith::mul(mode, source(w, 0), source(w, 1)),
        SFmacF32 => {
            let old = arith::input(mode, [w.scalar(i.dst, 0)]);
            arith::fma(mode, source(w, 0), source(w, 1), old)
        }
        SFmaakF32 => arith::fma(mode, source(w, 0), source(w, 1), [i.imm]),
        SFmamkF32 => arith::fma(mode, source(w, 0), [i.imm], source(w, 1)),
        SMinNumF32 => [arith::number(source(w, 0)[0], source(w, 1)[0], false)],
        SMaxNumF32 => [arith::number(source(w, 0)[0], source(w, 1)[0], true)],
        SFloorF32 => unary(w, f32::floor),
        SCeilF32 => unary(w, f32::ceil),
        STruncF32 => unary(w, f32::trunc),
        SRndneF32 => unary(w, f32::round_ties_even),
        SCvtF32U32 => [arith::from_integer(mode, raw(w, 0).into())],
        SCvtF32I32 => [arith::from_integer(mode, (raw(w, 0) as i32).into())],
        SCvtU32F32 | SCvtI32F32 => {
            let [a] = source(w, 0);
            let signed = i.op == SCvtI32F32;
            w.set(
                i.dst,
                if signed {
                    arith::to_i32(a)
                } else {
                    arith::to_u32(a)
                },
            );
            return Ok(true);
        }
        _ => return Ok(false),
    };
    w.set(i.dst, arith::output(mode, result)[0]);
    Ok(true)
}
