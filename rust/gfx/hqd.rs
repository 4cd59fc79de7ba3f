// SPDX-License-Identifier: GPL-2.0

//! The registers of a hardware queue (HQD), for people to look at.
//!
//! Sources: `kgd_gfx_v9_hqd_dump` (amdgpu_amdkfd_gfx_v9.c), `hqd_dump_v12`
//! (amdgpu_amdkfd_gfx_v12.c).

use super::Gfx;
use crate::{
    hw::{
        layout::Field,
        mqd::{
            Common as Mqd,
            FIRST_HQD_WORD,
            HQD_WORDS, //
        }, //
    },
    regs::Regs,
    types::HqdSlot, //
};

/// Registers that follow each other: the address of the first in bytes, and their values.
pub(crate) struct Registers {
    pub(crate) at: u32,
    pub(crate) values: [u32; HQD_WORDS],
}

/// A queue that is on the hardware.
#[derive(Clone, Copy)]
pub(crate) struct Loaded {
    pub(crate) xcc: u8,
    pub(crate) slot: HqdSlot,
    pub(crate) vmid: u64,
    /// Word of its doorbell on the BAR.
    pub(crate) doorbell: u32,
    /// How far it was read, in the ring, and how far it may be: in words.
    pub(crate) read: u64,
    pub(crate) write: u64,
}

/// The register that is this field of an MQD, of the HQD that is selected.
fn read<const W: u32>(regs: &Regs, first: u32, field: Field<Mqd, W>) -> u64 {
    // CAST: Below 512.
    let word = first.wrapping_add(field.word().wrapping_sub(FIRST_HQD_WORD) as u32);
    let low = u64::from(regs.read_word(word));
    match W {
        ..=32 => low,
        _ => u64::from(regs.read_word(word.wrapping_add(1))) << 32 | low,
    }
}

impl Gfx {
    /// The queue that a hardware queue has, if it has one. `None` while somebody else looks at hardware queues.
    pub(crate) fn try_loaded(&self, xcc: u8, slot: HqdSlot) -> Option<Option<Loaded>> {
        let its = self.hal.registers();
        let first = self.regs.word(its.first_of_hqd, xcc)?;
        self.try_select(xcc, slot, |regs| {
            // A device that is gone reads as all ones.
            let bits = regs.read_at(xcc, its.active.reg());
            if its.active.get(bits) == 0 || bits == u32::MAX {
                return None;
            }
            let bell = regs.read_at(xcc, its.doorbell.reg());
            Some(Loaded {
                xcc,
                slot,
                vmid: read(regs, first, Mqd::CP_HQD_VMID),
                doorbell: its.doorbell.get(bell),
                read: read(regs, first, Mqd::CP_HQD_PQ_RPTR),
                write: read(regs, first, Mqd::CP_HQD_PQ_WPTR),
            })
        })
    }

    /// Reads what a hardware queue has. `None` while somebody else looks at hardware queues: who starts the
    /// firmware does, and waits for it meanwhile.
    pub(crate) fn try_read_hqd(&self, xcc: u8, slot: HqdSlot) -> Option<Registers> {
        let first = self.regs.word(self.hal.registers().first_of_hqd, xcc)?;
        let at = first.checked_mul(4)?;
        self.try_select(xcc, slot, |regs| {
            let mut values = [0; HQD_WORDS];
            for (value, word) in values.iter_mut().zip(first..) {
                *value = regs.read_word(word);
            }
            Registers { at, values }
        })
    }
}
