// SPDX-License-Identifier: MIT OR Apache-2.0
//! Packed integers and dot products.

use super::*;

pub fn add(add: &mut Add<'_>) {
    use Kind::*;
    add(
        "v_pk_add_u16 v0, v2, v4 clamp",
        "v_pk_add_u16 v0, v2, v4 clamp",
        Int,
        |x| pk(x, |a, b, _| sat_u16(a + b), false),
    );
    add(
        "v_pk_sub_i16 v0, v2, v4 clamp",
        "v_pk_sub_i16 v0, v2, v4 clamp",
        Int,
        |x| pk(x, |a, b, _| sat_i16(a - b), true),
    );
    add(
        "v_pk_mad_i16 v0, v2, v4, v6",
        "v_pk_mad_i16 v0, v2, v4, v6",
        Int,
        |x| pk(x, |a, b, c| (a * b + c) as u16, true),
    );
    add(
        "v_pk_mad_u16 v0, v2, v4, v6 clamp",
        "v_pk_mad_u16 v0, v2, v4, v6 clamp",
        Int,
        |x| pk(x, |a, b, c| sat_u16(a * b + c), false),
    );
    add(
        "v_pk_ashrrev_i16 v0, v2, v4",
        "v_pk_ashrrev_i16 v0, v2, v4",
        Int,
        |x| pk(x, |a, b, _| (b >> (a & 15)) as u16, true),
    );
    add(
        "v_pk_max_i16 v0, v2, v4",
        "v_pk_max_i16 v0, v2, v4",
        Int,
        |x| pk(x, |a, b, _| if a < b { b as u16 } else { a as u16 }, true),
    );
    add(
        "v_pk_min_u16 v0, v2, v4",
        "v_pk_min_u16 v0, v2, v4",
        Int,
        |x| pk(x, |a, b, _| if a < b { a as u16 } else { b as u16 }, false),
    );
    add("v_dot2_i32_i16 v0, v2, v4, v6", "", Int, |x| {
        let [a, b, _] = x.halves().map(|h| h.map(|v| i128::from(v as i16)));
        x.word((dot(a, b) + x.i()[2]) as u32)
    });
    add("v_dot2_u32_u16 v0, v2, v4, v6 clamp", "", Int, |x| {
        let [a, b, _] = x.halves().map(|h| h.map(i128::from));
        x.word(sat_u32(dot(a, b) + x.u()[2]))
    });
    add(
        "v_dot4_i32_i8 v0, v2, v4, v6",
        "v_dot4_i32_iu8 v0, v2, v4, v6 neg_lo:[1,1,0]",
        Int,
        |x| {
            let [a, b, _] = x.bytes().map(signed_bytes);
            x.word((dot(a, b) + x.i()[2]) as u32)
        },
    );
    add(
        "v_dot4_i32_i8 v0, v2, v4, v6 clamp",
        "v_dot4_i32_iu8 v0, v2, v4, v6 neg_lo:[1,1,0] clamp",
        Int,
        |x| {
            let [a, b, _] = x.bytes().map(signed_bytes);
            x.word(sat_i32(dot(a, b) + x.i()[2]))
        },
    );
    add(
        "",
        "v_dot4_i32_iu8 v0, v2, v4, v6 neg_lo:[0,1,0]",
        Int,
        |x| {
            let [a, b, _] = x.bytes();
            x.word((dot(a.map(i128::from), signed_bytes(b)) + x.i()[2]) as u32)
        },
    );
    add(
        "v_dot4_u32_u8 v0, v2, v4, v6",
        "v_dot4_u32_u8 v0, v2, v4, v6",
        Int,
        |x| {
            let [a, b, _] = x.bytes().map(|v| v.map(i128::from));
            x.word((dot(a, b) + x.u()[2]) as u32)
        },
    );
    add(
        "v_dot8_i32_i4 v0, v2, v4, v6",
        "v_dot8_i32_iu4 v0, v2, v4, v6 neg_lo:[1,1,0]",
        Int,
        |x| x.word((dot(nibbles(x.w()[0], true), nibbles(x.w()[1], true)) + x.i()[2]) as u32),
    );
    add(
        "v_dot8_u32_u4 v0, v2, v4, v6",
        "v_dot8_u32_u4 v0, v2, v4, v6",
        Int,
        |x| x.word((dot(nibbles(x.w()[0], false), nibbles(x.w()[1], false)) + x.u()[2]) as u32),
    );
    add("v_dot4c_i32_i8 v0, v2, v4", "", Int, |x| {
        let [a, b, _] = x.bytes().map(signed_bytes);
        x.word((dot(a, b) + i128::from(x.d as i32)) as u32)
    });
}
