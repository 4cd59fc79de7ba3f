// SPDX-License-Identifier: GPL-2.0

//! NBIO 7.9, of gfx942 (`nbio_v7_9.c`).

use super::{Hal, Window};
use crate::{
    hw::regs::nbio_7_9_0::{
        self as nbio, DOORBELL0_CTRL_ENTRY_0 as Range, S2A_DOORBELL_ENTRY_1_CTRL as Port,
    },
    ih::v4_4,
};

/// Words of doorbells that go to the interrupt handler.
const IH_SIZE: u32 = 8;

pub(crate) static HAL: Hal = Hal {
    memory_size: nbio::RCC_DEV0_EPF0_RCC_CONFIG_MEMSIZE,
    window: Some(Window {
        index: nbio::BIF_BX0_PCIE_INDEX2,
        index_high: nbio::BIF_BX0_PCIE_INDEX2_HI,
        data: nbio::BIF_BX0_PCIE_DATA2,
    }),
    revision: (
        nbio::RCC_STRAP0_RCC_DEV0_EPF0_STRAP0,
        nbio::RCC_STRAP0_RCC_DEV0_EPF0_STRAP0::STRAP_ATI_REV_ID_DEV0_F0,
    ),
    remap_memory_flush: nbio::BIF_BX0_REMAP_HDP_MEM_FLUSH_CNTL,
    remap_register_flush: nbio::BIF_BX0_REMAP_HDP_REG_FLUSH_CNTL,
    doorbell_aperture: (
        nbio::RCC_DEV0_EPF0_RCC_DOORBELL_APER_EN,
        nbio::RCC_DEV0_EPF0_RCC_DOORBELL_APER_EN::BIF_DOORBELL_APER_EN,
    ),
    interrupt_dummy: nbio::BIF_BX0_INTERRUPT_CNTL2,
    interrupt_cntl: (
        nbio::BIF_BX0_INTERRUPT_CNTL,
        &[
            (nbio::BIF_BX0_INTERRUPT_CNTL::IH_DUMMY_RD_OVERRIDE, 0),
            (nbio::BIF_BX0_INTERRUPT_CNTL::IH_REQ_NONSNOOP_EN, 0),
        ],
    ),
    routes: &[(nbio::BIFC_DOORBELL_ACCESS_EN_PF, 0xf_ffff)],
    // `nbio_v7_9_ih_doorbell_range`.
    interrupt_routes: &[
        (
            nbio::DOORBELL0_CTRL_ENTRY_0,
            Range::BIF_DOORBELL0_RANGE_SIZE_ENTRY.set(
                Range::BIF_DOORBELL0_RANGE_OFFSET_ENTRY.set(0, v4_4::DOORBELL),
                IH_SIZE,
            ),
        ),
        (
            nbio::S2A_DOORBELL_ENTRY_3_CTRL,
            Port::S2A_DOORBELL_PORT1_RANGE_SIZE
                .set(Port::S2A_DOORBELL_PORT1_ENABLE.set(0, 1), IH_SIZE),
        ),
    ],
};
