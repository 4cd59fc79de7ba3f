// SPDX-License-Identifier: MIT OR Apache-2.0
//! Operations between lanes, or between lanes and scalars.

use super::valu::plain;
use crate::decode::{code, Inst};
use crate::fault::FaultKind;
use crate::target::Op;
use crate::wave::Wave;

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
            let value = w.lanes(i, 0, &mut [0; L])[lane];
            w.set(i.dst, value);
        }
        Op::VReadlaneB32 => {
            let lane = w.scalar(i.src[1], i.imm) as usize % L;
            let value = w.lanes(i, 0, &mut [0; L])[lane];
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
            let from = relative(w, i.src[0])?;
            let value = w.v[from];
            w.put(i.dst, &value);
        }
        Op::VMovreldB32 => {
            let (to, value) = (relative(w, i.dst)?, *w.lanes(i, 0, &mut [0; L]));
            w.put(code::VGPR + to as u16, &value);
        }
        _ => return Ok(false),
    }
    Ok(true)
}

/// A v register indexed by M0.
fn relative<const L: usize>(w: &Wave<L>, base: u16) -> Result<usize, FaultKind> {
    let at = usize::from(base - code::VGPR.min(base)) + w.s[code::M0 as usize] as usize;
    if base < code::VGPR || at >= w.v.len().min(256) {
        return Err(FaultKind::Register);
    }
    Ok(at)
}

fn select<const L: usize>(w: &mut Wave<L>, i: &Inst) -> Result<(), FaultKind> {
    if i.clamp || i.omod | i.op_sel != 0 {
        return Err(FaultKind::Unsupported("output modifiers of v_cndmask_b32"));
    }
    let mask = w.mask(i.src[2]);
    let (mut s, mut t) = ([0; L], [0; L]);
    let (mut a, mut b) = (*w.lanes(i, 0, &mut s), *w.lanes(i, 1, &mut t));
    // The encoding's float modifiers work on the bits.
    for (n, x) in [&mut a, &mut b].into_iter().enumerate() {
        if (i.abs >> n) & 1 == 1 {
            *x = x.map(|x| x & 0x7fff_ffff);
        }
        if (i.neg >> n) & 1 == 1 {
            *x = x.map(|x| x ^ 0x8000_0000);
        }
    }
    let r = std::array::from_fn(|l| if (mask >> l) & 1 == 1 { b[l] } else { a[l] });
    w.put(i.dst, &r);
    Ok(())
}

/// d = bits of the mask's half below this lane, plus b.
fn count_below<const L: usize>(w: &mut Wave<L>, i: &Inst, first: usize) {
    let (mut s, mut t) = ([0; L], [0; L]);
    let (a, b) = (w.lanes(i, 0, &mut s), w.lanes(i, 1, &mut t));
    let r = std::array::from_fn(|l| {
        let below = l.saturating_sub(first).min(32);
        let mask = ((1u64 << below) - 1) as u32;
        (a[l] & mask).count_ones().wrapping_add(b[l])
    });
    w.put(i.dst, &r);
}
