// SPDX-License-Identifier: MIT OR Apache-2.0
//! A scalar source is one value for all lanes, and operations may use it as a single value. The result
//! must be the same as with a vector register that has this value in every lane; the other tests check
//! the results with vector registers.

use rkfd_isa::decode::code::VGPR;
use rkfd_isa::decode::kind::Kind;
use rkfd_isa::decode::select::Select;
use rkfd_isa::decode::table::Family;
use rkfd_isa::decode::Inst;
use rkfd_isa::wave::Wave;
use rkfd_isa::*;
use rkfd_isa_testkit::*;
use std::collections::BTreeSet;

/// A pair of scalar registers, and a pair of vector registers with the same values in all lanes.
const SCALAR: u16 = 10;
const VECTOR: u16 = 100;

fn wave<const L: usize>(seed: u64) -> Wave<L> {
    let mut random = Random(seed);
    let mut wave = blank::<L>(256);
    // Large and small values: shifts of either size, fields of any width.
    wave.s[..128].fill_with(|| random.u32() >> (random.u32() % 32));
    for v in &mut wave.v {
        v.fill_with(|| random.u32() >> (random.u32() % 32));
    }
    for n in 0..2 {
        wave.v[usize::from(VECTOR) + n] = [wave.s[usize::from(SCALAR) + n]; L];
    }
    wave
}

fn run<const L: usize>(inst: &Inst, seed: u64) -> Option<(Vec<u32>, Vec<[u32; L]>)> {
    let mut wave = wave::<L>(seed);
    perform(inst, &mut wave, &mut Flat::new(4096), &mut []).ok()?;
    Some((wave.s.to_vec(), wave.v))
}

/// Compares both ways for every encoding; returns the mnemonics that could be compared.
fn compare<const L: usize>(target: &'static Target) -> BTreeSet<&'static str> {
    let mut random = Random(11);
    let (mut seen, mut differ) = (BTreeSet::new(), BTreeSet::new());
    let families = [Family::Vop1, Family::Vop2, Family::Vopc, Family::Vop3];
    let rows = target
        .rows
        .iter()
        .filter(|row| families.contains(&row.family));
    for row in rows {
        for round in 0..24 {
            let word = row.value | (random.u64() & !row.mask);
            let words = [word as u32, (word >> 32) as u32, random.u32()];
            let Ok(mut inst) = target.decode(words) else {
                continue;
            };
            // Many have no modifiers.
            if round % 2 == 0 {
                (inst.abs, inst.neg, inst.omod, inst.op_sel) = (0, 0, 0, 0);
                inst.clamp = false;
            }
            let seed = random.u64() | 1;
            // Each source that may be a vector register, in turns.
            // Matrices are in vector registers only; lanes' numbers and scalar floats in scalar
            // ones; DPP and SDWA select from vector ones, and relative moves name them.
            let scalar = [
                "v_readlane",
                "v_writelane",
                "v_permlane",
                "v_s_",
                "v_movrel",
                "v_swaprel",
            ];
            if matches!(inst.kind, Kind::Matrix(_))
                || scalar.iter().any(|start| inst.name().starts_with(start))
                || !matches!(inst.select, Select::None)
            {
                continue;
            }
            for n in (0..3).filter(|n| inst.src[*n] >= VGPR && [1, 2].contains(&row.widths[n + 1]))
            {
                let [mut scalar, mut vector] = [inst, inst];
                scalar.src[n] = SCALAR;
                vector.src[n] = VGPR + VECTOR;
                // Some take no scalar.
                let (Some(a), Some(b)) = (run::<L>(&scalar, seed), run::<L>(&vector, seed)) else {
                    continue;
                };
                if a == b {
                    seen.insert(inst.name());
                } else {
                    differ.insert(format!("{} {words:08x?}, source {n}", inst.name()));
                }
            }
        }
    }
    assert!(differ.is_empty(), "{}: {differ:#?}", target.name);
    seen
}

#[test]
fn a_scalar_source_is_a_register_full_of_it() {
    let seen = [
        (&GFX942, compare::<64>(&GFX942)),
        (&GFX1201, compare::<64>(&GFX1201)),
        (&GFX1201, compare::<32>(&GFX1201)),
    ];
    met(
        seen,
        &[
            "v_ashrrev_i64",
            "v_lshrrev_b64",
            "v_add3_u32",
            "v_fma_f64",
            "v_add_f32",
        ],
    );
}
