// SPDX-License-Identifier: MIT OR Apache-2.0
//! Single precision.

use super::*;

pub fn add(add: &mut Add<'_>) {
    use Kind::*;
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
}
