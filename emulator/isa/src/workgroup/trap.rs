// SPDX-License-Identifier: MIT OR Apache-2.0
//! What stops a wave sends it into its trap handler.

use super::Workgroup;
use crate::cu::ComputeUnit;
use crate::fault::{Fault, FaultKind, MemoryFault, Reason};
use crate::memory::Env;
use crate::target::TrapLayout;
use crate::wave::{State, Wave};

/// The flags of the exception that a fault raises; `None` if it raises none in its wave. AMD's debugger library calls a
/// violation with XNACK_ERROR one of memory, and an address error without. Of addresses outside of what page tables cover
/// the former isn't said anywhere: here they are address errors, as LDS and scratch beyond their ends are.
fn exception(layout: &TrapLayout, kind: &FaultKind) -> Option<u32> {
    match kind {
        FaultKind::Illegal
        | FaultKind::Unsupported(_)
        | FaultKind::Undecodable
        | FaultKind::Register => Some(layout.illegal_instruction),
        // The device tells the driver of it, too.
        FaultKind::Memory(MemoryFault {
            reason: Reason::NotPresent | Reason::NotPermitted | Reason::NoMemory,
            ..
        }) => Some(layout.memory_violation | layout.translation),
        FaultKind::Memory(_)
        | FaultKind::Lds(_)
        | FaultKind::Scratch(_)
        | FaultKind::Violation(_)
        | FaultKind::Gws(_) => Some(layout.memory_violation),
        FaultKind::Stepped => Some(layout.stepped),
        // The emulator finds it, and no hardware.
        FaultKind::Trap(_)
        | FaultKind::Watched { .. }
        | FaultKind::Arithmetic { .. }
        | FaultKind::Return(_)
        | FaultKind::Unwaited { .. }
        | FaultKind::Race { .. } => None,
    }
}

impl<const L: usize> Workgroup<L> {
    /// Send a stopped wave into its trap handler, or back from there, or report its fault.
    pub(crate) fn trap(
        &mut self,
        cu: &mut ComputeUnit,
        env: &mut dyn Env,
        turn: usize,
        kind: FaultKind,
    ) -> Option<Fault> {
        let layout = &cu.target().traps;
        if let FaultKind::Return(to) = kind {
            cu.instructions += 1;
            self.waves[turn].leave(layout, to);
            return None;
        }
        let fault = self.report(cu, env, turn, kind);
        let wave = &mut self.waves[turn];
        if let FaultKind::Watched { met, .. } = kind {
            for (n, flag) in layout.watched.iter().enumerate() {
                wave.trap.flags |= if met & (1 << n) != 0 { *flag } else { 0 };
            }
            if wave.traps_on_watches(layout) && wave.trap.handler.entry != 0 {
                wave.enter(layout, 0);
                env.trapped(&fault);
            }
            return None;
        }
        if let FaultKind::Arithmetic { .. } = kind {
            wave.enter(layout, 0);
            env.trapped(&fault);
            return None;
        }
        // There is no handler for an exception in the handler.
        if wave.trap.privileged || wave.trap.handler.entry == 0 {
            return Some(fault);
        }
        match (exception(layout, &kind), kind) {
            (Some(flag), _) => {
                wave.trap.flags |= flag;
                wave.enter(layout, 0);
            }
            (None, FaultKind::Trap(id)) => {
                cu.instructions += 1;
                wave.enter(layout, id);
            }
            _ => return Some(fault),
        }
        env.trapped(&fault);
        None
    }

    /// Whether the workgroup can't go on by itself: a wave is halted, and all others have ended, are
    /// halted or wait for that one.
    pub fn is_halted(&self) -> bool {
        let still =
            |wave: &Wave<L>| matches!(wave.state, State::Halted | State::Done | State::Barrier);
        let mut waves = self.waves.iter();
        waves.any(|wave| wave.state == State::Halted) && self.waves.iter().all(still)
    }
}
