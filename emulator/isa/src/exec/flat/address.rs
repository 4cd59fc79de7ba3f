// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where the lanes of a flat, global or scratch instruction go.

use crate::decode::{code, Inst, Op};
use crate::exec::lanes::active;
use crate::fault::FaultKind;
use crate::wave::Wave;

const FLAT: u8 = 0;
const SCRATCH: u8 = 1;

/// Where one lane's access goes.
#[derive(Clone, Copy)]
pub enum Place {
    /// Memory.
    Memory(u64),
    /// The workgroup's LDS.
    Lds(u64),
    /// The lane's scratch.
    Private(u64),
}

/// Addresses of all lanes, read before anything is written: they may be overwritten by a load.
pub(crate) fn addresses<const L: usize>(w: &Wave<L>, i: &Inst) -> [u64; L] {
    let offset = i64::from(i.imm as i32) as u64;
    let scalar = i.src[2] != code::NONE;
    if i.op_sel == SCRATCH {
        let base = if scalar {
            u64::from(w.scalar(i.src[2], 0))
        } else {
            0
        };
        if i.src[0] == code::NONE {
            return [base.wrapping_add(offset); L];
        }
        let v = &w.v[w.slot(i.src[0])];
        return std::array::from_fn(|l| base.wrapping_add(u64::from(v[l])).wrapping_add(offset));
    }
    if matches!(i.op, Op::GlobalLoadAddtidB32 | Op::GlobalStoreAddtidB32) {
        let base = w.pair(i.src[2]).wrapping_add(offset);
        return std::array::from_fn(|l| base.wrapping_add(4 * l as u64));
    }
    let at = w.slot(i.src[0]);
    if scalar {
        let base = w.pair(i.src[2]).wrapping_add(offset);
        let v = &w.v[at];
        return std::array::from_fn(|l| base.wrapping_add(u64::from(v[l])));
    }
    let (low, high) = (&w.v[at], &w.v[at + 1]);
    let base = |l: usize| u64::from(low[l]) | (u64::from(high[l]) << 32);
    if i.op_sel == FLAT {
        return std::array::from_fn(|l| displaced(w, base(l), offset));
    }
    std::array::from_fn(|l| base(l).wrapping_add(offset))
}

/// A flat address and its offset: the aperture is the address's, without the offset, and LDS has 17 bits of
/// their sum (RDNA4 ISA, section 11.2).
fn displaced<const L: usize>(w: &Wave<L>, base: u64, offset: u64) -> u64 {
    let at = base.wrapping_add(offset);
    let aperture = |of: u64, bits: u64| (of >> 32 << 32) | at & bits;
    match place(w, FLAT, base) {
        // Where the sum would be in an aperture it is not: it stays in the hole beside it.
        Place::Memory(_) => match place(w, FLAT, at) {
            Place::Memory(_) => at,
            _ => (base >> 32 << 32) | at & 0xffff_ffff,
        },
        Place::Lds(_) => aperture(w.apertures.shared, 0x1_ffff),
        Place::Private(_) => aperture(w.apertures.private, 0xffff_ffff),
    }
}

/// Where the active lanes of a flat access go.
pub(crate) fn each_place<const L: usize>(w: &Wave<L>, i: &Inst) -> impl Iterator<Item = Place> {
    let a = addresses(w, i);
    let places: [Place; L] = std::array::from_fn(|l| place(w, i.op_sel, a[l]));
    active(w).map(move |l| places[l])
}

/// Whether any active lane of a flat access goes to memory, and whether any goes to LDS.
pub(crate) fn places<const L: usize>(w: &Wave<L>, i: &Inst) -> (bool, bool) {
    each_place(w, i).fold((false, false), |(memory, lds), place| match place {
        Place::Lds(_) => (memory, true),
        _ => (true, lds),
    })
}

pub(crate) fn place<const L: usize>(w: &Wave<L>, segment: u8, address: u64) -> Place {
    match segment {
        SCRATCH => Place::Private(address & 0xffff_ffff),
        FLAT if address >> 32 == w.apertures.shared >> 32 => Place::Lds(address & 0xffff_ffff),
        FLAT if address >> 32 == w.apertures.private >> 32 => Place::Private(address & 0xffff_ffff),
        _ => Place::Memory(address),
    }
}

/// Address of a byte of a lane's private memory.
pub(super) fn private<const L: usize>(
    w: &Wave<L>,
    lane: usize,
    offset: u64,
) -> Result<u64, FaultKind> {
    let (base, size) = w.scratch;
    let at = offset / 4 * 4 * L as u64 + lane as u64 * 4 + offset % 4;
    if at >= size {
        return Err(FaultKind::Scratch(offset));
    }
    Ok(base.wrapping_add(at))
}
