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
