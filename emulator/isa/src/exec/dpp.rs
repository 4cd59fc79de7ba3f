// SPDX-License-Identifier: MIT OR Apache-2.0
//! DPP: the first source comes from other lanes (CDNA3 ISA, section 12.10; RDNA4 ISA, section 7.7).
//!
//! The permuted source is put aside in a register that programs cannot name, then the operation
//! runs on the lanes that the masks and the source's validity leave.

use super::valu;
use crate::decode::kind::Kind;
use crate::decode::select::Select;
use crate::decode::{bits, code, Inst};
use crate::fault::FaultKind;
use crate::wave::Wave;

/// The lane that a lane reads, if there is one.
fn source(control: u32, lane: usize, lanes: usize) -> Option<usize> {
    let (row, at) = (lane & !15, lane & 15);
    let amount = control as usize & 15;
    let last = lanes - 1;
    Some(match control {
        0..=0xff => lane & !3 | (control as usize >> (2 * (lane & 3))) & 3,
        0x101..=0x10f if at + amount < 16 => lane + amount,
        0x111..=0x11f if at >= amount => lane - amount,
        0x121..=0x12f => row | (at.wrapping_sub(amount) & 15),
        // wave_shl, wave_rol, wave_shr and wave_ror by one lane.
        0x130 if lane < last => lane + 1,
        0x134 => (lane + 1) % lanes,
        0x138 if lane > 0 => lane - 1,
        0x13c => (lane + last) % lanes,
        0x140 => row | (15 - at),
        0x141 => lane ^ 7,
        // The last lane of a row to the next row, and lane 31 to all above.
        0x142 if row > 0 => row - 1,
        0x143 if lane > 31 => 31,
        0x150..=0x15f => row | amount,
        0x160..=0x16f => lane ^ amount,
        _ => return None,
    })
}

/// Whether the chip has a control: gfx9's move whole waves and broadcast rows' ends, gfx12's exchange lanes by
/// a mask (RDNA4 ISA, section 7.9.1; LLVM, SIDefines.h, DppCtrl).
fn known(control: u32, is_gfx12: bool) -> bool {
    match control {
        0..=0xff | 0x101..=0x10f | 0x111..=0x11f | 0x121..=0x12f => true,
        0x140 | 0x141 | 0x150..=0x15f => true,
        0x160..=0x16f => is_gfx12,
        0x130 | 0x134 | 0x138 | 0x13c | 0x142 | 0x143 => !is_gfx12,
        _ => false,
    }
}

/// A DPP instruction.
pub fn execute<const L: usize>(w: &mut Wave<L>, i: &Inst) -> Result<(), FaultKind> {
    let exec = w.exec() & Wave::<L>::FULL;
    let (mut base, mut run) = (*i, exec);
    let mut from = [None; L];
    match i.select {
        Select::Eights(family, lanes, fetch) => {
            base.family = family;
            for (l, from) in from.iter_mut().enumerate() {
                let lane = l & !7 | (lanes >> (3 * (l & 7))) as usize & 7;
                *from = Some(lane).filter(|lane| fetch || (exec >> lane) & 1 == 1);
            }
        }
        Select::Rows(family, word) => {
            base.family = family;
            let control = bits(word, 8, 9);
            if !known(control, i.ocp) {
                return Err(FaultKind::Unsupported("this DPP control"));
            }
            let (fetch, zero) = (bits(word, 18, 1) == 1, bits(word, 19, 1) == 1);
            let (banks, rows) = (bits(word, 24, 4), bits(word, 28, 4));
            for (l, from) in from.iter_mut().enumerate() {
                *from = source(control, l, L).filter(|lane| fetch || (exec >> lane) & 1 == 1);
                let masked = (rows >> (l / 16)) & (banks >> (l % 16 / 4)) & 1 == 0;
                // Without bound_ctrl, a lane with nothing to read writes nothing.
                if masked || (from.is_none() && !zero) {
                    run &= !(1 << l);
                }
            }
        }
        _ => return Err(FaultKind::Illegal),
    }
    for n in 0..u16::from(i.row.widths[1].clamp(1, 2)) {
        let register = w.v[w.slot(i.src[0] + n)];
        let stage = w.stage(n);
        let at = w.slot(stage);
        w.v[at] = from.map(|lane| lane.map_or(0, |lane: usize| register[lane]));
    }
    base.src[0] = w.stage(0);
    w.set_mask(code::EXEC, run);
    let result = valu::execute(w, &base);
    let writes_exec = matches!(
        i.kind,
        Kind::Compare { exec: true, .. } | Kind::Class(_, true)
    );
    if !writes_exec {
        w.set_mask(code::EXEC, exec);
    }
    result
}
