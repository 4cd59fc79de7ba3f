// SPDX-License-Identifier: MIT OR Apache-2.0
//! Vector registers beyond a wave's allocation: a source is v0, and an instruction with such a
//! destination does nothing (RDNA4 ISA, section 3.3.2.2; CDNA3 ISA, chapter 3).

use super::{buffer, code, families, Inst};
use crate::decode::kind::Kind;
use crate::decode::table::Family;

/// An instruction as a wave with `vgprs` v registers and `agprs` a registers executes it; nothing if it
/// does nothing.
pub(crate) fn confine(i: &Inst, vgprs: u16, agprs: u16) -> Option<Inst> {
    let mut inst = *i;
    let beyond = |operand: u16, width: u16| match operand {
        code::NONE => false,
        code::AGPR.. => operand - code::AGPR + width > agprs,
        code::VGPR.. => operand - code::VGPR + width > vgprs,
        _ => false,
    };
    let mut widths = families::spans(i).map(u16::from);
    if let Kind::Block(_) = i.kind {
        // Its data is checked dword by dword when it moves.
        widths = [0, widths[1], 0, widths[3], 0];
    }
    if matches!(i.family, Family::Mubuf | Family::Mtbuf) {
        let (data, address) = buffer::widths(i);
        widths = [data, address, data, 0, 0];
    }
    // The data of a store is named twice.
    let stores = matches!(
        i.kind,
        Kind::Store(_) | Kind::StoreSmall(..) | Kind::StoreLds
    );
    let stores = stores || matches!(i.kind, Kind::Formatted(data) if data.store);
    if !stores && widths[0] > 0 && beyond(i.dst, widths[0]) {
        return None;
    }
    for (source, width) in inst.src.iter_mut().zip(&widths[1..]) {
        if *width > 0 && beyond(*source, *width) {
            if *width > vgprs {
                return None;
            }
            *source = code::VGPR;
        }
    }
    if let Some(half) = &mut inst.half {
        if beyond(half.dst, 1) || beyond(i.dst, 1) {
            return None;
        }
        for source in half.src.iter_mut().chain(&mut inst.src[..2]) {
            if beyond(*source, 1) {
                *source = code::VGPR;
            }
        }
    }
    Some(inst)
}
