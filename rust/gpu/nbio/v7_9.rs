// SPDX-License-Identifier: GPL-2.0

//! NBIO 7.9, of gfx942 (`nbio_v7_9.c`).

use super::{Hal, Window};
use crate::{
    hw::regs::nbio_7_9_0::{
        self as nbio, DOORBELL0_CTRL_ENTRY_0 as Range, S2A_DOORBELL_ENTRY_1_CTRL as Port,
    },
    hw::regs::Reg,
    ih::v4_4,
    sdma,
};

/// Words of doorbells that go to the interrupt handler.
const IH_SIZE: u32 = 8;

/// Words of doorbells that go to a copy engine (`sdma_doorbell_range`).
const SDMA_SIZE: u32 = 20;

/// `nbio_v7_9_sdma_doorbell_range`, of an engine of the first AID.
const fn sdma_route(engine: u32, range: Reg, port: Reg, id: u32, address: u32) -> [(Reg, u32); 2] {
    let first = (sdma::FIRST_DOORBELL + engine * sdma::DOORBELL_STRIDE) * 2;
    let bits = Range::BIF_DOORBELL0_RANGE_OFFSET_ENTRY.set(0, first);
    let to = Port::S2A_DOORBELL_PORT1_ENABLE.set(0, 1);
    let to = Port::S2A_DOORBELL_PORT1_RANGE_SIZE.set(to, SDMA_SIZE);
    let to = Port::S2A_DOORBELL_PORT1_AWID.set(to, id);
    let to = Port::S2A_DOORBELL_PORT1_RANGE_OFFSET.set(to, id);
    [
        (
            range,
            Range::BIF_DOORBELL0_RANGE_SIZE_ENTRY.set(bits, SDMA_SIZE),
        ),
        (
            port,
            Port::S2A_DOORBELL_PORT1_AWADDR_31_28_VALUE.set(to, address),
        ),
    ]
}

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
    sdma_routes: &[
        &sdma_route(
            0,
            nbio::DOORBELL0_CTRL_ENTRY_1,
            nbio::S2A_DOORBELL_ENTRY_1_CTRL,
            0xe,
            1,
        ),
        &sdma_route(
            1,
            nbio::DOORBELL0_CTRL_ENTRY_2,
            nbio::S2A_DOORBELL_ENTRY_2_CTRL,
            8,
            2,
        ),
        &sdma_route(
            2,
            nbio::DOORBELL0_CTRL_ENTRY_3,
            nbio::S2A_DOORBELL_ENTRY_5_CTRL,
            9,
            8,
        ),
        &sdma_route(
            3,
            nbio::DOORBELL0_CTRL_ENTRY_4,
            nbio::S2A_DOORBELL_ENTRY_6_CTRL,
            0xa,
            9,
        ),
    ],
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
