// SPDX-License-Identifier: MIT OR Apache-2.0
//! Buffer memory: addresses from a descriptor of four scalar registers, checked against its size
//! (CDNA3 ISA, section 9.1; RDNA4 ISA, section 9.1). What lies outside reads as zero and is not
//! written.

use super::context::Context;
use super::descriptor::Descriptor;
use super::flat::{self, Place};
use super::formatted::Conversion;
use super::lanes::active;
use super::lds::lds_address;
use super::lds::{self, narrow};
use crate::decode::atomic::Atomic;
use crate::decode::buffer::form;
use crate::decode::kind::Kind;
use crate::decode::{code, Inst};
use crate::fault::FaultKind;
use crate::wave::Wave;

/// MUBUF, MTBUF and gfx12's buffer operations.
pub fn execute<const L: usize>(
    w: &mut Wave<L>,
    i: &Inst,
    c: &mut Context<'_>,
) -> Result<(), FaultKind> {
    match i.kind {
        Kind::Hint => {
            c.maintain(i);
            return Ok(());
        }
        Kind::Plain => return Err(FaultKind::Illegal),
        _ => {}
    }
    c.vector(i);
    let descriptor = Descriptor::read(w, i.sdst, i);
    if descriptor.is_other() {
        return Ok(());
    }
    let scalar = match i.src[2] {
        code::NONE => 0,
        operand => u64::from(w.scalar(operand, 0)),
    };
    let (offen, idxen) = (i.op_sel & form::OFFEN != 0, i.op_sel & form::IDXEN != 0);
    let register = |w: &Wave<L>, n: u16, l: usize| u64::from(w.v[w.slot(i.src[0] + n)][l]);
    let mut items = [(0, 0); L];
    for (l, item) in items.iter_mut().enumerate() {
        let index = if idxen { register(w, 0, l) } else { 0 };
        let offset = if offen {
            register(w, u16::from(idxen), l)
        } else {
            0
        };
        let lane = if descriptor.add_lane { l as u64 } else { 0 };
        *item = (index + lane, offset + u64::from(i.imm));
    }
    let place = |l: usize, more: u64, bytes: u64| {
        let (index, offset) = items[l];
        descriptor.place(index, offset + more, scalar, bytes)
    };
    if let Kind::Formatted(data) = i.kind {
        let conversion = Conversion::new(i, data, &descriptor)?;
        for l in active(w) {
            conversion.lane(w, i, c, l, |more, bytes| place(l, more, bytes))?;
        }
        return Ok(());
    }
    let stores = matches!(
        i.kind,
        Kind::Store(_) | Kind::StoreSmall(..) | Kind::StoreLds
    );
    if stores && w.trap.stores_fail() {
        return Ok(());
    }
    let to_lds = i.op_sel & form::LDS != 0;
    for l in active(w) {
        match i.kind {
            Kind::Load(count) => {
                for n in 0..u16::from(count) {
                    let value = match place(l, 4 * u64::from(n), 4) {
                        Some(va) => flat::load_memory(c, va, 4)?,
                        None => 0,
                    };
                    if to_lds {
                        let at = lds_address(w, i, l) + 4 * u64::from(n);
                        lds::store(c.lds, at, value, 4)?;
                    } else {
                        flat::put(w, i.dst + n, l, value);
                    }
                }
            }
            Kind::LoadSmall {
                bytes,
                signed,
                half,
            } => {
                let value = match place(l, 0, bytes.into()) {
                    Some(va) => flat::load_memory(c, va, bytes)?,
                    None => 0,
                };
                if to_lds {
                    let value = narrow(value, bytes, signed, 0, 0);
                    lds::store(c.lds, lds_address(w, i, l), value, 4)?;
                } else {
                    let at = w.slot(i.dst);
                    w.v[at][l] = narrow(value, bytes, signed, half, w.v[at][l]);
                }
            }
            Kind::Store(count) => {
                for n in 0..u16::from(count) {
                    if let Some(va) = place(l, 4 * u64::from(n), 4) {
                        flat::store_memory(c, va, w.v[w.slot(i.src[1] + n)][l], 4)?;
                    }
                }
            }
            Kind::StoreSmall(bytes, high) => {
                let value = w.v[w.slot(i.src[1])][l] >> if high { 16 } else { 0 };
                if let Some(va) = place(l, 0, bytes.into()) {
                    flat::store_memory(c, va, value, bytes)?;
                }
            }
            Kind::StoreLds => {
                let value = lds::load(c.lds, lds_address(w, i, l), 4)?;
                if let Some(va) = place(l, 0, 4) {
                    flat::store_memory(c, va, value, 4)?;
                }
            }
            Kind::Atomic(op, wide) => match place(l, 0, if wide { 8 } else { 4 }) {
                Some(va) => flat::atomic(w, i, c, l, Place::Memory(va), op, wide)?,
                None => outside(w, i, l, op, wide),
            },
            _ => return Err(FaultKind::Illegal),
        }
    }
    Ok(())
}

/// An atomic outside of its buffer returns zero.
fn outside<const L: usize>(w: &mut Wave<L>, i: &Inst, l: usize, _: Atomic, wide: bool) {
    if i.cache & 1 == 1 {
        flat::put(w, i.dst, l, 0);
        if wide {
            flat::put(w, i.dst + 1, l, 0);
        }
    }
}
