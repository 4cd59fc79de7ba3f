// SPDX-License-Identifier: GPL-2.0

//! Waves in their slots, for people to look at.
//!
//! GRBM_GFX_INDEX is pointed at a SIMD, SQ_IND_INDEX chooses a slot of it and a register of the wave in that
//! slot, and SQ_IND_DATA is the register. Looking stops no wave, so those that run have gone on when the next
//! register is read; those that are halted have not.
//!
//! Shader engines without waves in flight are passed over.
//!
//! Sources: `amdgpu_debugfs_wave_read` (amdgpu_debugfs.c), `gfx_v9_4_3_read_wave_data`,
//! `gfx_v12_0_read_wave_data`.

use super::Gfx;
use crate::{
    chip::ChipInfo,
    hw::{
        regs::Block,
        value::Bounded, //
    },
    types::HqdSlot, //
};

/// A SIMD of an XCC.
#[derive(Clone, Copy)]
pub(crate) struct Simd {
    pub(crate) xcc: u8,
    pub(crate) engine: Bounded<4>,
    pub(crate) array: Bounded<2>,
    /// The compute unit in its array.
    pub(crate) cu: Bounded<4>,
    /// The SIMD in its compute unit.
    pub(crate) number: Bounded<2>,
}

/// A wave.
#[derive(Clone, Copy)]
pub(crate) struct Wave {
    pub(crate) simd: Simd,
    pub(crate) slot: Bounded<4>,
    /// SQ_WAVE_STATUS.
    pub(crate) status: u32,
    /// The address of its next instruction.
    pub(crate) pc: u64,
    /// It executes nothing until somebody lets it go on.
    pub(crate) halted: bool,
    /// The hardware queue and the address space that it belongs to.
    pub(crate) hqd: Option<HqdSlot>,
    pub(crate) vmid: u32,
}

impl Gfx {
    /// Calls `visit` for each wave that is in a slot, until it returns false. `None` while somebody else has
    /// chosen what registers show; then not all were visited.
    pub(crate) fn try_waves(
        &self,
        chip: &ChipInfo,
        mut visit: impl FnMut(Wave) -> bool,
    ) -> Option<()> {
        let engines = u64::from(chip.engines_per_xcc());
        let arrays = u64::from(chip.shader_arrays_per_engine);
        for xcc in self.regs.instances(Block::Gc) {
            for engine in (0..engines).filter_map(Bounded::try_new) {
                if !self.try_has_waves(chip, (xcc, engine))? {
                    continue;
                }
                for array in (0..arrays).filter_map(Bounded::try_new) {
                    if !self.try_waves_of(chip, (xcc, engine, array), &mut visit)? {
                        return Some(());
                    }
                }
            }
        }
        Some(())
    }

    /// Whether a shader engine has waves in flight, which its counts say without a look at each slot.
    fn try_has_waves(&self, chip: &ChipInfo, engine: (u8, Bounded<4>)) -> Option<bool> {
        let _here = self.regs.here_with_graphics()?;
        let lock = self.selected.try_lock()?;
        let mut any = false;
        self.count_waves(&lock, chip, engine, &mut |_, _| any = true);
        self.hal.see_all_arrays(&self.regs, engine.0);
        Some(any)
    }

    /// The same of a shader array; whether to go on.
    fn try_waves_of(
        &self,
        chip: &ChipInfo,
        (xcc, engine, array): (u8, Bounded<4>, Bounded<2>),
        visit: &mut impl FnMut(Wave) -> bool,
    ) -> Option<bool> {
        let _here = self.regs.here_with_graphics()?;
        let _lock = self.selected.try_lock()?;
        let active = self.hal.active_cus(&self.regs, xcc, engine, array);
        let mut goes_on = true;
        let cus = (0..u64::from(chip.cu_per_array)).filter_map(Bounded::try_new);
        // All ones are a device that is gone.
        for cu in cus.filter(|cu: &Bounded<4>| active >> cu.get() & 1 == 1) {
            let simds = (0..u64::from(chip.family.simd_per_cu)).filter_map(Bounded::try_new);
            for number in simds {
                let simd = Simd {
                    xcc,
                    engine,
                    array,
                    cu,
                    number,
                };
                self.hal.see_simd(&self.regs, &simd);
                let slots = (0..u64::from(chip.waves_per_simd)).filter_map(Bounded::try_new);
                let waves = slots.filter_map(|slot| self.hal.wave(&self.regs, &simd, slot));
                goes_on = goes_on && { waves }.all(&mut *visit);
            }
        }
        self.hal.see_all_arrays(&self.regs, xcc);
        Some(goes_on)
    }
}
