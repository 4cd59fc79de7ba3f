// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bits and integers of 32.

use super::*;

pub fn add(add: &mut Add<'_>) {
    use Kind::*;
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
}
