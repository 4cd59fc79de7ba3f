// SPDX-License-Identifier: MIT OR Apache-2.0
//! Execution of one instruction by one wave.
//!
//! Semantics are those of AMD's CDNA3 ISA manual, section 12 ("Instructions"), and for operations
//! that came later of the RDNA4 manual's section 16; where a manual leaves something open, the
//! comment at the place explains the choice.

pub mod arith;
pub mod atomics;
pub mod buffer;
mod dpp;
mod exact;
pub mod flat;
pub mod float;
pub mod format;
pub mod formatted;
mod gpr_index;
pub mod lds;
pub mod matrix;
pub mod salu;
mod sdwa;
mod sfloat;
pub mod smem;
pub mod sopk;
pub mod sopp;
pub mod valu;
mod vclamp;
mod vcmp;
mod vconvert;
mod vdiv;
mod vdot;
mod vdouble;
mod vfloat;
mod vhalf;
mod vint;
mod vlane;
mod vpacked;

use crate::decode::kind::Kind;
use crate::decode::table::Family;
use crate::decode::Inst;
use crate::fault::FaultKind;
use crate::fault::{Access, MemoryFault, Reason};
use crate::kernel::mode;
use crate::memory::{Env, Tlb, PAGE};
use crate::wave::Wave;

/// What an instruction can reach besides its wave.
pub struct Context<'a> {
    /// The rest of the GPU.
    pub env: &'a mut dyn Env,
    /// Translations.
    pub tlb: &'a mut Tlb,
    /// The workgroup's LDS.
    pub lds: &'a mut [u8],
    /// The process.
    pub vmid: u8,
    /// The workgroup's other waves.
    pub others: Others,
}

/// What a wave can learn of the others in its workgroup.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Others {
    /// Those that have not ended.
    pub going: u32,
    /// Those that have arrived at the barrier.
    pub signalled: u32,
}

/// What the wave does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Goes on.
    Go,
    /// Lets others run first (s_sleep).
    Yield,
    /// Waits at a barrier.
    Barrier,
    /// Runs no more until somebody outside resumes it.
    Halt,
    /// Has ended.
    End,
}

/// An operation of a wave on its own registers that nothing can refuse, as its decoding finds it.
pub type Step<const L: usize> = fn(&mut Wave<L>, &Inst);

/// The function of an instruction, if it is one of those. Not for a wave that indexes its vector
/// registers by M0.
pub fn step<const L: usize>(i: &Inst) -> Option<Step<L>> {
    let modified = i.clamp | (i.omod | i.abs | i.neg | i.op_sel != 0);
    match (i.family, i.kind) {
        (Family::Sop1 | Family::Sop2 | Family::Sopc, _) => salu::step(i.op),
        (Family::Sopk, Kind::Plain) => sopk::step(i.op),
        (Family::Sopp, _) => sopp::step(i),
        // Floats have their modifiers.
        (Family::Vop1 | Family::Vop2 | Family::Vop3, Kind::Plain) if modified => vfloat::step(i.op),
        (Family::Vopc | Family::Vop3, _) if modified => None,
        (Family::Vopc | Family::Vop3, Kind::Compare { ty, when, exec }) if !exec => {
            vcmp::step(ty, when)
        }
        (Family::Vop1 | Family::Vop2 | Family::Vop3, Kind::Plain) => {
            vint::step(i.op).or_else(|| vfloat::step(i.op))
        }
        _ => None,
    }
}

/// Execute `i`; the wave's `pc` already points behind it.
#[inline]
pub fn execute<const L: usize>(
    w: &mut Wave<L>,
    i: &Inst,
    c: &mut Context<'_>,
) -> Result<Next, FaultKind> {
    match i.family {
        Family::Sop1 | Family::Sop2 | Family::Sopc => salu::execute(w, i, c)?,
        Family::Sopk => sopk::execute(w, i, c)?,
        Family::Sopp => return sopp::execute(w, i, c),
        Family::Smem => smem::execute(w, i, c)?,
        Family::Vop1 | Family::Vop2 | Family::Vopc | Family::Vop3 | Family::Vop3p => {
            if w.mode & mode::GPR_INDEX == 0 {
                valu::execute(w, i)?
            } else {
                gpr_index::execute(w, i)?
            }
        }
        Family::Vopd => valu::pair(w, i)?,
        Family::Flat => flat::execute(w, i, c)?,
        Family::Ds => return lds::execute(w, i, c),
        Family::Mubuf | Family::Mtbuf => buffer::execute(w, i, c)?,
        Family::Sdwa => sdwa::execute(w, i)?,
        Family::Dpp => dpp::execute(w, i)?,
        _ => return Err(FaultKind::Illegal),
    }
    Ok(Next::Go)
}

macro_rules! scalar {
    ($load:ident, $store:ident, $update:ident, $int:ty) => {
        /// Load from memory, split into bytes where it crosses a page.
        #[inline]
        pub fn $load(&mut self, va: u64) -> Result<$int, FaultKind> {
            let at = va as usize % PAGE;
            if at + size_of::<$int>() <= PAGE {
                return Ok(self
                    .tlb
                    .page(self.env, self.vmid, va, Access::Read)?
                    .$load(at));
            }
            let mut bytes = [0; size_of::<$int>()];
            for (n, byte) in bytes.iter_mut().enumerate() {
                let va = va.wrapping_add(n as u64);
                *byte = self
                    .tlb
                    .page(self.env, self.vmid, va, Access::Read)?
                    .load_u8(va as usize % PAGE);
            }
            Ok(<$int>::from_le_bytes(bytes))
        }

        /// Store to memory, split into bytes where it crosses a page.
        #[inline]
        pub fn $store(&mut self, va: u64, value: $int) -> Result<(), FaultKind> {
            let at = va as usize % PAGE;
            if at + size_of::<$int>() <= PAGE {
                self.tlb
                    .page(self.env, self.vmid, va, Access::Write)?
                    .$store(at, value);
                return Ok(());
            }
            for (n, byte) in value.to_le_bytes().into_iter().enumerate() {
                let va = va.wrapping_add(n as u64);
                self.tlb
                    .page(self.env, self.vmid, va, Access::Write)?
                    .store_u8(va as usize % PAGE, byte);
            }
            Ok(())
        }

        /// Read, modify and write memory atomically; the old value.
        pub fn $update(&mut self, va: u64, f: impl Fn($int) -> $int) -> Result<$int, FaultKind> {
            let page = self.tlb.page(self.env, self.vmid, va, Access::Atomic)?;
            page.$update(va as usize % PAGE, f)
                .ok_or(FaultKind::Memory(MemoryFault {
                    va,
                    access: Access::Atomic,
                    reason: Reason::Unaligned,
                }))
        }
    };
}

impl Context<'_> {
    scalar!(load_u8, store_u8, update_u8, u8);
    scalar!(load_u16, store_u16, update_u16, u16);
    scalar!(load_u32, store_u32, update_u32, u32);
    scalar!(load_u64, store_u64, update_u64, u64);
}
