// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where the elements of matrices lie, by RDNA4's manual, section 7.12.

use super::*;

/// V_WMMA_I32_16X16X16_IU4 of 64 lanes uses the sources of lanes 0 to 31 alone.
#[test]
fn small_matrices_are_in_the_first_32_lanes() {
    let text = "v_wmma_i32_16x16x16_iu4 v[4:7], v0, v1, v[4:7]";
    let bytes = &encoded(&GFX1201, 64, &[text])[0];
    let run = |upper: u32| {
        let w = after::<64>(&GFX1201, bytes, |w| {
            for lane in 0..64 {
                let ones = if lane < 32 { 0x1111_1111 } else { upper };
                (w.v[0][lane], w.v[1][lane]) = (ones, ones);
            }
        });
        w.expect("runs").v[4..8].concat()
    };
    // Rows and columns of 16 ones each.
    assert_eq!(run(0), [16; 256]);
    assert_eq!(run(0x2222_2222), [16; 256]);
}

/// DS_BPERMUTE_B32 gives 0 for a lane that is not active, DS_BPERMUTE_FI_B32 (opcode 205) its data: the manual's examples
/// of each.
#[test]
fn lanes_that_are_not_active_are_fetched() {
    // Opcode 179 is bits 25:18 of the first word; LLVM 19 lacks 205.
    let plain = assemble(&GFX1201, 32, "ds_bpermute_b32 v3, v1, v0");
    let mut fetching = plain.clone();
    fetching[2..4].copy_from_slice(&0xdb34u16.to_le_bytes());
    assert_eq!(plain[2..4], 0xdaccu16.to_le_bytes());
    for (bytes, expected) in [(&plain, [9, 0, 9, 0xb]), (&fetching, [9, 0xa, 9, 0xb])] {
        let w = after::<32>(&GFX1201, bytes, |w| {
            w.s[126] = 0xa;
            for (lane, (data, address)) in [(0xa, 0), (0xb, 0), (0xc, 12), (0xd, 4)]
                .into_iter()
                .enumerate()
            {
                (w.v[0][lane], w.v[1][lane], w.v[3][lane]) = (data, address, 9);
            }
        });
        assert_eq!(w.expect("runs").v[3][..4], expected);
    }
    let text = GFX1201
        .text(words(&fetching), 32)
        .expect("known")
        .to_string();
    assert_eq!(text, "ds_bpermute_fi_b32 v3, v1, v0");
}

/// DS_SWIZZLE_B32's order for Fourier transforms: the manual's examples, which count lanes from 1 in hexadecimal.
#[test]
fn swizzles_for_fourier_transforms() {
    let examples = [
        (
            0xe000u16,
            "1,11,9,19,5,15,d,1d,3,13,b,1b,7,17,f,1f,2,12,a,1a,6,16,e,1e,4,14,c,1c,8,18,10,20",
        ),
        (
            0xe010,
            "1,9,5,d,3,b,7,f,2,a,6,e,4,c,8,10,11,19,15,1d,13,1b,17,1f,12,1a,16,1e,14,1c,18,20",
        ),
    ];
    let names = [(&GFX942, 64), (&GFX1201, 32)];
    for (target, lanes) in names {
        for (pattern, order) in examples {
            let text = format!("ds_swizzle_b32 v2, v0 offset:{pattern}");
            let bytes = &encoded(target, lanes, &[&text])[0];
            let w = after::<64>(target, bytes, |w| {
                w.v[0] = std::array::from_fn(|l| l as u32)
            });
            let v = w.expect("runs").v[2];
            for (lane, from) in order.split(',').enumerate() {
                let from = u32::from_str_radix(from, 16).expect("hexadecimal") - 1;
                assert_eq!(
                    [v[lane], v[lane + 32]],
                    [from, from + 32],
                    "{pattern:#x} {lane}"
                );
            }
        }
    }
}
