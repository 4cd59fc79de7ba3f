// SPDX-License-Identifier: MIT OR Apache-2.0
//! Scalar operations on a 16-bit constant, and hardware registers (SOPK).

use super::context::{Context, Step};
use crate::decode::kind::{Kind, Register};
use crate::decode::Inst;
use crate::decode::Op;
use crate::fault::FaultKind;
use crate::trap::ARITHMETIC;
use crate::wave::Wave;

/// SOPK.
pub fn execute<const L: usize>(
    w: &mut Wave<L>,
    i: &Inst,
    c: &mut Context<'_>,
) -> Result<(), FaultKind> {
    use Op::*;
    if matches!(i.kind, Kind::Hint) {
        return Ok(());
    }
    if let Some(step) = step(i.op) {
        step(w, i);
        return Ok(());
    }
    let old = w.scalar(i.dst, 0);
    let (signed, unsigned) = (i.imm as i32, i.imm & 0xffff);
    match i.op {
        SCallB64 => {
            let back = w.pc;
            w.set_pair(i.dst, back);
            w.pc = back.wrapping_add_signed(i64::from(signed) * 4);
        }
        SGetregB32 => {
            let (at, mask) = hardware_field(unsigned);
            let value = match i.kind {
                Kind::Hardware(Register::Mode(own)) => w.mode & own,
                Kind::Hardware(Register::XccId) => c.env.xcc() & 15,
                Kind::Hardware(Register::Nothing | Register::Scheduling) => 0,
                Kind::Hardware(Register::Status { scc }) => {
                    // EXECZ, VCCZ and VALID; PRIV, TRAP_EN and HALT.
                    u32::from(w.scc && scc)
                        | (u32::from(w.exec() & Wave::<L>::FULL == 0) << 9)
                        | (u32::from(w.vcc() & Wave::<L>::FULL == 0) << 10)
                        | (1 << 16)
                        | (u32::from(w.trap.privileged) << 5)
                        | (u32::from(w.trap.handler.entry != 0) << 6)
                        | (u32::from(w.trap.halt && scc) << 13)
                        // gfx12's WAVE64.
                        | (u32::from(L == 64 && !scc) << 29)
                }
                Kind::Hardware(Register::HardwareId { second }) => {
                    let [first, other] = c.env.hardware_id(w.index);
                    if second {
                        other
                    } else {
                        first
                    }
                }
                Kind::Hardware(Register::LdsAlloc(unit)) => (c.lds.len() as u32 / unit) << 12,
                Kind::Hardware(Register::GprAlloc) => allocation(w, i),
                Kind::Hardware(Register::ShMemBases) => {
                    (w.apertures.private >> 48) as u32
                        | ((w.apertures.shared >> 32) as u32 & 0xffff_0000)
                }
                Kind::Hardware(Register::ScratchBase { high }) => {
                    (w.scratch.0 >> if high { 32 } else { 0 }) as u32
                }
                Kind::Hardware(Register::CyclesLow) => c.env.clock() as u32,
                Kind::Hardware(Register::CyclesHigh) => (c.env.clock() >> 32) as u32,
                Kind::Hardware(register) => w
                    .trap_register(register)
                    .ok_or(FaultKind::Unsupported("this hardware register"))?,
                _ => return Err(FaultKind::Illegal),
            };
            w.set(i.dst, (value >> at) & mask);
        }
        SSetregB32 => set_hardware(w, i, unsigned, old)?,
        SSetregImm32B32 => set_hardware(w, i, u32::from(i.src[0]), i.imm)?,
        _ => return Err(FaultKind::Illegal),
    }
    Ok(())
}

/// GPR_ALLOC, where the wave's registers begin at 0 (`SQ_WAVE_GPR_ALLOC` of Linux's gc_9_4_3_sh_mask.h and
/// gc_12_0_0_sh_mask.h; the units are those of its trap handlers). gfx9's scalar registers are all allocated.
fn allocation<const L: usize>(w: &Wave<L>, i: &Inst) -> u32 {
    let blocks = |registers: u16, unit: u16| u32::from(registers / unit).saturating_sub(1);
    if i.ocp {
        return blocks(w.registers(), 4) << 12;
    }
    (blocks(w.registers(), 8) << 6) | (blocks(w.acc_base, 4) << 12) | (6 << 24)
}

/// SCC = f(d, constant).
#[inline]
fn compare<const L: usize>(w: &mut Wave<L>, i: &Inst, f: impl Fn(u32, u32) -> bool) {
    w.scc = f(w.scalar(i.dst, 0), i.imm);
}

/// The function of an operation that nothing can refuse.
pub fn step<const L: usize>(op: Op) -> Option<Step<L>> {
    use Op::*;
    let step: Step<L> = match op {
        SMovkI32 => |w, i| w.set(i.dst, i.imm),
        SCmovkI32 => |w, i| {
            if w.scc {
                w.set(i.dst, i.imm)
            }
        },
        SAddkI32 => |w, i| {
            let (sum, overflow) = (w.scalar(i.dst, 0) as i32).overflowing_add(i.imm as i32);
            w.set(i.dst, sum as u32);
            w.scc = overflow;
        },
        SMulkI32 => |w, i| {
            let product = w.scalar(i.dst, 0).wrapping_mul(i.imm);
            w.set(i.dst, product);
        },
        SCmpkEqI32 => |w, i| compare(w, i, |d, k| d == k),
        SCmpkLgI32 => |w, i| compare(w, i, |d, k| d != k),
        SCmpkGtI32 => |w, i| compare(w, i, |d, k| d as i32 > k as i32),
        SCmpkGeI32 => |w, i| compare(w, i, |d, k| d as i32 >= k as i32),
        SCmpkLtI32 => |w, i| compare(w, i, |d, k| (d as i32) < k as i32),
        SCmpkLeI32 => |w, i| compare(w, i, |d, k| d as i32 <= k as i32),
        SCmpkEqU32 => |w, i| compare(w, i, |d, k| d == k & 0xffff),
        SCmpkLgU32 => |w, i| compare(w, i, |d, k| d != k & 0xffff),
        SCmpkGtU32 => |w, i| compare(w, i, |d, k| d > k & 0xffff),
        SCmpkGeU32 => |w, i| compare(w, i, |d, k| d >= k & 0xffff),
        SCmpkLtU32 => |w, i| compare(w, i, |d, k| d < k & 0xffff),
        SCmpkLeU32 => |w, i| compare(w, i, |d, k| d <= k & 0xffff),
        _ => return None,
    };
    Some(step)
}

/// hwreg(id, offset, size): position and mask of the field.
fn hardware_field(simm: u32) -> (u32, u32) {
    let (at, size) = ((simm >> 6) & 31, ((simm >> 11) & 31) + 1);
    (
        at,
        if size >= 32 {
            u32::MAX
        } else {
            (1 << size) - 1
        },
    )
}

fn set_hardware<const L: usize>(
    w: &mut Wave<L>,
    i: &Inst,
    simm: u32,
    value: u32,
) -> Result<(), FaultKind> {
    let (at, mask) = hardware_field(simm);
    let (field, new) = (mask << at, (value & mask) << at);
    let own = match i.kind {
        Kind::Hardware(Register::Mode(own)) => own,
        Kind::Hardware(Register::Scheduling) => return Ok(()),
        Kind::Hardware(register) if w.set_trap_register(register, field, new) => return Ok(()),
        Kind::Hardware(Register::Nothing | Register::TrapControl) if new == 0 => return Ok(()),
        // A program may clear and set the exceptions of arithmetic, as set_fpenv does.
        Kind::Hardware(Register::TrapStatus(own)) if field & !own == 0 => {
            w.trap.flags = w.trap.flags & !field | new;
            return Ok(());
        }
        Kind::Hardware(Register::UserFlags) if new & !ARITHMETIC == 0 => {
            w.trap.user = w.trap.user & !field | new;
            return Ok(());
        }
        _ => return Err(FaultKind::Unsupported("this hardware register")),
    };
    if new & !own != 0 {
        return Err(FaultKind::Unsupported("these bits of MODE"));
    }
    let field = field & own;
    w.mode = w.mode & !field | new;
    Ok(())
}
