// SPDX-License-Identifier: MIT OR Apache-2.0

//! The indirect buffer that a queue is in, as the HQD registers CP_HQD_IB_* keep it.

use super::hqd::Image;
use rkfd_hw::regs::gc_9_4_3::CP_HQD_IB_CONTROL as CONTROL;
use rkfd_hw::regs::Value as Contents;
use rkfd_hw::value::Bounded;

/// An indirect buffer that a queue is in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Buffer {
    pub address: u64,
    /// Its size, and how many of it have been executed, in words.
    pub words: u32,
    pub done: u32,
    /// The part of it that only some XCCs execute, if it is in one.
    pub only: Option<Only>,
}

/// A part of a buffer that PRED_EXEC leads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Only {
    /// Where the packet is, and where the part ends, in words of the buffer.
    pub from: u32,
    pub until: u32,
    /// A bit for each XCC of the partition.
    pub xccs: u8,
}

impl Buffer {
    pub fn new(address: u64, words: u32) -> Self {
        Self {
            address,
            words,
            done: 0,
            only: None,
        }
    }

    /// Goes on behind a packet.
    pub fn pass(&mut self, words: usize) {
        self.done += words as u32;
        self.only = self.only.filter(|only| self.done < only.until);
    }

    /// The indirect buffer in which a queue was, by its HQD's registers.
    pub fn of(image: &Image) -> Option<Self> {
        let control = Contents::<CONTROL>::new(image.get(Image::CP_HQD_IB_CONTROL) as u32);
        (control.get(CONTROL::PROCESSING_IB) == 1).then(|| Self {
            address: image.get(Image::CP_HQD_IB_BASE_ADDR),
            words: control.get(CONTROL::IB_SIZE),
            done: image.get(Image::CP_HQD_IB_RPTR) as u32,
            only: None,
        })
    }

    /// Writes into an HQD's registers which one a queue is in. They have no place for a part that only some XCCs
    /// execute: it begins again.
    pub fn save(buffer: Option<Self>, image: &mut Image) {
        let Self {
            address,
            words,
            done,
            only,
        } = buffer.unwrap_or(Self::new(0, 0));
        let done = only.map_or(done, |only| only.from);
        let control = Contents::<CONTROL>::new(image.get(Image::CP_HQD_IB_CONTROL) as u32);
        let control = control.with(CONTROL::IB_SIZE, Bounded::low_bits_of(words.into()));
        let control = control
            .with(CONTROL::PROCESSING_IB, buffer.is_some())
            .bits();
        image.set(Image::CP_HQD_IB_CONTROL, control);
        image.set(Image::CP_HQD_IB_BASE_ADDR, address);
        image.set(Image::CP_HQD_IB_RPTR, done);
    }
}
