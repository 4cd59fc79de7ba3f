// SPDX-License-Identifier: MIT OR Apache-2.0
//! Loads and stores that convert: typed buffers, whose instruction names the format, and untyped
//! ones, whose descriptor does (CDNA3 ISA, section 9.1.4; RDNA4 ISA, section 9.3). An element is
//! inside of its buffer as a whole or not at all.

use super::context::Context;
use super::descriptor::Descriptor;
use super::flat;
use super::format::Format;
use crate::decode::formatted::{Data, Part};
use crate::decode::table::Family;
use crate::decode::Inst;
use crate::fault::FaultKind;
use crate::wave::Wave;

/// Where a component's value comes from: a constant, or the element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Channel {
    Zero,
    One,
    Component(usize),
}

/// A format and the way between its components and the registers.
pub struct Conversion {
    data: Data,
    format: Format,
    channels: [Channel; 4],
    /// A store of too few components repeats the first (gfx12).
    repeats: bool,
}

impl Conversion {
    /// For an instruction and its buffer.
    pub fn new(i: &Inst, data: Data, descriptor: &Descriptor) -> Result<Self, FaultKind> {
        let typed = i.family == Family::Mtbuf;
        let format = if typed {
            let number = u32::from(i.op_sel_hi);
            if i.ocp {
                Format::unified(number)
            } else {
                Format::split(number & 15, number >> 4)
            }
        } else {
            descriptor.format()
        };
        let format = format.ok_or(FaultKind::Unsupported("this buffer format"))?;
        let components = format.widths.len();
        let mut channels = [Channel::Zero; 4];
        // The others neither come from memory nor go there.
        let used = if data.store {
            components
        } else {
            data.count.into()
        };
        for (n, channel) in channels.iter_mut().enumerate().take(used) {
            let select = if typed {
                n as u32 + 4
            } else {
                descriptor.select(n)
            };
            *channel = match select {
                0 => Channel::Zero,
                1 => Channel::One,
                4..=7 if (select as usize - 4) < components => {
                    Channel::Component(select as usize - 4)
                }
                4..=7 if typed => Channel::Zero,
                4..=7 => return Err(FaultKind::Unsupported("a channel that its format lacks")),
                _ => return Err(FaultKind::Unsupported("a reserved channel")),
            };
        }
        let conversion = Self {
            data,
            format,
            channels,
            repeats: i.ocp,
        };
        if data.store {
            conversion.check_store()?;
        }
        Ok(conversion)
    }

    /// Refuses a store of components in another order, whose result the manuals do not define.
    fn check_store(&self) -> Result<(), FaultKind> {
        let components = self.format.widths.len();
        let in_order = (0..components).all(|n| self.channels[n] == Channel::Component(n));
        if !in_order {
            return Err(FaultKind::Unsupported("a store of reordered channels"));
        }
        if usize::from(self.data.count) < components && !self.repeats {
            return Err(FaultKind::Unsupported(
                "a store of fewer components than its format has",
            ));
        }
        Ok(())
    }

    /// Load or store one lane's element; `place` gives the address of so many bytes at an offset.
    pub fn lane<const L: usize>(
        &self,
        w: &mut Wave<L>,
        i: &Inst,
        c: &mut Context<'_>,
        l: usize,
        place: impl Fn(u64, u64) -> Option<u64>,
    ) -> Result<(), FaultKind> {
        let bytes = self.format.bytes();
        let inside = place(0, bytes).is_some();
        // Swizzled elements lie apart.
        let step = bytes.min(4);
        let units = (0..bytes)
            .step_by(step as usize)
            .filter_map(|at| Some((at, place(at, step)?)));
        if self.data.store {
            let element = self.gather(w, i, l)?;
            for (at, va) in units.filter(|_| inside) {
                flat::store_memory(c, va, (element >> (8 * at)) as u32, step as u8)?;
            }
            return Ok(());
        }
        let mut element = 0;
        for (at, va) in units.filter(|_| inside) {
            element |= u128::from(flat::load_memory(c, va, step as u8)?) << (8 * at);
        }
        self.scatter(w, i, l, inside.then_some(element))
    }

    /// The element that a lane's registers make.
    fn gather<const L: usize>(&self, w: &Wave<L>, i: &Inst, l: usize) -> Result<u128, FaultKind> {
        let mut element = 0;
        for (n, width) in self.format.widths.iter().enumerate() {
            let sent = if n < usize::from(self.data.count) {
                n
            } else {
                0
            };
            let (register, shift) = self.data.place(sent);
            let value = w.v[w.slot(i.src[1] + register)][l] >> shift;
            let part = match self.data.part {
                Part::Whole => self.format.store(value, *width)?,
                Part::Half | Part::High => self.format.store_half(value as u16, *width)?,
            };
            element = self.format.with_part(element, n, part);
        }
        Ok(element)
    }

    /// Put an element into a lane's registers. Outside of its buffer components are zero, and
    /// constant channels what they are.
    fn scatter<const L: usize>(
        &self,
        w: &mut Wave<L>,
        i: &Inst,
        l: usize,
        element: Option<u128>,
    ) -> Result<(), FaultKind> {
        let integer = self.format.is_integer();
        for n in 0..usize::from(self.data.count) {
            let part = match (self.channels[n], element) {
                (Channel::Component(n), Some(element)) => {
                    Some((self.format.part(element, n), self.format.widths[n]))
                }
                _ => None,
            };
            let one = self.channels[n] == Channel::One;
            let (register, shift) = self.data.place(n);
            let at = w.slot(i.dst + register);
            w.v[at][l] = match self.data.part {
                Part::Whole => match part {
                    Some((part, width)) => self.format.load(part, width),
                    None if one && integer => 1,
                    None if one => 1f32.to_bits(),
                    None => 0,
                },
                Part::Half | Part::High => {
                    let half = match part {
                        Some((part, width)) => self.format.load_half(part, width)?,
                        None if one && integer => 1,
                        None if one => 0x3c00,
                        None => 0,
                    };
                    w.v[at][l] & !(0xffff << shift) | (u32::from(half) << shift)
                }
            };
        }
        Ok(())
    }
}
