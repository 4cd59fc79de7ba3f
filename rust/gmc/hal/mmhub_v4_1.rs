// SPDX-License-Identifier: GPL-2.0

//! Multimedia hub 4.1 (`mmhub_v4_1_0.c`).

use super::v12::hub;
use crate::{
    gmc::hub::table::{
        table,
        Table, //
    },
    hw::regs::mmhub_4_1_0::{
        self as mm,
        MMMC_VM_FB_LOCATION_BASE as Location,
        MMVM_L2_BANK_SELECT_RESERVED_CID2 as Reserved, //
    },
    regs::{
        Regs,
        Tables, //
    }, //
};

static HUB: Table = hub! {
    mm, Mmhub, MM,
    {},
    Some(mm::MMVM_INVALIDATE_ENG0_SEM.any()),
    None,
    Some(mm::MMVM_L2_BANK_SELECT_RESERVED_CID2.change(&[
        Reserved::RESERVED_CACHE_PRIVATE_INVALIDATION.is::<1>(),
    ])),
};

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
        let base = regs.read(mm::MMMC_VM_FB_LOCATION_BASE);
        u64::from(base.get(Location::FB_BASE)) << 24
    }

    fn vram_offset(&self, regs: &Regs) -> u64 {
        u64::from(regs.read(mm::MMMC_VM_FB_OFFSET).bits()) << 24
    }
}
