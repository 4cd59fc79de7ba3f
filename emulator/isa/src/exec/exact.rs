// SPDX-License-Identifier: MIT OR Apache-2.0
//! Exact sums and products, and their single rounding to any binary format in any direction, for
//! formats and directions that the host's own arithmetic lacks.

use super::float::Round;

/// What the codes beyond the ordinary numbers mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Special {
    /// IEEE 754: the highest exponent is infinity and NaN.
    Ieee,
    /// OCP's E4M3: no infinity, and only the highest code is NaN.
    Highest,
    /// "FNUZ": no infinity, no negative zero, whose code is NaN.
    NegativeZero,
}

/// A binary floating point format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    /// Bits of the exponent.
    pub exponent: u32,
    /// Bits of the fraction.
    pub fraction: u32,
    /// Exponent bias.
    pub bias: i32,
    /// NaN and infinity.
    pub special: Special,
}

impl Format {
    const fn new(exponent: u32, fraction: u32, bias: i32, special: Special) -> Self {
        Self {
            exponent,
            fraction,
            bias,
            special,
        }
    }
    /// Half precision.
    pub const F16: Self = Self::new(5, 10, 15, Special::Ieee);
    /// The upper half of single precision.
    pub const BF16: Self = Self::new(8, 7, 127, Special::Ieee);
    /// Single precision.
    pub const F32: Self = Self::new(8, 23, 127, Special::Ieee);
    /// Double precision.
    pub const F64: Self = Self::new(11, 52, 1023, Special::Ieee);
    /// gfx9.4's FP8.
    pub const FP8_FNUZ: Self = Self::new(4, 3, 8, Special::NegativeZero);
    /// gfx9.4's BF8.
    pub const BF8_FNUZ: Self = Self::new(5, 2, 16, Special::NegativeZero);
    /// gfx12's FP8.
    pub const FP8_OCP: Self = Self::new(4, 3, 7, Special::Highest);
    /// gfx12's BF8.
    pub const BF8_OCP: Self = Self::new(5, 2, 15, Special::Ieee);

    const fn sign(&self) -> u64 {
        1 << (self.exponent + self.fraction)
    }

    /// The default NaN.
    pub const fn nan(&self) -> u64 {
        match self.special {
            Special::Ieee => (self.sign() - 1) & !((1 << (self.fraction - 1)) - 1),
            Special::Highest => self.sign() - 1,
            Special::NegativeZero => self.sign(),
        }
    }

    /// The highest code of a finite magnitude.
    const fn highest(&self) -> u64 {
        match self.special {
            Special::Ieee => (((1 << self.exponent) - 1) << self.fraction) - 1,
            Special::Highest => self.sign() - 2,
            Special::NegativeZero => self.sign() - 1,
        }
    }

    /// The value of a code of at most 32 bits. A NaN has its sign and the default payload.
    pub fn value(&self, code: u64) -> f64 {
        let magnitude = code & (self.sign() - 1);
        let negative = code & self.sign() != 0;
        let is_nan = match self.special {
            Special::Ieee => magnitude > self.highest() + 1,
            Special::Highest => magnitude > self.highest(),
            Special::NegativeZero => code == self.sign(),
        };
        let x = if is_nan {
            f64::NAN
        } else if magnitude > self.highest() {
            f64::INFINITY
        } else {
            let exponent = (magnitude >> self.fraction) as i32;
            let fraction = magnitude & ((1 << self.fraction) - 1);
            let (mantissa, exponent) = match exponent {
                0 => (fraction, 1),
                _ => (fraction | (1 << self.fraction), exponent),
            };
            mantissa as f64 * 2f64.powi(exponent - self.bias - self.fraction as i32)
        };
        if negative {
            -x
        } else {
            x
        }
    }
}

/// A value that no rounding has touched. The last bit may stand for more below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exact {
    /// No number.
    Nan,
    /// Infinity, and whether it is negative.
    Infinite(bool),
    /// (-1)^negative * mantissa * 2^exponent.
    Finite(bool, u128, i32),
}

impl Exact {
    /// A double's value.
    pub fn of(x: f64) -> Self {
        let bits = x.to_bits();
        let negative = bits >> 63 == 1;
        let (exponent, fraction) = ((bits >> 52) as i32 & 0x7ff, bits & ((1 << 52) - 1));
        match exponent {
            0x7ff if fraction != 0 => Self::Nan,
            0x7ff => Self::Infinite(negative),
            0 => Self::Finite(negative, fraction.into(), -1074),
            _ => Self::Finite(negative, (fraction | (1 << 52)).into(), exponent - 1075),
        }
    }

    /// a * b of values that came from doubles.
    pub fn product(a: Self, b: Self) -> Self {
        use Exact::*;
        match (a, b) {
            (Nan, _) | (_, Nan) => Nan,
            (Infinite(_), Finite(_, 0, _)) | (Finite(_, 0, _), Infinite(_)) => Nan,
            (Infinite(s), Infinite(t) | Finite(t, ..)) | (Finite(s, ..), Infinite(t)) => {
                Infinite(s != t)
            }
            (Finite(s, m, e), Finite(t, n, f)) => Finite(s != t, m * n, e + f),
        }
    }

    /// a + b of values that came from doubles and their products. The result is exact as far as rounding
    /// needs it; `round` decides the sign of a zero sum.
    pub fn sum(a: Self, b: Self, round: Round) -> Self {
        use Exact::*;
        let (s, m, e, t, n, f) = match (a, b) {
            (Nan, _) | (_, Nan) => return Nan,
            (Infinite(s), Infinite(t)) if s != t => return Nan,
            (Infinite(s), _) | (_, Infinite(s)) => return Infinite(s),
            (Finite(s, 0, _), Finite(t, 0, _)) => {
                let negative = if s == t { s } else { round == Round::Down };
                return Finite(negative, 0, 0);
            }
            (Finite(_, 0, _), other) | (other, Finite(_, 0, _)) => return other,
            (Finite(s, m, e), Finite(t, n, f)) => (s, m, e, t, n, f),
        };
        // Both mantissas high, with a bit for the carry; the smaller one moves down to the other.
        let high = |m: u128, e: i32| {
            let up = m.leading_zeros() - 2;
            (m << up, e - up as i32)
        };
        let ((m, e), (n, f)) = (high(m, e), high(n, f));
        let ((s, m, e), (t, n, f)) = if e >= f {
            ((s, m, e), (t, n, f))
        } else {
            ((t, n, f), (s, m, e))
        };
        let n = sticky(n, (e - f) as u32);
        if s == t {
            return Finite(s, m + n, e);
        }
        match m.cmp(&n) {
            std::cmp::Ordering::Greater => Finite(s, m - n, e),
            std::cmp::Ordering::Less => Finite(t, n - m, e),
            std::cmp::Ordering::Equal => Finite(round == Round::Down, 0, 0),
        }
    }

    /// The same value in one way: what is left of a number is odd.
    pub fn reduced(self) -> Self {
        match self {
            Self::Finite(s, m, e) if m != 0 => {
                let zeros = m.trailing_zeros();
                Self::Finite(s, m >> zeros, e + zeros as i32)
            }
            other => other,
        }
    }

    /// Times 2^n.
    pub fn scaled(self, n: i32) -> Self {
        match self {
            Self::Finite(s, m, e) => Self::Finite(s, m, e.saturating_add(n.clamp(-9999, 9999))),
            other => other,
        }
    }

    /// The code of the nearest number of a format in a direction.
    pub fn round(self, format: &Format, round: Round) -> u64 {
        let (negative, mantissa, exponent) = match self {
            Self::Nan => return format.nan(),
            Self::Infinite(negative) => {
                return match format.special {
                    Special::NegativeZero => format.nan(),
                    // OCP's E4M3 has a NaN of each sign for it.
                    _ => format.highest() + 1 + if negative { format.sign() } else { 0 },
                };
            }
            Self::Finite(s, m, e) => (s, m, e),
        };
        let sign = if negative { format.sign() } else { 0 };
        if mantissa == 0 {
            return if format.special == Special::NegativeZero {
                0
            } else {
                sign
            };
        }
        let fraction = format.fraction as i32;
        let top = exponent + 127 - mantissa.leading_zeros() as i32;
        let lowest = 1 - format.bias - fraction;
        let last = (top - fraction).max(lowest);
        let shift = last - exponent;
        let kept = if shift <= 0 {
            mantissa << -shift
        } else if shift > 127 {
            0
        } else {
            mantissa >> shift
        };
        let rest = match shift {
            ..=0 => 0,
            1..=127 => mantissa & ((1 << shift) - 1),
            _ => mantissa,
        };
        let half = if (1..=127).contains(&shift) {
            1u128 << (shift - 1)
        } else {
            u128::MAX
        };
        let up = match round {
            Round::Nearest => rest > half || (rest == half && kept & 1 == 1),
            Round::Up => rest != 0 && !negative,
            Round::Down => rest != 0 && negative,
            Round::Zero => false,
        };
        let kept = kept as u64 + u64::from(up);
        let one = 1u64 << fraction;
        let magnitude = if kept < one {
            kept
        } else {
            // A value that is far too large gives the same result as one that is just too large.
            let step = (last - lowest).min(1 << format.exponent) as u64;
            ((step + 1) << fraction) + (kept - one)
        };
        if magnitude > format.highest() {
            let away = match round {
                Round::Nearest => true,
                Round::Up => !negative,
                Round::Down => negative,
                Round::Zero => false,
            };
            return match (format.special, away) {
                (_, false) => sign | format.highest(),
                (Special::Ieee, _) => sign | (format.highest() + 1),
                (Special::Highest, _) => sign | format.nan(),
                (Special::NegativeZero, _) => format.nan(),
            };
        }
        if magnitude == 0 && format.special == Special::NegativeZero {
            return 0;
        }
        sign | magnitude
    }
}

/// Shift down; what is lost leaves a mark in the last bit.
fn sticky(m: u128, by: u32) -> u128 {
    match by {
        0 => m,
        1..=127 => (m >> by) | u128::from(m & ((1 << by) - 1) != 0),
        _ => u128::from(m != 0),
    }
}

/// A value as bf16, to nearest even; a NaN stays one.
pub fn to_bf16(x: f64) -> u16 {
    Exact::of(x).round(&Format::BF16, Round::Nearest) as u16
}

/// bf16 to single precision, exact.
pub fn from_bf16(x: u16) -> u32 {
    u32::from(x) << 16
}

#[cfg(test)]
mod tests {
    use super::*;

    fn random(seed: &mut u64) -> u64 {
        *seed = seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        *seed ^ (*seed >> 29)
    }

    /// The host's own arithmetic is the referee of rounding to nearest.
    #[test]
    fn nearest_is_the_hosts() {
        let mut seed = 1;
        let n = Round::Nearest;
        for _ in 0..200_000 {
            let [a, b, c] = [(); 3].map(|()| f64::from_bits(random(&mut seed)));
            let near = f64::from_bits((a * b).to_bits() ^ (1 << 63) ^ (random(&mut seed) & 7));
            for c in [c, near] {
                if (a + b).is_nan() || a.mul_add(b, c).is_nan() {
                    continue;
                }
                let product = Exact::product(Exact::of(a), Exact::of(b));
                let sum = Exact::sum(Exact::of(a), Exact::of(b), n);
                assert_eq!(
                    sum.round(&Format::F64, n),
                    (a + b).to_bits(),
                    "{a:e} + {b:e}"
                );
                assert_eq!(
                    product.round(&Format::F64, n),
                    (a * b).to_bits(),
                    "{a:e} * {b:e}"
                );
                let fma = Exact::sum(product, Exact::of(c), n).round(&Format::F64, n);
                assert_eq!(fma, a.mul_add(b, c).to_bits(), "{a:e} * {b:e} + {c:e}");
            }
            if a.is_nan() {
                continue;
            }
            let single = Exact::of(a).round(&Format::F32, n);
            assert_eq!(single as u32, (a as f32).to_bits(), "{a:e}");
        }
    }

    /// Rounding up and down enclose the value, one step apart; towards zero is the inner one.
    #[test]
    fn directions_enclose() {
        let mut seed = 3;
        for _ in 0..100_000 {
            let x = f64::from_bits(
                random(&mut seed) & !(0x7ff << 52) | ((random(&mut seed) % 40 + 1000) << 52),
            );
            for format in [Format::F16, Format::BF16, Format::F32] {
                let code = |round| Exact::of(x).round(&format, round);
                let value = |round| format.value(code(round));
                let (up, down, zero) = (value(Round::Up), value(Round::Down), value(Round::Zero));
                assert!(down <= x && x <= up, "{x:e}");
                assert!(
                    up == down
                        || code(Round::Up).abs_diff(code(Round::Down)) == 1
                        || (up.is_infinite() || down.is_infinite())
                );
                assert_eq!(zero, if x > 0.0 { down } else { up });
                let near = value(Round::Nearest);
                assert!(near == up || near == down);
                assert!((near - x).abs() <= (up - x).min(x - down).abs() || near.is_infinite());
            }
        }
    }

    /// Every code of the small formats, against a computation digit by digit.
    #[test]
    fn small_formats() {
        for format in [
            Format::FP8_FNUZ,
            Format::BF8_FNUZ,
            Format::FP8_OCP,
            Format::BF8_OCP,
        ] {
            for code in 0..256u64 {
                let x = format.value(code);
                if x.is_nan() {
                    continue;
                }
                assert_eq!(
                    Exact::of(x).round(&format, Round::Nearest),
                    code,
                    "{format:?} {code:#x}"
                );
            }
        }
        let far = |n| {
            Exact::of(-1.5)
                .scaled(n)
                .round(&Format::F64, Round::Nearest)
        };
        assert_eq!(far(5000), f64::NEG_INFINITY.to_bits());
        assert_eq!(far(i32::MIN), (-0.0f64).to_bits());
        assert_eq!(Format::FP8_FNUZ.value(0x7f), 240.0);
        assert_eq!(Format::FP8_OCP.value(0x7e), 448.0);
        assert_eq!(Format::BF8_FNUZ.value(0x7f), 57344.0);
        assert_eq!(Format::BF8_OCP.value(0x7b), 57344.0);
        assert_eq!(Format::FP8_OCP.value(1), 2f64.powi(-9));
        assert_eq!(Exact::of(1e9).round(&Format::FP8_OCP, Round::Nearest), 0x7f);
        assert_eq!(
            Exact::of(-1e9).round(&Format::FP8_FNUZ, Round::Nearest),
            0x80
        );
    }
}
