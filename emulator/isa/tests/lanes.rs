// SPDX-License-Identifier: MIT OR Apache-2.0
//! Operations across lanes: DPP, permutations of rows. Expected values are worked out here with lists
//! of lanes.

// Formulas read as the manuals print them.
#![allow(clippy::precedence)]

mod common;
use common::*;
use rkfd_isa::*;

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
    // gfx12 reads inactive lanes if it is told to, and permutes groups of eight.
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
