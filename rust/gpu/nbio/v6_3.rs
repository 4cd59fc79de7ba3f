// SPDX-License-Identifier: GPL-2.0

//! NBIF 6.3.1, of gfx1201 (`nbif_v6_3_1.c`).

use super::Hal;
use crate::{
    hw::regs::nbif_6_3_1::{
        self as nbio, GDC_S2A0_S2A_DOORBELL_ENTRY_1_CTRL as Port,
        GDC_S2A0_S2A_DOORBELL_ENTRY_2_CTRL as Copy,
    },
    ih::v7_0,
    sdma,
};

/// Words of doorbells that go to a copy engine (`sdma_doorbell_range`).
const SDMA_SIZE: u32 = 20;

pub(crate) static HAL: Hal = Hal {
    memory_size: nbio::RCC_DEV0_EPF0_RCC_CONFIG_MEMSIZE,
    // All registers lie in BAR 5.
    window: None,
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
    // `nbif_v6_3_1_gc_doorbell_init`.
    routes: &[
        (nbio::GDC_S2A0_S2A_DOORBELL_ENTRY_0_CTRL, 0x3000_0007),
        (nbio::GDC_S2A0_S2A_DOORBELL_ENTRY_3_CTRL, 0x3000_000d),
    ],
    // `nbif_v6_3_1_sdma_doorbell_range`: both engines', with the first.
    sdma_routes: &[&[(
        nbio::GDC_S2A0_S2A_DOORBELL_ENTRY_2_CTRL,
        Copy::S2A_DOORBELL_PORT2_AWADDR_31_28_VALUE.set(
            Copy::S2A_DOORBELL_PORT2_RANGE_SIZE.set(
                Copy::S2A_DOORBELL_PORT2_RANGE_OFFSET.set(
                    Copy::S2A_DOORBELL_PORT2_AWID
                        .set(Copy::S2A_DOORBELL_PORT2_ENABLE.set(0, 1), 0xe),
                    sdma::FIRST_DOORBELL * 2,
                ),
                2 * SDMA_SIZE,
            ),
            3,
        ),
    )]],
    // `nbif_v6_3_1_ih_doorbell_range`.
    interrupt_routes: &[(
        nbio::GDC_S2A0_S2A_DOORBELL_ENTRY_1_CTRL,
        Port::S2A_DOORBELL_PORT1_RANGE_SIZE.set(
            Port::S2A_DOORBELL_PORT1_RANGE_OFFSET
                .set(Port::S2A_DOORBELL_PORT1_ENABLE.set(0, 1), v7_0::DOORBELL),
            2,
        ),
    )],
};
