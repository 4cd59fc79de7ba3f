// SPDX-License-Identifier: GPL-2.0

//! Multimedia hub 1.8 (`mmhub_v1_8.c`).

use super::v9::hub;
use crate::{
    gmc::hub::table::{
        table,
        Table, //
    },
    hw::regs::{
        mmhub_1_8_0::{
            self as mm,
            MC_VM_FB_LOCATION_BASE as Location,
            MC_VM_FB_LOCATION_TOP as Top, //
        },
        AnyReg, //
    },
    regs::{
        Regs,
        Tables, //
    }, //
};

static HUB: Table = hub! { mm, Mmhub, {} };

/// The multimedia hub.
pub(super) struct Mmhub;

impl super::Mmhub for Mmhub {
    fn tables(&self) -> Tables {
        &[&mm::TABLE]
    }

    fn hub(&self) -> &'static Table {
        &HUB
    }

    fn fb_start(&self, regs: &Regs) -> u64 {
        let base = regs.read(mm::MC_VM_FB_LOCATION_BASE);
        u64::from(base.get(Location::FB_BASE)) << 24
    }

    fn hive_end(&self, regs: &Regs) -> u64 {
        let top = regs.read(mm::MC_VM_FB_LOCATION_TOP);
        (u64::from(top.get(Top::FB_TOP)) << 24) | 0xff_ffff
    }

    fn vram_offset(&self, regs: &Regs) -> u64 {
        u64::from(regs.read(mm::MC_VM_FB_OFFSET).bits()) << 24
    }

    fn prepare(&self, regs: &Regs, instance: u8) {
        snoop_override(regs, instance);
    }
}

/// Lets writes of SDMA invalidate lines that others have cached.
fn snoop_override(regs: &Regs, instance: u8) {
    const SDMA_CLIENT: u32 = 1 << 15;
    let offset = |reg: AnyReg| reg.offset;
    let stride = offset(mm::DAGB1_WRCLI_GPU_SNOOP_OVERRIDE.any())
        .wrapping_sub(offset(mm::DAGB0_WRCLI_GPU_SNOOP_OVERRIDE.any()));
    for dagb in 0..5 {
        for reg in [
            mm::DAGB0_WRCLI_GPU_SNOOP_OVERRIDE.any(),
            mm::DAGB0_WRCLI_GPU_SNOOP_OVERRIDE_VALUE.any(),
        ] {
            regs.update_at(instance, reg.at(dagb, stride), |old| old | SDMA_CLIENT);
        }
    }
}
