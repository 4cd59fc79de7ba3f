// SPDX-License-Identifier: MIT OR Apache-2.0
//! The operations that may come second in a pair (VOPD; RDNA4 ISA, sections 7.6 and 15.3).

use super::{code, Half, Inst, Op};

/// The second operation by its number.
pub(crate) const SECOND: [Option<(&str, Op)>; 19] = {
    use Op::*;
    [
        Some(("v_dual_fmac_f32", VFmacF32)),
        Some(("v_dual_fmaak_f32", VFmaakF32)),
        Some(("v_dual_fmamk_f32", VFmamkF32)),
        Some(("v_dual_mul_f32", VMulF32)),
        Some(("v_dual_add_f32", VAddF32)),
        Some(("v_dual_sub_f32", VSubF32)),
        Some(("v_dual_subrev_f32", VSubrevF32)),
        Some(("v_dual_mul_dx9_zero_f32", VMulLegacyF32)),
        Some(("v_dual_mov_b32", VMovB32)),
        Some(("v_dual_cndmask_b32", VCndmaskB32)),
        Some(("v_dual_max_num_f32", VMaxNumF32)),
        Some(("v_dual_min_num_f32", VMinNumF32)),
        None,
        None,
        None,
        None,
        Some(("v_dual_add_nc_u32", VAddU32)),
        Some(("v_dual_lshlrev_b32", VLshlrevB32)),
        Some(("v_dual_and_b32", VAndB32)),
    ]
};

/// The second operation's mnemonic.
pub fn second_name(half: &Half) -> Option<&'static str> {
    let known = SECOND.iter().flatten();
    known
        .copied()
        .find(|(_, op)| *op == half.op)
        .map(|(name, _)| name)
}

/// Registers lie in four banks by number; each operation reads its first sources at once, its second ones, and, from two
/// banks, its third ones: what v_fmac adds to, and what v_fmamk adds (LLVM, `VOPD::InstInfo`; RDNA4 ISA, section 7.6).
pub fn bank_conflict(i: &Inst) -> bool {
    let Some(half) = i.half else { return false };
    // Two moves have a second way to their sources.
    if i.op == Op::VMovB32 && half.op == Op::VMovB32 {
        return false;
    }
    let same = |a: Option<u16>, b: Option<u16>, banks: u16| {
        a.zip(b)
            .is_some_and(|(a, b)| a >= code::VGPR && b >= code::VGPR && a % banks == b % banks)
    };
    let first = sources(i.op, i.dst, [i.src[0], i.src[1]]);
    let second = sources(half.op, half.dst, half.src);
    let places = first.into_iter().zip(second).zip([4, 4, 2]);
    places.into_iter().any(|((a, b), banks)| same(a, b, banks))
}

/// What an operation reads as its first, second and third source, of its fields.
fn sources(op: Op, dst: u16, [src, vsrc]: [u16; 2]) -> [Option<u16>; 3] {
    let rest = match op {
        Op::VMovB32 => [None, None],
        Op::VFmamkF32 => [None, Some(vsrc)],
        Op::VFmacF32 => [Some(vsrc), Some(dst)],
        _ => [Some(vsrc), None],
    };
    [Some(src), rest[0], rest[1]]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::GFX1201;

    /// Pairs that clang 22 makes, and the same with a register of another number, which LLVM's assembler refuses.
    #[test]
    fn sources_conflict_where_they_are_read_at_once() {
        for (words, conflicts) in [
            // v_dual_fmamk_f32 v4, v4, 0xb102e308, v9 :: v_dual_add_f32 v5, v6, v5
            ([0xc888_1304, 0x0404_0b06, 0xb102_e308], false),
            // v_dual_fmamk_f32 v4, v4, 0xb102e308, v9 :: v_dual_add_f32 v5, v8, v5
            ([0xc888_1304, 0x0404_0b08, 0xb102_e308], true),
            // v_dual_fmamk_f32 v4, v4, 0xb102e308, v9 :: v_dual_fmac_f32 v5, v6, v5
            ([0xc880_1304, 0x0404_0b06, 0xb102_e308], true),
            // v_dual_mov_b32 v17, v3 :: v_dual_mov_b32 v16, v2
            ([0xca10_0103, 0x1110_0102, 0], false),
            // v_dual_cndmask_b32 v31, 0, v5 :: v_dual_cndmask_b32 v30, 56, v4
            ([0xca52_0a80, 0x1f1e_08b8, 0], false),
            // v_dual_cndmask_b32 v31, 0, v5 :: v_dual_cndmask_b32 v30, 56, v9
            ([0xca52_0a80, 0x1f1e_12b8, 0], true),
        ] {
            let inst = GFX1201.decode(words).expect("a pair");
            assert_eq!(bank_conflict(&inst), conflicts, "{words:08x?}");
        }
    }
}
