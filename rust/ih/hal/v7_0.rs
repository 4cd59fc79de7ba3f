// SPDX-License-Identifier: GPL-2.0

//! IH 7.0 (`ih_v7_0.c`).

use super::{
    registers,
    Registers, //
};
use crate::{
    hw::{
        regs::osssys_7_0_0::{
            self as oss,
            IH_INT_FLOOD_CNTL as Flood,
            IH_MSI_STORM_CTRL as Storm,
            IH_STORM_CLIENT_LIST_CNTL as Clients, //
        },
        value::Bounded, //
    },
    regs::{
        Regs,
        Tables, //
    }, //
};

/// Address space 0.
static REGISTERS: Registers = registers!(oss, space: 4);

/// The interrupt handler.
pub(super) struct Hal;

impl super::Hal for Hal {
    fn tables(&self) -> Tables {
        &[&oss::TABLE]
    }

    fn registers(&self) -> &'static Registers {
        &REGISTERS
    }

    /// `AMDGPU_NAVI10_DOORBELL_IH`.
    fn doorbell(&self) -> Bounded<10> {
        Bounded::new::<{ 0x178 << 1 }>()
    }

    /// PSP's boot loader doesn't let this block use any (`ih_v7_0_sw_init`).
    fn bus_addresses(&self) -> bool {
        false
    }

    fn after(&self, regs: &Regs) {
        regs.update(oss::IH_STORM_CLIENT_LIST_CNTL, |old| {
            old.with(Clients::CLIENT18_IS_STORM_CLIENT, true)
        });
        regs.update(oss::IH_INT_FLOOD_CNTL, |old| {
            old.with(Flood::FLOOD_CNTL_ENABLE, true)
        });
        regs.update(oss::IH_MSI_STORM_CTRL, |old| {
            old.having(Storm::DELAY.is::<3>())
        });
    }
}
