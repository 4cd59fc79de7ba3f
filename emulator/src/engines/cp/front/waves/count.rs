// SPDX-License-Identifier: MIT OR Apache-2.0

//! SPI_CSQ_WF_ACTIVE_STATUS and SPI_CSQ_WF_ACTIVE_COUNT_*: which HQDs of MEC1 have a queue, and how many
//! waves each has in flight. GRBM_GFX_CNTL chooses the pipe, GRBM_GFX_INDEX the shader engine.
//!
//! Sources: Linux, `kgd_gfx_v9_get_cu_occupancy` (`amdgpu/amdgpu_amdkfd_gfx_v9.c`), and of
//! `kgd_gfx_v12_get_cu_occupancy`: "The bit is ON if a queue is slotted, OFF if there is no queue".

use super::super::slot::{Slot, Slots};
use super::{Registers, WaveSlots};
use rkfd_hw::regs::gc_9_4_3::GRBM_GFX_CNTL as Select;
use rkfd_hw::regs::{RegInfo, Value};

/// What one of the registers is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Count {
    /// A bit for each HQD, set where a queue is.
    Queues(u32),
    /// Waves of the queue on an HQD, which may not be there.
    Waves(Option<Slot>),
}

impl Count {
    /// What a register is about, if it is one of these. `active` says whether a queue is on an HQD.
    pub fn of(
        reg: &RegInfo,
        slots: Slots,
        grbm_gfx_cntl: u32,
        active: impl Fn(Slot) -> bool,
    ) -> Option<Self> {
        let what = reg.reg.name.strip_prefix("SPI_CSQ_WF_ACTIVE_")?;
        if what == "STATUS" {
            let first = slots.all().filter(|slot| slot.me() == 1 && active(*slot));
            let bit = |slot: Slot| 1u32 << (slot.pipe() * slots.queues + slot.queue());
            return Some(Self::Queues(first.map(bit).fold(0, |all, bit| all | bit)));
        }
        let queue = what.strip_prefix("COUNT_")?.parse().ok()?;
        let select = Value::<Select>::new(grbm_gfx_cntl);
        let slot = slots.find(select.get(Select::MEID), select.get(Select::PIPEID), queue);
        Some(Self::Waves(slot.filter(|slot| active(*slot))))
    }

    /// Its value on an XCC, by GRBM_GFX_INDEX, where counts end at `most`.
    pub fn value(
        self,
        waves: &WaveSlots,
        xcc: u8,
        grbm_gfx_index: u32,
        (registers, most): (&Registers, u32),
    ) -> u32 {
        match self {
            Self::Queues(bits) => bits,
            Self::Waves(None) => 0,
            Self::Waves(Some(slot)) => {
                let (place, _) = (registers.chosen)(grbm_gfx_index, 0);
                waves.count(xcc, place.engine, slot.on(xcc)).min(most)
            }
        }
    }
}
