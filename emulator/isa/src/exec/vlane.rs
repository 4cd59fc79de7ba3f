// SPDX-License-Identifier: MIT OR Apache-2.0
//! Operations between lanes, or between lanes and scalars.

use super::lanes::{half_of, plain, put16};
use crate::decode::Op;
use crate::decode::{code, Inst};
use crate::fault::FaultKind;
use crate::wave::{lane_bits, Wave};

/// True if the operation is one of these.
pub fn execute<const L: usize>(w: &mut Wave<L>, i: &Inst) -> Result<bool, FaultKind> {
    match i.op {
        Op::VCndmaskB32 => select(w, i)?,
        Op::VReadfirstlaneB32 => {
            let exec = w.exec() & Wave::<L>::FULL;
            // Lane 0 if none is active.
            let lane = if exec == 0 {
                0
            } else {
                exec.trailing_zeros() as usize
            };
            let value = w.lanes(i, 0, &mut None)[lane];
            w.set(i.dst, value);
        }
        Op::VReadlaneB32 => {
            let lane = w.scalar(i.src[1], i.imm) as usize % L;
            let value = w.lanes(i, 0, &mut None)[lane];
            w.set(i.dst, value);
        }
        // EXEC does not matter.
        Op::VWritelaneB32 => {
            let (value, lane) = (
                w.scalar(i.src[0], i.imm),
                w.scalar(i.src[1], i.imm) as usize % L,
            );
            let at = w.slot(i.dst);
            w.v[at][lane] = value;
        }
        Op::VMbcntLoU32B32 => count_below(w, i, 0),
        Op::VMbcntHiU32B32 => count_below(w, i, 32),
        Op::VSwapB32 => {
            plain(i)?;
            if i.src[0] < code::VGPR {
                return Err(FaultKind::Unsupported("a scalar to swap with"));
            }
            let (a, b) = (w.v[w.slot(i.src[0])], w.v[w.slot(i.dst)]);
            w.put(i.dst, &a);
            w.put(i.src[0], &b);
        }
        Op::VMovrelsB32 => {
            let value = w.v[source(w, i.src[0], w.s[code::M0 as usize])];
            w.put(i.dst, &value);
        }
        Op::VMovreldB32 => {
            let value = *w.lanes(i, 0, &mut None);
            if let Some(to) = indexed(w, i.dst, w.s[code::M0 as usize]) {
                w.put(code::VGPR + to as u16, &value);
            }
        }
        Op::VCndmaskB16 => {
            let mask = w.mask(i.src[2]);
            let sign = |n: usize, x: u16| {
                let x = if (i.abs >> n) & 1 == 1 { x & 0x7fff } else { x };
                x ^ (u16::from((i.neg >> n) & 1) << 15)
            };
            let [a, b] =
                [0, 1].map(|n| w.lanes(i, n, &mut None).map(|x| sign(n, half_of(i, n, x))));
            let r = std::array::from_fn(|l| if (mask >> l) & 1 == 1 { b[l] } else { a[l] });
            put16(w, i, false, r);
        }
        Op::VPermlane16B32 => permute_rows(w, i, 0, false),
        Op::VPermlanex16B32 => permute_rows(w, i, 16, false),
        Op::VPermlane16VarB32 => permute_rows(w, i, 0, true),
        Op::VPermlanex16VarB32 => permute_rows(w, i, 16, true),
        // Halves of 64 lanes change places; a wave of 32 has only one.
        Op::VPermlane64B32 => {
            let a = *w.lanes(i, 0, &mut None);
            if L == 64 {
                let at = w.slot(i.dst);
                // EXEC masks as always, but inactive lanes are read.
                let exec = w.exec();
                for l in (0..L).filter(|l| (exec >> l) & 1 == 1) {
                    w.v[at][l] = a[l ^ 32];
                }
            }
        }
        Op::VMovrelsdB32 => {
            let by = w.s[code::M0 as usize];
            let value = w.v[source(w, i.src[0], by)];
            if let Some(to) = indexed(w, i.dst, by) {
                w.put(code::VGPR + to as u16, &value);
            }
        }
        // M0 has an offset for each.
        Op::VMovrelsd2B32 => {
            let m0 = w.s[code::M0 as usize];
            let value = w.v[source(w, i.src[0], m0 & 0x3ff)];
            if let Some(to) = indexed(w, i.dst, (m0 >> 16) & 0x3ff) {
                w.put(code::VGPR + to as u16, &value);
            }
        }
        // Both are destinations.
        Op::VSwaprelB32 => {
            let m0 = w.s[code::M0 as usize];
            let (from, to) = (m0 & 0x3ff, (m0 >> 16) & 0x3ff);
            if let (Some(from), Some(to)) = (indexed(w, i.src[0], from), indexed(w, i.dst, to)) {
                let (a, b) = (w.v[from], w.v[to]);
                w.put(code::VGPR + to as u16, &a);
                w.put(code::VGPR + from as u16, &b);
            }
        }
        _ => return Ok(false),
    }
    Ok(true)
}

/// v_permlane16: each lane reads a lane of its row of 16, or of the neighbouring row, that two
/// scalars' 4-bit fields or a vector register name.
fn permute_rows<const L: usize>(w: &mut Wave<L>, i: &Inst, across: usize, variable: bool) {
    let exec = w.exec();
    let (fetch, zero) = (i.op_sel & 1 == 1, i.op_sel & 2 == 2);
    let a = *w.lanes(i, 0, &mut None);
    let old = w.v[w.slot(i.dst)];
    let lanes = *w.lanes(i, 1, &mut None);
    let fields = u64::from(lanes[0])
        | if variable {
            0
        } else {
            u64::from(w.scalar(i.src[2], i.imm)) << 32
        };
    let r = std::array::from_fn(|l| {
        let select = if variable {
            lanes[l] as usize & 15
        } else {
            (fields >> (4 * (l & 15))) as usize & 15
        };
        let from = (l & !15 | select) ^ across;
        match (exec >> from) & 1 == 1 || fetch {
            true => a[from],
            false if zero => 0,
            false => old[l],
        }
    });
    w.put(i.dst, &r);
}

/// A v register `by` registers behind another, if the wave has it. Without it as a destination an
/// instruction does nothing (RDNA4 ISA, sections 7.11 and 3.3.2.2).
fn indexed<const L: usize>(w: &Wave<L>, base: u16, by: u32) -> Option<usize> {
    let at = u64::from(base.checked_sub(code::VGPR)?) + u64::from(by);
    (at < u64::from(w.registers().min(256))).then_some(at as usize)
}

/// The same as a source: v0 if the wave has it not.
fn source<const L: usize>(w: &Wave<L>, base: u16, by: u32) -> usize {
    indexed(w, base, by).unwrap_or(0)
}

fn select<const L: usize>(w: &mut Wave<L>, i: &Inst) -> Result<(), FaultKind> {
    if i.clamp || i.omod | i.op_sel != 0 {
        return Err(FaultKind::Unsupported("output modifiers of v_cndmask_b32"));
    }
    let mask = w.mask(i.src[2]);
    let (mut s, mut t) = (None, None);
    let (a, b) = (w.lanes(i, 0, &mut s), w.lanes(i, 1, &mut t));
    // The encoding's float modifiers work on the bits.
    let keep = [0, 1].map(|n| !(u32::from((i.abs >> n) & 1) << 31));
    let flip = [0, 1].map(|n| u32::from((i.neg >> n) & 1) << 31);
    let second = lane_bits(mask);
    let r = std::array::from_fn(|l| {
        let (a, b) = (a[l] & keep[0] ^ flip[0], b[l] & keep[1] ^ flip[1]);
        if second(l) {
            b
        } else {
            a
        }
    });
    w.put(i.dst, &r);
    Ok(())
}

/// d = bits of the mask's half below this lane, plus b.
fn count_below<const L: usize>(w: &mut Wave<L>, i: &Inst, first: usize) {
    let (mut s, mut t) = (None, None);
    let (a, b) = (w.lanes(i, 0, &mut s), w.lanes(i, 1, &mut t));
    let r = std::array::from_fn(|l| {
        let below = l.saturating_sub(first).min(32);
        let mask = ((1u64 << below) - 1) as u32;
        (a[l] & mask).count_ones().wrapping_add(b[l])
    });
    w.put(i.dst, &r);
}
