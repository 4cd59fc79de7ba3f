// SPDX-License-Identifier: GPL-2.0

//! Waves in flight, counted queue by queue.
//!
//! Sources: `kgd_gfx_v9_get_cu_occupancy` (amdgpu_amdkfd_gfx_v9.c), `kgd_gfx_v12_get_cu_occupancy`
//! (amdgpu_amdkfd_gfx_v12.c).

use super::Gfx;
use crate::{
    chip::ChipInfo,
    hw::{
        regs::Block,
        value::Bounded, //
    },
    types::HqdSlot, //
};
use core::num::NonZero;
use kernel::sync::MutexGuard;

impl Gfx {
    /// Calls `found` for each queue of the first XCC that has waves in flight on a shader engine: with its doorbell,
    /// as a word of the BAR, and how many they are. `None` while somebody else looks at hardware queues.
    pub(crate) fn try_occupancy(
        &self,
        chip: &ChipInfo,
        mut found: impl FnMut(u32, u32),
    ) -> Option<()> {
        let xcc = self.regs.instances(Block::Gc).next()?;
        let _here = self.regs.here_with_graphics()?;
        let lock = self.selected.try_lock()?;
        let engines = u64::from(chip.engines_per_xcc());
        for engine in (0..engines).filter_map(Bounded::try_new) {
            self.count_waves(&lock, chip, (xcc, engine), &mut found);
        }
        self.hal.see_all_arrays(&self.regs, xcc);
        Some(())
    }

    /// The same of one shader engine, at which GRBM_GFX_INDEX is left pointing.
    pub(super) fn count_waves(
        &self,
        lock: &MutexGuard<'_, ()>,
        chip: &ChipInfo,
        (xcc, engine): (u8, Bounded<4>),
        found: &mut impl FnMut(u32, u32),
    ) {
        let its = self.hal.registers();
        let Some(queues) = NonZero::new(chip.family.mec_queues_per_pipe) else {
            return;
        };
        let array = Bounded::new::<0>();
        self.hal.see_array(&self.regs, xcc, engine, array);
        let slotted = self.regs.read_at(xcc, its.slotted);
        let bits = 0..chip.family.mec_pipes.saturating_mul(queues.get());
        for number in bits.filter(|number| slotted.checked_shr(*number).unwrap_or(0) & 1 == 1) {
            let (pipe, queue) = (number / queues, number % queues);
            let Some(slot) = HqdSlot::compute(pipe, queue) else {
                continue;
            };
            self.pointing_at(lock, xcc, self.pointer_to(slot), |regs| {
                let count = regs.read_at(xcc, its.waves.at(queue, 1)) & its.waves_mask;
                if count != 0 {
                    let bell = regs.read_at(xcc, its.doorbell.reg());
                    found(its.doorbell.get(bell), count);
                }
            });
        }
    }
}
