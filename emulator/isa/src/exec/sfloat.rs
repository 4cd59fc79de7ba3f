// SPDX-License-Identifier: MIT OR Apache-2.0
//! Scalar floating point: the vector operations' arithmetic on one lane. A result of 16 bits clears
//! the register's upper half.

use super::arith::{self, Mode16};
use super::exact::{Exact, Format};
use super::float::{from_f16, to_f16, Odd, Round};
use super::vcmp::bit;
use super::vhalf::{self, Rule};
use crate::decode::kind::{Kind, Type};
use crate::decode::Inst;
use crate::decode::Op;
use crate::fault::FaultKind;
use crate::wave::Wave;

/// True if the operation is one of these.
pub fn execute<const L: usize>(w: &mut Wave<L>, i: &Inst) -> Result<bool, FaultKind> {
    use Op::*;
    let mode = w.mode;
    let raw = |w: &Wave<L>, n: usize| w.scalar(i.src[n], i.imm);
    let source = |w: &Wave<L>, n: usize| arith::input(mode, [w.scalar(i.src[n], i.imm)]);
    let unary = |w: &Wave<L>, f: fn(f32) -> f32| [arith::unary(source(w, 0)[0], f)];
    let pick = |w: &Wave<L>, rule: Rule, max| [rule.pick(source(w, 0)[0], source(w, 1)[0], max)];
    if let Kind::Compare { when, ty, .. } = i.kind {
        let [a, b] = [0, 1].map(|n| match ty {
            Type::F16 => from_f16(half(w, i, n)),
            _ => f32::from_bits(source(w, n)[0]),
        });
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
        SMinNumF32 => pick(w, Rule::Number, false),
        SMaxNumF32 => pick(w, Rule::Number, true),
        SMinimumF32 => pick(w, Rule::Propagate, false),
        SMaximumF32 => pick(w, Rule::Propagate, true),
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
        SCvtF32F16 => [arith::unary(from_f16(half(w, i, 0)).to_bits(), |x| x)],
        SCvtHiF32F16 => {
            let x = Mode16::of(mode).input((raw(w, 0) >> 16) as u16);
            [arith::unary(from_f16(x).to_bits(), |x| x)]
        }
        _ => return halves(w, i),
    };
    w.set(i.dst, arith::output(mode, result)[0]);
    Ok(true)
}

/// A source's lower half.
fn half<const L: usize>(w: &Wave<L>, i: &Inst, n: usize) -> u16 {
    Mode16::of(w.mode).input(w.scalar16(i.src[n], i.imm) as u16)
}

fn halves<const L: usize>(w: &mut Wave<L>, i: &Inst) -> Result<bool, FaultKind> {
    use Op::*;
    let rules = Mode16::of(w.mode);
    let [a, b] = [half(w, i, 0), half(w, i, 1)];
    let value = |x: u16| f64::from(from_f16(x));
    let round = |sources: &[u16], r: Odd| match r.0.is_nan() {
        true => vhalf::nan(sources),
        false => rules.round(r),
    };
    let one = |f: fn(f64) -> f64| round(&[a], Odd(f(value(a))));
    let single = |n: usize| f64::from(f32::from_bits(w.scalar(i.src[n], i.imm)));
    let result = match i.op {
        SAddF16 => round(&[a, b], Odd(value(a) + value(b))),
        SSubF16 => round(&[a, b], Odd(value(a) - value(b))),
        SMulF16 => round(&[a, b], Odd(value(a) * value(b))),
        SFmacF16 => {
            let old = rules.input(w.scalar(i.dst, 0) as u16);
            round(&[a, b, old], Odd::sum(value(a) * value(b), value(old)))
        }
        SMinNumF16 => Rule::Number.pick16(a, b, false),
        SMaxNumF16 => Rule::Number.pick16(a, b, true),
        SMinimumF16 => Rule::Propagate.pick16(a, b, false),
        SMaximumF16 => Rule::Propagate.pick16(a, b, true),
        SFloorF16 => one(f64::floor),
        SCeilF16 => one(f64::ceil),
        STruncF16 => one(f64::trunc),
        SRndneF16 => one(f64::round_ties_even),
        SCvtF16F32 => match single(0) {
            x if x.is_nan() => to_f16(x),
            x => rules.round(Odd(x)),
        },
        SCvtPkRtzF16F32 => {
            let [low, high] = [single(0), single(1)].map(|x| match x.is_nan() {
                true => u32::from(to_f16(x)),
                false => Exact::of(x).round(&Format::F16, Round::Zero) as u32,
            });
            w.set(i.dst, low | (high << 16));
            return Ok(true);
        }
        _ => return Ok(false),
    };
    w.set(i.dst, rules.output(result).into());
    Ok(true)
}

/// Vector-encoded operations on scalars: v_s_exp_f32 and its like.
pub fn transcendental<const L: usize>(w: &mut Wave<L>, i: &Inst) -> Result<bool, FaultKind> {
    use Op::*;
    let f: fn(f64) -> f64 = match i.op {
        VSExpF32 | VSExpF16 => f64::exp2,
        VSLogF32 | VSLogF16 => f64::log2,
        VSRcpF32 | VSRcpF16 => f64::recip,
        VSRsqF32 | VSRsqF16 => |x| x.sqrt().recip(),
        VSSqrtF32 | VSSqrtF16 => f64::sqrt,
        _ => return Ok(false),
    };
    if i.clamp || i.omod != 0 {
        return Err(FaultKind::Unsupported(
            "output modifiers of a scalar result",
        ));
    }
    let sign = |x: f64| {
        let x = if i.abs & 1 == 1 { x.abs() } else { x };
        if i.neg & 1 == 1 {
            -x
        } else {
            x
        }
    };
    let half_precision = matches!(i.op, VSExpF16 | VSLogF16 | VSRcpF16 | VSRsqF16 | VSSqrtF16);
    let rules = Mode16::of(w.mode);
    let result = if half_precision {
        let x = rules.input(w.scalar16(i.src[0], i.imm) as u16);
        match f(sign(from_f16(x).into())) {
            r if r.is_nan() => vhalf::nan(&[x]).into(),
            r => rules.output(rules.round(Odd(r))).into(),
        }
    } else {
        let [x] = arith::input(w.mode, [w.scalar(i.src[0], i.imm)]);
        match f(sign(f32::from_bits(x).into())) {
            r if r.is_nan() => arith::nan32(&[x]),
            r => arith::output(w.mode, [(r as f32).to_bits()])[0],
        }
    };
    w.set(i.dst, result);
    Ok(true)
}
