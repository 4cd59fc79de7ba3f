// SPDX-License-Identifier: MIT OR Apache-2.0
//! Half precision.

use super::*;

pub fn add(add: &mut Add<'_>) {
    use Kind::*;
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
}
