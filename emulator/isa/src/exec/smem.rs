// SPDX-License-Identifier: MIT OR Apache-2.0
//! Scalar memory: loads through the constant cache, stores and atomics, and the clock.

use super::atomics::{apply32, apply64};
use super::context::Context;
use super::descriptor::Descriptor;
use super::lds::narrow;
use crate::decode::kind::Kind;
use crate::decode::Op;
use crate::decode::{code, Inst};
use crate::fault::FaultKind;
use crate::wave::{Wave, Wide};
use std::ops::RangeInclusive;

/// Operations, which stand in the order of their names.
const BUFFER: RangeInclusive<u16> = Op::SBufferAtomicAdd as u16..=Op::SBufferStoreDwordx4 as u16;
const SCRATCH: RangeInclusive<u16> = Op::SScratchLoadDword as u16..=Op::SScratchStoreDwordx4 as u16;

/// Whether it reaches memory by a buffer's descriptor.
fn is_buffer(op: Op) -> bool {
    BUFFER.contains(&(op as u16))
}

/// Whether its offset counts in scratch's blocks.
fn is_scratch(op: Op) -> bool {
    SCRATCH.contains(&(op as u16))
}

/// SMEM.
pub fn execute<const L: usize>(
    w: &mut Wave<L>,
    i: &Inst,
    c: &mut Context<'_>,
) -> Result<(), FaultKind> {
    match i.kind {
        Kind::Hint => {
            c.maintain(i);
            return Ok(());
        }
        Kind::Plain if matches!(i.op, Op::SMemtime | Op::SMemrealtime) => {
            let now = c.env.clock();
            w.set_pair(i.dst, now);
            return Ok(());
        }
        Kind::Plain => return Err(FaultKind::Illegal),
        _ => {}
    }
    c.scalar();
    let offset = i64::from(i.imm as i32);
    let register = if i.src[1] == code::NONE {
        0
    } else {
        w.scalar(i.src[1], 0)
    };
    // Scratch counts in blocks of 64 bytes (CDNA3 ISA, section 8.2.1.1).
    let unit = if is_scratch(i.op) { 64 } else { 1 };
    // A buffer's descriptor, or an address.
    let buffer = is_buffer(i.op).then(|| Descriptor::read(w, i.src[0], i));
    let base = match &buffer {
        Some(buffer) => buffer.base(),
        None => w.scalar64(i.src[0], 0, Wide::Unsigned),
    };
    // Lower bits of each part are ignored: two of them for dwords, one for shorts (RDNA4 ISA, section 8.1.1;
    // CDNA3 ISA, section 8.1.2: "all components of the address").
    let low: u64 = match i.kind {
        Kind::LoadSmall { bytes: 1, .. } => 0,
        Kind::LoadSmall { .. } => 1,
        _ => 3,
    };
    if buffer.is_some() && offset < 0 {
        return Err(FaultKind::Violation("a buffer's negative offset"));
    }
    let base = base & !low;
    let va = base
        .wrapping_add(offset as u64 & !low)
        .wrapping_add((u64::from(register) * unit) & !low);
    // A dword is inside if its offset is (RDNA4 ISA, section 8.4.1).
    let inside = |va: u64| {
        let at = va.wrapping_sub(base);
        buffer.as_ref().is_none_or(|b| at < b.size())
    };
    match i.kind {
        Kind::LoadSmall { bytes, signed, .. } => {
            let value = match bytes {
                _ if !inside(va) => 0,
                1 => c.load_u8(va)?.into(),
                _ => c.load_u16(va)?.into(),
            };
            w.set(i.dst, narrow(value, bytes, signed, 0, 0));
        }
        Kind::Load(dwords) => {
            // All of it before any of it: the base may be among the destinations.
            let mut loaded = [0; 16];
            for (n, to) in loaded.iter_mut().take(dwords.into()).enumerate() {
                let va = va.wrapping_add(4 * n as u64);
                *to = if inside(va) { c.load_u32(va)? } else { 0 };
            }
            for (n, &value) in loaded.iter().take(dwords.into()).enumerate() {
                w.set(i.dst + n as u16, value);
            }
        }
        Kind::Store(dwords) => {
            for n in 0..u16::from(dwords) {
                let va = va.wrapping_add(4 * u64::from(n));
                if inside(va) {
                    c.store_u32(va, w.scalar((i.dst + n) & 127, 0))?;
                }
            }
        }
        // A compare-and-swap has the new value first.
        Kind::Atomic(op, wide) => {
            let word = |n: u16| w.scalar((i.dst + n) & 127, 0);
            let old = if wide {
                let long = |n: u16| u64::from(word(n)) | (u64::from(word(n + 1)) << 32);
                let (data, compare) = (long(0), long(2));
                match inside(va & !7) {
                    true => c.update_u64(va & !7, |old| apply64(op, old, data, compare))?,
                    false => 0,
                }
            } else {
                let (data, compare) = (word(0), word(1));
                match inside(va) {
                    true => c
                        .update_u32(va, |old| apply32(op, old, data, compare))?
                        .into(),
                    false => 0,
                }
            };
            if i.cache & 1 == 1 {
                w.set(i.dst, old as u32);
                if wide {
                    w.set(i.dst + 1, (old >> 32) as u32);
                }
            }
        }
        _ => return Err(FaultKind::Illegal),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::ops::NAMES;

    #[test]
    fn ranges_are_those_of_the_names() {
        for (range, prefix) in [(BUFFER, "s_buffer_"), (SCRATCH, "s_scratch_")] {
            let named = |op: &u16| NAMES[usize::from(*op)].starts_with(prefix);
            let all = (0..NAMES.len() as u16).filter(named);
            assert!(all.eq(range), "{prefix}");
        }
    }
}
