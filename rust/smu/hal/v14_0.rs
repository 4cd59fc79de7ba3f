// SPDX-License-Identifier: GPL-2.0

//! MP1 14.0.3, of gfx12 (`smu_v14_0_2_ppt.c`): the security processor gives it its firmware. The driver has it reset the
//! chip; copy engines have registers of their own to be reset by, and what it measures isn't asked for.

use super::{
    ChipReset,
    Interface,
    Mailbox, //
};
use crate::{
    hw::{
        regs::mp1_14_0_2 as mp1,
        smu::v14_0 as smu, //
    },
    regs::Tables, //
};
use kernel::{
    str::CStr,
    time::Delta, //
};

/// `smu_v14_0_2_init_msg_ctl`.
static INTERFACE: Interface = Interface {
    mailbox: Mailbox {
        message: mp1::MP1_SMN_C2PMSG_66.any(),
        argument: mp1::MP1_SMN_C2PMSG_82.any(),
        answer: mp1::MP1_SMN_C2PMSG_90.any(),
    },
    reset_sdma: None,
    reset_chip: ChipReset::Debug(
        Mailbox {
            message: mp1::MP1_SMN_C2PMSG_75.any(),
            argument: mp1::MP1_SMN_C2PMSG_53.any(),
            answer: mp1::MP1_SMN_C2PMSG_54.any(),
        },
        smu::DEBUG_MODE_1,
    ),
    // `smu_v14_0_2_mode1_reset`.
    away: Delta::from_secs(1),
    service: None,
};

/// The management unit.
pub(super) struct Hal;

impl super::Hal for Hal {
    fn tables(&self) -> Tables {
        &[&mp1::TABLE]
    }

    /// `smu_v14_0_init_microcode`.
    fn file(&self) -> Option<&'static CStr> {
        Some(c"amdgpu/smu_14_0_3.bin")
    }

    fn interface(&self) -> &'static Interface {
        &INTERFACE
    }
}
