// SPDX-License-Identifier: MIT OR Apache-2.0
//! Buffer memory: addresses from a descriptor of four scalar registers, checked against its size
//! (CDNA3 ISA, section 9.1; RDNA4 ISA, section 9.1). What lies outside reads as zero and is not
//! written.

use super::flat::{self, Place};
use super::format::Format;
use super::formatted::Conversion;
use super::lds::lds_address;
use super::lds::{self, narrow};
use super::Context;
use crate::decode::atomic::Atomic;
use crate::decode::buffer::form;
use crate::decode::kind::Kind;
use crate::decode::{bits, code, Inst};
use crate::fault::FaultKind;
use crate::wave::Wave;

/// A buffer descriptor.
#[derive(Clone, Copy)]
pub struct Descriptor {
    base: u64,
    stride: u64,
    records: u64,
    /// Items that lie side by side, element by element; 0 if each has its bytes together.
    interleave: u64,
    /// Bytes of an element.
    element: u64,
    add_lane: bool,
    /// gfx12's ways to check; gfx9 has none.
    select: Option<u32>,
    /// The word that has the format, and what each channel is.
    last: u32,
}

impl Descriptor {
    /// From four scalar registers.
    pub fn read<const L: usize>(w: &Wave<L>, at: u16, i: &Inst) -> Result<Self, FaultKind> {
        let word = |n: u16| w.scalar((at + n) & 127, 0);
        let [low, high, records, format] = [0, 1, 2, 3].map(word);
        if bits(format, 30, 2) != 0 {
            return Err(FaultKind::Unsupported(
                "a descriptor of something other than a buffer",
            ));
        }
        // The chips keep the swizzle where gfx9 has two bits and gfx12 one field of two.
        let swizzle = bits(high, 30, 2);
        let swizzled = if i.ocp {
            swizzle != 0
        } else {
            swizzle & 2 != 0
        };
        let add_lane = bits(format, 23, 1) == 1;
        // gfx12's stride has a scale.
        let scale = if i.ocp {
            [1, 4, 8, 32][bits(format, 18, 2) as usize]
        } else {
            1
        };
        // With the lane added, gfx9's data format is more of the stride.
        let wide = if add_lane && !i.ocp {
            bits(format, 15, 4) << 14
        } else {
            0
        };
        Ok(Self {
            base: u64::from(low) | (u64::from(high & 0xffff) << 32),
            stride: u64::from(bits(high, 16, 14) | wide) * scale,
            records: records.into(),
            interleave: if swizzled {
                8 << bits(format, 21, 2)
            } else {
                0
            },
            element: if i.ocp && swizzle == 3 { 16 } else { 4 },
            add_lane,
            last: format,
            select: i.ocp.then(|| bits(format, 28, 2)),
        })
    }

    /// Where `bytes` at an item's offset lie, if they lie inside.
    fn place(&self, index: u64, offset: u64, scalar: u64, bytes: u64) -> Option<u64> {
        let raw = self.stride == 0 || (self.select.is_none() && self.interleave == 0);
        let inside = match self.select {
            None if raw => {
                let end = index * self.stride + offset + scalar + bytes;
                end <= self.records * if self.stride == 0 { 1 } else { self.stride }
            }
            None => index < self.records && offset + bytes <= self.stride.max(bytes),
            Some(0) => index < self.records && (self.stride == 0 || offset + bytes <= self.stride),
            Some(1) => index < self.records,
            Some(2) => self.records != 0,
            _ => offset + bytes <= self.records,
        };
        if !inside {
            return None;
        }
        let at = if self.interleave == 0 {
            index * self.stride + offset
        } else {
            let (block, item) = (index / self.interleave, index % self.interleave);
            let within = offset % self.element;
            let element = block * self.stride + offset - within;
            element * self.interleave + item * self.element + within
        };
        Some(self.base.wrapping_add(scalar).wrapping_add(at))
    }

    /// The elements' format; none if the buffer has none, or one that is no format.
    pub fn format(&self) -> Option<Format> {
        if self.select.is_some() {
            return Format::unified(bits(self.last, 12, 6));
        }
        // With the lane added it is more of the stride.
        let data = if self.add_lane {
            0
        } else {
            bits(self.last, 15, 4)
        };
        Format::split(data, bits(self.last, 12, 3))
    }

    /// What a channel is: 0, 1, or from 4 on an element's component.
    pub fn select(&self, channel: usize) -> u32 {
        bits(self.last, 3 * channel as u32, 3)
    }

    /// Bytes of a whole buffer, for scalar loads.
    pub fn size(&self) -> u64 {
        self.records * self.stride.max(1)
    }

    /// Address of its first byte.
    pub fn base(&self) -> u64 {
        self.base
    }
}

/// MUBUF, MTBUF and gfx12's buffer operations.
pub fn execute<const L: usize>(
    w: &mut Wave<L>,
    i: &Inst,
    c: &mut Context<'_>,
) -> Result<(), FaultKind> {
    match i.kind {
        Kind::Hint => return Ok(()),
        Kind::Plain => return Err(FaultKind::Illegal),
        _ => {}
    }
    let descriptor = Descriptor::read(w, i.sdst, i)?;
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
        for l in flat::active(w) {
            conversion.lane(w, i, c, l, |more, bytes| place(l, more, bytes))?;
        }
        return Ok(());
    }
    let to_lds = i.op_sel & form::LDS != 0;
    for l in flat::active(w) {
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
