// SPDX-License-Identifier: MIT OR Apache-2.0
//! A buffer's descriptor, and the addresses that it gives (CDNA3 ISA, section 9.1; RDNA4 ISA,
//! section 9.1).

use super::format::Format;
use crate::decode::{bits, Inst};
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
    /// Whether each lane's number is added to its index.
    pub add_lane: bool,
    /// gfx12's ways to check; gfx9 has none.
    select: Option<u32>,
    /// The word that has the format, and what each channel is.
    last: u32,
}

impl Descriptor {
    /// From four scalar registers.
    pub fn read<const L: usize>(w: &Wave<L>, at: u16, i: &Inst) -> Self {
        let word = |n: u16| w.scalar((at + n) & 127, 0);
        let [low, high, records, format] = [0, 1, 2, 3].map(word);
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
        Self {
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
        }
    }

    /// Whether it describes something other than a buffer: an instruction that uses it is ignored (RDNA4 ISA,
    /// section 9.6; CDNA3 ISA, chapter 9).
    pub fn is_other(&self) -> bool {
        bits(self.last, 30, 2) != 0
    }

    /// Whether no buffer is bound: its data format is 0 and no lane is added. Loads are zero, and nothing is
    /// stored.
    fn is_unbound(&self) -> bool {
        let format = match self.select {
            Some(_) => bits(self.last, 12, 6),
            None => bits(self.last, 15, 4),
        };
        format == 0 && !self.add_lane
    }

    /// Where `bytes` at an item's offset lie, if they lie inside.
    pub fn place(&self, index: u64, offset: u64, scalar: u64, bytes: u64) -> Option<u64> {
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
        if !inside || self.is_unbound() {
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
