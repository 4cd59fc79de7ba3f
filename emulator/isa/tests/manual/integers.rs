// SPDX-License-Identifier: MIT OR Apache-2.0
//! Integers and addresses, by AMD's pseudocode.

use super::*;

/// { D1.i1, D0.i64 } = 65'B(65'I(S0.i32) * 65'I(S1.i32) + 65'I(S2.i64)): the carry is bit 64.
#[test]
fn the_carry_of_a_signed_sum_is_its_bit_64() {
    let names = [(&GFX942, "v_mad_i64_i32"), (&GFX1201, "v_mad_co_i64_i32")];
    for (target, name) in names {
        let text = format!("{name} v[2:3], vcc, v0, v1, v[4:5]");
        let bytes = &encoded(target, 64, &[&text])[0];
        for (a, b, c) in [
            (-1, 1, 0),
            (1, 1, 0),
            (i32::MIN, i32::MIN, i64::MAX),
            (i32::MIN, i32::MAX, i64::MIN),
            (-1, 1, 1),
        ] {
            let w = after::<64>(target, bytes, |w| {
                (w.v[0], w.v[1]) = ([a as u32; 64], [b as u32; 64]);
                (w.v[4], w.v[5]) = ([c as u32; 64], [(c >> 32) as u32; 64]);
            })
            .expect("runs");
            let sum = i128::from(a) * i128::from(b) + i128::from(c);
            let got = u64::from(w.v[2][0]) | (u64::from(w.v[3][0]) << 32);
            assert_eq!(got, sum as u64, "{name} {a} {b} {c}");
            let bit = (sum >> 64) & 1 == 1;
            assert_eq!(
                w.vcc() == u64::MAX,
                bit,
                "{name} {a} {b} {c}: {:#x}",
                w.vcc()
            );
        }
    }
}

/// The program counter has no two lowest bits.
#[test]
fn jumps_go_to_whole_dwords() {
    for target in TARGETS {
        for bytes in encoded(
            target,
            64,
            &["s_setpc_b64 s[2:3]", "s_swappc_b64 s[4:5], s[2:3]"],
        ) {
            let w = after::<64>(target, &bytes, |w| w.set_pair(2, BASE + 0x127)).expect("runs");
            assert_eq!(w.pc, BASE + 0x124, "{}", target.name);
        }
    }
}

/// gfx1201 has s0 to s105 (llvm-mc takes s105), gfx9 s0 to s101.
#[test]
fn relative_scalars_reach_the_last_one() {
    let text = [
        "s_movrels_b32 s2, s100",
        "s_movreld_b32 s100, s2",
        "s_movrels_b64 s[2:3], s[100:101]",
    ];
    let each = encoded(&GFX1201, 32, &text);
    let run = |bytes: &[u8], m0: u32| {
        after::<32>(&GFX1201, bytes, |w| {
            w.s[124] = m0;
            (w.s[2], w.s[104], w.s[105]) = (7, 104, 105);
        })
    };
    assert_eq!(run(&each[0], 5).expect("s105").s[2], 105);
    assert_eq!(run(&each[1], 5).expect("s105").s[105], 7);
    assert_eq!(run(&each[2], 4).expect("s104").pair(2), 104 | (105 << 32));
    assert_eq!(run(&each[0], 6).err(), Some(FaultKind::Register));
    assert_eq!(run(&each[2], 5).err(), Some(FaultKind::Register));
}

/// Scratch is interleaved by dwords: 64 bits of one lane would be two lanes' dwords.
#[test]
fn atomics_of_64_bits_leave_other_lanes_scratch_alone() {
    let names = [
        (&GFX942, "flat_atomic_add_x2 v[0:1], v[2:3]"),
        (&GFX1201, "flat_atomic_add_u64 v[0:1], v[2:3]"),
    ];
    for (target, text) in names {
        let bytes = &encoded(target, 64, &[text])[0];
        let mut wave = blank::<64>(32);
        wave.set_pair(126, 1);
        wave.v[1] = [(APERTURES.private >> 32) as u32; 64];
        (wave.v[2], wave.v[3]) = ([1; 64], [2; 64]);
        let mut memory = Flat::new(1 << 16);
        let result = step(target, &mut wave, bytes, &mut memory, &mut []);
        assert_eq!(
            result,
            Err(FaultKind::Violation("a 64-bit atomic in scratch")),
            "{text}"
        );
        assert_eq!(memory.words(BASE, 4), [0; 4], "{text}");
    }
}
