// SPDX-License-Identifier: MIT OR Apache-2.0
//! MODE: rounding directions and denormals of every precision; relative registers; hardware
//! registers; scalar half precision.

#![expect(clippy::precedence, reason = "formulas read as the manuals print them")]

use half::f16;
use rkfd_isa::*;
use rkfd_isa_testkit::*;

const NEAREST: u32 = 0;
const UP: u32 = 1;
const DOWN: u32 = 2;
const ZERO: u32 = 3;

fn one<const L: usize>(
    target: &Target,
    text: &str,
    set: impl Fn(&mut wave::Wave<L>),
) -> wave::Wave<L> {
    let mut wave = blank::<L>(32);
    set(&mut wave);
    for code in assemble_each(target, L, text) {
        step(
            target,
            &mut wave,
            &code,
            &mut Flat::new(4096),
            &mut [0; 1024],
        )
        .unwrap_or_else(|e| panic!("{text}: {e}"));
    }
    wave
}

/// The neighbour of a double towards infinity, or away from it.
fn next(x: f64, up: bool) -> f64 {
    let ordered = |b: i64| if b < 0 { i64::MIN - b } else { b };
    let step = ordered(x.to_bits() as i64) + if up { 1 } else { -1 };
    f64::from_bits(ordered(step) as u64)
}

/// What a direction makes of the nearest double and the sign of what it lacks.
fn directed(near: f64, error: f64, mode: u32) -> f64 {
    let up = match mode {
        NEAREST => return near,
        UP => true,
        DOWN => false,
        _ => near.is_sign_negative() || (near == 0.0 && error < 0.0),
    };
    if error != 0.0 && (error > 0.0) == up {
        next(near, up)
    } else {
        near
    }
}

#[test]
fn doubles_round_in_every_direction() {
    let mut r = Random(5);
    for mode in [NEAREST, UP, DOWN, ZERO] {
        for _ in 0..40 {
            // Exponents near zero, so that errors are doubles too.
            let mut random = || {
                std::array::from_fn::<f64, 64, _>(|_| {
                    f64::from_bits(r.u64() & !(0x7ff << 52) | ((1000 + r.u64() % 60) << 52))
                })
            };
            let (a, b) = (random(), random());
            let text = "v_add_f64 v[4:5], v[0:1], v[2:3]\nv_mul_f64 v[6:7], v[0:1], v[2:3]\nv_fma_f64 v[8:9], v[0:1], v[2:3], v[0:1]";
            let w = one::<64>(&GFX942, text, |w| {
                w.mode = 0xf0 | mode << 2;
                for l in 0..64 {
                    for (n, x) in [a[l], b[l]].into_iter().enumerate() {
                        w.v[2 * n][l] = x.to_bits() as u32;
                        w.v[2 * n + 1][l] = (x.to_bits() >> 32) as u32;
                    }
                }
            });
            for l in 0..64 {
                let got = |n: usize| {
                    f64::from_bits(u64::from(w.v[n][l]) | u64::from(w.v[n + 1][l]) << 32)
                };
                let (s, p) = (a[l] + b[l], a[l] * b[l]);
                // What a sum or product lacks is a double, and these find it.
                let v = s - a[l];
                let lacks = (a[l] - (s - v)) + (b[l] - v);
                assert_eq!(got(4), directed(s, lacks, mode), "{} + {}", a[l], b[l]);
                assert_eq!(
                    got(6),
                    directed(p, a[l].mul_add(b[l], -p), mode),
                    "{} * {}",
                    a[l],
                    b[l]
                );
                // The fused result lies where the nearest one does, or beside it, and in order.
                let near = a[l].mul_add(b[l], a[l]);
                let ok = match mode {
                    NEAREST => got(8) == near,
                    UP => got(8) >= near && got(8) <= next(near, true),
                    DOWN => got(8) <= near && got(8) >= next(near, false),
                    _ => got(8).abs() <= near.abs(),
                };
                assert!(ok, "fma {} {}", a[l], b[l]);
            }
        }
    }
}

#[test]
fn halves_round_in_every_direction() {
    // 1 + 2^-11 lies between 1 and the next half.
    let text = "v_add_f16 v2, v0, v1\nv_add_f16 v3, -v0, -v1\nv_cvt_f16_f32 v5, v4";
    for (mode, plus, minus, converted) in [
        (NEAREST, 0x3c00, 0xbc00, 0x3555),
        (UP, 0x3c01, 0xbc00, 0x3556),
        (DOWN, 0x3c00, 0xbc01, 0x3555),
        (ZERO, 0x3c00, 0xbc00, 0x3555),
    ] {
        let w = one::<64>(&GFX942, text, |w| {
            w.mode = 0xf0 | mode << 2;
            w.v[0] = [0x3c00; 64];
            w.v[1] = [u32::from(f16::from_f64(2f64.powi(-11)).to_bits()); 64];
            w.v[4] = [(1f32 / 3.0).to_bits(); 64];
        });
        assert_eq!(
            [w.v[2][7], w.v[3][7], w.v[5][7]],
            [plus, minus, converted],
            "mode {mode}"
        );
    }
}

#[test]
fn denormals_are_flushed_where_mode_says() {
    let text = "v_add_f16 v2, v0, v0\nv_add_f64 v[6:7], v[4:5], v[4:5]\nv_pk_add_f32 v[10:11], v[8:9], v[8:9]";
    // Inputs kept or not, results kept or not: bit 0 and 1 of each field.
    for (single, double) in [(3, 3), (0, 0), (3, 0), (0, 3)] {
        let w = one::<64>(&GFX942, text, |w| {
            w.mode = single << 4 | double << 6;
            w.v[0] = [0x0001; 64];
            w.v[4] = [1; 64];
            w.v[8] = [1; 64];
        });
        let kept = |field: u32, x: u32| if field == 3 { x } else { 0 };
        assert_eq!(
            [w.v[2][0], w.v[6][0], w.v[10][0]],
            [kept(double, 2), kept(double, 2), kept(single, 2)],
            "{single} {double}"
        );
    }
}

#[test]
fn registers_relative_to_m0() {
    let text = "s_set_gpr_idx_on s4, gpr_idx(SRC0,DST)\nv_mov_b32 v2, v1\ns_set_gpr_idx_idx s5\nv_mov_b32 v2, v1\ns_set_gpr_idx_off\nv_mov_b32 v20, v1";
    let w = one::<64>(&GFX942, text, |w| {
        (w.s[4], w.s[5]) = (3, 7);
        for n in 0..32 {
            w.v[n] = [n as u32 * 10; 64];
        }
    });
    assert_eq!(
        [w.v[5][0], w.v[9][0], w.v[2][0], w.v[20][0]],
        [40, 80, 20, 10]
    );
    // Beyond the allocation nothing is written, and v0 is read.
    let text = "s_set_gpr_idx_on s4, gpr_idx(DST)\nv_mov_b32 v2, v1\ns_set_gpr_idx_on s4, gpr_idx(SRC0)\nv_mov_b32 v2, v1";
    let mut wave = blank::<64>(32);
    wave.s[4] = 63;
    (wave.v[0], wave.v[1]) = ([5; 64], [6; 64]);
    let (mut memory, lds) = (Flat::new(4096), &mut []);
    let mut written = Vec::new();
    for code in assemble_each(&GFX942, 64, text) {
        step(&GFX942, &mut wave, &code, &mut memory, lds).expect("runs");
        written.push(wave.v.iter().filter(|v| **v != [0; 64]).count());
    }
    assert_eq!((written, wave.v[2]), (vec![2, 2, 2, 3], [5; 64]));
}

#[test]
fn hardware_registers() {
    let text =
        "s_getreg_b32 s4, hwreg(HW_REG_STATUS)\ns_getreg_b32 s5, hwreg(HW_REG_SH_MEM_BASES)\n\
        s_getreg_b32 s6, hwreg(HW_REG_LDS_ALLOC)\ns_getreg_b32 s7, hwreg(HW_REG_HW_ID, 0, 4)";
    let w = one::<64>(&GFX942, text, |w| {
        w.scc = true;
        w.index = 5;
        w.set_pair(106, 0);
    });
    // SCC, VCCZ and VALID; the bases of the apertures; 1 KiB in units of 64 dwords; the wave.
    assert_eq!(w.s[4], 1 | 1 << 10 | 1 << 16);
    assert_eq!(w.s[5], 2 | 1 << 16);
    assert_eq!([w.s[6], w.s[7]], [4 << 12, 5]);
}

#[test]
fn scalar_half_precision() {
    let text = "s_add_f16 s4, s0, s1\ns_mul_f16 s5, s0, s1\ns_fmac_f16 s6, s0, s1\ns_cvt_f32_f16 s7, s0\ns_cvt_f16_f32 s8, s2\n\
        s_cvt_hi_f32_f16 s9, s0\ns_min_num_f16 s10, s0, s1\ns_maximum_f32 s11, s2, s3\ns_floor_f16 s12, s1\ns_cvt_pk_rtz_f16_f32 s13, s2, s2\n\
        v_s_sqrt_f32 s14, s15\ns_cmp_lt_f16 s0, s1";
    let h = |x: f32| u32::from(f16::from_f32(x).to_bits());
    let w = one::<32>(&GFX1201, text, |w| {
        w.s[0] = h(1.5) | h(-8.0) << 16;
        w.s[1] = h(2.25) | 0xffff_0000;
        w.s[2] = (1f32 / 3.0).to_bits();
        w.s[3] = f32::NAN.to_bits();
        w.s[6] = h(10.0);
        w.s[15] = 2f32.to_bits();
    });
    let third = u32::from(f16::from_f32(1.0 / 3.0).to_bits());
    assert_eq!(
        w.s[4..9],
        [h(3.75), h(3.375), h(13.375), 1.5f32.to_bits(), third]
    );
    assert_eq!(w.s[9..11], [(-8f32).to_bits(), h(1.5)]);
    assert!(f32::from_bits(w.s[11]).is_nan() && w.scc);
    assert_eq!(
        w.s[12..15],
        [h(2.0), third | third << 16, 2f32.sqrt().to_bits()]
    );
}

/// Clears and sets the flags of five exceptions, as `llvm.set.fpenv` does with MODE, and reads seven.
fn flags<const L: usize>(target: &'static Target, register: &str) {
    let mut w = blank::<L>(8);
    let mut memory = Flat::new(4096);
    let mut run = |text: String| {
        let code = assemble(target, L, &text);
        assert_eq!(
            step(target, &mut w, &code, &mut memory, &mut []),
            Ok(()),
            "{text}"
        );
        w.s[4]
    };
    for (value, flags) in [(0u32, 0), (0xffff_ffe0, 0), (1, 1), (0x1f, 0x1f), (0, 0)] {
        run(format!(
            "s_setreg_imm32_b32 hwreg({register}, 0, 5), {value:#x}"
        ));
        let read = run(format!("s_getreg_b32 s4, hwreg({register}, 0, 7)"));
        assert_eq!(read, flags, "{register} after {value:#x}");
    }
}

#[test]
fn flags_of_exceptions_are_cleared_and_set() {
    flags::<64>(&GFX942, "HW_REG_TRAPSTS");
    flags::<32>(&GFX1201, "HW_REG_EXCP_FLAG_USER");
}
