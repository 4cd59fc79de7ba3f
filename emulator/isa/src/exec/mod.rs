// SPDX-License-Identifier: MIT OR Apache-2.0
//! Execution of one instruction by one wave.
//!
//! Semantics are those of AMD's CDNA3 ISA manual, section 12 ("Instructions"), and for operations
//! that came later of the RDNA4 manual's section 16; where a manual leaves something open, the
//! comment at the place explains the choice.

pub mod arith;
pub mod atomics;
pub mod buffer;
mod context;
mod descriptor;
mod dpp;
mod exact;
pub mod flat;
pub mod float;
pub mod format;
pub mod formatted;
mod gpr_index;
mod integer;
pub(crate) mod lanes;
pub mod lds;
pub mod matrix;
pub(crate) mod raised;
pub mod salu;
mod sdwa;
mod sfloat;
pub mod smem;
pub mod sopk;
pub mod sopp;
mod stride;
pub(crate) mod touched;
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
use crate::kernel::mode;
use crate::wave::Wave;
pub use context::{Context, Next, Others, Step};

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
