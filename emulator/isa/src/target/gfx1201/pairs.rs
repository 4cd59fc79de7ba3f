// SPDX-License-Identifier: MIT OR Apache-2.0
//! VOPD: two vector operations in one instruction (RDNA4 ISA, sections 7.6 and 15.3).

use super::source;
use crate::decode::{bits, code, vgpr, DecodeError, Half, Inst};
use crate::target::Op;

/// The second operation by its number.
const SECOND: [Option<(&str, Op)>; 19] = {
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

/// Take both operations' operands apart.
pub fn decode(mut i: Inst, words: [u32; 3]) -> Result<Inst, DecodeError> {
    let [low, high, third] = words;
    let number = bits(low, 17, 5) as usize;
    let second = SECOND.get(number).copied().flatten();
    let (_, op) = second.ok_or(DecodeError::Undecodable)?;
    let first = bits(high, 24, 8);
    i.dst = vgpr(first);
    let raw = [bits(low, 0, 9) as u16, bits(high, 0, 9) as u16];
    i.src = [source(raw[0]), vgpr(bits(low, 9, 8)), code::NONE];
    // One destination is even, the other odd: the second's lowest bit is not in the encoding.
    let half = Half {
        op,
        dst: vgpr(bits(high, 17, 7) * 2 + (first & 1 ^ 1)),
        src: [source(raw[1]), vgpr(bits(high, 9, 8))],
    };
    i.half = Some(half);
    if i.row.size == 12 || raw.contains(&code::LITERAL) {
        i.imm = third;
        i.size = 12;
    }
    if let Some(&operand) = raw.iter().find(|operand| super::reserved(**operand)) {
        return Err(DecodeError::ReservedOperand(i.op, operand));
    }
    for operand in [
        i.dst,
        half.dst,
        i.src[0],
        i.src[1],
        half.src[0],
        half.src[1],
    ] {
        if operand >= code::VGPR {
            i.vgprs = i.vgprs.max(operand - code::VGPR + 1);
        }
    }
    Ok(i)
}

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
