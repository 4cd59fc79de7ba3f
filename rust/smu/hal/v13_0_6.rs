// SPDX-License-Identifier: GPL-2.0

//! MP1 13.0.6, of gfx942 (`smu_v13_0_6_ppt.c`).

use super::{
    Mailbox,
    Service, //
};
use crate::{
    hw::{
        layout::Layout,
        regs::mp1_13_0_6 as mp1,
        smu::v13_0_6::{
            self as smu,
            message,
            Metrics, //
        }, //
    },
    regs::Tables, //
};

static MAILBOX: Mailbox = Mailbox {
    message: mp1::MP1_SMN_C2PMSG_66.any(),
    argument: mp1::MP1_SMN_C2PMSG_82.any(),
    answer: mp1::MP1_SMN_C2PMSG_90.any(),
    reset_sdma: message::RESET_SDMA,
    reset_chip: (message::DRIVER_RESET, smu::RESET_MODE_1),
    service: Service {
        version: message::GET_VERSION,
        interface_version: message::GET_INTERFACE_VERSION,
        interface: smu::INTERFACE,
        enable: message::ENABLE_ALL_FEATURES,
        prepare_unload: message::PREPARE_FOR_UNLOAD,
        address_high: message::SET_DRIVER_ADDRESS_HIGH,
        address_low: message::SET_DRIVER_ADDRESS_LOW,
        measure: message::GET_METRICS_TABLE,
        words: Metrics::WORDS,
        fraction: smu::FRACTION,
        count: Metrics::ACCUMULATION_COUNTER.word(),
        power: Metrics::SOCKET_POWER.word(),
        temperature: Metrics::MAX_SOCKET_TEMPERATURE.word(),
        memory_temperature: Metrics::MAX_HBM_TEMPERATURE.word(),
        gfx: Metrics::GFXCLK.word(),
        gfx_least: Metrics::MIN_GFXCLK.word(),
        gfx_most: Metrics::MAX_GFXCLK.word(),
        memory: Metrics::UCLK.word(),
        memory_levels: Metrics::UCLK_TABLE.word(),
        busy: Metrics::SOCKET_GFX_BUSY.word(),
        memory_busy: Metrics::DRAM_UTILIZATION.word(),
    },
};

/// The management unit.
pub(super) struct Hal;

impl super::Hal for Hal {
    fn tables(&self) -> Tables {
        &[&mp1::TABLE]
    }

    fn mailbox(&self) -> Option<&'static Mailbox> {
        Some(&MAILBOX)
    }
}
