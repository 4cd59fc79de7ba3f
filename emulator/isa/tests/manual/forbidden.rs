// SPDX-License-Identifier: MIT OR Apache-2.0
//! Forms that RDNA4's manual reserves or forbids, and fields that the hardware ignores.

use super::*;

fn refused<const L: usize>(target: &Target, bytes: &[u8]) -> bool {
    let decoded = target.decode(words(bytes)).expect("decodes");
    decoded.unsupported().is_some() || after::<L>(target, bytes, |_| ()).is_err()
}

/// Each is a reserved number, control or form; beside it the nearest that is none.
#[test]
fn reserved_forms_are_refused() {
    let shared = "row_mask:0xf bank_mask:0xf";
    let gfx12 = [
        (
            format!("v_mov_b32_dpp v0, v1 row_share:1 {shared}"),
            0x15,
            0x13,
        ),
        (
            format!("v_mov_b32_dpp v0, v1 row_share:2 {shared}"),
            0x15,
            0x14,
        ),
    ];
    for (text, from, to) in gfx12 {
        let mut bytes = assemble(&GFX1201, 32, &text);
        assert!(!refused::<32>(&GFX1201, &bytes), "{text}");
        // DPP_CTRL is bits 16:8 of the second word: row_share 0x151 becomes wave_shl-like 0x13_, row_bcast 0x14_.
        let control = u16::from_le_bytes([bytes[5], bytes[6]]);
        assert_eq!((control >> 4) & 0x1f, from, "{text}");
        let control = control & !0x1ff | (to << 4) | if to == 0x13 { 0 } else { 2 };
        bytes[5..7].copy_from_slice(&control.to_le_bytes());
        assert!(refused::<32>(&GFX1201, &bytes), "{text}");
    }
    // gfx942 has the wave's shifts, and no exchange by a mask.
    let mut bytes = assemble(
        &GFX942,
        64,
        &format!("v_mov_b32_dpp v0, v1 wave_shl:1 {shared}"),
    );
    assert!(!refused::<64>(&GFX942, &bytes));
    let control = u16::from_le_bytes([bytes[5], bytes[6]]) & !0x1ff | 0x161;
    bytes[5..7].copy_from_slice(&control.to_le_bytes());
    assert!(refused::<64>(&GFX942, &bytes));
    // s_ttracedata is SOPP 58.
    assert!(refused::<32>(&GFX1201, &0xbfba_0000u32.to_le_bytes()));
    for (good, bad) in [
        ("s_mov_b64 s[2:3], s[4:5]", 0xbe82_0105u32),
        ("s_mov_b64 s[2:3], s[4:5]", 0xbe83_0104),
    ] {
        let bytes = assemble(&GFX1201, 32, good);
        assert_eq!(bytes, 0xbe82_0104u32.to_le_bytes());
        assert!(!refused::<32>(&GFX1201, &bytes), "{good}");
        assert!(refused::<32>(&GFX1201, &bad.to_le_bytes()), "{bad:#x}");
    }
    let good = "s_and_not1_wrexec_b32 s2, s3";
    let each = encoded(&GFX1201, 32, &[good, "s_and_not1_wrexec_b32 exec_lo, s3"]);
    assert!(!refused::<32>(&GFX1201, &each[0]));
    assert!(refused::<32>(&GFX1201, &each[1]));
    // llvm-mc takes no literal here either: code 255 is one.
    let mut jump = assemble(&GFX1201, 32, "s_setpc_b64 s[2:3]");
    assert!(!refused::<32>(&GFX1201, &jump));
    jump[0] = 255;
    assert!(refused::<32>(&GFX1201, &jump));
}

/// Pairs are for waves of 32 lanes.
#[test]
fn waves_of_64_lanes_have_no_pairs() {
    let text = "v_dual_mov_b32 v0, v1 :: v_dual_mov_b32 v3, v2";
    let bytes = assemble(&GFX1201, 32, text);
    assert!(!refused::<32>(&GFX1201, &bytes));
    assert!(refused::<64>(&GFX1201, &bytes));
}

/// A destination of an LDS operation that has none, and a move's second source, are ignored (the first on cards of
/// the generation before; the second in RDNA4's manual, section 7.8).
#[test]
fn ignored_fields_are_ignored() {
    let text = [
        "ds_store_b32 v0, v2",
        "v_dual_mov_b32 v4, v1 :: v_dual_mov_b32 v5, v2",
    ];
    let each = encoded(&GFX1201, 32, &text);
    let (mut store, mut pair) = (each[0].clone(), each[1].clone());
    store[7] = 9;
    pair[1] |= 0xa;
    pair[5] |= 0xa;
    for (changed, text) in [(&store, text[0]), (&pair, text[1])] {
        let inst = GFX1201.decode(words(changed)).expect(text);
        let words = words(changed);
        let name = GFX1201.text(words, 32).expect(text).to_string();
        assert!(
            name.starts_with(text.split_once(' ').expect("words").0),
            "{name}"
        );
        assert!(inst.vgprs <= 6, "{text}: {}", inst.vgprs);
    }
    let w = after::<32>(&GFX1201, &pair, |w| (w.v[1], w.v[2]) = ([1; 32], [2; 32])).expect("runs");
    assert_eq!((w.v[4], w.v[5]), ([1; 32], [2; 32]));
}
