// SPDX-License-Identifier: MIT OR Apache-2.0

//! The registers of all HQDs, for who looks into the device.

use super::generation::Generation;
use super::hqd::Image;
use super::registers::Registers;
use crate::device::views::{HqdView, Queues};
use rkfd_hw::mqd::{FIRST_HQD_WORD, HQD_WORDS};
use std::sync::Arc;

/// The HQDs of so many XCCs.
pub(crate) struct Hqds {
    pub regs: Arc<dyn Registers>,
    pub generation: &'static Generation,
    pub xccs: u8,
}

impl Queues for Hqds {
    fn hqds(&self) -> Vec<HqdView> {
        let slots = |xcc: u8| self.generation.slots.all().map(move |slot| slot.on(xcc));
        let view = |slot: super::slot::Slot| {
            let mut copy = Image::zeroed();
            self.regs.change(slot, &mut |image| copy.0 = image.0);
            let words = copy.0.iter().enumerate();
            let words = words.skip(FIRST_HQD_WORD).take(HQD_WORDS);
            HqdView {
                slot: slot.to_string(),
                active: copy.get(Image::CP_HQD_ACTIVE) != 0,
                vmid: copy.get(Image::CP_HQD_VMID),
                base: copy.get(Image::CP_HQD_PQ_BASE) << 8,
                pointers: [
                    copy.get(Image::CP_HQD_PQ_RPTR),
                    copy.get(Image::CP_HQD_PQ_WPTR),
                ],
                registers: words
                    .map(|(n, word)| (self.generation.mqd.word_name(n), *word))
                    .collect(),
            }
        };
        (0..self.xccs).flat_map(slots).map(view).collect()
    }
}
