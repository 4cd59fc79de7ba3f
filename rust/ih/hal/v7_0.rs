// SPDX-License-Identifier: GPL-2.0

//! IH 7.0 (`ih_v7_0.c`).

use super::{
    registers,
    Registers, //
};
use crate::{
    hw::{
        regs::{
            osssys_7_0_0::{
                self as oss,
                IH_INT_FLOOD_CNTL as Flood,
                IH_MSI_STORM_CTRL as Storm,
                IH_RING1_CLIENT_CFG_INDEX as Index,
                IH_STORM_CLIENT_LIST_CNTL as Clients, //
            },
            Value, //
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
        // Another driver may have sent page faults to ring 1 and left them there; this one has no
        // such ring (`ih_v7_0_irq_init`: the first route).
        regs.update(oss::IH_RING1_CLIENT_CFG_INDEX, |old| {
            old.having(Index::INDEX.is::<0>())
        });
        regs.write(oss::IH_RING1_CLIENT_CFG_DATA, Value::zeroed());
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
