// SPDX-License-Identifier: MIT OR Apache-2.0
//! Branches, barriers and program control (SOPP).

use super::context::{Context, Next, Step};
use crate::decode::kind::Kind;
use crate::decode::Op;
use crate::decode::{code, Inst};
use crate::fault::FaultKind;
use crate::kernel::mode;
use crate::wave::{Barrier, Wave};

/// The inline constant -1, which numbers the workgroup's barrier.
const WORKGROUP_BARRIER: u16 = 193;
/// The inline constant -2: the barrier of trap handlers.
const TRAP_BARRIER: u16 = 194;
/// The most that a barrier's count of signals holds.
const ARRIVALS: u32 = 127;

/// Change the fields of M0 that index registers.
pub fn set_index<const L: usize>(w: &mut Wave<L>, mask: u32, value: u32) {
    let m0 = &mut w.s[code::M0 as usize];
    *m0 = *m0 & !mask | value;
}

/// s_barrier_signal: the workgroup's barrier is number -1.
pub fn signal<const L: usize>(w: &mut Wave<L>, i: &Inst, c: &Context<'_>) -> Result<(), FaultKind> {
    // A program's operations on the barrier of trap handlers are ignored, and a wave that is alone has no
    // barrier: its operations are s_nop (RDNA4 ISA, section 5.3).
    if i.src[0] == TRAP_BARRIER {
        if w.trap.privileged {
            w.trap.barrier = Barrier::Signalled;
        }
        return Ok(());
    }
    if i.src[0] == WORKGROUP_BARRIER && w.trap.privileged {
        // For those that had arrived before they were saved. A program's own handler may come here, too.
        w.trap.arrivals = (w.trap.arrivals + 1).min(ARRIVALS);
        return Ok(());
    }
    if i.src[0] == WORKGROUP_BARRIER && w.barrier != Barrier::Idle && c.others.going == 0 {
        return Ok(());
    }
    if i.src[0] != WORKGROUP_BARRIER {
        return Err(FaultKind::Unsupported(
            "a barrier other than the workgroup's",
        ));
    }
    if !matches!(w.barrier, Barrier::Idle | Barrier::Restored) {
        return Err(FaultKind::Unsupported(
            "a second s_barrier_signal before s_barrier_wait",
        ));
    }
    w.barrier = Barrier::Signalled;
    Ok(())
}

/// s_barrier_signal_isfirst: whether no other wave has signalled.
pub fn signal_first<const L: usize>(
    w: &mut Wave<L>,
    i: &Inst,
    c: &Context<'_>,
) -> Result<(), FaultKind> {
    signal(w, i, c)?;
    w.scc = c.others.signalled == 0;
    Ok(())
}

/// s_get_barrier_state: bit 0 valid, 10:4 members, 22:16 signals (RDNA4 ISA, section 16.3). A wave
/// that is alone has no barrier (section 5.3).
pub fn barrier_state<const L: usize>(
    w: &mut Wave<L>,
    i: &Inst,
    c: &Context<'_>,
) -> Result<(), FaultKind> {
    if i.src[0] != WORKGROUP_BARRIER {
        return Err(FaultKind::Unsupported(
            "a barrier other than the workgroup's",
        ));
    }
    let own = u32::from(w.barrier == Barrier::Signalled) + w.trap.arrivals;
    let signals = c.others.signalled + own;
    let state = match c.others.going {
        0 => 0,
        others => (signals << 16) | ((others + 1) << 4) | 1,
    };
    w.set(i.dst, state);
    Ok(())
}

fn wait<const L: usize>(w: &mut Wave<L>, i: &Inst, c: &Context<'_>) -> Result<Next, FaultKind> {
    if i.imm == 0xfffe {
        return Ok(match w.trap.barrier {
            Barrier::Signalled if w.trap.privileged => Next::Barrier,
            _ => {
                w.trap.barrier = Barrier::Idle;
                Next::Go
            }
        });
    }
    if i.imm != 0xffff {
        return Err(FaultKind::Unsupported(
            "a barrier other than the workgroup's",
        ));
    }
    match w.barrier {
        Barrier::Idle if c.others.going == 0 => Ok(Next::Go),
        // The wave would wait for ever.
        Barrier::Idle => Err(FaultKind::Unsupported(
            "s_barrier_wait without s_barrier_signal",
        )),
        Barrier::Restored if c.others.going == 0 => Ok(Next::Go),
        Barrier::Signalled | Barrier::Restored => Ok(Next::Barrier),
        Barrier::Complete => {
            w.barrier = Barrier::Idle;
            Ok(Next::Go)
        }
    }
}

/// SOPP.
pub fn execute<const L: usize>(
    w: &mut Wave<L>,
    i: &Inst,
    c: &mut Context<'_>,
) -> Result<Next, FaultKind> {
    use Op::*;
    if let Some(step) = step(i) {
        step(w, i);
        return Ok(Next::Go);
    }
    match i.op {
        SEndpgmSaved if w.trap.privileged => return Ok(Next::Saved),
        SEndpgm | SEndpgmSaved | SEndpgmOrderedPsDone => return Ok(Next::End),
        SSetkill if i.imm & 1 == 1 => return Ok(Next::End),
        // HALT is ignored in a trap handler, gfx12's FATAL_HALT (bit 2) is not.
        SSethalt if w.trap.privileged && i.imm & 4 == 0 => {
            w.trap.halt = i.imm & 1 == 1;
        }
        SSethalt if i.imm & 1 == 1 => return Ok(Next::Halt),
        // No debugger is attached.
        SSetkill
        | SSethalt
        | SCbranchCdbgsys
        | SCbranchCdbguser
        | SCbranchCdbgsysOrUser
        | SCbranchCdbgsysAndUser => {}
        SSetGprIdxMode => {
            set_index(w, 0xf000, (i.imm & 15) << 12);
        }
        SSetGprIdxOff => {
            w.mode &= !mode::GPR_INDEX;
        }
        SBarrier => {
            w.barrier = Barrier::Signalled;
            return Ok(Next::Barrier);
        }
        SBarrierWait => return wait(w, i, c),
        SSleep => return Ok(Next::Yield),
        SSendmsg if i.kind == Kind::Doorbell => {
            w.set(code::EXEC, w.trap.doorbell);
        }
        SSendmsg if i.kind == Kind::SaveWave && w.trap.place.is_some() && !w.trap.answered => {
            let place = w.trap.place.unwrap_or_default();
            w.trap.answered = true;
            w.set_pair(code::EXEC, place);
        }
        SSendmsg => {
            let m0 = w.s[code::M0 as usize];
            c.env.interrupt(i.imm as u16, m0, w.trap.privileged);
        }
        SSendmsghalt => {
            let m0 = w.s[code::M0 as usize];
            c.env.interrupt(i.imm as u16, m0, w.trap.privileged);
            if !w.trap.privileged {
                return Ok(Next::Halt);
            }
            w.trap.halt = true;
        }
        STrap => return Err(FaultKind::Trap(i.imm as u8)),
        // MODE's rounding and denormal fields.
        SRoundMode => {
            w.mode = w.mode & !0xf | i.imm & 0xf;
        }
        SDenormMode => {
            w.mode = w.mode & !0xf0 | ((i.imm & 0xf) << 4);
        }
        _ => return Err(FaultKind::Illegal),
    }
    Ok(Next::Go)
}

/// Go on at the branch's target if `taken`.
#[inline]
fn branch<const L: usize>(w: &mut Wave<L>, i: &Inst, taken: bool) {
    if taken {
        w.pc = w.pc.wrapping_add_signed(i64::from(i.imm as u16 as i16) * 4);
    }
}

/// The function of an operation that nothing can refuse: branches, and hints.
pub fn step<const L: usize>(i: &Inst) -> Option<Step<L>> {
    use Op::*;
    if matches!(i.kind, Kind::Hint) {
        return Some(|_, _| {});
    }
    let step: Step<L> = match i.op {
        SBranch => |w, i| branch(w, i, true),
        SCbranchScc0 => |w, i| branch(w, i, !w.scc),
        SCbranchScc1 => |w, i| branch(w, i, w.scc),
        SCbranchVccz => |w, i| branch(w, i, w.vcc() & Wave::<L>::FULL == 0),
        SCbranchVccnz => |w, i| branch(w, i, w.vcc() & Wave::<L>::FULL != 0),
        SCbranchExecz => |w, i| branch(w, i, w.exec() & Wave::<L>::FULL == 0),
        SCbranchExecnz => |w, i| branch(w, i, w.exec() & Wave::<L>::FULL != 0),
        _ => return None,
    };
    Some(step)
}
