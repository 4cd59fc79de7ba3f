// SPDX-License-Identifier: GPL-2.0

//! NBIF 6.3.1, of gfx1201 (`nbif_v6_3_1.c`).

use crate::{
    doorbell::SDMA_FIRST,
    hw::regs::nbif_6_3_1::{
        self as nbio,
        BIF_BX0_INTERRUPT_CNTL as Interrupts,
        GDC_S2A0_S2A_DOORBELL_ENTRY_1_CTRL as Port,
        GDC_S2A0_S2A_DOORBELL_ENTRY_2_CTRL as Copy,
        RCC_DEV0_EPF0_RCC_DOORBELL_APER_EN as Aperture,
        RCC_STRAP0_RCC_DEV0_EPF0_STRAP0 as Strap, //
    },
    regs::{
        Access,
        Regs, //
    },
    types::{
        BusAddr,
        DoorbellWord, //
    }, //
};

/// Words of doorbells that go to a copy engine (`sdma_doorbell_range`).
const SDMA_SIZE: u32 = 20;

/// The bus side.
pub(super) struct Hal;

impl super::Hal for Hal {
    fn access(&self) -> Access {
        Access {
            memory_size: nbio::RCC_DEV0_EPF0_RCC_CONFIG_MEMSIZE,
            // All registers lie in BAR 5.
            window: None,
        }
    }

    fn revision(&self, regs: &Regs) -> u32 {
        let strap = regs.read(nbio::RCC_STRAP0_RCC_DEV0_EPF0_STRAP0);
        Strap::STRAP_ATI_REV_ID_DEV0_F0.get(strap)
    }

    fn show_hdp_flush(&self, regs: &Regs, offset: u32) {
        regs.write(nbio::BIF_BX0_REMAP_HDP_MEM_FLUSH_CNTL, offset);
        regs.write(nbio::BIF_BX0_REMAP_HDP_REG_FLUSH_CNTL, offset + 4);
    }

    /// `nbif_v6_3_1_gc_doorbell_init`.
    fn let_doorbells_pass(&self, regs: &Regs, on: bool) {
        if on {
            regs.write(nbio::GDC_S2A0_S2A_DOORBELL_ENTRY_0_CTRL, 0x3000_0007);
            regs.write(nbio::GDC_S2A0_S2A_DOORBELL_ENTRY_3_CTRL, 0x3000_000d);
        }
        regs.set(
            nbio::RCC_DEV0_EPF0_RCC_DOORBELL_APER_EN,
            Aperture::BIF_DOORBELL_APER_EN,
            on.into(),
        );
    }

    /// `nbif_v6_3_1_sdma_doorbell_range`: both engines', with the first.
    fn route_sdma(&self, regs: &Regs, engines: u32) {
        if engines == 0 {
            return;
        }
        let route = Copy::S2A_DOORBELL_PORT2_ENABLE.set(0, 1);
        let route = Copy::S2A_DOORBELL_PORT2_AWID.set(route, 0xe);
        let route = Copy::S2A_DOORBELL_PORT2_RANGE_OFFSET.set(route, SDMA_FIRST * 2);
        let route = Copy::S2A_DOORBELL_PORT2_RANGE_SIZE.set(route, 2 * SDMA_SIZE);
        let route = Copy::S2A_DOORBELL_PORT2_AWADDR_31_28_VALUE.set(route, 3);
        regs.write(nbio::GDC_S2A0_S2A_DOORBELL_ENTRY_2_CTRL, route);
    }

    fn prepare_interrupts(&self, regs: &Regs, dummy: BusAddr) {
        regs.write(nbio::BIF_BX0_INTERRUPT_CNTL2, (dummy.get() >> 8) as u32);
        for field in [
            Interrupts::IH_DUMMY_RD_OVERRIDE,
            Interrupts::IH_REQ_NONSNOOP_EN,
        ] {
            regs.set(nbio::BIF_BX0_INTERRUPT_CNTL, field, 0);
        }
    }

    /// `nbif_v6_3_1_ih_doorbell_range`.
    fn route_interrupts(&self, regs: &Regs, doorbell: DoorbellWord) {
        let route = Port::S2A_DOORBELL_PORT1_ENABLE.set(0, 1);
        let route = Port::S2A_DOORBELL_PORT1_RANGE_OFFSET.set(route, doorbell.get());
        let route = Port::S2A_DOORBELL_PORT1_RANGE_SIZE.set(route, 2);
        regs.write(nbio::GDC_S2A0_S2A_DOORBELL_ENTRY_1_CTRL, route);
    }
}
