// SPDX-License-Identifier: GPL-2.0

//! MP1 13.0.6, of gfx942 (`smu_v13_0_6_ppt.c`; messages: `smu_v13_0_6_ppsmc.h`).

use super::Mailbox;
use crate::{
    hw::regs::mp1_13_0_6 as mp1,
    regs::Tables, //
};

static MAILBOX: Mailbox = Mailbox {
    message: mp1::MP1_SMN_C2PMSG_66.any(),
    argument: mp1::MP1_SMN_C2PMSG_82.any(),
    answer: mp1::MP1_SMN_C2PMSG_90.any(),
    // `PPSMC_MSG_ResetSDMA`.
    reset_sdma: 0x4d,
    // `PPSMC_MSG_GfxDriverReset`, `SMU_RESET_MODE_1`.
    reset_chip: (0x3, 1),
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
