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

/// Registers lie in four banks by number; each operation reads its first sources at once, and its
/// second ones.
pub fn bank_conflict(i: &Inst) -> bool {
    let Some(half) = i.half else { return false };
    // Two moves have a second way to their sources.
    if i.op == Op::VMovB32 && half.op == Op::VMovB32 {
        return false;
    }
    let has_second = |op: Op| !matches!(op, Op::VMovB32);
    let same = |a: u16, b: u16| a >= code::VGPR && b >= code::VGPR && a % 4 == b % 4;
    same(i.src[0], half.src[0])
        || (has_second(i.op) && has_second(half.op) && same(i.src[1], half.src[1]))
}
