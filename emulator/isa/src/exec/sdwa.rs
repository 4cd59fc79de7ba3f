// SPDX-License-Identifier: MIT OR Apache-2.0
//! SDWA: sources and destination are bytes or halves of registers (CDNA3 ISA, section 12.9).
//!
//! The chosen parts are put aside in registers that programs cannot name, the operation runs on
//! those, and its result is put where it belongs.

use super::valu;
use crate::decode::select::Select;
use crate::decode::table::Family;
use crate::decode::{bits, Inst};
use crate::fault::FaultKind;
use crate::wave::Wave;

const BYTE_3: u32 = 3;
const WORD_0: u32 = 4;
const WORD_1: u32 = 5;
const DWORD: u32 = 6;

/// Where a part lies in a register: its first bit, and its bits.
fn part(select: u32) -> Result<(u32, u32), FaultKind> {
    match select {
        0..=BYTE_3 => Ok((8 * select, 8)),
        WORD_0 => Ok((0, 16)),
        WORD_1 => Ok((16, 16)),
        DWORD => Ok((0, 32)),
        _ => Err(FaultKind::Unsupported("a reserved SDWA select")),
    }
}

fn extract(x: u32, (low, count): (u32, u32), signed: bool) -> u32 {
    let up = 32 - count;
    let top = x << (up - low);
    if signed {
        (top as i32 >> up) as u32
    } else {
        top >> up
    }
}

/// What the rest of the destination becomes.
fn insert(old: u32, r: u32, (low, count): (u32, u32), unused: u32) -> Result<u32, FaultKind> {
    let mask = (u32::MAX >> (32 - count)) << low;
    let placed = (r << low) & mask;
    Ok(match unused {
        0 => placed,
        // Sign-extended above, zero below.
        1 => extract(placed, (low, count), true) << low,
        2 => old & !mask | placed,
        _ => return Err(FaultKind::Unsupported("a reserved SDWA dst_unused")),
    })
}

/// An SDWA instruction.
pub fn execute<const L: usize>(w: &mut Wave<L>, i: &Inst) -> Result<(), FaultKind> {
    let Select::Parts(family, control) = i.select else {
        return Err(FaultKind::Illegal);
    };
    let mut base = *i;
    base.family = family;
    let sources = [
        (bits(control, 16, 3), bits(control, 19, 1) == 1),
        (bits(control, 24, 3), bits(control, 27, 1) == 1),
    ];
    for (n, (select, signed)) in sources.into_iter().enumerate() {
        if i.row.widths[n + 1] == 0 {
            continue;
        }
        let part = part(select)?;
        let value = w.lanes(i, n, &mut None).map(|x| extract(x, part, signed));
        base.src[n] = w.stage(n as u16);
        let at = w.slot(base.src[n]);
        w.v[at] = value;
    }
    // A comparison's result is a mask, and a register pair is written whole.
    if family == Family::Vopc || i.row.widths[0] != 1 {
        return valu::execute(w, &base);
    }
    let part = part(bits(control, 8, 3))?;
    let unused = bits(control, 11, 2);
    base.dst = w.stage(2);
    let (to, staged) = (w.slot(i.dst), w.slot(base.dst));
    let old = w.v[to];
    w.v[staged] = old;
    valu::execute(w, &base)?;
    let result = w.v[staged];
    let mut merged = [0; L];
    for (l, merged) in merged.iter_mut().enumerate() {
        *merged = insert(old[l], result[l], part, unused)?;
    }
    w.put(i.dst, &merged);
    Ok(())
}
