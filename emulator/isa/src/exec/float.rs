// SPDX-License-Identifier: MIT OR Apache-2.0
//! Floating point beyond what the host does by itself: rounding modes, denormals, half precision.

/// Rounding: MODE.fp_round's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Round {
    /// To nearest, ties to even.
    Nearest,
    /// Towards plus infinity.
    Up,
    /// Towards minus infinity.
    Down,
    /// Towards zero.
    Zero,
}

impl Round {
    /// From the two bits of MODE.
    pub const fn from_bits(bits: u32) -> Self {
        match bits & 3 {
            0 => Self::Nearest,
            1 => Self::Up,
            2 => Self::Down,
            _ => Self::Zero,
        }
    }
}

/// A value known as a double and which side of it the exact value lies: the double's rounding to
/// odd. A double has enough spare bits over f32 and f16 that rounding it again is exact.
#[derive(Clone, Copy, Debug)]
pub struct Odd(pub f64);

impl Odd {
    /// `value` plus something too small for it, of `error`'s sign.
    fn of(value: f64, error: f64) -> Self {
        if error == 0.0 || !value.is_finite() || !error.is_finite() {
            return Self(value);
        }
        let bits = value.to_bits();
        if bits & 1 == 1 {
            return Self(value);
        }
        // Even: step towards the exact value, which lies between two neighbours of which this
        // is the even one.
        let away = (error > 0.0) == (value > 0.0);
        Self(f64::from_bits(if away { bits + 1 } else { bits - 1 }))
    }

    /// a + b.
    pub fn sum(a: f64, b: f64) -> Self {
        let s = a + b;
        let t = s - a;
        Self::of(s, (a - (s - t)) + (b - t))
    }

    /// a * b + c, for values that came from f32: their product is exact in a double.
    pub fn fma(a: f32, b: f32, c: f32) -> Self {
        Self::sum(f64::from(a) * f64::from(b), f64::from(c))
    }

    /// Rounded to f32.
    pub fn to_f32(self, round: Round) -> f32 {
        let nearest = self.0 as f32;
        let wide = f64::from(nearest);
        if round == Round::Nearest || wide == self.0 || self.0.is_nan() || self.0.is_infinite() {
            return nearest;
        }
        let towards_zero = match round {
            Round::Up => self.0 < 0.0,
            Round::Down => self.0 > 0.0,
            _ => true,
        };
        if towards_zero && wide.abs() > self.0.abs() {
            f32::from_bits(nearest.to_bits() - 1)
        } else if !towards_zero && wide.abs() < self.0.abs() {
            f32::from_bits(nearest.to_bits() + 1)
        } else {
            nearest
        }
    }
}

/// A denormal becomes a zero of its sign.
#[inline]
pub fn flush32(bits: u32) -> u32 {
    if bits & 0x7f80_0000 == 0 {
        bits & 0x8000_0000
    } else {
        bits
    }
}

/// f16 to f32, exact.
pub fn from_f16(half: u16) -> f32 {
    let sign = u32::from(half & 0x8000) << 16;
    let (exponent, fraction) = (u32::from((half >> 10) & 31), u32::from(half & 0x3ff));
    let magnitude = match exponent {
        0 => (fraction as f32 * 2f32.powi(-24)).to_bits(),
        31 => 0x7f80_0000 | (fraction << 13),
        _ => ((exponent + 112) << 23) | (fraction << 13),
    };
    f32::from_bits(sign | magnitude)
}

/// A double to f16, to nearest even; NaN payloads are kept as far as they fit and quieted.
pub fn to_f16(value: f64) -> u16 {
    let bits = value.to_bits();
    let sign = (bits >> 48) as u16 & 0x8000;
    if value.is_nan() {
        return sign | 0x7e00 | (bits >> 42) as u16 & 0x1ff;
    }
    let magnitude = value.abs();
    if magnitude >= 65520.0 {
        return sign | 0x7c00;
    }
    // Adding a power of two whose last place is the result's rounds to it.
    let exponent = ((bits >> 52) as i32 & 0x7ff) - 1023;
    let place = exponent.max(-14) - 10;
    let unit = 2f64.powi(place);
    let count = magnitude / unit;
    let rounded = count.round_ties_even();
    // A carry into the next binade comes out right by addition, in denormals too.
    let base = if exponent < -14 {
        0
    } else {
        (((exponent + 15) as u32) << 10) - 1024
    };
    sign | (base + rounded as u32) as u16
}

/// The default quiet NaN.
pub const NAN32: u32 = 0x7fc0_0000;
/// The default quiet NaN.
pub const NAN64: u64 = 0x7ff8_0000_0000_0000;

/// minNum/maxNum of IEEE 754-2008 with -0 below +0; in IEEE mode a signalling NaN comes out quiet.
#[inline]
pub fn extreme32(a: u32, b: u32, max: bool, ieee: bool) -> u32 {
    let (x, y) = (f32::from_bits(a), f32::from_bits(b));
    let signalling = |v: u32, f: f32| f.is_nan() && v & 0x40_0000 == 0;
    if ieee && signalling(a, x) {
        return a | 0x40_0000;
    }
    if ieee && signalling(b, y) {
        return b | 0x40_0000;
    }
    if x.is_nan() {
        return b;
    }
    if y.is_nan() {
        return a;
    }
    let less = x < y || (x == y && a >> 31 == 1);
    if less != max {
        a
    } else {
        b
    }
}

/// The same of doubles.
#[inline]
pub fn extreme64(a: u64, b: u64, max: bool, ieee: bool) -> u64 {
    let (x, y) = (f64::from_bits(a), f64::from_bits(b));
    let signalling = |v: u64, f: f64| f.is_nan() && v & 0x8_0000_0000_0000 == 0;
    if ieee && signalling(a, x) {
        return a | 0x8_0000_0000_0000;
    }
    if ieee && signalling(b, y) {
        return b | 0x8_0000_0000_0000;
    }
    if x.is_nan() {
        return b;
    }
    if y.is_nan() {
        return a;
    }
    let less = x < y || (x == y && a >> 63 == 1);
    if less != max {
        a
    } else {
        b
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_precision_round_trips() {
        for bits in 0..=u16::MAX {
            let value = from_f16(bits);
            if value.is_nan() {
                assert_eq!(to_f16(value.into()), bits | 0x200);
            } else {
                assert_eq!(to_f16(value.into()), bits, "{value}");
            }
        }
    }

    #[test]
    fn half_precision_rounds_to_even() {
        // 1 + 2^-11 is half way between 1 and the next half; 1 + 3 * 2^-11 between odd and even.
        assert_eq!(to_f16(1.0 + 2f64.powi(-11)), 0x3c00);
        assert_eq!(to_f16(1.0 + 3.0 * 2f64.powi(-11)), 0x3c02);
        assert_eq!(to_f16(1.0 + 2f64.powi(-11) + 2f64.powi(-40)), 0x3c01);
        assert_eq!(to_f16(2047.5), 0x6800);
        assert_eq!(to_f16(65519.9), 0x7bff);
        assert_eq!(to_f16(65520.0), 0x7c00);
        assert_eq!(to_f16(2f64.powi(-25)), 0);
        assert_eq!(to_f16(2f64.powi(-25) * 1.01), 1);
    }

    #[test]
    fn directed_rounding() {
        let third = Odd(1.0 / 3.0);
        assert_eq!(third.to_f32(Round::Up).to_bits(), 0x3eaa_aaab);
        assert_eq!(third.to_f32(Round::Down).to_bits(), 0x3eaa_aaaa);
        assert_eq!(third.to_f32(Round::Zero).to_bits(), 0x3eaa_aaaa);
        // 1 + 2^-60: inexact only beyond a double.
        let tiny = Odd::sum(1.0, 2f64.powi(-60));
        assert_eq!(tiny.to_f32(Round::Nearest), 1.0);
        assert_eq!(tiny.to_f32(Round::Up).to_bits(), 0x3f80_0001);
        let minus = Odd::sum(-1.0, 2f64.powi(-60));
        assert_eq!(minus.to_f32(Round::Zero).to_bits(), 0xbf7f_ffff);
    }

    #[test]
    fn fma_rounds_once() {
        // The host's mul_add is the referee.
        let mut seed = 1u64;
        for _ in 0..100_000 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let pick = |s: u32| f32::from_bits((seed >> s) as u32 & 0x87ff_ffff | 0x3800_0000);
            let (a, b, c) = (pick(0), pick(16), pick(32));
            assert_eq!(
                Odd::fma(a, b, c).to_f32(Round::Nearest).to_bits(),
                a.mul_add(b, c).to_bits()
            );
        }
    }
}
