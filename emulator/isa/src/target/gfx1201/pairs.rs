// SPDX-License-Identifier: MIT OR Apache-2.0
//! VOPD: two vector operations in one instruction (RDNA4 ISA, sections 7.6 and 15.3).

use super::source;
use crate::decode::pairs::SECOND;
use crate::decode::{bits, code, vgpr, DecodeError, Half, Inst};

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
