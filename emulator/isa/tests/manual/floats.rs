// SPDX-License-Identifier: MIT OR Apache-2.0
//! Floating point, by AMD's pseudocode.

use super::*;

/// V_FRACT: D = S0 + -floor(S0), which is NaN of infinities and of NaN.
#[test]
fn fractions_of_what_is_no_number_are_none() {
    for target in TARGETS {
        let text = [
            "v_fract_f16 v2, v0",
            "v_fract_f32 v2, v0",
            "v_fract_f64 v[2:3], v[0:1]",
        ];
        let each = encoded(target, 64, &text);
        let cases = [
            (16, [0x7c00, 0xfc00, 0x7e00], 0x3bff, 0x8001),
            (
                32,
                [0x7f80_0000, 0xff80_0000, 0x7fc0_0000],
                0x3f7f_ffff,
                0x8000_0001,
            ),
            (
                64,
                [0x7ff0_0000, 0xfff0_0000, 0x7ff8_0000],
                0x3fef_ffff,
                0xbc00_0000,
            ),
        ];
        for ((bits, none, below_one, tiny), bytes) in cases.into_iter().zip(&each) {
            let run = |x: u32| {
                let (low, high) = if bits == 64 { (0, x) } else { (x, 0) };
                let w = after::<64>(target, bytes, |w| {
                    (w.v[0], w.v[1]) = ([low; 64], [high; 64]);
                })
                .expect("runs");
                if bits == 64 {
                    w.v[3][0]
                } else {
                    w.v[2][0]
                }
            };
            for x in none {
                assert!(
                    is_nan(run(x), bits),
                    "{} {bits} {x:#x}: {:#x}",
                    target.name,
                    run(x)
                );
            }
            // What rounds up to one stays below it.
            assert_eq!(run(tiny), below_one, "{} {bits}", target.name);
        }
    }
}

/// LLVM's SIFoldOperands::tryFoldOMod: the hardware ignores omod where denormal results are kept, and in
/// IEEE mode, which gfx1201 lacks.
#[test]
fn output_modifiers_are_ignored_with_denormals_and_in_ieee_mode() {
    for target in TARGETS {
        let text = [
            "v_add_f32 v2, v0, v0 mul:2",
            "v_add_f16 v2, v0, v0 mul:2",
            "v_add_f64 v[2:3], v[0:1], v[0:1] mul:2",
        ];
        let each = encoded(target, 64, &text);
        let ieee = if target.name == "gfx942" { 1 << 9 } else { 0 };
        // Single precision's field, half and double's, and the results' bits: twice, or four times.
        for (mode, single, others) in [
            (0, 4, 4),
            (0x10, 4, 4),
            (0x40, 4, 4),
            (0x20, 2, 4),
            (0x80, 4, 2),
            (0xf0, 2, 2),
            (
                ieee,
                if ieee == 0 { 4 } else { 2 },
                if ieee == 0 { 4 } else { 2 },
            ),
        ] {
            let run = |n: usize, one: [u32; 2]| {
                let w = after::<64>(target, &each[n], |w| {
                    w.mode = mode;
                    (w.v[0], w.v[1]) = ([one[0]; 64], [one[1]; 64]);
                });
                let w = w.expect("runs");
                [w.v[2][0], w.v[3][0]]
            };
            let bits = |x: u32, two: u32, four: u32| if x == 4 { four } else { two };
            let name = target.name;
            assert_eq!(
                run(0, [0x3f80_0000, 0])[0],
                bits(single, 0x4000_0000, 0x4080_0000),
                "{name} {mode:#x}"
            );
            assert_eq!(
                run(1, [0x3c00, 0])[0],
                bits(others, 0x4000, 0x4400),
                "{name} {mode:#x}"
            );
            assert_eq!(
                run(2, [0, 0x3ff0_0000])[1],
                bits(others, 0x4000_0000, 0x4010_0000),
                "{name} {mode:#x}"
            );
        }
    }
}

/// Results of cards of the generation before gfx1201's (tinygrad, test/amd/hw/test_vop3.py, TestDivScale): numerator,
/// denominator, which of them is scaled, the result (NaN if 0) and the flag. Denormal sources are flushed there.
#[test]
fn scales_of_divisions() {
    const ONE: u32 = 0x3f80_0000;
    let cases = [
        (ONE, 0x4080_0000, "numerator", ONE, 0),
        (ONE, 0, "numerator", 0, 1),
        (0, ONE, "numerator", 0, 1),
        (0x7f7f_ffff, ONE, "denominator", 0x5f80_0000, 1),
        (ONE, 1, "denominator", 0, 1),
        (0x0080_0000, ONE, "numerator", 0x2080_0000, 1),
        (ONE, 0x7f00_0000, "numerator", ONE, 1),
    ];
    for target in TARGETS {
        let text = [
            "v_div_scale_f32 v2, vcc, v0, v1, v0",
            "v_div_scale_f32 v2, vcc, v1, v1, v0",
        ];
        let each = encoded(target, 64, &text);
        for (numerator, denominator, which, expected, flag) in cases {
            let w = after::<64>(target, &each[usize::from(which == "denominator")], |w| {
                w.mode &= !0x30;
                (w.v[0], w.v[1]) = ([numerator; 64], [denominator; 64]);
            });
            let w = w.expect("runs");
            // One over 2^127: only the numerator of a quotient that is denormal would be scaled, but here the
            // reciprocal is denormal too, which leaves it as it is.
            let right = match expected {
                0 => is_nan(w.v[2][0], 32),
                expected => w.v[2][0] == expected,
            };
            let case = format!("{} {numerator:#x} / {denominator:#x}", target.name);
            assert!(
                right && w.vcc() & 1 == flag,
                "{case}: {:#x} {:#x}",
                w.v[2][0],
                w.vcc()
            );
        }
    }
}

/// MODE.FP16_OVFL: what overflows is the largest number; infinities stay (CDNA3 ISA and RDNA4 ISA, MODE).
#[test]
fn half_precision_may_overflow_to_its_largest_number() {
    for target in TARGETS {
        let text = [
            "v_add_f16 v2, v0, v1",
            "v_cvt_f16_f32 v2, v0",
            "v_pk_mul_f16 v2, v0, v1",
            "v_rcp_f16 v2, v0",
        ];
        let each = encoded(target, 64, &text);
        for (n, a, b, without, with) in [
            (0, 0x7bff, 0x7bff, 0x7c00, 0x7bff),
            (0, 0xfbff, 0xfbff, 0xfc00, 0xfbff),
            (0, 0x7c00, 0x3c00, 0x7c00, 0x7c00),
            (1, 0x4980_0000, 0, 0x7c00, 0x7bff),
            (1, 0xff80_0000, 0, 0xfc00, 0xfc00),
            (2, 0x7bff_fbff, 0x4000_4000, 0x7c00_fc00, 0x7bff_fbff),
            (3, 0, 0, 0x7c00, 0x7c00),
        ] {
            for (overflow, expected) in [(0, without), (1 << 23, with)] {
                let w = after::<64>(target, &each[n], |w| {
                    w.mode |= overflow;
                    (w.v[0], w.v[1]) = ([a; 64], [b; 64]);
                });
                assert_eq!(
                    w.expect("runs").v[2][0],
                    expected,
                    "{} {}",
                    target.name,
                    text[n]
                );
            }
        }
    }
}
