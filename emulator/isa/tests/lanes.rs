// SPDX-License-Identifier: MIT OR Apache-2.0
//! Operations across lanes: DPP, permutations of rows, matrix operations. Expected values are
//! worked out here with lists of lanes and plain loops over matrices.

#![expect(clippy::precedence, reason = "formulas read as the manuals print them")]

use half::{bf16, f16};
use rkfd_isa::*;
use rkfd_isa_testkit::*;

/// Each lane's source for a list of 16 within a row; none is out of range.
fn rows(lanes: usize, list: [Option<usize>; 16]) -> Vec<Option<usize>> {
    (0..lanes)
        .map(|l| list[l % 16].map(|s| l / 16 * 16 + s))
        .collect()
}

fn one<const L: usize>(
    target: &Target,
    text: &str,
    set: impl Fn(&mut wave::Wave<L>),
) -> wave::Wave<L> {
    let code = assemble(target, L, text);
    let mut wave = blank::<L>(64);
    set(&mut wave);
    step(target, &mut wave, &code, &mut Flat::new(4096), &mut [])
        .unwrap_or_else(|e| panic!("{text}: {e}"));
    wave
}

/// v0 after `v_mov_b32_dpp v0, v1 <control>`, v0 having been 1000 + lane and v1 lane, all active.
fn moved<const L: usize>(target: &Target, control: &str, sources: &[Option<usize>]) {
    for bound in ["", " bound_ctrl:1"] {
        let text = format!("v_mov_b32_dpp v0, v1 {control} row_mask:0xf bank_mask:0xf{bound}");
        let wave = one::<L>(target, &text, |w| {
            w.v[0] = std::array::from_fn(|l| 1000 + l as u32);
            w.v[1] = std::array::from_fn(|l| l as u32);
        });
        let want: Vec<u32> = (0..L)
            .map(|l| match sources[l] {
                Some(s) => s as u32,
                None if bound.is_empty() => 1000 + l as u32,
                None => 0,
            })
            .collect();
        assert_eq!(wave.v[0].to_vec(), want, "{text}");
    }
}

fn shared_controls<const L: usize>(target: &Target) {
    let list: [usize; 16] = std::array::from_fn(|n| n);
    let some = |f: &dyn Fn(usize) -> Option<usize>| rows(L, list.map(f));
    moved::<L>(
        target,
        "quad_perm:[3,0,2,1]",
        &some(&|n| Some(n / 4 * 4 + [3, 0, 2, 1][n % 4])),
    );
    moved::<L>(target, "row_shl:3", &some(&|n| list.get(n + 3).copied()));
    moved::<L>(target, "row_shr:5", &some(&|n| n.checked_sub(5)));
    let mut turned = list;
    turned.rotate_right(7);
    moved::<L>(target, "row_ror:7", &some(&|n| Some(turned[n])));
    moved::<L>(target, "row_mirror", &some(&|n| Some(15 - n)));
    moved::<L>(
        target,
        "row_half_mirror",
        &some(&|n| Some(if n < 8 { 7 - n } else { 23 - n })),
    );
}

#[test]
fn dpp_of_gfx942() {
    shared_controls::<64>(&GFX942);
    let all = |f: &dyn Fn(usize) -> Option<usize>| (0..64).map(f).collect::<Vec<_>>();
    let inside = |n: isize| usize::try_from(n).ok().filter(|n| *n < 64);
    moved::<64>(&GFX942, "wave_shl:1", &all(&|l| inside(l as isize + 1)));
    moved::<64>(&GFX942, "wave_shr:1", &all(&|l| inside(l as isize - 1)));
    moved::<64>(
        &GFX942,
        "wave_rol:1",
        &all(&|l| Some(if l == 63 { 0 } else { l + 1 })),
    );
    moved::<64>(
        &GFX942,
        "wave_ror:1",
        &all(&|l| Some(if l == 0 { 63 } else { l - 1 })),
    );
    moved::<64>(
        &GFX942,
        "row_bcast:15",
        &all(&|l| (l > 15).then(|| l / 16 * 16 - 1)),
    );
    moved::<64>(&GFX942, "row_bcast:31", &all(&|l| (l > 31).then_some(31)));
    moved::<64>(&GFX942, "row_newbcast:9", &all(&|l| Some(l / 16 * 16 + 9)));
}

#[test]
fn dpp_of_gfx1201() {
    shared_controls::<32>(&GFX1201);
    shared_controls::<64>(&GFX1201);
    moved::<32>(
        &GFX1201,
        "row_share:11",
        &(0..32).map(|l| Some(l / 16 * 16 + 11)).collect::<Vec<_>>(),
    );
    moved::<32>(
        &GFX1201,
        "row_xmask:6",
        &(0..32).map(|l| Some(l ^ 6)).collect::<Vec<_>>(),
    );
}

/// A sum over 64 lanes as LLVM makes it: four steps in rows, then two broadcasts.
#[test]
fn reduction_by_dpp() {
    let mut wave = blank::<64>(64);
    let values: [u32; 64] = std::array::from_fn(|l| (l as u32).wrapping_mul(0x9e37_79b9));
    wave.v[0] = values;
    let steps = ["row_shr:1", "row_shr:2", "row_shr:4", "row_shr:8"].map(|s| (s, "0xf"));
    for (control, rows) in steps
        .into_iter()
        .chain([("row_bcast:15", "0xa"), ("row_bcast:31", "0xc")])
    {
        let text = format!("v_add_u32_dpp v0, v0, v0 {control} row_mask:{rows} bank_mask:0xf");
        let code = assemble(&GFX942, 64, &text);
        step(&GFX942, &mut wave, &code, &mut Flat::new(4096), &mut []).expect("runs");
    }
    let mut sum = 0u32;
    for (l, value) in values.into_iter().enumerate() {
        sum = sum.wrapping_add(value);
        assert_eq!(wave.v[0][l], sum, "prefix of lane {l}");
    }
}

/// Masked lanes and lanes that read an inactive one keep their values; EXEC stays what it was.
#[test]
fn dpp_masks() {
    let text = "v_add_u32_dpp v0, v1, v2 row_shl:1 row_mask:0xa bank_mask:0x3";
    let wave = one::<64>(&GFX942, text, |w| {
        w.v[0] = [7; 64];
        w.v[1] = std::array::from_fn(|l| l as u32);
        w.v[2] = [100; 64];
        w.set_pair(126, !(1 << 18));
    });
    for l in 0..64 {
        let written = (l / 16) % 2 == 1 && l % 16 < 8 && l + 1 != 18 && l != 18;
        assert_eq!(
            wave.v[0][l],
            if written { 100 + l as u32 + 1 } else { 7 },
            "lane {l}"
        );
    }
    assert_eq!(wave.exec(), !(1 << 18));
    // gfx12 reads inactive lanes if the instruction asks for it, and permutes groups of eight.
    let eights = |fetch: &str| format!("v_mov_b32_dpp v0, v1 dpp8:[7,6,5,4,3,2,1,0]{fetch}");
    for (fetch, third) in [("", 0), (" fi:1", 5)] {
        let wave = one::<32>(&GFX1201, &eights(fetch), |w| {
            w.v[1] = std::array::from_fn(|l| l as u32);
            w.set(126, !(1 << 5));
        });
        assert_eq!(
            [wave.v[0][0], wave.v[0][2], wave.v[0][9]],
            [7, third, 14],
            "{fetch}"
        );
    }
    // A comparison through VOP3.
    let wave = one::<32>(
        &GFX1201,
        "v_cmp_eq_u32_e64_dpp s4, v1, v2 row_ror:1 row_mask:0xf bank_mask:0xf",
        |w| {
            w.v[1] = std::array::from_fn(|l| l as u32);
            w.v[2] = std::array::from_fn(|l| {
                if l % 3 == 0 {
                    (l as u32 & 16) | (l as u32 + 15) & 15
                } else {
                    99
                }
            });
        },
    );
    assert_eq!(
        wave.s[4],
        (0..32).filter(|l| l % 3 == 0).map(|l| 1 << l).sum::<u32>()
    );
}

#[test]
fn permutations_of_rows() {
    let lane = |w: &mut wave::Wave<32>| {
        w.v[1] = std::array::from_fn(|l| 100 + l as u32);
        w.v[2] = std::array::from_fn(|l| (l as u32 * 5 + 3) % 16);
        (w.s[4], w.s[5]) = (0x0123_4567, 0x89ab_cdef);
    };
    // Fields of the two scalars, the lowest first.
    let fields = [7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11, 10, 9, 8];
    let same = one::<32>(&GFX1201, "v_permlane16_b32 v0, v1, s4, s5", lane);
    let other = one::<32>(&GFX1201, "v_permlanex16_b32 v0, v1, s4, s5", lane);
    let var = one::<32>(&GFX1201, "v_permlane16_var_b32 v0, v1, v2", lane);
    for l in 0..32 {
        assert_eq!(same.v[0][l], 100 + (l / 16 * 16 + fields[l % 16]) as u32);
        assert_eq!(
            other.v[0][l],
            100 + ((1 - l / 16) * 16 + fields[l % 16]) as u32
        );
        assert_eq!(var.v[0][l], 100 + (l / 16 * 16 + (l * 5 + 3) % 16) as u32);
    }
    let halves = one::<64>(&GFX1201, "v_permlane64_b32 v0, v1", |w| {
        w.v[1] = std::array::from_fn(|l| l as u32)
    });
    assert_eq!([halves.v[0][3], halves.v[0][40]], [35, 8]);
}

/// Where elements lie: for A and B, of row (or column) and inner index: lane and place in the lane;
/// for the result, of row and column.
type Place = fn(usize, usize) -> (usize, usize);

struct Multiply {
    target: &'static Target,
    text: &'static str,
    size: [usize; 3],
    /// Bits of an element of A and B, and how a small integer is written as one.
    element: (usize, fn(i32) -> u64),
    a: Place,
    d: Place,
    /// The result's bits as a number.
    result: (usize, fn(u64) -> f64),
}

fn put<const L: usize>(
    w: &mut wave::Wave<L>,
    register: usize,
    lane: usize,
    n: usize,
    bits: usize,
    x: u64,
) {
    let at = n * bits;
    if bits == 64 {
        w.v[register + 2 * n][lane] = x as u32;
        w.v[register + 2 * n + 1][lane] = (x >> 32) as u32;
    } else {
        w.v[register + at / 32][lane] |= (x as u32) << (at % 32);
    }
}

fn multiply<const L: usize>(m: &Multiply) {
    let [rows, columns, inner] = m.size;
    let mut r = Random(0xfeed_5eed);
    let mut small = |n: usize| {
        (0..n)
            .map(|_| (r.u32() % 15) as i32 - 7)
            .collect::<Vec<_>>()
    };
    let (a, b, c) = (
        small(rows * inner),
        small(inner * columns),
        small(rows * columns),
    );
    // A at v8, B at v16, C and D at v24.
    let wave = one::<L>(m.target, m.text, |w| {
        for k in 0..inner {
            for row in 0..rows {
                let (lane, n) = (m.a)(row, k);
                put(
                    w,
                    8,
                    lane,
                    n,
                    m.element.0,
                    (m.element.1)(a[row * inner + k]),
                );
            }
            for column in 0..columns {
                let (lane, n) = (m.a)(column, k);
                put(
                    w,
                    16,
                    lane,
                    n,
                    m.element.0,
                    (m.element.1)(b[k * columns + column]),
                );
            }
        }
        for row in 0..rows {
            for column in 0..columns {
                let (lane, n) = (m.d)(row, column);
                let x = f64::from(c[row * columns + column]);
                let bits = match m.result.0 {
                    64 => x.to_bits(),
                    16 => f16::from_f64(x).to_bits().into(),
                    _ if m.text.contains("_i32_") => x as i32 as u32 as u64,
                    _ => u64::from((x as f32).to_bits()),
                };
                put(w, 24, lane, n, m.result.0, bits);
            }
        }
        // No lane is active: these ignore EXEC (gfx12 wants all).
        if m.target.name == "gfx942" {
            w.set_pair(126, 0);
        }
    });
    for row in 0..rows {
        for column in 0..columns {
            let dot: i32 = (0..inner)
                .map(|k| a[row * inner + k] * b[k * columns + column])
                .sum();
            let want = f64::from(c[row * columns + column] + dot);
            let (lane, n) = (m.d)(row, column);
            let word = |n: usize| u64::from(wave.v[24 + n][lane]);
            let bits = match m.result.0 {
                64 => word(2 * n) | word(2 * n + 1) << 32,
                16 => (word(n / 2) >> (16 * (n % 2))) & 0xffff,
                _ => word(n),
            };
            assert_eq!(
                (m.result.1)(bits),
                want,
                "{} row {row} column {column}",
                m.text
            );
        }
    }
}

fn single(x: u64) -> f64 {
    f32::from_bits(x as u32).into()
}
fn integer(x: u64) -> f64 {
    (x as u32 as i32).into()
}
fn half_bits(x: i32) -> u64 {
    f16::from_f32(x as f32).to_bits().into()
}
fn brain_bits(x: i32) -> u64 {
    bf16::from_f32(x as f32).to_bits().into()
}
fn byte_bits(x: i32) -> u64 {
    u64::from(x as u8)
}
fn float_bits(x: i32) -> u64 {
    (x as f32).to_bits().into()
}
/// Small integers have few bits: sign, exponent and fraction by hand.
fn fp8_bits(x: i32, mantissa: u32, bias: i32) -> u64 {
    if x == 0 {
        return 0;
    }
    let (sign, x) = (u64::from(x < 0) << 7, x.unsigned_abs());
    let exponent = 31 - x.leading_zeros();
    let fraction = (x << mantissa >> exponent) & ((1 << mantissa) - 1);
    sign | (u64::from(exponent as i32 as u32) as i64 + i64::from(bias)) as u64 * (1 << mantissa)
        | u64::from(fraction)
}

#[test]
fn mfma() {
    let text = |name: &'static str| name;
    let wide: Place = |i, j| (j + 32 * (i / 4 % 2), 4 * (i / 8) + i % 4);
    let tall: Place = |i, j| (j + 16 * (i / 4), i % 4);
    let all = [
        Multiply {
            target: &GFX942,
            text: text("v_mfma_f32_32x32x2_f32 v[24:39], v8, v16, v[24:39]"),
            size: [32, 32, 2],
            element: (32, float_bits),
            a: |i, k| (i + 32 * k, 0),
            d: wide,
            result: (32, single),
        },
        Multiply {
            target: &GFX942,
            text: text("v_mfma_f32_16x16x4_f32 v[24:27], v8, v16, v[24:27]"),
            size: [16, 16, 4],
            element: (32, float_bits),
            a: |i, k| (i + 16 * k, 0),
            d: tall,
            result: (32, single),
        },
        Multiply {
            target: &GFX942,
            text: text("v_mfma_f32_32x32x8_f16 v[24:39], v[8:9], v[16:17], v[24:39]"),
            size: [32, 32, 8],
            element: (16, half_bits),
            a: |i, k| (i + 32 * (k / 4), k % 4),
            d: wide,
            result: (32, single),
        },
        Multiply {
            target: &GFX942,
            text: text("v_mfma_f32_16x16x16_f16 v[24:27], v[8:9], v[16:17], v[24:27]"),
            size: [16, 16, 16],
            element: (16, half_bits),
            a: |i, k| (i + 16 * (k / 4), k % 4),
            d: tall,
            result: (32, single),
        },
        Multiply {
            target: &GFX942,
            text: text("v_mfma_f32_16x16x16_bf16 v[24:27], v[8:9], v[16:17], v[24:27]"),
            size: [16, 16, 16],
            element: (16, brain_bits),
            a: |i, k| (i + 16 * (k / 4), k % 4),
            d: tall,
            result: (32, single),
        },
        Multiply {
            target: &GFX942,
            text: text("v_mfma_i32_32x32x16_i8 v[24:39], v[8:9], v[16:17], v[24:39]"),
            size: [32, 32, 16],
            element: (8, byte_bits),
            a: |i, k| (i + 32 * (k / 8), k % 8),
            d: wide,
            result: (32, integer),
        },
        Multiply {
            target: &GFX942,
            text: text("v_mfma_f32_16x16x32_fp8_fp8 v[24:27], v[8:9], v[16:17], v[24:27]"),
            size: [16, 16, 32],
            element: (8, |x| fp8_bits(x, 3, 8)),
            a: |i, k| (i + 16 * (k / 8), k % 8),
            d: tall,
            result: (32, single),
        },
        Multiply {
            target: &GFX942,
            text: text("v_mfma_f32_16x16x8_xf32 v[24:27], v[8:9], v[16:17], v[24:27]"),
            size: [16, 16, 8],
            element: (32, float_bits),
            a: |i, k| (i + 16 * (k / 2), k % 2),
            d: tall,
            result: (32, single),
        },
        Multiply {
            target: &GFX942,
            text: text("v_mfma_f64_16x16x4_f64 v[24:31], v[8:9], v[16:17], v[24:31]"),
            size: [16, 16, 4],
            element: (64, |x| f64::from(x).to_bits()),
            a: |i, k| (i + 16 * k, 0),
            d: |i, j| (j + 16 * (i % 4), i / 4),
            result: (64, f64::from_bits),
        },
    ];
    for m in &all {
        multiply::<64>(m);
    }
}

/// Blocks side by side, and one of them for all.
#[test]
fn mfma_blocks() {
    let set = |w: &mut wave::Wave<64>| {
        // Block b of A holds b + 1, B holds its column.
        w.v[8] = std::array::from_fn(|l| ((l / 4 + 1) as f32).to_bits());
        w.v[16] = std::array::from_fn(|l| ((l % 4) as f32).to_bits());
    };
    let own = one::<64>(
        &GFX942,
        "v_mfma_f32_4x4x1_16b_f32 v[24:27], v8, v16, 1.0",
        set,
    );
    let shared = one::<64>(
        &GFX942,
        "v_mfma_f32_4x4x1_16b_f32 v[24:27], v8, v16, 1.0 cbsz:2 abid:3",
        set,
    );
    for l in 0..64 {
        let column = (l % 4) as f32;
        for n in 0..4 {
            assert_eq!(
                f32::from_bits(own.v[24 + n][l]),
                1.0 + (l / 4 + 1) as f32 * column
            );
            assert_eq!(
                f32::from_bits(shared.v[24 + n][l]),
                1.0 + (l / 16 * 4 + 4) as f32 * column
            );
        }
    }
}

/// Two of four elements of A, and the index that places them.
#[test]
fn sparse() {
    let wave = one::<64>(
        &GFX942,
        "v_smfmac_f32_16x16x32_f16 v[24:27], v[8:9], v[16:19], v1",
        |w| {
            for l in 0..64 {
                for n in 0..4 {
                    put(w, 8, l, n, 16, half_bits(n as i32 + 1));
                }
                // B's element is its inner index.
                for n in 0..8 {
                    put(w, 16, l, n, 16, half_bits((l / 16 * 8 + n) as i32));
                }
                // Places 1 and 3 of the first four, 0 and 2 of the second.
                w.v[1][l] = 1 | 3 << 2 | 2 << 6;
            }
        },
    );
    let want: usize = (0..4)
        .map(|g| 8 * g + 1 + 2 * (8 * g + 3) + 3 * (8 * g + 4) + 4 * (8 * g + 6))
        .sum();
    for (n, l) in [(0, 0), (3, 63), (2, 17)] {
        assert_eq!(f32::from_bits(wave.v[24 + n][l]), want as f32);
    }
}

#[test]
fn wmma() {
    let eight: Place = |i, k| (i + 16 * (k / 8), k % 8);
    let d: Place = |i, j| (j + 16 * (i / 8), i % 8);
    let m = |text, element, a, result| Multiply {
        target: &GFX1201,
        text,
        size: [16, 16, 16],
        element,
        a,
        d,
        result,
    };
    for m in [
        m(
            "v_wmma_f32_16x16x16_f16 v[24:31], v[8:11], v[16:19], v[24:31]",
            (16, half_bits as fn(i32) -> u64),
            eight,
            (32, single as fn(u64) -> f64),
        ),
        m(
            "v_wmma_f32_16x16x16_bf16 v[24:31], v[8:11], v[16:19], v[24:31]",
            (16, brain_bits),
            eight,
            (32, single),
        ),
        m(
            "v_wmma_f16_16x16x16_f16 v[24:27], v[8:11], v[16:19], v[24:27]",
            (16, half_bits),
            eight,
            (16, |x| f16::from_bits(x as u16).to_f64()),
        ),
        m(
            "v_wmma_i32_16x16x16_iu8 v[24:31], v[8:9], v[16:17], v[24:31] neg_lo:[1,1,0]",
            (8, byte_bits),
            eight,
            (32, integer),
        ),
        m(
            "v_wmma_i32_16x16x16_iu4 v[24:31], v8, v16, v[24:31] neg_lo:[1,1,0]",
            (4, |x| (x & 15) as u64),
            eight,
            (32, integer),
        ),
        m(
            "v_wmma_f32_16x16x16_fp8_fp8 v[24:31], v[8:9], v[16:17], v[24:31]",
            (8, |x| fp8_bits(x, 3, 7)),
            eight,
            (32, single),
        ),
    ] {
        multiply::<32>(&m);
    }
    // A wave of 64 lanes holds half as much in each.
    multiply::<64>(&Multiply {
        target: &GFX1201,
        text: "v_wmma_f32_16x16x16_f16 v[24:27], v[8:9], v[16:17], v[24:27]",
        size: [16, 16, 16],
        element: (16, half_bits),
        a: |i, k| (i + 16 * (k / 4), k % 4),
        d: |i, j| (j + 16 * (i / 4), i % 4),
        result: (32, single),
    });
}
