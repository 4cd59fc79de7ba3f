// SPDX-License-Identifier: MIT OR Apache-2.0
//! Traps: how a wave enters the trap handler of its process, what it finds there, and how it
//! returns.
//!
//! From AMD's CDNA3 ISA and RDNA4 ISA (S_TRAP, S_RFE, S_SETHALT, S_SENDMSG; section 3 of each: state
//! and trap temporaries), Linux's handlers for both chips (`amdkfd/cwsr_trap_handler_gfx9.asm` and
//! `_gfx12.asm`: what is in TTMP0 and TTMP1, which exceptions always trap) and its register headers
//! (`SQ_WAVE_STATUS`, `SQ_WAVE_STATE_PRIV`, `SQ_WAVE_TRAPSTS`, `SQ_WAVE_EXCP_FLAG_PRIV`).
//!
//! s_trap and s_rfe_b64 leave the loop over instructions as faults do, so that traps cost nothing where
//! there are none. Whether code may name trap temporaries is decided when it is decoded.

use crate::decode::kind::{Kind, Register};
use crate::decode::table::Family;
use crate::decode::{code, Inst};
use crate::dispatch::Launch;
use crate::target::TrapLayout;
use crate::wave::{Barrier, State, Wave};

/// TTMP0 and the last one, on all chips.
const TTMP: std::ops::RangeInclusive<u16> = 108..=123;
/// EXCP_EN, TRAP_CTRL: exceptions of arithmetic trap. EXCP and EXCP_FLAG_USER have them at the same bits.
pub(crate) const ARITHMETIC: u32 = 0x7f;
/// EXCP_EN, TRAP_CTRL: watched addresses trap.
const WATCH: u32 = 1 << 7;
/// MODE.DEBUG_EN and TRAP_CTRL.TRAP_AFTER_INST: each instruction traps behind it.
const DEBUG: u32 = 1 << 11;
const AFTER_INSTRUCTION: u32 = 1 << 9;
/// Bits of an address in a program counter.
const ADDRESS: u64 = (1 << 48) - 1;

/// Remove from an instruction what only a trap handler may do: writes of trap temporaries.
pub(crate) fn restrict(i: &mut Inst) {
    // Where the destination's field names a source.
    let is_source = match i.family {
        Family::Smem => matches!(i.kind, Kind::Store(_) | Kind::Atomic(..)),
        Family::Sopk => i.op.name().starts_with("s_cmpk") || i.op.name().starts_with("s_setreg"),
        Family::Mubuf | Family::Mtbuf => true,
        _ => false,
    };
    if is_source {
        return;
    }
    // Such a scalar operation leaves SCC alone, too (RDNA4 ISA, section 3.3.2.1): it does nothing. Those with
    // other effects keep them.
    let also = ["exec", "pc_b64", "call", "barrier", "sendmsg"];
    let plain = !also.iter().any(|part| i.op.name().contains(part));
    let scalar = matches!(i.family, Family::Sop1 | Family::Sop2 | Family::Sopk);
    if scalar && plain && TTMP.contains(&i.dst) {
        (i.family, i.kind) = (Family::Sopp, Kind::Hint);
    }
    for to in [&mut i.dst, &mut i.sdst] {
        if TTMP.contains(to) {
            *to = code::NOWHERE;
        }
    }
}

/// An address of 48 bits as the GPU has it.
fn canonical(address: u64) -> u64 {
    (((address << 16) as i64) >> 16) as u64
}

impl<const L: usize> Wave<L> {
    /// Go into the handler, for a trap's number. TTMP0 and TTMP1 keep the instruction's address.
    pub(crate) fn enter(&mut self, layout: &TrapLayout, id: u8) {
        let (at, bits) = layout.id;
        let id = u64::from(id) & ((1 << bits) - 1);
        self.set_pair(*TTMP.start(), (self.pc & ADDRESS) | (id << at));
        self.pc = self.trap.handler.entry;
        self.trap.privileged = true;
    }

    /// Go on at the address to which the handler returns.
    pub(crate) fn leave(&mut self, layout: &TrapLayout, to: u64) {
        self.pc = canonical(to) & !3;
        self.trap.privileged = false;
        self.trap.loading = false;
        let watched = match self.traps_on_watches(layout) {
            true => layout.watched.iter().fold(0, |all, flag| all | flag),
            false => 0,
        };
        let again = layout.memory_violation | layout.illegal_instruction | layout.start | watched;
        if self.trap.flags & layout.save_context != 0 {
            // A halted wave is saved, too.
            self.enter(layout, 0);
        } else if self.trap.halt {
            self.state = State::Halted;
        } else if self.trap.flags & again != 0 {
            // These exceptions trap again until the handler clears them.
            self.enter(layout, 0);
        }
    }

    /// What its kernel and a debugger have chosen for waves that begin: `exceptions` are those that trap by the kernel's
    /// own wish.
    pub(crate) fn begin(&mut self, layout: &TrapLayout, exceptions: u32, launch: &Launch) {
        let own = if launch.replaces { 0 } else { exceptions };
        let exceptions = own | launch.exceptions;
        match layout.enables_in_mode {
            true => self.mode |= (exceptions & 0x1ff) << 12,
            // The others always trap.
            false => self.trap.control = exceptions & 0xff,
        }
        if launch.stepped {
            match layout.enables_in_mode {
                true => self.mode |= DEBUG,
                false => self.trap.control |= AFTER_INSTRUCTION,
            }
        }
        if launch.trapped && self.trap.handler.entry != 0 {
            self.trap.flags |= layout.start;
            self.enter(layout, 0);
        }
        if launch.halted {
            self.trap.halt = true;
            if !self.trap.privileged {
                self.state = State::Halted;
            }
        }
    }

    /// EXCP_EN, or TRAP_CTRL.
    fn enables(&self, layout: &TrapLayout) -> u32 {
        match layout.enables_in_mode {
            true => self.mode >> 12,
            false => self.trap.control,
        }
    }

    /// Whether watched addresses trap.
    pub(crate) fn traps_on_watches(&self, layout: &TrapLayout) -> bool {
        self.enables(layout) & WATCH != 0
    }

    /// Whether exceptions of arithmetic are looked for: some of them trap. A handler raises none.
    pub(crate) fn raises(&self, layout: &TrapLayout) -> bool {
        self.enables(layout) & ARITHMETIC != 0 && !self.trap.privileged
    }

    /// Notes exceptions of arithmetic. Returns those that trap.
    pub(crate) fn note(&mut self, layout: &TrapLayout, exceptions: u32) -> u32 {
        match layout.enables_in_mode {
            true => self.trap.flags |= exceptions,
            false => self.trap.user |= exceptions,
        }
        match self.trap.handler.entry {
            0 => 0,
            _ => self.enables(layout) & exceptions,
        }
    }

    /// Whether it traps behind each instruction, which a debugger has chosen. Its handler doesn't.
    pub(crate) fn steps(&self, layout: &TrapLayout) -> bool {
        let chosen = match layout.enables_in_mode {
            true => self.mode & DEBUG,
            false => self.trap.control & AFTER_INSTRUCTION,
        };
        chosen != 0 && !self.trap.privileged && self.trap.handler.entry != 0
    }

    /// Asks the wave to have itself saved, as the hardware does that takes a queue off: it enters its handler,
    /// or does so again when it leaves it. `place` is what the hardware answers once the handler is ready.
    pub(crate) fn ask_to_save(&mut self, layout: &TrapLayout, place: u64) {
        match self.state {
            State::Done | State::Saved => return,
            State::Running => {}
            State::Halted => self.trap.halt = true,
            State::Barrier => {
                // It waits again when it is back.
                self.pc = self.pc.wrapping_sub(4);
                if !layout.split_barrier {
                    self.barrier = Barrier::Idle;
                }
            }
        }
        self.state = State::Running;
        self.trap.place = Some(place);
        self.trap.answered = false;
        self.trap.flags |= layout.save_context;
        if !self.trap.privileged {
            self.enter(layout, 0);
        }
    }

    /// Whether it waits for the handlers of its workgroup, and not for the program's waves.
    pub(crate) fn waits_in_handler(&self) -> bool {
        self.trap.privileged && self.trap.barrier == Barrier::Signalled
    }

    /// A hardware register about traps.
    pub(crate) fn trap_register(&self, register: Register) -> Option<u32> {
        let t = &self.trap;
        Some(match register {
            Register::TrapStatus(_) => t.flags,
            Register::TrapControl => t.control,
            Register::UserFlags => t.user,
            // Programs may read it, and not write it.
            Register::StatePrivate => {
                (u32::from(self.barrier == Barrier::Complete) << 2)
                    | (u32::from(self.scc) << 9)
                    | (u32::from(t.halt) << 14)
            }
            Register::Handler { memory, high } if t.privileged => {
                let address = match memory {
                    false => t.handler.entry,
                    true => t.handler.memory,
                };
                ((address & ADDRESS) >> if high { 40 } else { 8 }) as u32
            }
            _ => return None,
        })
    }

    /// Set bits of a hardware register that is the handler's; false if it is not.
    pub(crate) fn set_trap_register(&mut self, register: Register, field: u32, new: u32) -> bool {
        if !self.trap.privileged {
            return false;
        }
        if let Register::ScratchBase { high } = register {
            let at = if high { 32 } else { 0 };
            self.scratch.0 = self.scratch.0 & !(u64::from(field) << at) | (u64::from(new) << at);
            return true;
        }
        // The other bits of these registers belong to the hardware, or have no effect here.
        let (scc, halt) = match register {
            Register::Status { scc: true } => (0, 13),
            Register::StatePrivate => (9, 14),
            Register::TrapStatus(_) => {
                self.trap.flags = self.trap.flags & !field | new;
                return true;
            }
            Register::TrapControl => {
                self.trap.control = self.trap.control & !field | new;
                return true;
            }
            _ => return false,
        };
        let named = |bit: u32| (field >> bit) & 1 == 1;
        let set = |bit: u32| (new >> bit) & 1 == 1;
        if named(scc) {
            self.scc = set(scc);
        }
        if named(halt) {
            self.trap.halt = set(halt);
        }
        // gfx12's BARRIER_COMPLETE.
        match self.barrier {
            _ if register != Register::StatePrivate || !named(2) => {}
            _ if set(2) => self.barrier = Barrier::Complete,
            Barrier::Complete => self.barrier = Barrier::Idle,
            _ => {}
        }
        true
    }

    /// The answer to a message about traps (s_sendmsg_rtn).
    pub(crate) fn trap_reply(&self, message: u16) -> Option<u64> {
        const DOORBELL: u16 = 128;
        const DISPATCH: u16 = 129;
        const SAVE: u16 = 132;
        const ENGINE: u16 = 135;
        const ILLEGAL: u16 = 255;
        const MEMORY: u16 = 130;
        const ENTRY: u16 = 133;
        let t = &self.trap;
        let shifted = |address: u64| (address & ADDRESS) >> 8;
        match message {
            DOORBELL => Some(t.doorbell.into()),
            MEMORY if t.privileged => Some(shifted(t.handler.memory)),
            // The device has said nothing: the draw's number and the engine's are 0. So is what an illegal
            // message returns, of which the manual has no value.
            DISPATCH | ENGINE | ILLEGAL => Some(0),
            SAVE => Some(t.place.filter(|_| t.privileged).unwrap_or(0)),
            // With TRAP_EN.
            ENTRY if t.privileged => Some(shifted(t.handler.entry) | (1 << 63)),
            _ => None,
        }
    }
}
