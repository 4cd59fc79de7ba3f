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
