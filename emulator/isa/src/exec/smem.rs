// SPDX-License-Identifier: MIT OR Apache-2.0
//! Scalar memory: loads through the constant cache, and the clock.

use super::lds::narrow;
use super::Context;
use crate::decode::kind::Kind;
use crate::decode::{code, Inst};
use crate::fault::FaultKind;
use crate::memory::Env;
use crate::target::Op;
use crate::wave::{Wave, Wide};

/// SMEM.
pub fn execute<E: Env, const L: usize>(
    w: &mut Wave<L>,
    i: &Inst,
    c: &mut Context<'_, E>,
) -> Result<(), FaultKind> {
    let dwords = match i.kind {
        Kind::Load(dwords) => usize::from(dwords),
        Kind::LoadSmall { .. } => 0,
        Kind::Hint => return Ok(()),
        _ if matches!(i.op, Op::SMemtime | Op::SMemrealtime) => {
            let now = c.env.clock();
            w.set_pair(i.dst, now);
            return Ok(());
        }
        _ => return Err(FaultKind::Illegal),
    };
    let offset = i64::from(i.imm as i32);
    let register = if i.src[1] == code::NONE {
        0
    } else {
        w.scalar(i.src[1], 0)
    };
    let base = w.scalar64(i.src[0], 0, Wide::Unsigned);
    let va = base
        .wrapping_add_signed(offset)
        .wrapping_add(u64::from(register));
    if let Kind::LoadSmall { bytes, signed, .. } = i.kind {
        let value = match bytes {
            1 => c.load_u8(va)?.into(),
            _ => c.load_u16(va & !1)?.into(),
        };
        w.set(i.dst, narrow(value, bytes, signed, 0, 0));
        return Ok(());
    }
    // The two low address bits are ignored (CDNA3 ISA, section 8.1.2).
    let va = va & !3;
    // All of it before any of it: the base may be among the destinations.
    let mut loaded = [0; 16];
    for (n, to) in loaded[..dwords].iter_mut().enumerate() {
        *to = c.load_u32(va.wrapping_add(4 * n as u64))?;
    }
    for (n, &value) in loaded[..dwords].iter().enumerate() {
        w.set(i.dst + n as u16, value);
    }
    Ok(())
}
