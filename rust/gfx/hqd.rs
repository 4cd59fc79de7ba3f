// SPDX-License-Identifier: GPL-2.0

//! The registers of a hardware queue (HQD), for people to look at.
//!
//! Sources: `kgd_gfx_v9_hqd_dump` (amdgpu_amdkfd_gfx_v9.c), `hqd_dump_v12`
//! (amdgpu_amdkfd_gfx_v12.c).

use super::Gfx;
use crate::{
    hw::mqd::HQD_WORDS,
    types::HqdSlot, //
};

/// Registers that follow each other: the address of the first in bytes, and their values.
pub(crate) struct Registers {
    pub(crate) at: u32,
    pub(crate) values: [u32; HQD_WORDS],
}

impl Gfx {
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
