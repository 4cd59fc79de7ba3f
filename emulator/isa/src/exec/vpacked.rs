// SPDX-License-Identifier: MIT OR Apache-2.0
//! Packed operations: pairs of f32, pairs of 16 bits, mixed precision, accumulation register moves.
//!
//! op_sel chooses the half of each source that the lower result comes from, op_sel_hi that of the
//! upper one; neg and neg_hi (kept where VOP3 has abs) negate them.

use super::arith::{self, Mode16};
use super::float::{from_f16, Odd};
use super::integer::limit;
use super::lanes::one;
use super::vfloat::clamp32;
use super::vhalf::{self, Rule};
use crate::decode::Op;
use crate::decode::{code, Inst};
use crate::fault::FaultKind;
use crate::kernel::mode;
use crate::wave::Wave;

/// True if the operation is one of these.
pub fn execute<const L: usize>(w: &mut Wave<L>, i: &Inst) -> Result<bool, FaultKind> {
    let old = Rule::Old(w.mode & mode::IEEE != 0);
    match i.op {
        Op::VAccvgprReadB32 | Op::VAccvgprWriteB32 => one(w, i, |a| a),
        Op::VPkMovB32 => {
            // The two bits of op_sel choose both: the second source has only the upper result.
            let (low, high) = (half(w, i, 0, false), half(w, i, 1, false));
            w.put(i.dst, &low);
            w.put(i.dst + 1, &high);
        }
        Op::VPkAddF32 => pair(w, i, |mode, [a, b, _]| arith::add(mode, a, b)),
        Op::VPkMulF32 => pair(w, i, |mode, [a, b, _]| arith::mul(mode, a, b)),
        Op::VPkFmaF32 => pair(w, i, |mode, [a, b, c]| arith::fma(mode, a, b, c)),
        Op::VPkAddU16 => sixteen(w, i, false, |[a, b, _]| a + b)?,
        Op::VPkAddI16 => sixteen(w, i, true, |[a, b, _]| a + b)?,
        Op::VPkSubU16 => sixteen(w, i, false, |[a, b, _]| a - b)?,
        Op::VPkSubI16 => sixteen(w, i, true, |[a, b, _]| a - b)?,
        Op::VPkMadU16 => sixteen(w, i, false, |[a, b, c]| a * b + c)?,
        Op::VPkMadI16 => sixteen(w, i, true, |[a, b, c]| a * b + c)?,
        Op::VPkMulLoU16 => sixteen(w, i, false, |[a, b, _]| a * b)?,
        Op::VPkLshlrevB16 => sixteen(w, i, false, |[a, b, _]| b << (a & 15))?,
        Op::VPkLshrrevB16 => sixteen(w, i, false, |[a, b, _]| b >> (a & 15))?,
        Op::VPkAshrrevI16 => sixteen(w, i, true, |[a, b, _]| b >> (a & 15))?,
        Op::VPkMinU16 => sixteen(w, i, false, |[a, b, _]| a.min(b))?,
        Op::VPkMaxU16 => sixteen(w, i, false, |[a, b, _]| a.max(b))?,
        Op::VPkMinI16 => sixteen(w, i, true, |[a, b, _]| a.min(b))?,
        Op::VPkMaxI16 => sixteen(w, i, true, |[a, b, _]| a.max(b))?,
        Op::VPkAddF16 => halves(w, i, |[a, b, _]| Odd(a + b)),
        Op::VPkMulF16 => halves(w, i, |[a, b, _]| Odd(a * b)),
        Op::VPkFmaF16 | Op::VPkFmacF16 => halves(w, i, |[a, b, c]| Odd::sum(a * b, c)),
        Op::VPkMinF16 => picked(w, i, old, false),
        Op::VPkMaxF16 => picked(w, i, old, true),
        Op::VPkMinNumF16 => picked(w, i, Rule::Number, false),
        Op::VPkMaxNumF16 => picked(w, i, Rule::Number, true),
        Op::VPkMinimumF16 => picked(w, i, Rule::Propagate, false),
        Op::VPkMaximumF16 => picked(w, i, Rule::Propagate, true),
        Op::VFmaMixF32 => {
            let r = mixed(w, i);
            let nan_to_zero = w.mode & mode::DX10_CLAMP != 0;
            let r = if i.clamp {
                r.map(|x| clamp32(x, nan_to_zero))
            } else {
                r
            };
            w.put(i.dst, &arith::output(w.mode, r));
        }
        Op::VFmaMixloF16 | Op::VFmaMixhiF16 => mixed_half(w, i),
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

fn pair<const L: usize>(w: &mut Wave<L>, i: &Inst, f: impl Fn(u32, [[u32; L]; 3]) -> [u32; L]) {
    let nan_to_zero = w.mode & mode::DX10_CLAMP != 0;
    let results = [false, true].map(|high| {
        let negate = if high { i.abs } else { i.neg };
        let sources = [0, 1, 2].map(|n| {
            if i.src[n] == code::NONE {
                return [0; L];
            }
            let sign = u32::from((negate >> n) & 1) << 31;
            arith::input(w.mode, half(w, i, n, high).map(|x| x ^ sign))
        });
        let r = f(w.mode, sources);
        let r = if i.clamp {
            r.map(|x| clamp32(x, nan_to_zero))
        } else {
            r
        };
        arith::output(w.mode, r)
    });
    w.put(i.dst, &results[0]);
    w.put(i.dst + 1, &results[1]);
}

/// The 16-bit halves of a source for the lower and the upper result.
pub fn pick(i: &Inst, n: usize, x: u32) -> [u16; 2] {
    [i.op_sel, i.op_sel_hi].map(|select| (x >> (16 * u32::from((select >> n) & 1))) as u16)
}

/// d = f(a, b, c) of both halves.
fn both<const L: usize>(w: &mut Wave<L>, i: &Inst, f: impl Fn([u16; 3]) -> u16, float: bool) {
    let sources = [0, 1, 2].map(|n| {
        let signs = [i.neg, i.abs].map(|negate| {
            if float && (negate >> n) & 1 == 1 {
                0x8000
            } else {
                0
            }
        });
        // A floating constant is one of 32 bits where the halves are integers (LLVM,
        // AMDGPU::getInlineEncodingV216).
        let halves = match float {
            true => w.lanes16(i, n),
            false => *w.lanes(i, n, &mut None),
        };
        halves.map(|x| {
            let [low, high] = pick(i, n, x);
            [low ^ signs[0], high ^ signs[1]]
        })
    });
    let r = std::array::from_fn(|l| {
        let [low, high] = [0, 1].map(|h| f([0, 1, 2].map(|n| sources[n][l][h])));
        u32::from(low) | (u32::from(high) << 16)
    });
    w.put(i.dst, &r);
}

fn sixteen<const L: usize>(
    w: &mut Wave<L>,
    i: &Inst,
    signed: bool,
    f: impl Fn([i64; 3]) -> i64,
) -> Result<(), FaultKind> {
    if i.abs | i.neg != 0 {
        return Err(FaultKind::Unsupported(
            "modifiers of a packed integer operation",
        ));
    }
    let value = |x: u16| {
        if signed {
            i64::from(x as i16)
        } else {
            i64::from(x)
        }
    };
    let exact = |x: [u16; 3]| f(x.map(value));
    if i.clamp {
        both(w, i, |x| limit(exact(x).into(), 16, signed) as u16, false);
    } else {
        both(w, i, |x| exact(x) as u16, false);
    }
    Ok(())
}

fn halves<const L: usize>(w: &mut Wave<L>, i: &Inst, f: impl Fn([f64; 3]) -> Odd) {
    let rules = Mode16::of(w.mode);
    let one = |x: [u16; 3]| {
        let x = x.map(|x| rules.input(x));
        let r = f(x.map(|x| from_f16(x).into()));
        let r = if r.0.is_nan() {
            vhalf::nan(&x)
        } else {
            rules.round(r)
        };
        vhalf::finish(rules, i, r)
    };
    both(w, i, one, true);
}

fn picked<const L: usize>(w: &mut Wave<L>, i: &Inst, rule: Rule, max: bool) {
    let rules = Mode16::of(w.mode);
    let one = |x: [u16; 3]| {
        let [a, b, _] = x.map(|x| rules.input(x));
        vhalf::finish(rules, i, rule.pick16(a, b, max))
    };
    both(w, i, one, true);
}

/// a * b + c in single precision. A source is single precision or, if its bit of op_sel_hi is set, the
/// half that op_sel chooses. The field that is neg_hi elsewhere means absolute values here.
fn mixed<const L: usize>(w: &Wave<L>, i: &Inst) -> [u32; L] {
    let rules = Mode16::of(w.mode);
    let [a, b, c] = [0, 1, 2].map(|n| {
        let (abs, neg) = ((i.abs >> n) & 1 == 1, (i.neg >> n) & 1 == 1);
        let x = if (i.op_sel_hi >> n) & 1 == 1 {
            w.lanes16(i, n).map(|x| {
                let x = (x >> (16 * u32::from((i.op_sel >> n) & 1))) as u16;
                from_f16(rules.input(x)).to_bits()
            })
        } else {
            arith::input(w.mode, *w.lanes(i, n, &mut None))
        };
        let x = if abs { x.map(|x| x & 0x7fff_ffff) } else { x };
        if neg {
            x.map(|x| x ^ 0x8000_0000)
        } else {
            x
        }
    });
    arith::fma(w.mode, a, b, c)
}

/// The result as half precision, into one half of the destination.
fn mixed_half<const L: usize>(w: &mut Wave<L>, i: &Inst) {
    let rules = Mode16::of(w.mode);
    let high = i.op == Op::VFmaMixhiF16;
    let old = w.v[w.slot(i.dst)];
    let r = mixed(w, i);
    let r = std::array::from_fn(|l| {
        let x = f64::from(f32::from_bits(r[l]));
        let x = if x.is_nan() {
            super::float::to_f16(x)
        } else {
            rules.round(Odd(x))
        };
        let x = u32::from(vhalf::finish(rules, i, x));
        if high {
            old[l] & 0xffff | (x << 16)
        } else {
            old[l] & 0xffff_0000 | x
        }
    });
    w.put(i.dst, &r);
}
