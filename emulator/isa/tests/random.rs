// SPDX-License-Identifier: MIT OR Apache-2.0
//! Vector instructions with operands at random against a second implementation, written here from
//! the manuals' formulas in other terms: arrays of bytes and halves, wide integers, and the `half`
//! crate's arithmetic.

#![expect(clippy::precedence, reason = "formulas read as the manuals print them")]

#[path = "random/cases/mod.rs"]
mod cases;
use cases::cases;
use half::{bf16, f16};
use rkfd_isa::*;
use rkfd_isa_testkit::*;
use std::collections::BTreeMap;

/// Sources v[2:3], v[4:5] and v[6:7], and what v[0:1] held.
#[derive(Clone, Copy, Debug)]
struct X {
    a: u64,
    b: u64,
    c: u64,
    d: u64,
}

impl X {
    /// A result of 32 bits.
    fn word(self, r: u32) -> u64 {
        self.d & !0xffff_ffff | u64::from(r)
    }
    fn w(self) -> [u32; 3] {
        [self.a as u32, self.b as u32, self.c as u32]
    }
    /// Signed 32 bits in wide integers.
    fn i(self) -> [i128; 3] {
        self.w().map(|x| i128::from(x as i32))
    }
    fn u(self) -> [i128; 3] {
        self.w().map(i128::from)
    }
    /// Lower halves as numbers.
    fn h(self) -> [f64; 3] {
        self.w().map(|x| f16::from_bits(x as u16).to_f64())
    }
    fn f(self) -> [f32; 3] {
        self.w().map(f32::from_bits)
    }
    fn g(self) -> [f64; 3] {
        [self.a, self.b, self.c].map(f64::from_bits)
    }
    fn halves(self) -> [[u16; 2]; 3] {
        self.w().map(|x| [x as u16, (x >> 16) as u16])
    }
    fn bytes(self) -> [[u8; 4]; 3] {
        self.w().map(u32::to_le_bytes)
    }
    /// A result of 16 bits: gfx9's early forms clear the upper half, the others keep it.
    fn clear(self, r: u16) -> u64 {
        self.word(r.into())
    }
    fn keep(self, r: u16) -> u64 {
        self.d & !0xffff | u64::from(r)
    }
}

/// What the sources are, and what the result is compared as.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Kind {
    Int,
    Half,
    Single,
    Double,
}

type Reference = fn(X) -> u64;

/// gfx942's text, gfx1201's text (empty where there is none), kind, reference.
struct Case(&'static str, &'static str, Kind, Reference);

/// Round a number once, with `half`.
fn h(x: f64) -> u16 {
    f16::from_f64(x).to_bits()
}

/// x + y of halves is exact in double precision; a fused sum needs the product's error too.
fn fused(a: f64, b: f64, c: f64) -> u16 {
    // Products of halves are exact. The sum's rounding to odd is found from its error.
    let (p, s) = (a * b, a * b + c);
    let v = s - p;
    let error = (p - (s - v)) + (c - v);
    let odd = if error != 0.0 && s.is_finite() && s.to_bits() & 1 == 0 {
        let up = (error > 0.0) == (s > 0.0);
        f64::from_bits(if up { s.to_bits() + 1 } else { s.to_bits() - 1 })
    } else {
        s
    };
    h(odd)
}

fn clamp_to(x: i128, low: i128, high: i128) -> i128 {
    x.max(low).min(high)
}

fn sat_u32(x: i128) -> u32 {
    clamp_to(x, 0, u32::MAX.into()) as u32
}
fn sat_i32(x: i128) -> u32 {
    clamp_to(x, i32::MIN.into(), i32::MAX.into()) as i32 as u32
}
fn sat_u16(x: i128) -> u16 {
    clamp_to(x, 0, 0xffff) as u16
}
fn sat_i16(x: i128) -> u16 {
    clamp_to(x, -32768, 32767) as i16 as u16
}

fn two(r: [u16; 2]) -> u32 {
    u32::from(r[0]) | u32::from(r[1]) << 16
}

fn pk(x: X, f: impl Fn(i128, i128, i128) -> u16, signed: bool) -> u64 {
    let s = x.halves().map(|p| {
        p.map(|h| {
            if signed {
                i128::from(h as i16)
            } else {
                i128::from(h)
            }
        })
    });
    x.word(two([0, 1].map(|n| f(s[0][n], s[1][n], s[2][n]))))
}

fn pk_float(x: X, f: impl Fn(f64, f64, f64) -> u16) -> u64 {
    let s = x.halves().map(|p| p.map(|h| f16::from_bits(h).to_f64()));
    x.word(two([0, 1].map(|n| f(s[0][n], s[1][n], s[2][n]))))
}

fn dot<const N: usize>(a: [i128; N], b: [i128; N]) -> i128 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn signed_bytes(x: [u8; 4]) -> [i128; 4] {
    x.map(|b| i128::from(b as i8))
}
fn nibbles(x: u32, signed: bool) -> [i128; 8] {
    std::array::from_fn(|n| {
        let v = i128::from(x >> (4 * n) & 15);
        if signed && v > 7 {
            v - 16
        } else {
            v
        }
    })
}

/// The nearest code of a format of 8 bits by trying all of them; ties go to the even code.
fn nearest8(x: f32, value: impl Fn(u8) -> Option<f64>) -> u8 {
    let x = f64::from(x);
    let distance = |c: u8| value(c).map(|v| (v - x).abs());
    (0..=255u8)
        .filter(|c| {
            value(*c).is_some_and(|v| {
                v.is_sign_negative() == (x < 0.0 || (x == 0.0 && x.is_sign_negative())) || v == 0.0
            })
        })
        .min_by(|p, q| {
            let key = |c: u8| (distance(c).expect("a number"), c & 1);
            key(*p).partial_cmp(&key(*q)).expect("numbers")
        })
        .expect("a code")
}

/// E4M3 and E5M2 as OCP has them and as gfx940 does, from their definition.
fn fp8(c: u8, mantissa: u32, bias: i32, ocp: bool) -> Option<f64> {
    let sign = if c & 0x80 != 0 { -1.0 } else { 1.0 };
    let (e, m) = (
        i32::from(c & 0x7f) >> mantissa,
        f64::from(c & ((1 << mantissa) - 1)),
    );
    let steps = m / f64::from(1 << mantissa);
    match (ocp, mantissa, c & 0x7f) {
        (false, _, 0) if c == 0x80 => return None,
        (true, 3, 0x7f) => return None,
        (true, 2, 0x7c..) => return None,
        _ => {}
    }
    Some(
        sign * if e == 0 {
            steps * 2f64.powi(1 - bias)
        } else {
            (1.0 + steps) * 2f64.powi(e - bias)
        },
    )
}

fn narrow_float(x: f32, mantissa: u32, bias: i32, ocp: bool) -> u8 {
    let top = (0..=255u8)
        .filter_map(|c| fp8(c, mantissa, bias, ocp))
        .fold(0.0, f64::max);
    let negative = u8::from(x.is_sign_negative()) << 7;
    // Half a step beyond the highest rounds away.
    let step = top
        - (0..=255u8)
            .filter_map(|c| fp8(c, mantissa, bias, ocp))
            .filter(|v| *v < top)
            .fold(0.0, f64::max);
    if x.is_nan() || f64::from(x.abs()) >= top + step / 2.0 {
        return match (ocp, mantissa) {
            (false, _) => 0x80,
            (true, 3) => {
                if x.is_nan() {
                    0x7f
                } else {
                    negative | 0x7f
                }
            }
            _ if x.is_nan() => 0x7e,
            _ => negative | 0x7c,
        };
    }
    let code = nearest8(x, |c| fp8(c, mantissa, bias, ocp));
    match (code & 0x7f, ocp) {
        (0, true) => negative,
        (0, false) => 0,
        _ => code,
    }
}

/// v_med3 with a NaN: the smallest, where a number comes before a NaN.
fn nan_min(s: [f64; 3]) -> u16 {
    // min(min(a, b), c) of gfx9 without IEEE mode: a NaN gives way to the other.
    let least = |a: f64, b: f64| {
        if a.is_nan() {
            b
        } else if b.is_nan() || a.total_cmp(&b).is_lt() {
            a
        } else {
            b
        }
    };
    h(least(least(s[0], s[1]), s[2]))
}

/// Towards zero: round to nearest, then one step back if that went too far.
fn rtz(x: f32) -> u16 {
    if x.is_nan() {
        return f16::NAN.to_bits();
    }
    if x.is_infinite() {
        return f16::from_f32(x).to_bits();
    }
    let near = f16::from_f32(x);
    if f64::from(near.to_f32()).abs() > f64::from(x).abs() {
        near.to_bits() - 1
    } else {
        near.to_bits()
    }
}

/// A source: special values as often as ordinary ones.
fn operand(r: &mut Random, kind: Kind) -> u64 {
    let raw = r.u64();
    let special16 = [
        0u16, 0x8000, 1, 0x83ff, 0x400, 0x7bff, 0x7c00, 0xfc00, 0x7e00, 0x3c00, 0xbc01, 0x3555,
    ];
    let special32 = [
        0u32,
        0x8000_0000,
        1,
        0x807f_ffff,
        0x0080_0000,
        0x7f7f_ffff,
        0x7f80_0000,
        0xff80_0000,
        0x7fc0_0000,
        0x3f80_0000,
        0x4380_0000,
        0x3b00_0000,
    ];
    let pick = (raw >> 40) as usize;
    match (kind, pick % 3) {
        (Kind::Int, 0) => {
            [
                0,
                1,
                0x7fff_ffff,
                0x8000_0000,
                0xffff_ffff,
                0x7fff_8000,
                0xffff,
                0x8000_7fff,
            ][pick / 3 % 8]
                | (raw & 0xffff_ffff) << 32
        }
        (Kind::Half, 0) => {
            u64::from(special16[pick / 3 % 12]) | u64::from(special16[pick / 36 % 12]) << 16
        }
        // Near one another, so that sums cancel.
        (Kind::Half, 1) => raw & 0x8bff_8bff | 0x3800_3800,
        (Kind::Single, 0) => special32[pick / 3 % 12].into(),
        (Kind::Single, 1) => raw & 0x83ff_ffff_83ff_ffff | 0x3e00_0000_3e00_0000,
        (Kind::Double, 0) => u64::from(special32[pick / 3 % 12]) << 32 | raw & 0xffff_ffff,
        (Kind::Double, 1) => raw & !(0x7c << 56) | 0x3c << 56,
        _ => raw,
    }
}

/// The same number; a NaN is as good as another.
fn same(kind: Kind, text: &str, got: u64, want: u64) -> bool {
    if got == want {
        return true;
    }
    let nan16 = |x: u64| x & 0x7fff > 0x7c00;
    let nan32 = |x: u64| x & 0x7fff_ffff > 0x7f80_0000;
    let parts = |size: u32, nan: &dyn Fn(u64) -> bool| {
        (0..64 / size).all(|n| {
            let (g, w) = (got >> (n * size), want >> (n * size));
            let mask = u64::MAX >> (64 - size);
            g & mask == w & mask || nan(g) && nan(w)
        })
    };
    let to_single = ["_f32_", "cvt_f32", "frexp_mant_f32"]
        .iter()
        .any(|p| text.contains(p))
        || text.contains("_f32 ");
    match kind {
        Kind::Int => text.contains("cvt_f32") && parts(32, &nan32),
        _ if text.contains("f16_f32") || text.contains("rtz") => parts(16, &nan16),
        Kind::Half if to_single => parts(32, &nan32),
        Kind::Half => parts(16, &nan16),
        Kind::Single => parts(32, &nan32),
        Kind::Double if text.contains("f32_f64") => parts(32, &nan32),
        Kind::Double => f64::from_bits(got).is_nan() && f64::from_bits(want).is_nan(),
    }
}

const ROUNDS: usize = 24;

/// The first lane whose result differs, over all rounds.
fn differs<const L: usize>(
    target: &Target,
    bytes: &[u8],
    case: &Case,
    text: &str,
) -> Option<String> {
    let mut memory = Flat::new(4096);
    let mut random = Random(0x1234_5678_9abc_def1);
    for _ in 0..ROUNDS {
        let mut wave = blank::<L>(16);
        let x: [X; L] = std::array::from_fn(|_| X {
            a: operand(&mut random, case.2),
            b: operand(&mut random, case.2),
            c: operand(&mut random, case.2),
            d: random.u64(),
        });
        for (l, x) in x.iter().enumerate() {
            for (n, value) in [x.d, x.a, x.b, x.c].into_iter().enumerate() {
                wave.v[2 * n][l] = value as u32;
                wave.v[2 * n + 1][l] = (value >> 32) as u32;
            }
        }
        if let Err(kind) = step(target, &mut wave, bytes, &mut memory, &mut []) {
            return Some(format!("{text}: {kind}"));
        }
        for (l, x) in x.iter().enumerate() {
            let got = u64::from(wave.v[0][l]) | (u64::from(wave.v[1][l]) << 32);
            let want = (case.3)(*x);
            if !same(case.2, text, got, want) {
                return Some(format!(
                    "{text} of {x:x?}: {got:#x}, the formula has {want:#x}"
                ));
            }
        }
    }
    None
}

fn text<'a>(target: &Target, case: &'a Case) -> &'a str {
    if target.name == "gfx942" {
        case.0
    } else {
        case.1
    }
}

fn run(target: &'static Target, at_least: usize) {
    let cases = cases();
    let chosen: Vec<&Case> = cases
        .iter()
        .filter(|c| !text(target, c).is_empty())
        .collect();
    let lanes = if target.name == "gfx942" { 64 } else { 32 };
    let all: Vec<&str> = chosen.iter().map(|c| text(target, c)).collect();
    let codes = assemble_each(target, lanes, &all.join("\n"));
    assert_eq!(codes.len(), chosen.len());
    let check = |code: &[u8], case: &Case, what: &str| {
        if lanes == 64 {
            differs::<64>(target, code, case, what)
        } else {
            differs::<32>(target, code, case, what)
        }
    };
    let wrong: Vec<String> = chosen
        .iter()
        .zip(&codes)
        .filter_map(|(case, code)| check(code, case, text(target, case)))
        .collect();
    assert!(
        wrong.is_empty(),
        "{} differ:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    // Would it be noticed if one instruction did what another does? Each formula is held against
    // every other instruction of its kind.
    let (mut killed, mut total, mut alive) = (0, 0, BTreeMap::new());
    for (n, case) in chosen.iter().enumerate() {
        for (m, code) in codes.iter().enumerate() {
            if n == m || chosen[m].2 != case.2 {
                continue;
            }
            total += 1;
            match check(code, case, text(target, case)) {
                Some(_) => killed += 1,
                None => {
                    alive.insert(text(target, case), text(target, chosen[m]));
                }
            }
        }
    }
    println!(
        "{}: {} instructions agree on {} operands each; exchanged for one another: {killed} of {total} noticed",
        target.name,
        chosen.len(),
        ROUNDS * lanes
    );
    assert!(alive.is_empty(), "not noticed: {alive:?}");
    assert!(chosen.len() >= at_least);
}

#[test]
fn gfx942() {
    run(&GFX942, 90);
}

#[test]
fn gfx1201() {
    run(&GFX1201, 75);
}
