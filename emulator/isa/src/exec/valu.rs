// SPDX-License-Identifier: MIT OR Apache-2.0
//! Vector arithmetic: which group of operations an instruction belongs to.

use super::{
    matrix, sfloat, vcmp, vconvert, vdiv, vdot, vdouble, vfloat, vhalf, vint, vlane, vpacked,
};
use crate::decode::kind::Kind;
use crate::decode::table::Family;
use crate::decode::Inst;
use crate::fault::FaultKind;
use crate::wave::Wave;

/// VOP1, VOP2, VOPC, VOP3 and VOP3P.
#[inline]
pub fn execute<const L: usize>(w: &mut Wave<L>, i: &Inst) -> Result<(), FaultKind> {
    match i.kind {
        Kind::Compare { ty, when, exec } => return vcmp::compare(w, i, ty, when, exec),
        Kind::Matrix(matrix) => return matrix::execute(w, i, matrix),
        Kind::Class(ty, exec) => return vcmp::class(w, i, ty, exec),
        _ => {}
    }
    // Each group returns whether the operation is one of its own.
    if i.family == Family::Vop3p {
        let done = vpacked::execute(w, i)? || vdot::execute(w, i)?;
        return done.then_some(()).ok_or(FaultKind::Illegal);
    }
    if let Some(step) = vfloat::step(i.op) {
        step(w, i);
        return Ok(());
    }
    let done = vint::execute(w, i)?
        || vlane::execute(w, i)?
        || vdouble::execute(w, i)?
        || vconvert::execute(w, i)?
        || vhalf::execute(w, i)?
        || vdot::execute(w, i)?
        || sfloat::transcendental(w, i)?
        || vpacked::execute(w, i)?
        || vdiv::execute(w, i)?;
    done.then_some(()).ok_or(FaultKind::Illegal)
}

/// VOPD: both operations read their sources before either writes.
pub fn pair<const L: usize>(w: &mut Wave<L>, i: &Inst) -> Result<(), FaultKind> {
    // Waves of 64 lanes have no pairs (RDNA4 ISA, section 7.8).
    let Some([first, second]) = i.halves().filter(|_| L == 32) else {
        return Err(FaultKind::Illegal);
    };
    let at = w.slot(first.dst);
    let old = w.v[at];
    execute(w, &first)?;
    let new = std::mem::replace(&mut w.v[at], old);
    execute(w, &second)?;
    w.v[at] = new;
    Ok(())
}
