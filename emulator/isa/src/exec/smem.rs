// SPDX-License-Identifier: MIT OR Apache-2.0
//! Scalar memory: loads through the constant cache, and the clock.

use super::Context;
use crate::decode::{code, Inst};
use crate::fault::FaultKind;
use crate::memory::Env;
use crate::target::gfx942::Op;
use crate::wave::Wave;

/// SMEM.
pub fn execute<E: Env, const L: usize>(
    w: &mut Wave<L>,
    i: &Inst,
    c: &mut Context<'_, E>,
) -> Result<(), FaultKind> {
    use Op::*;
    let dwords = match i.op {
        SLoadDword => 1,
        SLoadDwordx2 => 2,
        SLoadDwordx4 => 4,
        SLoadDwordx8 => 8,
        SLoadDwordx16 => 16,
        SMemtime | SMemrealtime => {
            let now = c.env.clock();
            w.set_pair(i.dst, now);
            return Ok(());
        }
        SDcacheInv | SDcacheWb | SDcacheInvVol | SDcacheWbVol => return Ok(()),
        _ => return Err(FaultKind::Illegal),
    };
    let offset = i64::from(i.imm as i32);
    let register = if i.src[1] == code::NONE {
        0
    } else {
        w.scalar(i.src[1], 0)
    };
    // The two low address bits are ignored (CDNA3 ISA, section 8.1.2).
    let va = w
        .pair(i.src[0])
        .wrapping_add_signed(offset)
        .wrapping_add(u64::from(register))
        & !3;
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
