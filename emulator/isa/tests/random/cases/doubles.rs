// SPDX-License-Identifier: MIT OR Apache-2.0
//! Double precision.

use super::*;

pub fn add(add: &mut Add<'_>) {
    use Kind::*;
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
}
