// SPDX-License-Identifier: GPL-2.0

//! NBIO: the bus side of the GPU.
//!
//! Two things are set up here (`nbio_v7_9.c`): the HDP flush registers appear on a page of BAR 5
//! where user programs may have them too, and the doorbell BAR is let through.

use super::{Hw, REMAP_OFFSET};
use crate::hw::regs::nbio_7_9_0 as nbio;
use kernel::sync::Arc;

/// Doorbells pass; dropped, they don't.
pub(super) struct Enabled(Arc<Hw>);

impl Enabled {
    pub(super) fn new(hw: &Arc<Hw>) -> Self {
        use nbio::RCC_DEV0_EPF0_RCC_DOORBELL_APER_EN as Aperture;
        let regs = &hw.regs;
        // `KFD_MMIO_REMAP_HDP_MEM_FLUSH_CNTL` and `..._REG_FLUSH_CNTL`.
        regs.write(nbio::BIF_BX0_REMAP_HDP_MEM_FLUSH_CNTL, REMAP_OFFSET);
        regs.write(nbio::BIF_BX0_REMAP_HDP_REG_FLUSH_CNTL, REMAP_OFFSET + 4);
        regs.write(nbio::BIFC_DOORBELL_ACCESS_EN_PF, 0xf_ffff);
        regs.set(
            nbio::RCC_DEV0_EPF0_RCC_DOORBELL_APER_EN,
            Aperture::BIF_DOORBELL_APER_EN,
            1,
        );
        Self(hw.clone())
    }
}

impl Drop for Enabled {
    fn drop(&mut self) {
        use nbio::RCC_DEV0_EPF0_RCC_DOORBELL_APER_EN as Aperture;
        let regs = &self.0.regs;
        regs.set(
            nbio::RCC_DEV0_EPF0_RCC_DOORBELL_APER_EN,
            Aperture::BIF_DOORBELL_APER_EN,
            0,
        );
    }
}
