// SPDX-License-Identifier: MIT OR Apache-2.0
//! Dot products of 2, 4 or 8 small elements.
//!
//! Integer ones are exact and limited at the end if clamped. Floating ones add products one after
//! the other to the third source, each step fused, from the lowest element up, as the manuals'
//! formulas read; how silicon rounds inside is not documented.

use super::arith::{self, Mode16};
use super::exact::{from_bf16, to_bf16, Format};
use super::float::{from_f16, Odd};
use super::integer::limit;
use super::lanes::{half_of, put16};
use super::vconvert::from_small;
use super::vfloat::clamp32;
use super::vhalf;
use super::vpacked::pick;
use crate::decode::Inst;
use crate::decode::Op;
use crate::fault::FaultKind;
use crate::kernel::mode;
use crate::wave::Wave;

/// d = c + sum of products of integer elements of `bits` bits.
fn integers<const L: usize>(
    w: &mut Wave<L>,
    i: &Inst,
    bits: u32,
    signed: [bool; 2],
    sum_signed: bool,
) {
    let element = |x: u32, n: u32, signed: bool| {
        let top = x << (32 - bits - n * bits);
        if signed {
            i128::from(top as i32 >> (32 - bits))
        } else {
            i128::from(top >> (32 - bits))
        }
    };
    // Pairs may come from either half.
    let source = |n: usize| {
        w.lanes(i, n, &mut None).map(|x| {
            if bits < 16 || i.op_sel == 0 && i.op_sel_hi & 3 == 3 {
                return x;
            }
            let [low, high] = pick(i, n, x);
            u32::from(low) | (u32::from(high) << 16)
        })
    };
    let (a, b) = (source(0), source(1));
    let c = *w.lanes(i, 2, &mut None);
    let r = std::array::from_fn(|l| {
        let start = if sum_signed {
            i128::from(c[l] as i32)
        } else {
            i128::from(c[l])
        };
        let sum = (0..32 / bits).fold(start, |sum, n| {
            sum + element(a[l], n, signed[0]) * element(b[l], n, signed[1])
        });
        if i.clamp {
            limit(sum, 32, sum_signed) as u32
        } else {
            sum as u32
        }
    });
    w.put(i.dst, &r);
}

/// d = c + sum of products in single precision.
fn singles<const L: usize, const N: usize>(
    w: &mut Wave<L>,
    i: &Inst,
    a: [[u32; L]; N],
    b: [[u32; L]; N],
) {
    let mut sum = *w.lanes(i, 2, &mut None);
    let (abs, neg) = (i.abs & 4 != 0, i.neg & 4 != 0);
    // The third source is a whole register: its modifiers act on bit 31.
    sum = sum.map(|x| if abs { x & 0x7fff_ffff } else { x });
    sum = sum.map(|x| if neg { x ^ 0x8000_0000 } else { x });
    sum = arith::input(w.mode, sum);
    for (a, b) in a.into_iter().zip(b) {
        sum = arith::fma(w.mode, a, b, sum);
    }
    if i.clamp {
        let nan_to_zero = w.mode & mode::DX10_CLAMP != 0;
        sum = sum.map(|x| clamp32(x, nan_to_zero));
    }
    w.put(i.dst, &arith::output(w.mode, sum));
}

/// Bits of an element of 16 bits.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Half {
    F16,
    Bf16,
}

/// A source of two halves. An inline constant is one of the elements' format, and gfx12 has it in both
/// halves of the first two sources (RDNA4 ISA, section 7.2.2); LLVM, whose constants are those of packed
/// operations (AMDGPU::getInlineEncodingV216), expects 0 in the upper half, as gfx942 has it here.
fn whole<const L: usize>(w: &Wave<L>, i: &Inst, n: usize, half: Half) -> [u32; L] {
    let operand = i.src[n];
    if !matches!(operand, 128..=208 | 240..=248) {
        return *w.lanes(i, n, &mut None);
    }
    let value = match half {
        Half::Bf16 if operand >= 240 => w.scalar(operand, 0) >> 16,
        _ => w.scalar16(operand, 0),
    };
    let both = i.ocp && n < 2;
    [if both {
        (value & 0xffff) * 0x1_0001
    } else {
        value
    }; L]
}

/// Both halves of a source with their signs, as single precision.
fn pairs<const L: usize>(
    w: &Wave<L>,
    i: &Inst,
    n: usize,
    half: Half,
    widen: impl Fn(u16) -> u32,
) -> [[u32; L]; 2] {
    let whole = whole(w, i, n, half);
    [0, 1].map(|h| {
        let sign = u32::from(([i.neg, i.abs][h] >> n) & 1) << 31;
        whole.map(|x| widen(pick(i, n, x)[h]) ^ sign)
    })
}

fn small<const L: usize>(w: &Wave<L>, i: &Inst, n: usize, format: &Format) -> [[u32; L]; 4] {
    let x = *w.lanes(i, n, &mut None);
    [0, 8, 16, 24].map(|at| x.map(|x| from_small(format, (x >> at) as u8)))
}

/// d = c + a0 * b0 + a1 * b1 of 16 bits throughout; `step` rounds x * y + z.
fn sixteen<const L: usize>(
    w: &mut Wave<L>,
    i: &Inst,
    half: Half,
    step: impl Fn(u16, u16, u16) -> u16,
) {
    // VOP3's modifiers are of both halves.
    let signed = |n: usize, x: u16| {
        let x = if (i.abs >> n) & 1 == 1 { x & 0x7fff } else { x };
        if (i.neg >> n) & 1 == 1 {
            x ^ 0x8000
        } else {
            x
        }
    };
    let [a, b, c] = [0, 1, 2].map(|n| whole(w, i, n, half));
    let r = std::array::from_fn(|l| {
        let start = signed(2, half_of(i, 2, c[l]));
        [0, 1].into_iter().fold(start, |sum, h| {
            let part = |n: usize, x: u32| signed(n, (x >> (16 * h)) as u16);
            step(part(0, a[l]), part(1, b[l]), sum)
        })
    });
    put16(w, i, false, r);
}

/// True if the operation is one of these.
pub fn execute<const L: usize>(w: &mut Wave<L>, i: &Inst) -> Result<bool, FaultKind> {
    use Op::*;
    let rules = Mode16::of(w.mode);
    // In the mixed forms neg marks the sources that are signed.
    let signs = [i.neg & 1 == 1, i.neg & 2 == 2];
    match i.op {
        VDot2I32I16 | VDot2cI32I16 => integers(w, i, 16, [true; 2], true),
        VDot2U32U16 => integers(w, i, 16, [false; 2], false),
        VDot4I32I8 | VDot4cI32I8 => integers(w, i, 8, [true; 2], true),
        VDot4U32U8 => integers(w, i, 8, [false; 2], false),
        VDot8I32I4 | VDot8cI32I4 => integers(w, i, 4, [true; 2], true),
        VDot8U32U4 => integers(w, i, 4, [false; 2], false),
        VDot4I32Iu8 => integers(w, i, 8, signs, true),
        VDot8I32Iu4 => integers(w, i, 4, signs, true),
        VDot2F32F16 | VDot2cF32F16 => {
            let widen = |x: u16| from_f16(rules.input(x)).to_bits();
            let (a, b) = (
                pairs(w, i, 0, Half::F16, widen),
                pairs(w, i, 1, Half::F16, widen),
            );
            singles(w, i, a, b);
        }
        VDot2F32Bf16 => {
            let [a, b] = [0, 1].map(|n| pairs(w, i, n, Half::Bf16, from_bf16));
            singles(w, i, a, b);
        }
        VDot2F16F16 => sixteen(w, i, Half::F16, |a, b, c| {
            let x = [a, b, c].map(|x| rules.input(x));
            let [a, b, c] = x.map(|x| f64::from(from_f16(x)));
            let r = Odd::sum(a * b, c);
            rules.output(if r.0.is_nan() {
                vhalf::nan(&x)
            } else {
                rules.round(r)
            })
        }),
        VDot2Bf16Bf16 => sixteen(w, i, Half::Bf16, |a, b, c| {
            let [x, y, z] = [a, b, c].map(|x| f64::from(f32::from_bits(from_bf16(x))));
            to_bf16(Odd::sum(x * y, z).0)
        }),
        VDot4F32Fp8Fp8 | VDot4F32Fp8Bf8 | VDot4F32Bf8Fp8 | VDot4F32Bf8Bf8 => {
            let bf8 = |yes: bool| {
                if yes {
                    Format::BF8_OCP
                } else {
                    Format::FP8_OCP
                }
            };
            let first = bf8(matches!(i.op, VDot4F32Bf8Fp8 | VDot4F32Bf8Bf8));
            let second = bf8(matches!(i.op, VDot4F32Fp8Bf8 | VDot4F32Bf8Bf8));
            let (a, b) = (small(w, i, 0, &first), small(w, i, 1, &second));
            singles(w, i, a, b);
        }
        _ => return Ok(false),
    }
    Ok(true)
}
