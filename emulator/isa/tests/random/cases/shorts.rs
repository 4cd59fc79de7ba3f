// SPDX-License-Identifier: MIT OR Apache-2.0
//! Integers of 16.

use super::*;

pub fn add(add: &mut Add<'_>) {
    use Kind::*;
    add("v_add_u16 v0, v2, v4", "", Int, |x| {
        x.clear(x.halves()[0][0].wrapping_add(x.halves()[1][0]))
    });
    add("", "v_add_nc_u16 v0, v2, v4 op_sel:[1,0,0]", Int, |x| {
        x.keep(x.halves()[0][1].wrapping_add(x.halves()[1][0]))
    });
    add("", "v_add_nc_u16 v0, v2, v4 clamp", Int, |x| {
        x.keep(sat_u16(
            i128::from(x.halves()[0][0]) + i128::from(x.halves()[1][0]),
        ))
    });
    add("v_add_u16_e64 v0, v2, v4 clamp", "", Int, |x| {
        x.clear(sat_u16(
            i128::from(x.halves()[0][0]) + i128::from(x.halves()[1][0]),
        ))
    });
    add(
        "v_add_i16 v0, v2, v4 clamp",
        "v_add_nc_i16 v0, v2, v4 clamp",
        Int,
        |x| {
            x.keep(sat_i16(
                i128::from(x.halves()[0][0] as i16) + i128::from(x.halves()[1][0] as i16),
            ))
        },
    );
    add(
        "v_sub_i16 v0, v2, v4 clamp",
        "v_sub_nc_i16 v0, v2, v4 clamp",
        Int,
        |x| {
            x.keep(sat_i16(
                i128::from(x.halves()[0][0] as i16) - i128::from(x.halves()[1][0] as i16),
            ))
        },
    );
    add(
        "v_mad_i16 v0, v2, v4, v6 clamp",
        "v_mad_i16 v0, v2, v4, v6 clamp",
        Int,
        |x| {
            let [a, b, c] = x.halves().map(|h| i128::from(h[0] as i16));
            x.keep(sat_i16(a * b + c))
        },
    );
    add(
        "v_mad_u16 v0, v2, v4, v6 op_sel:[1,0,1,0]",
        "v_mad_u16 v0, v2, v4, v6 op_sel:[1,0,1,0]",
        Int,
        |x| {
            let [a, b, c] = x.halves().map(|h| h.map(u32::from));
            x.keep((a[1] * b[0] + c[1]) as u16)
        },
    );
    add(
        "v_mad_i32_i16 v0, v2, v4, v6 op_sel:[0,1,0,0]",
        "v_mad_i32_i16 v0, v2, v4, v6 op_sel:[0,1,0,0]",
        Int,
        |x| {
            let [a, b, _] = x.halves().map(|h| h.map(|v| i128::from(v as i16)));
            x.word((a[0] * b[1] + x.i()[2]) as u32)
        },
    );
    add(
        "v_mad_u32_u16 v0, v2, v4, v6 clamp",
        "v_mad_u32_u16 v0, v2, v4, v6 clamp",
        Int,
        |x| {
            let [a, b, _] = x.halves().map(|h| h.map(i128::from));
            x.word(sat_u32(a[0] * b[0] + x.u()[2]))
        },
    );
    add(
        "v_med3_i16 v0, v2, v4, v6",
        "v_med3_i16 v0, v2, v4, v6",
        Int,
        |x| {
            let mut s = x.halves().map(|h| h[0] as i16);
            s.sort();
            x.keep(s[1] as u16)
        },
    );
    add(
        "v_min3_u16 v0, v2, v4, v6",
        "v_min3_u16 v0, v2, v4, v6",
        Int,
        |x| x.keep(x.halves().map(|h| h[0]).into_iter().min().expect("three")),
    );
    add(
        "v_max3_i16 v0, v2, v4, v6",
        "v_max3_i16 v0, v2, v4, v6",
        Int,
        |x| {
            x.keep(
                x.halves()
                    .map(|h| h[0] as i16)
                    .into_iter()
                    .max()
                    .expect("three") as u16,
            )
        },
    );
    add("v_sat_pk_u8_i16 v0, v2", "", Int, |x| {
        x.clear(u16::from_le_bytes(x.halves()[0].map(|h| {
            if h & 0x8000 != 0 {
                0
            } else if h > 255 {
                255
            } else {
                h as u8
            }
        })))
    });
    add("", "v_and_b16 v0, v2, v4", Int, |x| {
        x.keep(x.halves()[0][0] & x.halves()[1][0])
    });
    add("", "v_xor_b16 v0, v2, v4", Int, |x| {
        x.keep(x.halves()[0][0] ^ x.halves()[1][0])
    });
    add("", "v_cvt_i32_i16 v0, v2", Int, |x| {
        x.word(i32::from(x.halves()[0][0] as i16) as u32)
    });
    add("", "v_cvt_u32_u16 v0, v2", Int, |x| {
        x.word(x.halves()[0][0].into())
    });
}
