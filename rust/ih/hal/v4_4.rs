// SPDX-License-Identifier: GPL-2.0

//! IH 4.4.2 (`vega20_ih.c`).

use super::{
    first,
    First, //
};
use crate::{
    hw::{
        regs::{
            osssys_4_4_2::{
                self as oss,
                IH_CHICKEN as Chicken,
                IH_RB_CNTL as Cntl, //
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

/// Bus addresses.
static REGISTERS: First = first!(oss, space: 1);

/// The interrupt handler.
pub(super) struct Hal;

impl super::Hal for Hal {
    fn tables(&self) -> Tables {
        &[&oss::TABLE]
    }

    fn registers(&self) -> &'static First {
        &REGISTERS
    }

    /// `AMDGPU_DOORBELL_LAYOUT1_IH`.
    fn doorbell(&self) -> Bounded<10> {
        Bounded::new::<{ 0x1a0 << 1 }>()
    }

    fn bus_addresses(&self) -> bool {
        true
    }

    fn before(&self, regs: &Regs) {
        regs.update(oss::IH_CHICKEN, |old| {
            old.with(Chicken::MC_SPACE_GPA_ENABLE, true)
        });
    }

    /// The overflow flag is cleared by an edge when the ring is turned on.
    fn toggle(&self, regs: &Regs, cntl: u32, on: bool) -> u32 {
        let mut cntl = Value::new(cntl).with(Cntl::RB_GPU_TS_ENABLE, true);
        if on {
            for edge in [false, true] {
                cntl = cntl.with(Cntl::WPTR_OVERFLOW_CLEAR, edge);
                regs.write(oss::IH_RB_CNTL, cntl);
            }
            cntl = cntl.with(Cntl::WPTR_OVERFLOW_CLEAR, false);
        }
        cntl.bits()
    }
}
