// SPDX-License-Identifier: GPL-2.0

//! NBIO 7.9, of gfx942 (`nbio_v7_9.c`).

use crate::{
    doorbell::{
        SDMA_FIRST,
        SDMA_STRIDE, //
    },
    hw::regs::{
        nbio_7_9_0::{
            self as nbio,
            BIF_BX0_INTERRUPT_CNTL as Interrupts,
            DOORBELL0_CTRL_ENTRY_0 as Range,
            RCC_DEV0_EPF0_RCC_DOORBELL_APER_EN as Aperture,
            RCC_STRAP0_RCC_DEV0_EPF0_STRAP0 as Strap,
            S2A_DOORBELL_ENTRY_1_CTRL as Port, //
        },
        Reg, //
    },
    regs::{
        Access,
        Regs,
        Window, //
    },
    types::{
        BusAddr,
        DoorbellWord, //
    }, //
};

/// Words of doorbells that go to the interrupt handler.
const IH_SIZE: u32 = 8;

/// Words of doorbells that go to a copy engine (`sdma_doorbell_range`).
const SDMA_SIZE: u32 = 20;

/// For each copy engine of the first AID: which range and which port are its own, its number at the
/// port, and its address.
const SDMA_ROUTES: [(Reg, Reg, u32, u32); 4] = [
    (
        nbio::DOORBELL0_CTRL_ENTRY_1,
        nbio::S2A_DOORBELL_ENTRY_1_CTRL,
        0xe,
        1,
    ),
    (
        nbio::DOORBELL0_CTRL_ENTRY_2,
        nbio::S2A_DOORBELL_ENTRY_2_CTRL,
        8,
        2,
    ),
    (
        nbio::DOORBELL0_CTRL_ENTRY_3,
        nbio::S2A_DOORBELL_ENTRY_5_CTRL,
        9,
        8,
    ),
    (
        nbio::DOORBELL0_CTRL_ENTRY_4,
        nbio::S2A_DOORBELL_ENTRY_6_CTRL,
        0xa,
        9,
    ),
];

/// The bus side.
pub(super) struct Hal;

impl super::Hal for Hal {
    fn access(&self) -> Access {
        Access {
            memory_size: nbio::RCC_DEV0_EPF0_RCC_CONFIG_MEMSIZE,
            window: Some(Window {
                index: nbio::BIF_BX0_PCIE_INDEX2,
                index_high: nbio::BIF_BX0_PCIE_INDEX2_HI,
                data: nbio::BIF_BX0_PCIE_DATA2,
            }),
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

    fn let_doorbells_pass(&self, regs: &Regs, on: bool) {
        if on {
            regs.write(nbio::BIFC_DOORBELL_ACCESS_EN_PF, 0xf_ffff);
        }
        regs.set(
            nbio::RCC_DEV0_EPF0_RCC_DOORBELL_APER_EN,
            Aperture::BIF_DOORBELL_APER_EN,
            on.into(),
        );
    }

    /// `nbio_v7_9_sdma_doorbell_range`.
    fn route_sdma(&self, regs: &Regs, engines: u32) {
        for ((range, port, id, address), engine) in SDMA_ROUTES.into_iter().zip(0..engines) {
            let first = (SDMA_FIRST + engine * SDMA_STRIDE) * 2;
            let bits = Range::BIF_DOORBELL0_RANGE_OFFSET_ENTRY.set(0, first);
            let bits = Range::BIF_DOORBELL0_RANGE_SIZE_ENTRY.set(bits, SDMA_SIZE);
            let to = Port::S2A_DOORBELL_PORT1_ENABLE.set(0, 1);
            let to = Port::S2A_DOORBELL_PORT1_RANGE_SIZE.set(to, SDMA_SIZE);
            let to = Port::S2A_DOORBELL_PORT1_AWID.set(to, id);
            let to = Port::S2A_DOORBELL_PORT1_RANGE_OFFSET.set(to, id);
            let to = Port::S2A_DOORBELL_PORT1_AWADDR_31_28_VALUE.set(to, address);
            regs.write(range, bits);
            regs.write(port, to);
        }
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

    /// `nbio_v7_9_ih_doorbell_range`.
    fn route_interrupts(&self, regs: &Regs, doorbell: DoorbellWord) {
        let bits = Range::BIF_DOORBELL0_RANGE_OFFSET_ENTRY.set(0, doorbell.get());
        regs.write(
            nbio::DOORBELL0_CTRL_ENTRY_0,
            Range::BIF_DOORBELL0_RANGE_SIZE_ENTRY.set(bits, IH_SIZE),
        );
        let to = Port::S2A_DOORBELL_PORT1_ENABLE.set(0, 1);
        regs.write(
            nbio::S2A_DOORBELL_ENTRY_3_CTRL,
            Port::S2A_DOORBELL_PORT1_RANGE_SIZE.set(to, IH_SIZE),
        );
    }
}
