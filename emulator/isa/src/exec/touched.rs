// SPDX-License-Identifier: MIT OR Apache-2.0
//! The places in LDS that an instruction accesses, before it does.

use super::flat::{self, Place};
use super::lanes::active;
use crate::decode::kind::Kind;
use crate::decode::table::Family;
use crate::decode::{Inst, Op};
use crate::wave::Wave;

/// An access.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Touch {
    /// The first byte.
    pub at: u64,
    /// How many.
    pub bytes: u64,
    /// It writes.
    pub writes: bool,
    /// It is atomic.
    pub atomic: bool,
}

/// How many bytes an instruction accesses in one place, whether it writes, and whether it is atomic.
pub(crate) fn size(kind: Kind) -> Option<(u64, bool, bool)> {
    Some(match kind {
        Kind::Load(count) => (4 * u64::from(count), false, false),
        Kind::LoadSmall { bytes, .. } => (bytes.into(), false, false),
        Kind::Store(count) => (4 * u64::from(count), true, false),
        Kind::StoreSmall(bytes, _) => (bytes.into(), true, false),
        Kind::Atomic(_, wide) => (if wide { 8 } else { 4 }, true, true),
        _ => return None,
    })
}

/// The forms with two addresses: the bytes in each place, and the unit of their offsets.
fn two(op: Op) -> Option<(u64, u64, bool)> {
    use Op::*;
    Some(match op {
        DsRead2B32 => (4, 4, false),
        DsRead2st64B32 => (4, 256, false),
        DsRead2B64 => (8, 8, false),
        DsRead2st64B64 => (8, 512, false),
        DsWrite2B32 => (4, 4, true),
        DsWrite2st64B32 => (4, 256, true),
        DsWrite2B64 => (8, 8, true),
        DsWrite2st64B64 => (8, 512, true),
        _ => return None,
    })
}

/// Tells each active lane's accesses. Those of counters, of exchanges of two places and of the forms whose
/// address is the lane's number are left out.
pub(crate) fn by<const L: usize>(w: &Wave<L>, i: &Inst, tell: &mut impl FnMut(Touch)) {
    if i.family == Family::Flat {
        let Some((bytes, writes, atomic)) = size(i.kind) else {
            return;
        };
        for place in flat::each_place(w, i) {
            if let Place::Lds(at) = place {
                tell(Touch {
                    at,
                    bytes,
                    writes,
                    atomic,
                });
            }
        }
        return;
    }
    let base = |l: usize| u64::from(w.v[w.slot(i.src[0])][l]);
    if let Some((bytes, unit, writes)) = two(i.op) {
        for l in active(w) {
            for offset in [i.imm & 0xff, (i.imm >> 8) & 0xff] {
                tell(Touch {
                    at: base(l) + u64::from(offset) * unit,
                    bytes,
                    writes,
                    atomic: false,
                });
            }
        }
        return;
    }
    let by_lane = matches!(
        i.op,
        Op::DsReadAddtidB32 | Op::DsLoadAddtidB32 | Op::DsWriteAddtidB32 | Op::DsStoreAddtidB32
    );
    match size(i.kind) {
        Some((bytes, writes, atomic)) if !by_lane => {
            for l in active(w) {
                tell(Touch {
                    at: base(l) + u64::from(i.imm),
                    bytes,
                    writes,
                    atomic,
                });
            }
        }
        _ => {}
    }
}
