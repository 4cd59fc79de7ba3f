// SPDX-License-Identifier: MIT OR Apache-2.0
//! Buffer loads and stores that convert, every format of both chips, against a second list of the
//! formats and conversions in other terms: the `half` crate's, and the distance from the exact value.

#![expect(clippy::precedence, reason = "formulas read as the manuals print them")]

use half::f16;
use rkfd_isa::*;
use rkfd_isa_testkit::*;

/// Numeric formats and the components' widths that they go with on both chips; gfx942 has those of
/// `OLD` besides. Widths are from the highest bits down, as in the name.
const NUMBERS: [(&str, &[&str]); 7] = [
    ("UNORM", &SMALL),
    ("SNORM", &SMALL),
    ("USCALED", &SCALED),
    ("SSCALED", &SCALED),
    ("UINT", &INTEGERS),
    ("SINT", &INTEGERS),
    ("FLOAT", &FLOATS),
];
const SMALL: [&str; 8] = [
    "8",
    "16",
    "8_8",
    "16_16",
    "8_8_8_8",
    "16_16_16_16",
    "10_10_10_2",
    "2_10_10_10",
];
const SCALED: [&str; 7] = [
    "8",
    "16",
    "8_8",
    "16_16",
    "8_8_8_8",
    "16_16_16_16",
    "2_10_10_10",
];
const INTEGERS: [&str; 12] = [
    "8",
    "16",
    "8_8",
    "16_16",
    "8_8_8_8",
    "16_16_16_16",
    "10_10_10_2",
    "2_10_10_10",
    "32",
    "32_32",
    "32_32_32",
    "32_32_32_32",
];
const FLOATS: [&str; 9] = [
    "16",
    "16_16",
    "16_16_16_16",
    "32",
    "32_32",
    "32_32_32",
    "32_32_32_32",
    "10_11_11",
    "11_11_10",
];
const OLD: [&str; 2] = ["10_11_11", "11_11_10"];

#[derive(Clone, Debug, PartialEq)]
struct Kind {
    data: &'static str,
    number: &'static str,
}

impl Kind {
    fn all(target: &Target) -> Vec<Self> {
        let mut all = Vec::new();
        for (number, names) in NUMBERS {
            let old = OLD
                .iter()
                .filter(|_| target.name == "gfx942" && number != "FLOAT");
            let odd = ["10_10_10_2"]
                .iter()
                .filter(|_| target.name == "gfx942" && number.ends_with("SCALED"));
            for data in names.iter().chain(old).chain(odd) {
                all.push(Self { data, number });
            }
        }
        all
    }
    /// X first.
    fn widths(&self) -> Vec<u32> {
        let mut widths: Vec<u32> = self
            .data
            .split('_')
            .map(|n| n.parse().expect("bits"))
            .collect();
        widths.reverse();
        widths
    }
    fn bytes(&self) -> usize {
        self.widths().iter().sum::<u32>() as usize / 8
    }
    fn text(&self, target: &Target) -> String {
        let (data, number) = (self.data, self.number);
        if target.name == "gfx942" {
            format!("format:[BUF_DATA_FORMAT_{data},BUF_NUM_FORMAT_{number}]")
        } else {
            format!("format:[BUF_FMT_{data}_{number}]")
        }
    }
    fn is_wide(&self) -> bool {
        self.data.starts_with("32")
    }
    /// Each component's bits, taken one by one.
    fn parts(&self, element: &[u8]) -> Vec<u32> {
        let mut at = 0;
        let mut bit = || {
            at += 1;
            u32::from(element[(at - 1) / 8] >> ((at - 1) % 8) & 1)
        };
        let widths = self.widths();
        widths
            .iter()
            .map(|n| (0..*n).map(|b| bit() << b).sum())
            .collect()
    }
    /// The exact value of a component's bits.
    fn value(&self, part: u32, width: u32) -> f64 {
        let modulus = 1i64 << width;
        let plain = i64::from(part);
        let signed = if plain * 2 >= modulus {
            plain - modulus
        } else {
            plain
        };
        match self.number {
            "UNORM" => plain as f64 / (modulus - 1) as f64,
            "SNORM" if signed * 2 == -modulus => -1.0,
            "SNORM" => signed as f64 / (modulus / 2 - 1) as f64,
            "USCALED" | "UINT" => plain as f64,
            "SSCALED" | "SINT" => signed as f64,
            _ if width == 32 => f32::from_bits(part).into(),
            // A half float without sign, and with less fraction.
            _ if width < 16 => f16::from_bits((part as u16) << (15 - width)).into(),
            _ => f16::from_bits(part as u16).into(),
        }
    }
    fn loaded(&self, part: u32, width: u32) -> u32 {
        match self.number {
            "UINT" | "SINT" => self.value(part, width) as i64 as u32,
            "FLOAT" if width == 32 => part,
            _ => (self.value(part, width) as f32).to_bits(),
        }
    }
    fn loaded_half(&self, part: u32, width: u32) -> u16 {
        let value = self.value(part, width);
        match self.number {
            "UINT" | "SINT" => value as i64 as u16,
            "FLOAT" if width == 16 => part as u16,
            "FLOAT" if width == 32 => towards_zero(value, 16),
            _ => f16::from_f64(value).to_bits(),
        }
    }
}

/// The code of the largest magnitude not beyond a value, as a half float with the fraction cut.
fn towards_zero(value: f64, width: u32) -> u16 {
    if value.is_nan() {
        return 0x7e00;
    }
    let near = f16::from_f64(value);
    let code = if near.to_f64().abs() > value.abs() {
        f16::from_bits(near.to_bits() - 1)
    } else {
        near
    };
    let cut = if width < 16 { 15 - width } else { 0 };
    code.to_bits() >> cut << cut
}

/// Whether two components mean the same; a NaN's payload is not defined.
fn same(a: u32, b: u32, float: fn(u32) -> f64) -> bool {
    a == b || float(a).is_nan() && float(b).is_nan()
}
fn single(x: u32) -> f64 {
    f32::from_bits(x).into()
}
fn half(x: u32) -> f64 {
    f16::from_bits(x as u16).into()
}

const RECORD: usize = 16;

/// v0 is the index; one record of 16 bytes for each lane.
fn wave<const L: usize>(format: u32) -> wave::Wave<L> {
    let mut wave = blank::<L>(32);
    wave.s[4] = BASE as u32;
    wave.s[5] = (BASE >> 32) as u32 | (RECORD as u32) << 16;
    wave.s[6] = L as u32;
    // A buffer without a data format is none.
    let other = if format >> 12 & 0x7f == 0 { 4 << 15 } else { 0 };
    wave.s[7] = format | other;
    wave.v[0] = std::array::from_fn(|l| l as u32);
    for n in 4..9 {
        wave.v[n] = [0xdead_beef; L];
    }
    wave
}

fn every<const L: usize>(target: &'static Target) {
    let kinds = Kind::all(target);
    assert_eq!(kinds.len(), if target.name == "gfx942" { 77 } else { 63 });
    let d16 = if target.name == "gfx942" {
        "format_d16"
    } else {
        "d16_format"
    };
    let zero = if target.name == "gfx942" { "0" } else { "null" };
    let text = |operation: &str, registers: &str, kind: &Kind| {
        let format = kind.text(target);
        format!("tbuffer_{operation} {registers}, v0, s[4:7], {zero} {format} idxen\n")
    };
    let whole: String = kinds
        .iter()
        .map(|k| text("load_format_xyzw", "v[4:7]", k))
        .collect();
    let halves: String = kinds
        .iter()
        .map(|k| text(&format!("load_{d16}_xyzw"), "v[4:5]", k))
        .collect();
    let mut random = Random(3);
    let mut memory = Flat::new(1 << 16);
    let elements: Vec<u8> = (0..L * RECORD).map(|_| random.u32() as u8).collect();
    memory.write(BASE, &elements);
    let (mut killed, mut pairs) = (0, 0);
    for (kind, code) in kinds.iter().zip(assemble_each(target, L, &whole)) {
        let mut wave = wave::<L>(0);
        step(target, &mut wave, &code, &mut memory, &mut []).unwrap_or_else(|e| panic!("{e}"));
        let differs = |kind: &Kind| {
            (0..L).find(|l| {
                let parts = kind.parts(&elements[l * RECORD..]);
                (0..4).any(|n| {
                    // Identity: X000, XY00, XYZ0 or XYZW.
                    let expected = parts
                        .get(n)
                        .map_or(0, |p| kind.loaded(*p, kind.widths()[n]));
                    !same(wave.v[4 + n][*l], expected, single)
                })
            })
        };
        assert_eq!(differs(kind), None, "{} {kind:?}", target.name);
        for other in kinds.iter().filter(|o| *o != kind) {
            // Registers of 32 bits look the same whatever they mean.
            if other.data == kind.data && kind.is_wide() {
                continue;
            }
            pairs += 1;
            killed += usize::from(differs(other).is_some());
        }
    }
    println!(
        "{}: {killed} of {pairs} exchanges of formats noticed",
        target.name
    );
    assert_eq!(killed, pairs);
    for (kind, code) in kinds.iter().zip(assemble_each(target, L, &halves)) {
        let mut wave = wave::<L>(0);
        let result = step(target, &mut wave, &code, &mut memory, &mut []);
        if kind.is_wide() && kind.number != "FLOAT" {
            assert!(result.is_err(), "{kind:?}");
            continue;
        }
        result.unwrap_or_else(|e| panic!("{kind:?}: {e}"));
        for l in 0..L {
            let parts = kind.parts(&elements[l * RECORD..]);
            for n in 0..4 {
                let expected = parts
                    .get(n)
                    .map_or(0, |p| kind.loaded_half(*p, kind.widths()[n]));
                let got = wave.v[4 + n / 2][l] >> (n % 2 * 16) & 0xffff;
                assert!(
                    same(got, expected.into(), half),
                    "{kind:?} {n}: {got:x} {expected:x}"
                );
            }
        }
    }
    stores::<L>(target, &kinds, d16, &text);
}

/// What is stored: within what the format holds, and for floats and normalised ones beyond.
fn stores<const L: usize>(
    target: &'static Target,
    kinds: &[Kind],
    d16: &str,
    text: &dyn Fn(&str, &str, &Kind) -> String,
) {
    let mut random = Random(5);
    for halves in [false, true] {
        let operation = if halves {
            format!("store_{d16}_xyzw")
        } else {
            "store_format_xyzw".into()
        };
        let registers = if halves { "v[4:5]" } else { "v[4:7]" };
        let all: String = kinds
            .iter()
            .map(|k| text(&operation, registers, k))
            .collect();
        for (kind, code) in kinds.iter().zip(assemble_each(target, L, &all)) {
            let mut wave = wave::<L>(0);
            let mut sent = [[0f64; 4]; L];
            for (l, sent) in sent.iter_mut().enumerate() {
                let mut registers = [0u32; 4];
                for (n, sent) in sent.iter_mut().enumerate() {
                    let width = kind.widths().get(n).copied().unwrap_or(8);
                    let narrow = if halves { width.min(15) } else { width };
                    let integer = random.u64() % (1 << narrow) / 2;
                    let sign = if kind.number.starts_with('S') && l % 2 == 1 {
                        -1.0
                    } else {
                        1.0
                    };
                    let value = match kind.number {
                        "UINT" | "SINT" => sign * integer as f64,
                        // Exact in half precision too.
                        "USCALED" | "SSCALED" => sign * (integer % 2048) as f64,
                        "FLOAT" => f32::from_bits(random.u32()).into(),
                        _ => (f64::from(random.u32()) / f64::from(u32::MAX) - 0.5) * 3.0,
                    };
                    let bits = match kind.number {
                        "UINT" | "SINT" => {
                            value as i64 as u32 & if halves { 0xffff } else { u32::MAX }
                        }
                        _ if halves => f16::from_f64(value).to_bits().into(),
                        _ => (value as f32).to_bits(),
                    };
                    *sent = match kind.number {
                        "UINT" | "SINT" => value,
                        _ if halves => half(bits),
                        _ => single(bits),
                    };
                    let (at, shift) = if halves { (n / 2, n % 2 * 16) } else { (n, 0) };
                    registers[at] |= bits << shift;
                }
                for (n, register) in registers.into_iter().enumerate() {
                    wave.v[4 + n][l] = register;
                }
            }
            let mut memory = Flat::new(1 << 16);
            memory.write(BASE, &vec![0xa5; L * RECORD]);
            step(target, &mut wave, &code, &mut memory, &mut [])
                .unwrap_or_else(|e| panic!("{kind:?}: {e}"));
            let bytes = memory.read(BASE, L * RECORD);
            for l in 0..L {
                let record = &bytes[l * RECORD..][..RECORD];
                let rest = &record[kind.bytes()..];
                assert!(
                    rest.iter().all(|b| *b == 0xa5),
                    "{kind:?} wrote beyond its element"
                );
                for (n, part) in kind.parts(record).into_iter().enumerate() {
                    let (width, value) = (kind.widths()[n], sent[l][n]);
                    assert!(
                        stored(kind, part, width, value),
                        "{kind:?} {n}: {value} became {part:#x}"
                    );
                }
            }
        }
    }
}

fn stored(kind: &Kind, part: u32, width: u32, value: f64) -> bool {
    let back = kind.value(part, width);
    match kind.number {
        "UNORM" | "SNORM" => {
            let one = (1u64
                << if kind.number == "UNORM" {
                    width
                } else {
                    width - 1
                }) as f64
                - 1.0;
            let lowest = if kind.number == "UNORM" { 0.0 } else { -1.0 };
            // Half a step at most from what is in range.
            let inside = if value.is_nan() {
                0.0
            } else {
                value.clamp(lowest, 1.0)
            };
            (back - inside).abs() * one <= 0.5 + 1e-9
        }
        "FLOAT" if width == 32 => same(part, (value as f32).to_bits(), single),
        "FLOAT" if width < 16 && !value.is_nan() && value.is_sign_negative() => part == 0,
        "FLOAT" if value.is_nan() => back.is_nan(),
        "FLOAT" if width < 16 => part == u32::from(towards_zero(value, width)) >> (15 - width),
        "FLOAT" => same(part, towards_zero(value, 16).into(), half),
        _ => back == value,
    }
}

#[test]
fn every_format_gfx942() {
    every::<64>(&GFX942);
}

#[test]
fn every_format_gfx1201() {
    every::<32>(&GFX1201);
}

/// The descriptor's format and channels: constants, components in another order, and what lies
/// outside of the buffer.
#[test]
fn channels_of_the_descriptor() {
    // W as X, one, zero (which is no bit), Y as W.
    let channels = 7 | 1 << 3 | 5 << 9;
    for (target, name, format) in [
        // 8_8_8_8, UNORM and UINT.
        (&GFX942, "format_d16_hi_x", 10 << 15),
        (&GFX942, "format_d16_hi_x", 10 << 15 | 4 << 12),
        (&GFX1201, "d16_hi_format_x", 42 << 12),
        (&GFX1201, "d16_hi_format_x", 46 << 12),
    ] {
        let zero = if target.name == "gfx942" { "0" } else { "null" };
        let text = format!(
            "buffer_load_format_xyzw v[4:7], v0, s[4:7], {zero} idxen\n\
             buffer_load_{name} v8, v0, s[4:7], {zero} idxen\n"
        );
        let integer = format >> 12 & 7 != 0 && format != 42 << 12;
        let mut memory = Flat::new(1 << 16);
        let elements: Vec<u8> = (0..64 * RECORD).map(|n| (n * 7) as u8).collect();
        memory.write(BASE, &elements);
        let check = |v: &dyn Fn(usize, usize) -> u32| {
            for l in 0..32 {
                let of = |n: usize| match (l < 20, integer) {
                    (false, _) => 0,
                    (true, true) => elements[l * RECORD + n].into(),
                    (true, false) => (f32::from(elements[l * RECORD + n]) / 255.0).to_bits(),
                };
                let one = if integer { 1 } else { 1f32.to_bits() };
                let got = [4, 5, 6, 7].map(|n| v(n, l));
                assert_eq!(got, [of(3), one, 0, of(1)], "{} {format:#x}", target.name);
                let high = match integer {
                    true => of(3),
                    false => f16::from_f32(f32::from_bits(of(3))).to_bits().into(),
                };
                assert_eq!(v(8, l), high << 16 | 0xbeef);
            }
        };
        let codes = assemble_each(target, if zero == "0" { 64 } else { 32 }, &text);
        if zero == "0" {
            let mut wave = wave::<64>(channels | format);
            wave.s[6] = 20;
            // Half of the lanes are outside.
            for code in &codes {
                step(target, &mut wave, code, &mut memory, &mut []).expect("runs");
            }
            check(&|n, l| wave.v[n][l]);
        } else {
            let mut wave = wave::<32>(channels | format);
            wave.s[6] = 20;
            for code in &codes {
                step(target, &mut wave, code, &mut memory, &mut []).expect("runs");
            }
            check(&|n, l| wave.v[n][l]);
        }
    }
}

/// What the manuals leave undefined is refused by name: gfx9's store of too few components (gfx12
/// repeats the first), integers that are too large, numbers that are no format.
#[test]
fn what_is_not_laid_down_is_refused() {
    let store = |target: &'static Target, zero: &str| {
        assemble_each(
            target,
            if zero == "0" { 64 } else { 32 },
            &format!("buffer_store_format_xy v[4:5], v0, s[4:7], {zero} idxen"),
        )[0]
        .clone()
    };
    let identity = 4 | 5 << 3 | 6 << 6 | 7 << 9;
    let why = |result: Result<(), FaultKind>| result.expect_err("refused").to_string();
    let mut memory = Flat::new(1 << 16);
    let code = store(&GFX942, "0");
    let mut old = wave::<64>(identity | 14 << 15 | 4 << 12);
    let four = why(step(&GFX942, &mut old, &code, &mut memory, &mut []));
    assert!(four.contains("fewer components"), "{four}");
    old.s[7] = identity | 5 << 15 | 4 << 12;
    let large = why(step(&GFX942, &mut old, &code, &mut memory, &mut []));
    assert!(large.contains("a value beyond"), "{large}");
    for none in [
        identity,
        identity | 15 << 15,
        identity | 14 << 15,
        identity | 5 << 15 | 6 << 12,
    ] {
        old.s[7] = none;
        let none = why(step(&GFX942, &mut old, &code, &mut memory, &mut []));
        assert!(none.contains("format"), "{none}");
    }
    old.s[7] = 5 | 4 << 3 | 5 << 15 | 7 << 12;
    let order = why(step(&GFX942, &mut old, &code, &mut memory, &mut []));
    assert!(order.contains("reordered"), "{order}");

    let mut new = wave::<32>(identity | 61 << 12);
    (new.v[4], new.v[5]) = ([1; 32], [2; 32]);
    step(
        &GFX1201,
        &mut new,
        &store(&GFX1201, "null"),
        &mut memory,
        &mut [],
    )
    .expect("runs");
    assert_eq!(memory.words(BASE, 4), [1, 2, 1, 1]);
}

/// gfx12's elements of 16 bytes and the stride's scale.
#[test]
fn large_elements_and_scaled_strides() {
    let mut memory = Flat::new(1 << 18);
    let words: Vec<u32> = (0..1 << 15).collect();
    memory.put(&words);
    let code = &assemble_each(
        &GFX1201,
        32,
        "buffer_load_b32 v4, v0, s[4:7], null idxen offset:36",
    )[0];
    let mut wave = wave::<32>(0);
    // 64 bytes of 16 with 8 items side by side.
    wave.s[5] = (BASE >> 32) as u32 | 64 << 16 | 3 << 30;
    step(&GFX1201, &mut wave, code, &mut memory, &mut []).expect("runs");
    for l in 0..32 {
        // Element 2 of four, each of which is there eight times in a row.
        let element = (l / 8 * 4 + 2) * 8 + l % 8;
        assert_eq!(wave.v[4][l] as usize, element * 4 + 1);
    }
    for (scale, factor) in [(0, 1), (1, 4), (2, 8), (3, 32)] {
        wave.s[5] = (BASE >> 32) as u32 | 64 << 16;
        wave.s[7] = scale << 18 | 4 << 15;
        step(&GFX1201, &mut wave, code, &mut memory, &mut []).expect("runs");
        for l in 0..32 {
            assert_eq!(wave.v[4][l] as usize, (l * 64 * factor + 36) / 4);
        }
    }
}
