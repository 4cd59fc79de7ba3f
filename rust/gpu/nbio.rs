// SPDX-License-Identifier: GPL-2.0

//! NBIO: the bus side of the GPU.
//!
//! Two things are set up here (`nbio_v7_9.c`, `nbif_v6_3_1.c`): the HDP flush registers appear on
//! a page of BAR 5 where user programs may have them too, and the doorbell BAR is let through.

use super::{Hw, REMAP_OFFSET};
use crate::hw::regs::{Bits, Reg};
use kernel::sync::Arc;

mod v6_3;
mod v7_9;

pub(crate) use v6_3::HAL as V6_3;
pub(crate) use v7_9::HAL as V7_9;

/// The way to registers beyond BAR 5.
pub(crate) struct Window {
    pub(crate) index: Reg,
    pub(crate) index_high: Reg,
    pub(crate) data: Reg,
}

/// What differs between chips.
pub(crate) struct Hal {
    /// MiB of VRAM; never all ones.
    pub(crate) memory_size: Reg,
    pub(crate) window: Option<Window>,
    pub(crate) revision: (Reg, Bits),
    remap_memory_flush: Reg,
    remap_register_flush: Reg,
    doorbell_aperture: (Reg, Bits),
    /// Where dummy loads of the interrupt handler go, in units of 256 bytes.
    pub(crate) interrupt_dummy: Reg,
    pub(crate) interrupt_cntl: (Reg, &'static [(Bits, u32)]),
    /// Which doorbells go where: what is stored before any is rung.
    routes: &'static [(Reg, u32)],
    /// The same for those of each copy engine.
    pub(crate) sdma_routes: &'static [&'static [(Reg, u32)]],
    /// The same for the interrupt ring's.
    pub(crate) interrupt_routes: &'static [(Reg, u32)],
}

/// Doorbells pass; dropped, they don't.
pub(super) struct Enabled(Arc<Hw>);

impl Enabled {
    pub(super) fn new(hw: &Arc<Hw>) -> Self {
        let (regs, hal) = (&hw.regs, hw.chip.family.nbio);
        // `KFD_MMIO_REMAP_HDP_MEM_FLUSH_CNTL` and `..._REG_FLUSH_CNTL`.
        regs.write(hal.remap_memory_flush, REMAP_OFFSET);
        regs.write(hal.remap_register_flush, REMAP_OFFSET + 4);
        for &(reg, value) in hal.routes {
            regs.write(reg, value);
        }
        let (aperture, enable) = hal.doorbell_aperture;
        regs.set(aperture, enable, 1);
        Self(hw.clone())
    }
}

impl Drop for Enabled {
    fn drop(&mut self) {
        let (aperture, enable) = self.0.chip.family.nbio.doorbell_aperture;
        self.0.regs.set(aperture, enable, 0);
    }
}
