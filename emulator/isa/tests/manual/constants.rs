// SPDX-License-Identifier: MIT OR Apache-2.0
//! What an inline constant is: llvm-mc says which literal it takes for one.

use super::*;

/// One case: the literal and the inline constant of the same operand, which llvm-mc encodes alike, and v2
/// of lanes that hold `v0` and `v1`.
fn check(target: &Target, cases: &[(&str, u32, u32, u32)]) {
    let text: Vec<&str> = cases.iter().map(|c| c.0).collect();
    for (bytes, (text, v0, v1, v2)) in encoded(target, 32, &text).iter().zip(cases) {
        let got = match target.name {
            "gfx942" => after::<64>(target, bytes, |w| {
                (w.v[0], w.v[1]) = ([*v0; 64], [*v1; 64]);
            })
            .map(|w| w.v[2][63]),
            _ => after::<32>(target, bytes, |w| {
                (w.v[0], w.v[1]) = ([*v0; 32], [*v1; 32]);
            })
            .map(|w| w.v[2][31]),
        };
        assert_eq!(got, Ok(*v2), "{} {text}: {got:x?}", target.name);
    }
}

/// LLVM takes 0x40000000 for 2.0 in packed integers: the constant has 32 bits.
#[test]
fn packed_integers_have_constants_of_32_bits() {
    for target in TARGETS {
        let each = encoded(
            target,
            32,
            &[
                "v_pk_add_u16 v2, v0, 0x40000000",
                "v_pk_add_u16 v2, v0, 2.0",
            ],
        );
        assert_eq!(each[0], each[1], "{}", target.name);
        check(
            target,
            &[
                ("v_pk_add_u16 v2, v0, 2.0", 0x0003_0005, 0, 0x4003_0005),
                ("v_pk_lshlrev_b16 v2, v0, 1.0", 0x0001_0001, 0, 0x7f00_0000),
                (
                    "v_pk_add_f16 v2, v0, 2.0 op_sel_hi:[1,0]",
                    0,
                    0,
                    0x4000_4000,
                ),
            ],
        );
    }
}

/// LLVM's SIInstrInfo::isInlineConstant: integers of 16 bits read the lower half of a floating
/// constant's 32 bits, which is 0.
#[test]
fn integers_of_16_bits_have_the_lower_half_of_a_constant() {
    check(
        &GFX1201,
        &[
            ("v_add_nc_u16 v2, v0, 1.0", 7, 0, 7),
            ("v_mad_u16 v2, v0, v1, 4.0", 3, 5, 15),
            ("v_sat_pk_u8_i16 v2, 1.0", 0, 0, 0xff00),
            ("v_cvt_f16_u16 v2, 1.0", 0, 0, 0),
        ],
    );
    // Half precision has constants of its own.
    check(&GFX1201, &[("v_add_f16 v2, 1.0, v0", 0x3c00, 0, 0x4000)]);
    check(&GFX942, &[("v_add_u16_e64 v2, v0, 1.0", 7, 0, 7)]);
}

/// LLVM takes 0x3f80 for 1.0 in products of bf16, and 0x3c00 in those of f16; RDNA4's manual, section
/// 7.2.2, repeats the constants of sources 0 and 1 in bits 31:16.
#[test]
fn dot_products_have_constants_in_both_halves() {
    let each = encoded(
        &GFX1201,
        32,
        &[
            "v_dot2_f32_bf16 v2, v0, 0x3f80, v1",
            "v_dot2_f32_bf16 v2, v0, 1.0, v1",
        ],
    );
    assert_eq!(each[0], each[1]);
    check(
        &GFX1201,
        &[
            (
                "v_dot2_f32_bf16 v2, v0, 1.0, v1",
                0x3f80_3f80,
                0,
                0x4000_0000,
            ),
            ("v_dot2_bf16_bf16 v2, v0, 1.0, v1", 0x3f80_3f80, 0, 0x4000),
            (
                "v_dot2_f32_f16 v2, v0, 1.0, v1",
                0x4000_4000,
                0,
                0x4080_0000,
            ),
            ("v_dot2_f16_f16 v2, v0, 1.0, v1", 0x4000_4000, 0, 0x4400),
            // A literal has halves of its own.
            (
                "v_dot2_f32_f16 v2, v0, 0x40003c00, v1",
                0x3c00_3c00,
                0,
                0x4040_0000,
            ),
        ],
    );
}

/// RDNA4's manual, section 5.4 and 7.2: a literal of 32 bits is sign-extended where 64 bits are signed.
#[test]
fn literals_of_signed_64_bits_are_sign_extended() {
    let text = [
        "s_bfe_i64 s[2:3], 0x80000000, s4",
        "s_bfe_u64 s[2:3], 0x80000000, s4",
        "s_ashr_i64 s[2:3], 0x80000000, 4",
    ];
    let expected = [0xffff_ffff_8000_0000, 0x8000_0000, 0xffff_ffff_f800_0000];
    for target in TARGETS {
        for ((bytes, text), expected) in encoded(target, 64, &text).iter().zip(text).zip(expected) {
            let w = after::<64>(target, bytes, |w| w.s[4] = 64 << 16).expect(text);
            assert_eq!(w.pair(2), expected, "{} {text}", target.name);
        }
    }
    let text = [
        "v_ashrrev_i64 v[2:3], 4, 0x80000000",
        "s_cls_i32_i64 s2, 0x80000000",
    ];
    let each = encoded(&GFX1201, 32, &text);
    let w = after::<32>(&GFX1201, &each[0], |_| ()).expect("runs");
    assert_eq!((w.v[2][0], w.v[3][0]), (0xf800_0000, 0xffff_ffff));
    // 33 bits are equal to the sign, so 33 are counted from the top.
    let w = after::<32>(&GFX1201, &each[1], |_| ()).expect("runs");
    assert_eq!(w.s[2], 33);
}
