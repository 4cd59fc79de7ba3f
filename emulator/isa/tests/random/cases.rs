// SPDX-License-Identifier: MIT OR Apache-2.0
//! The table: an instruction's text on gfx942 and on gfx1201, what its sources are, and its formula.

use super::*;

/// Every instruction with its formula.
pub fn cases() -> Vec<Case> {
    use Kind::*;
    let mut all: Vec<Case> = Vec::new();
    let mut add = |a, b, k, r: Reference| all.push(Case(a, b, k, r));
    // Bits and integers of 32.
    add("v_and_b32 v0, v2, v4", "v_and_b32 v0, v2, v4", Int, |x| {
        x.word(!(!x.w()[0] | !x.w()[1]))
    });
    add("v_or_b32 v0, v2, v4", "v_or_b32 v0, v2, v4", Int, |x| {
        x.word(!(!x.w()[0] & !x.w()[1]))
    });
    add("v_xor_b32 v0, v2, v4", "v_xor_b32 v0, v2, v4", Int, |x| {
        x.word((x.w()[0] | x.w()[1]) - (x.w()[0] & x.w()[1]))
    });
    add("v_not_b32 v0, v2", "v_not_b32 v0, v2", Int, |x| {
        x.word(u32::MAX - x.w()[0])
    });
    add("v_bfrev_b32 v0, v2", "v_bfrev_b32 v0, v2", Int, |x| {
        x.word(
            (0..32)
                .filter(|n| x.w()[0] >> n & 1 == 1)
                .map(|n| 1 << (31 - n))
                .sum(),
        )
    });
    add(
        "v_lshlrev_b32 v0, v2, v4",
        "v_lshlrev_b32 v0, v2, v4",
        Int,
        |x| x.word((x.u()[1] << (x.w()[0] % 32)) as u32),
    );
    add(
        "v_lshrrev_b32 v0, v2, v4",
        "v_lshrrev_b32 v0, v2, v4",
        Int,
        |x| x.word((x.u()[1] >> (x.w()[0] % 32)) as u32),
    );
    add(
        "v_ashrrev_i32 v0, v2, v4",
        "v_ashrrev_i32 v0, v2, v4",
        Int,
        |x| x.word((x.i()[1] >> (x.w()[0] % 32)) as u32),
    );
    add(
        "v_add_u32 v0, v2, v4",
        "v_add_nc_u32 v0, v2, v4",
        Int,
        |x| x.word((x.u()[0] + x.u()[1]) as u32),
    );
    add(
        "v_sub_u32 v0, v2, v4",
        "v_sub_nc_u32 v0, v2, v4",
        Int,
        |x| x.word((x.u()[0] - x.u()[1]) as u32),
    );
    add(
        "v_subrev_u32 v0, v2, v4",
        "v_subrev_nc_u32 v0, v2, v4",
        Int,
        |x| x.word((x.u()[1] - x.u()[0]) as u32),
    );
    add(
        "v_add_u32 v0, v2, v4 clamp",
        "v_add_nc_u32 v0, v2, v4 clamp",
        Int,
        |x| x.word(sat_u32(x.u()[0] + x.u()[1])),
    );
    add(
        "v_sub_u32 v0, v2, v4 clamp",
        "v_sub_nc_u32 v0, v2, v4 clamp",
        Int,
        |x| x.word(sat_u32(x.u()[0] - x.u()[1])),
    );
    add(
        "v_add_i32 v0, v2, v4 clamp",
        "v_add_nc_i32 v0, v2, v4 clamp",
        Int,
        |x| x.word(sat_i32(x.i()[0] + x.i()[1])),
    );
    add(
        "v_sub_i32 v0, v2, v4 clamp",
        "v_sub_nc_i32 v0, v2, v4 clamp",
        Int,
        |x| x.word(sat_i32(x.i()[0] - x.i()[1])),
    );
    add(
        "v_mul_lo_u32 v0, v2, v4",
        "v_mul_lo_u32 v0, v2, v4",
        Int,
        |x| x.word((x.u()[0] * x.u()[1]) as u32),
    );
    add(
        "v_mul_hi_u32 v0, v2, v4",
        "v_mul_hi_u32 v0, v2, v4",
        Int,
        |x| x.word((x.u()[0] * x.u()[1] >> 32) as u32),
    );
    add(
        "v_mul_hi_i32 v0, v2, v4",
        "v_mul_hi_i32 v0, v2, v4",
        Int,
        |x| x.word((x.i()[0] * x.i()[1] >> 32) as u32),
    );
    add(
        "v_mul_u32_u24 v0, v2, v4",
        "v_mul_u32_u24 v0, v2, v4",
        Int,
        |x| x.word(((x.u()[0] % (1 << 24)) * (x.u()[1] % (1 << 24))) as u32),
    );
    add(
        "v_mul_i32_i24 v0, v2, v4",
        "v_mul_i32_i24 v0, v2, v4",
        Int,
        |x| {
            let s = |v: u32| i128::from((v as i32) << 8 >> 8);
            x.word((s(x.w()[0]) * s(x.w()[1])) as u32)
        },
    );
    add(
        "v_mad_u32_u24 v0, v2, v4, v6 clamp",
        "v_mad_u32_u24 v0, v2, v4, v6 clamp",
        Int,
        |x| {
            x.word(sat_u32(
                (x.u()[0] % (1 << 24)) * (x.u()[1] % (1 << 24)) + x.u()[2],
            ))
        },
    );
    add(
        "v_mad_i32_i24 v0, v2, v4, v6 clamp",
        "v_mad_i32_i24 v0, v2, v4, v6 clamp",
        Int,
        |x| {
            let s = |v: u32| i128::from((v as i32) << 8 >> 8);
            x.word(sat_i32(s(x.w()[0]) * s(x.w()[1]) + x.i()[2]))
        },
    );
    add(
        "v_min3_i32 v0, v2, v4, v6",
        "v_min3_i32 v0, v2, v4, v6",
        Int,
        |x| x.word(*x.i().iter().min().expect("three") as u32),
    );
    add(
        "v_max3_u32 v0, v2, v4, v6",
        "v_max3_u32 v0, v2, v4, v6",
        Int,
        |x| x.word(*x.u().iter().max().expect("three") as u32),
    );
    add(
        "v_med3_i32 v0, v2, v4, v6",
        "v_med3_i32 v0, v2, v4, v6",
        Int,
        |x| {
            let mut s = x.i();
            s.sort();
            x.word(s[1] as u32)
        },
    );
    add(
        "v_med3_u32 v0, v2, v4, v6",
        "v_med3_u32 v0, v2, v4, v6",
        Int,
        |x| {
            let mut s = x.u();
            s.sort();
            x.word(s[1] as u32)
        },
    );
    add("", "v_minmax_i32 v0, v2, v4, v6", Int, |x| {
        let [a, b, c] = x.i();
        x.word((if a < b { a } else { b }).max(c) as u32)
    });
    add("", "v_maxmin_i32 v0, v2, v4, v6", Int, |x| {
        let [a, b, c] = x.i();
        x.word((if a > b { a } else { b }).min(c) as u32)
    });
    add("", "v_minmax_u32 v0, v2, v4, v6", Int, |x| {
        let [a, b, c] = x.u();
        x.word((if a < b { a } else { b }).max(c) as u32)
    });
    add("", "v_maxmin_u32 v0, v2, v4, v6", Int, |x| {
        let [a, b, c] = x.u();
        x.word((if a > b { a } else { b }).min(c) as u32)
    });
    add(
        "v_bfe_u32 v0, v2, v4, v6",
        "v_bfe_u32 v0, v2, v4, v6",
        Int,
        |x| {
            let [a, b, c] = x.u();
            x.word((a / (1 << (b % 32)) % (1 << (c % 32))) as u32)
        },
    );
    add(
        "v_bfi_b32 v0, v2, v4, v6",
        "v_bfi_b32 v0, v2, v4, v6",
        Int,
        |x| {
            x.word(
                (0..32)
                    .map(|n| {
                        (if x.w()[0] >> n & 1 == 1 {
                            x.w()[1]
                        } else {
                            x.w()[2]
                        }) & 1 << n
                    })
                    .sum(),
            )
        },
    );
    add(
        "v_lerp_u8 v0, v2, v4, v6",
        "v_lerp_u8 v0, v2, v4, v6",
        Int,
        |x| {
            let [a, b, c] = x.bytes();
            x.word(u32::from_le_bytes(std::array::from_fn(|n| {
                ((u16::from(a[n]) + u16::from(b[n]) + u16::from(c[n] % 2)) / 2) as u8
            })))
        },
    );
    add(
        "v_sad_u8 v0, v2, v4, v6",
        "v_sad_u8 v0, v2, v4, v6",
        Int,
        |x| {
            let [a, b, _] = x.bytes();
            x.word((0..4).fold(x.w()[2], |s, n| {
                s.wrapping_add((i32::from(a[n]) - i32::from(b[n])).unsigned_abs())
            }))
        },
    );
    add(
        "v_sad_hi_u8 v0, v2, v4, v6",
        "v_sad_hi_u8 v0, v2, v4, v6",
        Int,
        |x| {
            let [a, b, _] = x.bytes();
            x.word((0..4).fold(x.w()[2], |s, n| {
                s.wrapping_add((i32::from(a[n]) - i32::from(b[n])).unsigned_abs() * 65536)
            }))
        },
    );
    add(
        "v_msad_u8 v0, v2, v4, v6",
        "v_msad_u8 v0, v2, v4, v6",
        Int,
        |x| {
            let [a, b, _] = x.bytes();
            x.word((0..4).filter(|n| b[*n] > 0).fold(x.w()[2], |s, n| {
                s.wrapping_add((i32::from(a[n]) - i32::from(b[n])).unsigned_abs())
            }))
        },
    );
    add(
        "v_sad_u16 v0, v2, v4, v6",
        "v_sad_u16 v0, v2, v4, v6",
        Int,
        |x| {
            let [a, b, _] = x.halves();
            x.word((0..2).fold(x.w()[2], |s, n| {
                s.wrapping_add((i32::from(a[n]) - i32::from(b[n])).unsigned_abs())
            }))
        },
    );
    add(
        "v_sad_u32 v0, v2, v4, v6 clamp",
        "v_sad_u32 v0, v2, v4, v6 clamp",
        Int,
        |x| {
            let [a, b, c] = x.u();
            x.word(sat_u32((a - b).abs() + c))
        },
    );
    add(
        "v_qsad_pk_u16_u8 v[0:1], v[2:3], v4, v[6:7]",
        "v_qsad_pk_u16_u8 v[0:1], v[2:3], v4, v[6:7]",
        Int,
        |x| {
            let (a, b) = (x.a.to_le_bytes(), x.bytes()[1]);
            (0..4).fold(0, |r, k| {
                let sum: u64 = (0..4)
                    .map(|n| (i64::from(a[k + n]) - i64::from(b[n])).unsigned_abs())
                    .sum();
                r | (((x.c >> (16 * k)) + sum) & 0xffff) << (16 * k)
            })
        },
    );
    add(
        "v_mqsad_pk_u16_u8 v[0:1], v[2:3], v4, v[6:7]",
        "v_mqsad_pk_u16_u8 v[0:1], v[2:3], v4, v[6:7]",
        Int,
        |x| {
            let (a, b) = (x.a.to_le_bytes(), x.bytes()[1]);
            (0..4).fold(0, |r, k| {
                let sum: u64 = (0..4)
                    .filter(|n| b[*n] != 0)
                    .map(|n| (i64::from(a[k + n]) - i64::from(b[n])).unsigned_abs())
                    .sum();
                r | (((x.c >> (16 * k)) + sum) & 0xffff) << (16 * k)
            })
        },
    );
    add(
        "v_perm_b32 v0, v2, v4, v6",
        "v_perm_b32 v0, v2, v4, v6",
        Int,
        |x| {
            let [a, b, c] = x.bytes();
            let data = [b, a].concat();
            x.word(u32::from_le_bytes(c.map(|s| match s {
                0..=7 => data[s as usize],
                8..=11 => {
                    if data[2 * (s as usize - 8) + 1] >= 128 {
                        255
                    } else {
                        0
                    }
                }
                12 => 0,
                _ => 255,
            })))
        },
    );
    add(
        "v_mad_u64_u32 v[0:1], vcc, v2, v4, v[6:7]",
        "v_mad_co_u64_u32 v[0:1], vcc_lo, v2, v4, v[6:7]",
        Int,
        |x| (x.u()[0] * x.u()[1] + i128::from(x.c)) as u64,
    );
    add(
        "v_mad_i64_i32 v[0:1], vcc, v2, v4, v[6:7]",
        "v_mad_co_i64_i32 v[0:1], vcc_lo, v2, v4, v[6:7]",
        Int,
        |x| (x.i()[0] * x.i()[1] + i128::from(x.c as i64)) as u64,
    );
    // Integers of 16.
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
    // Packed integers and dot products.
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
    // Half precision.
    add("v_add_f16 v0, v2, v4", "", Half, |x| {
        x.clear(h(x.h()[0] + x.h()[1]))
    });
    add("", "v_add_f16 v0, v2, v4", Half, |x| {
        x.keep(h(x.h()[0] + x.h()[1]))
    });
    add("v_sub_f16 v0, v2, v4", "", Half, |x| {
        x.clear(h(x.h()[0] - x.h()[1]))
    });
    add("v_mul_f16 v0, -v2, |v4|", "", Half, |x| {
        x.clear(h(-x.h()[0] * x.h()[1].abs()))
    });
    add(
        "v_fma_f16 v0, v2, v4, v6",
        "v_fma_f16 v0, v2, v4, v6",
        Half,
        |x| x.keep(fused(x.h()[0], x.h()[1], x.h()[2])),
    );
    add(
        "v_fma_f16 v0, v2, v4, v6 op_sel:[1,0,1,1]",
        "v_fma_f16 v0, v2, v4, v6 op_sel:[1,0,1,1]",
        Half,
        |x| {
            let v = x.halves().map(|p| p.map(|b| f16::from_bits(b).to_f64()));
            x.d & !0xffff_0000 | u64::from(fused(v[0][1], v[1][0], v[2][1])) << 16
        },
    );
    add("v_floor_f16 v0, v2", "", Half, |x| {
        x.clear(h(x.h()[0].floor()))
    });
    add("v_ceil_f16 v0, v2", "", Half, |x| {
        x.clear(h(x.h()[0].ceil()))
    });
    add("v_trunc_f16 v0, v2", "", Half, |x| {
        x.clear(h(x.h()[0].trunc()))
    });
    add("v_rndne_f16 v0, v2", "", Half, |x| {
        x.clear(h(x.h()[0].round_ties_even()))
    });
    add("v_sqrt_f16 v0, v2", "", Half, |x| {
        x.clear(h(x.h()[0].sqrt()))
    });
    add("v_rcp_f16 v0, v2", "", Half, |x| {
        x.clear(h(x.h()[0].recip()))
    });
    add("v_cvt_f32_f16 v0, v2", "v_cvt_f32_f16 v0, v2", Half, |x| {
        x.word(f16::from_bits(x.halves()[0][0]).to_f32().to_bits())
    });
    add("v_cvt_u16_f16 v0, v2", "", Half, |x| {
        x.clear(x.h()[0].clamp(0.0, 65535.0) as u16)
    });
    add("v_cvt_i16_f16 v0, v2", "", Half, |x| {
        x.clear(x.h()[0].clamp(-32768.0, 32767.0) as i16 as u16)
    });
    add("v_cvt_f16_u16 v0, v2", "", Int, |x| {
        x.clear(h(x.halves()[0][0].into()))
    });
    add("v_cvt_f16_i16 v0, v2", "", Int, |x| {
        x.clear(h((x.halves()[0][0] as i16).into()))
    });
    add("", "v_minimum_f16 v0, v2, v4", Half, |x| {
        let [a, b, _] = x.h();
        x.keep(h(if a.is_nan() || b.is_nan() {
            f64::NAN
        } else if a < b || (a == b && a.is_sign_negative()) {
            a
        } else {
            b
        }))
    });
    add("", "v_maximum3_f16 v0, v2, v4, v6", Half, |x| {
        let s = x.h();
        x.keep(h(if s.iter().any(|v| v.is_nan()) {
            f64::NAN
        } else {
            s.into_iter().max_by(f64::total_cmp).expect("three")
        }))
    });
    add("v_med3_f16 v0, v2, v4, v6", "", Half, |x| {
        let mut s = x.h();
        if s.iter().any(|v| v.is_nan()) {
            return x.keep(nan_min(s));
        }
        s.sort_by(f64::total_cmp);
        x.keep(h(s[1]))
    });
    add(
        "v_pack_b32_f16 v0, v2, v4 op_sel:[1,0,0]",
        "v_pack_b32_f16 v0, v2, v4 op_sel:[1,0,0]",
        Int,
        |x| x.word(two([x.halves()[0][1], x.halves()[1][0]])),
    );
    add("v_ldexp_f16 v0, v2, v4", "", Half, |x| {
        x.clear(h(
            x.h()[0] * 2f64.powi((x.halves()[1][0] as i16).clamp(-100, 100).into())
        ))
    });
    add(
        "v_pk_add_f16 v0, v2, v4 neg_lo:[1,0] neg_hi:[0,1]",
        "v_pk_add_f16 v0, v2, v4 neg_lo:[1,0] neg_hi:[0,1]",
        Half,
        |x| {
            let v = x.halves().map(|p| p.map(|b| f16::from_bits(b).to_f64()));
            x.word(two([h(-v[0][0] + v[1][0]), h(v[0][1] - v[1][1])]))
        },
    );
    add(
        "v_pk_mul_f16 v0, v2, v4 op_sel:[1,0] op_sel_hi:[0,1]",
        "v_pk_mul_f16 v0, v2, v4 op_sel:[1,0] op_sel_hi:[0,1]",
        Half,
        |x| {
            let v = x.halves().map(|p| p.map(|b| f16::from_bits(b).to_f64()));
            x.word(two([h(v[0][1] * v[1][0]), h(v[0][0] * v[1][1])]))
        },
    );
    add(
        "v_pk_fma_f16 v0, v2, v4, v6",
        "v_pk_fma_f16 v0, v2, v4, v6",
        Half,
        |x| pk_float(x, fused),
    );
    add("", "v_pk_minimum_f16 v0, v2, v4", Half, |x| {
        pk_float(x, |a, b, _| {
            h(if a.is_nan() || b.is_nan() {
                f64::NAN
            } else if a.total_cmp(&b).is_lt() {
                a
            } else {
                b
            })
        })
    });
    add(
        "v_fma_mix_f32 v0, v2, v4, v6 op_sel:[1,0,0] op_sel_hi:[1,0,1]",
        "v_fma_mix_f32 v0, v2, v4, v6 op_sel:[1,0,0] op_sel_hi:[1,0,1]",
        Half,
        |x| {
            let v = x.halves().map(|p| p.map(|b| f16::from_bits(b).to_f32()));
            x.word(v[0][1].mul_add(x.f()[1], v[2][0]).to_bits())
        },
    );
    add(
        "v_fma_mixlo_f16 v0, v2, v4, v6 op_sel_hi:[1,1,0]",
        "v_fma_mixlo_f16 v0, v2, v4, v6 op_sel_hi:[1,1,0]",
        Half,
        |x| {
            let v = x.halves().map(|p| f16::from_bits(p[0]).to_f32());
            x.keep(h(v[0].mul_add(v[1], x.f()[2]).into()))
        },
    );
    add(
        "v_dot2_f32_f16 v0, v2, v4, v6",
        "v_dot2_f32_f16 v0, v2, v4, v6",
        Half,
        |x| {
            let v = x.halves().map(|p| p.map(|b| f16::from_bits(b).to_f32()));
            x.word(
                v[0][1]
                    .mul_add(v[1][1], v[0][0].mul_add(v[1][0], x.f()[2]))
                    .to_bits(),
            )
        },
    );
    add("", "v_dot2_f32_bf16 v0, v2, v4, v6", Half, |x| {
        let v = x.halves().map(|p| p.map(|b| bf16::from_bits(b).to_f32()));
        x.word(
            v[0][1]
                .mul_add(v[1][1], v[0][0].mul_add(v[1][0], x.f()[2]))
                .to_bits(),
        )
    });
    // Single precision.
    add(
        "v_add_f32 v0, v2, v4",
        "v_add_f32 v0, v2, v4",
        Single,
        |x| x.word((x.f()[0] + x.f()[1]).to_bits()),
    );
    add(
        "v_mul_f32 v0, v2, v4",
        "v_mul_f32 v0, v2, v4",
        Single,
        |x| x.word((x.f()[0] * x.f()[1]).to_bits()),
    );
    add(
        "v_fma_f32 v0, v2, -v4, |v6|",
        "v_fma_f32 v0, v2, -v4, |v6|",
        Single,
        |x| x.word(x.f()[0].mul_add(-x.f()[1], x.f()[2].abs()).to_bits()),
    );
    add(
        "v_pk_fma_f32 v[0:1], v[2:3], v[4:5], v[6:7]",
        "",
        Single,
        |x| {
            let p = |v: u64| [v as u32, (v >> 32) as u32].map(f32::from_bits);
            let (a, b, c) = (p(x.a), p(x.b), p(x.c));
            u64::from(a[0].mul_add(b[0], c[0]).to_bits())
                | u64::from(a[1].mul_add(b[1], c[1]).to_bits()) << 32
        },
    );
    add("v_cvt_f16_f32 v0, v2", "", Single, |x| {
        x.clear(f16::from_f32(x.f()[0]).to_bits())
    });
    add(
        "v_cvt_pkrtz_f16_f32 v0, v2, v4",
        "v_cvt_pk_rtz_f16_f32 v0, v2, v4",
        Single,
        |x| x.word(two([x.f()[0], x.f()[1]].map(rtz))),
    );
    add(
        "v_frexp_mant_f32 v0, v2",
        "v_frexp_mant_f32 v0, v2",
        Single,
        |x| {
            let v = x.f()[0];
            if v == 0.0 || !v.is_finite() {
                return x.word(v.to_bits());
            }
            let mut m = f64::from(v);
            while m.abs() >= 1.0 {
                m /= 2.0
            }
            while m.abs() < 0.5 {
                m *= 2.0
            }
            x.word((m as f32).to_bits())
        },
    );
    add(
        "v_frexp_exp_i32_f32 v0, v2",
        "v_frexp_exp_i32_f32 v0, v2",
        Single,
        |x| {
            let v = x.f()[0];
            if v == 0.0 || !v.is_finite() {
                return x.word(0);
            }
            let (mut m, mut e) = (f64::from(v), 0);
            while m.abs() >= 1.0 {
                m /= 2.0;
                e += 1
            }
            while m.abs() < 0.5 {
                m *= 2.0;
                e -= 1
            }
            x.word(e as u32)
        },
    );
    add("v_cvt_pk_fp8_f32 v0, v2, v4", "", Single, |x| {
        x.keep(u16::from_le_bytes(
            [x.f()[0], x.f()[1]].map(|f| narrow_float(f, 3, 8, false)),
        ))
    });
    add("v_cvt_pk_bf8_f32 v0, v2, v4", "", Single, |x| {
        x.keep(u16::from_le_bytes(
            [x.f()[0], x.f()[1]].map(|f| narrow_float(f, 2, 16, false)),
        ))
    });
    add("", "v_cvt_pk_fp8_f32 v0, v2, v4", Single, |x| {
        x.keep(u16::from_le_bytes(
            [x.f()[0], x.f()[1]].map(|f| narrow_float(f, 3, 7, true)),
        ))
    });
    add(
        "",
        "v_cvt_pk_bf8_f32 v0, v2, v4 op_sel:[0,0,1]",
        Single,
        |x| {
            x.d & !0xffff_0000
                | u64::from(u16::from_le_bytes(
                    [x.f()[0], x.f()[1]].map(|f| narrow_float(f, 2, 15, true)),
                )) << 16
        },
    );
    add("v_cvt_f32_fp8 v0, v2", "", Int, |x| {
        x.word(fp8(x.bytes()[0][0], 3, 8, false).map_or(0x7fc0_0000, |v| (v as f32).to_bits()))
    });
    add("", "v_cvt_f32_fp8 v0, v2", Int, |x| {
        x.word(fp8(x.bytes()[0][0], 3, 7, true).map_or(0x7fc0_0000, |v| (v as f32).to_bits()))
    });
    add("", "v_cvt_f32_fp8_e64 v0, v2 byte_sel:3", Int, |x| {
        x.word(fp8(x.bytes()[0][3], 3, 7, true).map_or(0x7fc0_0000, |v| (v as f32).to_bits()))
    });
    add("v_cvt_f32_bf8_sdwa v0, v2 src0_sel:BYTE_2", "", Int, |x| {
        x.word(fp8(x.bytes()[0][2], 2, 16, false).map_or(0x7fc0_0000, |v| (v as f32).to_bits()))
    });
    add("", "v_minimum_f32 v0, v2, v4", Single, |x| {
        let [a, b, _] = x.f();
        x.word(if a.is_nan() || b.is_nan() {
            f32::NAN.to_bits()
        } else if a.total_cmp(&b).is_lt() {
            a.to_bits()
        } else {
            b.to_bits()
        })
    });
    add(
        "v_cvt_pknorm_i16_f32 v0, v2, v4",
        "v_cvt_pk_norm_i16_f32 v0, v2, v4",
        Single,
        |x| {
            x.word(two([x.f()[0], x.f()[1]].map(|v| {
                if v.is_nan() {
                    0
                } else {
                    (f64::from(v).clamp(-1.0, 1.0) * 32767.0).round_ties_even() as i16 as u16
                }
            })))
        },
    );
    // Double precision.
    add(
        "v_add_f64 v[0:1], v[2:3], v[4:5]",
        "v_add_f64 v[0:1], v[2:3], v[4:5]",
        Double,
        |x| (x.g()[0] + x.g()[1]).to_bits(),
    );
    add(
        "v_mul_f64 v[0:1], v[2:3], -v[4:5]",
        "v_mul_f64 v[0:1], v[2:3], -v[4:5]",
        Double,
        |x| (x.g()[0] * -x.g()[1]).to_bits(),
    );
    add(
        "v_fma_f64 v[0:1], v[2:3], v[4:5], v[6:7]",
        "v_fma_f64 v[0:1], v[2:3], v[4:5], v[6:7]",
        Double,
        |x| x.g()[0].mul_add(x.g()[1], x.g()[2]).to_bits(),
    );
    add("", "v_maximum_f64 v[0:1], v[2:3], v[4:5]", Double, |x| {
        let [a, b, _] = x.g();
        if a.is_nan() || b.is_nan() {
            f64::NAN.to_bits()
        } else if a.total_cmp(&b).is_gt() {
            a.to_bits()
        } else {
            b.to_bits()
        }
    });
    add(
        "v_fract_f64 v[0:1], v[2:3]",
        "v_fract_f64 v[0:1], v[2:3]",
        Double,
        |x| {
            let v = x.g()[0];
            (v - v.floor()).min(0.999_999_999_999_999_9).to_bits()
        },
    );
    add(
        "v_cvt_f32_f64 v0, v[2:3]",
        "v_cvt_f32_f64 v0, v[2:3]",
        Double,
        |x| x.word((x.g()[0] as f32).to_bits()),
    );
    // SDWA: parts of sources and of the result.
    add("v_add_u32_sdwa v0, v2, v4 dst_sel:BYTE_1 dst_unused:UNUSED_PRESERVE src0_sel:WORD_1 src1_sel:BYTE_3", "", Int, |x| { let mut d = (x.d as u32).to_le_bytes(); d[1] = (u32::from(x.halves()[0][1]) + u32::from(x.bytes()[1][3])) as u8; x.word(u32::from_le_bytes(d)) });
    add("v_add_u32_sdwa v0, sext(v2), v4 dst_sel:WORD_1 dst_unused:UNUSED_PAD src0_sel:BYTE_0 src1_sel:DWORD", "", Int, |x| x.word(((i128::from(x.bytes()[0][0] as i8) + x.u()[1]) as u32) << 16));
    add("v_mul_u32_u24_sdwa v0, v2, v4 dst_sel:WORD_0 dst_unused:UNUSED_SEXT src0_sel:BYTE_2 src1_sel:BYTE_1", "", Int, |x| x.word(i32::from((u16::from(x.bytes()[0][2]) * u16::from(x.bytes()[1][1])) as i16) as u32));
    add("v_lshlrev_b32_sdwa v0, v2, v4 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_1 src1_sel:WORD_0", "", Int, |x| x.word(u32::from(x.halves()[1][0]) << (x.bytes()[0][1] % 32)));
    add("v_add_f16_sdwa v0, v2, -v4 dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:WORD_1 src1_sel:WORD_0", "", Half, |x| { let v = x.halves().map(|p| p.map(|b| f16::from_bits(b).to_f64())); x.d & !0xffff_0000 | u64::from(h(v[0][1] - v[1][0])) << 16 });
    all
}
