// SPDX-License-Identifier: MIT OR Apache-2.0
//! Upper halves of registers where there is no op_sel: RDNA4's manual, section 7.4, and llvm-mc's
//! encoding of real-true16.

use super::*;

/// llvm-mc 19 with real-true16 on `v_add_f16_e32 v3.h, v1.h, v2.h` and `v_add_f16_e32 v3.l, v1.h, v2.l`.
const ADD_HIGH: [u8; 4] = [0x81, 0x05, 0x07, 0x65];
const ADD_MIXED: [u8; 4] = [0x81, 0x05, 0x06, 0x64];

/// The encodings of `text` with bits of its registers set: 0 the destination, 1 and 2 the sources.
fn upper(text: &str, which: &[u32]) -> Vec<u8> {
    let mut bytes = encoded(&GFX1201, 32, &[text])[0].clone();
    let mut word = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    for which in which {
        word |= 1 << [24, 7, 16][*which as usize];
    }
    bytes[..4].copy_from_slice(&word.to_le_bytes());
    bytes
}

fn run(bytes: &[u8]) -> Wave<32> {
    after::<32>(&GFX1201, bytes, |w| {
        // Halves 1.0 and 2.0, 0.5 and 4.0, old -1.0 and -2.0.
        w.v[1] = [0x4000_3c00; 32];
        w.v[2] = [0x4400_3800; 32];
        w.v[3] = [0xc000_bc00; 32];
    })
    .expect("runs")
}

/// Sums of the halves that the codes name; the other half of the destination stays.
#[test]
fn codes_above_v127_are_upper_halves() {
    assert_eq!(upper("v_add_f16_e32 v3, v1, v2", &[0, 1, 2]), ADD_HIGH);
    assert_eq!(upper("v_add_f16_e32 v3, v1, v2", &[1]), ADD_MIXED);
    let cases: [(&str, &[u32], u32); 12] = [
        ("v_add_f16_e32 v3, v1, v2", &[0, 1, 2], 0x4600_bc00),
        ("v_add_f16_e32 v3, v1, v2", &[1], 0xc000_4100),
        ("v_add_f16_e32 v3, v1, v2", &[2], 0xc000_4500),
        ("v_cvt_f32_f16_e32 v3, v1", &[1], 0x4000_0000),
        ("v_cvt_f16_f32_e32 v3, 1.0", &[0], 0x3c00_bc00),
        ("v_cvt_u32_u16_e32 v3, v1", &[1], 0x4000),
        ("v_not_b16_e32 v3, v1", &[0, 1], 0xbfff_bc00),
        ("v_fmac_f16_e32 v3, v1, v2", &[0, 1], 0xbc00_bc00),
        ("v_fmac_f16_e32 v3, v1, v2", &[1], 0xc000_0000),
        ("v_fmamk_f16 v3, v1, 0x4000, v2", &[2], 0xc000_4600),
        ("v_fmaak_f16 v3, v1, v2, 0x3c00", &[2], 0xc000_4500),
        (
            "v_mul_f16_dpp v3, v1, v2 row_mirror row_mask:0xf bank_mask:0xf",
            &[2],
            0xc000_4400,
        ),
    ];
    for (text, which, expected) in cases {
        let got = run(&upper(text, which)).v[3][0];
        assert_eq!(got, expected, "{text} {which:?}: {got:#x}");
    }
    let w = run(&upper("v_cmp_eq_u16_e32 vcc_lo, 0x4400, v2", &[2]));
    assert_eq!(w.s[106], u32::MAX);
    let w = run(&upper("v_cmp_lt_f16_e32 vcc_lo, v1, v2", &[1]));
    assert_eq!(w.s[106], 0);
}

/// LLVM 19 refuses v128 where it knows an operand of 16 bits, and takes it elsewhere.
#[test]
fn what_has_32_bits_keeps_its_registers() {
    let mut wave = blank::<32>(256);
    wave.v[200] = [0x4000_3c00; 32];
    wave.v[1] = [0x3c00_3c00; 32];
    let bytes = &encoded(&GFX1201, 32, &["v_pk_fmac_f16 v3, v1, v200"])[0];
    step(&GFX1201, &mut wave, bytes, &mut Flat::new(4096), &mut []).expect("runs");
    assert_eq!(wave.v[3][0], 0x4000_3c00);
}

/// The text names the half as LLVM's real-true16 does.
#[test]
fn upper_halves_are_named() {
    let text = |bytes: &[u8]| GFX1201.text(words(bytes), 32).expect("known").to_string();
    assert_eq!(text(&ADD_HIGH), "v_add_f16_e32 v3.h, v1.h, v2.h");
    assert_eq!(text(&ADD_MIXED), "v_add_f16_e32 v3, v1.h, v2");
    assert_eq!(
        text(&upper("v_cvt_f32_f16_e32 v200, v1", &[1])),
        "v_cvt_f32_f16_e32 v200, v1.h"
    );
}
