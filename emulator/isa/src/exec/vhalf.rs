// SPDX-License-Identifier: MIT OR Apache-2.0
//! Half precision: arithmetic, rounding to integers, minima and maxima, steps of division.
//!
//! Sums and products are known exactly (as a double rounded to odd) before MODE rounds them. rcp,
//! rsq, sqrt, exp, log, sin and cos are the host's results in double precision, rounded once.

use super::arith::Mode16;
use super::float::{extreme32, from_f16, Odd};
use super::lanes::{half_of, put16};
use crate::decode::Inst;
use crate::decode::Op;
use crate::fault::FaultKind;
use crate::kernel::mode;
use crate::wave::Wave;

/// A source's half with its modifiers and MODE's treatment of denormals.
pub fn source<const L: usize>(w: &Wave<L>, i: &Inst, n: usize) -> [u16; L] {
    let rules = Mode16::of(w.mode);
    let (abs, neg) = ((i.abs >> n) & 1 == 1, (i.neg >> n) & 1 == 1);
    w.lanes16(i, n).map(|x| {
        let x = half_of(i, n, x);
        let x = if abs { x & 0x7fff } else { x };
        rules.input(if neg { x ^ 0x8000 } else { x })
    })
}

/// Output modifier, clamp and denormals of a result.
pub fn finish(rules: Mode16, i: &Inst, r: u16) -> u16 {
    let mut r = r;
    let nan = r & 0x7fff > 0x7c00;
    if i.omod != 0 && !nan && rules.multiplies {
        let factor = [1.0, 2.0, 4.0, 0.5][(i.omod & 3) as usize];
        r = rules.round(Odd(f64::from(from_f16(r)) * factor));
    }
    if i.clamp {
        r = match from_f16(r) {
            _ if nan => {
                if rules.nan_to_zero {
                    0
                } else {
                    r
                }
            }
            f if f <= 0.0 => 0,
            f if f > 1.0 => 0x3c00,
            _ => r,
        };
    }
    rules.output(r)
}

/// d = f(a, b, c) of bits.
fn bits<const L: usize>(w: &mut Wave<L>, i: &Inst, clear: bool, f: impl Fn([u16; 3]) -> u16) {
    let rules = Mode16::of(w.mode);
    let (a, b, c) = (source(w, i, 0), source(w, i, 1), source(w, i, 2));
    let r = std::array::from_fn(|l| finish(rules, i, f([a[l], b[l], c[l]])));
    put16(w, i, clear && !i.keep, r);
}

/// The first NaN among sources made quiet, or the default one.
pub fn nan(sources: &[u16]) -> u16 {
    sources
        .iter()
        .find(|x| *x & 0x7fff > 0x7c00)
        .map_or(0x7e00, |x| x | 0x200)
}

/// d = f(a, b, c) of values, rounded in MODE's direction.
fn values<const L: usize>(w: &mut Wave<L>, i: &Inst, clear: bool, f: impl Fn([f64; 3]) -> Odd) {
    let rules = Mode16::of(w.mode);
    bits(w, i, clear, |x| {
        let r = f(x.map(|x| from_f16(x).into()));
        if r.0.is_nan() {
            nan(&x)
        } else {
            rules.round(r)
        }
    });
}

/// Which of two comes out of a minimum or maximum, by the rule for single precision.
pub fn extreme(a: u16, b: u16, rule: impl Fn(u32, u32) -> u32) -> u16 {
    let [x, y] = [a, b].map(|x| from_f16(x).to_bits());
    let r = rule(x, y);
    if r == x {
        a
    } else if r == y {
        b
    } else if r == x | 0x40_0000 {
        a | 0x200
    } else if r == y | 0x40_0000 {
        b | 0x200
    } else {
        0x7e00
    }
}

/// A minimum or maximum's rule: min and max of IEEE 754-2008, of 754-2019's numbers, or that keep NaN.
#[derive(Clone, Copy)]
pub enum Rule {
    /// v_min and v_max of gfx9.
    Old(bool),
    /// v_min_num and v_max_num.
    Number,
    /// v_minimum and v_maximum.
    Propagate,
}

impl Rule {
    /// The rule on single precision bits.
    pub fn pick(self, a: u32, b: u32, max: bool) -> u32 {
        match self {
            Self::Old(ieee) => extreme32(a, b, max, ieee),
            Self::Number => super::arith::number(a, b, max),
            Self::Propagate => super::arith::propagate(a, b, max),
        }
    }

    /// The rule on half precision bits.
    pub fn pick16(self, a: u16, b: u16, max: bool) -> u16 {
        extreme(a, b, |a, b| self.pick(a, b, max))
    }
}

fn median(rule: Rule, a: u16, b: u16, c: u16) -> u16 {
    let pick = |a, b, max| rule.pick16(a, b, max);
    if [a, b, c].iter().any(|x| x & 0x7fff > 0x7c00) {
        return pick(pick(a, b, false), c, false);
    }
    let (low, high) = (pick(a, b, false), pick(a, b, true));
    pick(low, pick(high, c, false), true)
}

/// The fraction part, below one whatever rounding does; NaN of what is no number.
fn fraction(a: f64) -> f64 {
    let (r, below_one) = (a - a.floor(), 1.0 - 2f64.powi(-11));
    if r > below_one {
        below_one
    } else {
        r
    }
}

/// A double's mantissa between a half and one.
fn mantissa(a: f64) -> f64 {
    if a == 0.0 || !a.is_finite() {
        return a;
    }
    a / 2f64.powi(exponent(a))
}

/// The exponent that goes with it. Halves are normal as doubles.
fn exponent(a: f64) -> i32 {
    if a == 0.0 || !a.is_finite() {
        return 0;
    }
    ((a.to_bits() >> 52) as i32 & 0x7ff) - 1022
}

fn fixup(a: u16, b: u16, c: u16) -> u16 {
    let sign = (b ^ c) & 0x8000;
    let is_nan = |x: u16| x & 0x7fff > 0x7c00;
    let (zero, infinite) = (|x: u16| x & 0x7fff == 0, |x: u16| x & 0x7fff == 0x7c00);
    if is_nan(c) {
        c | 0x200
    } else if is_nan(b) {
        b | 0x200
    } else if (zero(b) && zero(c)) || (infinite(b) && infinite(c)) {
        0xfe00
    } else if infinite(c) || zero(b) {
        sign | 0x7c00
    } else if infinite(b) || zero(c) {
        sign
    } else {
        sign | a & 0x7fff
    }
}

/// The manual's bits of the destination's other half: most forms of gfx9 clear it.
const CLEAR: bool = true;
const KEEP: bool = false;

/// True if the operation is one of these.
pub fn execute<const L: usize>(w: &mut Wave<L>, i: &Inst) -> Result<bool, FaultKind> {
    use Op::*;
    let old = Rule::Old(w.mode & mode::IEEE != 0);
    let turns = |a: f64| a * std::f64::consts::TAU;
    let rules = Mode16::of(w.mode);
    let two =
        |w: &mut Wave<L>, rule: Rule, max| bits(w, i, CLEAR, |x| rule.pick16(x[0], x[1], max));
    // f(g(a, b), c).
    let three = |w: &mut Wave<L>, rule: Rule, first, second| {
        bits(w, i, KEEP, |x| {
            rule.pick16(rule.pick16(x[0], x[1], first), x[2], second)
        })
    };
    match i.op {
        VAddF16 => values(w, i, CLEAR, |[a, b, _]| Odd(a + b)),
        VSubF16 => values(w, i, CLEAR, |[a, b, _]| Odd(a - b)),
        VSubrevF16 => values(w, i, CLEAR, |[a, b, _]| Odd(b - a)),
        VMulF16 => values(w, i, CLEAR, |[a, b, _]| Odd(a * b)),
        VFmaF16 | VFmacF16 | VFmaakF16 | VFmamkF16 => {
            values(w, i, KEEP, |[a, b, c]| Odd::sum(a * b, c))
        }
        VFmaLegacyF16 => values(w, i, CLEAR, |[a, b, c]| Odd::sum(a * b, c)),
        // Not fused: the product is rounded too.
        VMadF16 | VMacF16 | VMadakF16 | VMadmkF16 => {
            values(w, i, KEEP, |[a, b, c]| Odd(rounded(rules, a * b) + c))
        }
        VMadLegacyF16 => values(w, i, CLEAR, |[a, b, c]| Odd(rounded(rules, a * b) + c)),
        VMinF16 => two(w, old, false),
        VMaxF16 => two(w, old, true),
        VMinNumF16 => two(w, Rule::Number, false),
        VMaxNumF16 => two(w, Rule::Number, true),
        VMinimumF16 => two(w, Rule::Propagate, false),
        VMaximumF16 => two(w, Rule::Propagate, true),
        VMin3F16 => three(w, old, false, false),
        VMax3F16 => three(w, old, true, true),
        VMin3NumF16 => three(w, Rule::Number, false, false),
        VMax3NumF16 => three(w, Rule::Number, true, true),
        VMinimum3F16 => three(w, Rule::Propagate, false, false),
        VMaximum3F16 => three(w, Rule::Propagate, true, true),
        VMinmaxNumF16 => three(w, Rule::Number, false, true),
        VMaxminNumF16 => three(w, Rule::Number, true, false),
        VMinimummaximumF16 => three(w, Rule::Propagate, false, true),
        VMaximumminimumF16 => three(w, Rule::Propagate, true, false),
        VMed3F16 => bits(w, i, KEEP, |x| median(old, x[0], x[1], x[2])),
        VMed3NumF16 => bits(w, i, KEEP, |x| median(Rule::Number, x[0], x[1], x[2])),
        VFloorF16 => values(w, i, CLEAR, |[a, ..]| Odd(a.floor())),
        VCeilF16 => values(w, i, CLEAR, |[a, ..]| Odd(a.ceil())),
        VTruncF16 => values(w, i, CLEAR, |[a, ..]| Odd(a.trunc())),
        VRndneF16 => values(w, i, CLEAR, |[a, ..]| Odd(a.round_ties_even())),
        VFractF16 => values(w, i, CLEAR, |[a, ..]| Odd(fraction(a))),
        VRcpF16 => values(w, i, CLEAR, |[a, ..]| Odd(1.0 / a)),
        VRsqF16 => values(w, i, CLEAR, |[a, ..]| Odd(1.0 / a.sqrt())),
        VSqrtF16 => values(w, i, CLEAR, |[a, ..]| Odd(a.sqrt())),
        VExpF16 => values(w, i, CLEAR, |[a, ..]| Odd(a.exp2())),
        VLogF16 => values(w, i, CLEAR, |[a, ..]| Odd(a.log2())),
        VSinF16 => values(w, i, CLEAR, |[a, ..]| Odd(turns(a).sin())),
        VCosF16 => values(w, i, CLEAR, |[a, ..]| Odd(turns(a).cos())),
        VFrexpMantF16 => values(w, i, CLEAR, |[a, ..]| Odd(mantissa(a))),
        VFrexpExpI16F16 => {
            let r = source(w, i, 0).map(|x| exponent(from_f16(x).into()) as u16);
            put16(w, i, !i.keep, r);
        }
        VLdexpF16 => {
            let by = w.lanes16(i, 1);
            let a = source(w, i, 0);
            let r = std::array::from_fn(|l| {
                let n = i32::from(half_of(i, 1, by[l]) as i16).clamp(-60, 60);
                let r = f64::from(from_f16(a[l])) * 2f64.powi(n);
                let r = if r.is_nan() {
                    nan(&a[l..=l])
                } else {
                    rules.round(Odd(r))
                };
                finish(rules, i, r)
            });
            put16(w, i, !i.keep, r);
        }
        VDivFixupF16 => bits(w, i, KEEP, |x| fixup(x[0], x[1], x[2])),
        VDivFixupLegacyF16 => bits(w, i, CLEAR, |x| fixup(x[0], x[1], x[2])),
        // Both halves, as they are.
        VPackB32F16 => {
            let (a, b) = (source(w, i, 0), source(w, i, 1));
            let r = std::array::from_fn(|l| u32::from(a[l]) | (u32::from(b[l]) << 16));
            w.put(i.dst, &r);
        }
        _ => return Ok(false),
    }
    Ok(true)
}

fn rounded(rules: Mode16, x: f64) -> f64 {
    from_f16(rules.round(Odd(x))).into()
}
