// SPDX-License-Identifier: GPL-2.0

//! IH 7.0 (`ih_v7_0.c`).

use super::{
    first,
    registers,
    First,
    Registers, //
};
use crate::{
    hw::{
        ih::{
            client,
            source, //
        },
        regs::{
            osssys_7_0_0::{
                self as oss,
                IH_INT_FLOOD_CNTL as Flood,
                IH_MSI_STORM_CTRL as Storm,
                IH_RING1_CLIENT_CFG_DATA as Route,
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
static REGISTERS: First = first!(oss, space: 4);
/// What doesn't fit into ring 1 is dropped.
static SECOND: Registers = registers!(
    oss: IH_RB_CNTL_RING1, IH_RB_WPTR_RING1, IH_RB_RPTR_RING1, IH_RB_BASE_RING1, IH_RB_BASE_HI_RING1;
    MC_SPACE: 4,
    WPTR_OVERFLOW_CLEAR: 1,
    WPTR_OVERFLOW_ENABLE: 0,
    RB_FULL_DRAIN_ENABLE: 1,
    MC_SNOOP: 1,
    MC_RO: 0,
    MC_VMID: 0,
);

/// The interrupt handler.
pub(super) struct Hal;

impl super::Hal for Hal {
    fn tables(&self) -> Tables {
        &[&oss::TABLE]
    }

    fn registers(&self) -> &'static First {
        &REGISTERS
    }

    fn second(&self) -> Option<&'static Registers> {
        Some(&SECOND)
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
        // Page faults of the graphics hub go to ring 1, by the first route.
        regs.update(oss::IH_RING1_CLIENT_CFG_INDEX, |old| {
            old.having(Index::INDEX.is::<0>())
        });
        let faults = Value::zeroed()
            .with(Route::CLIENT_ID, client::GFX)
            .with(Route::SOURCE_ID, source::VM_FAULT)
            .with(Route::SOURCE_ID_MATCH_ENABLE, true);
        regs.write(oss::IH_RING1_CLIENT_CFG_DATA, faults);
    }
}
