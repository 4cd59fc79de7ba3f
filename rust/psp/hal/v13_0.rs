// SPDX-License-Identifier: GPL-2.0

//! MP0 13.0.6, of gfx942 (`psp_v13_0.c`; the order, `psp_hw_start`).

use super::{
    Interface,
    Mailboxes, //
};
use crate::{
    hw::{
        firmware::Component,
        psp::boot,
        regs::mp_13_0_6 as mp0, //
    },
    regs::Tables, //
};

static INTERFACE: Interface = Interface {
    mailboxes: Mailboxes {
        boot: mp0::MP0_SMN_C2PMSG_35.any(),
        component: mp0::MP0_SMN_C2PMSG_36.any(),
        alive: mp0::MP0_SMN_C2PMSG_81.any(),
        version: mp0::MP0_SMN_C2PMSG_58.any(),
        control: mp0::MP0_SMN_C2PMSG_64.any(),
        ring_low: mp0::MP0_SMN_C2PMSG_69.any(),
        ring_high: mp0::MP0_SMN_C2PMSG_70.any(),
        ring_size: mp0::MP0_SMN_C2PMSG_71.any(),
        write_pointer: mp0::MP0_SMN_C2PMSG_67.any(),
    },
    // Of a table for downgrades Linux sends the key database's bytes (`psp_v13_0_bootloader_load_spl`);
    // here it is the table's own.
    components: &[
        (boot::KEY_DATABASE, Component::KeyDatabase),
        (boot::SPL_TABLE, Component::SplTable),
        (boot::SYSTEM_DRIVER, Component::SystemDriver),
        (boot::SOC_DRIVER, Component::SocDriver),
        (boot::INTERFACE_DRIVER, Component::InterfaceDriver),
        (boot::DEBUG_DRIVER, Component::DebugDriver),
        (boot::RAS_DRIVER, Component::RasDriver),
        (boot::SPDM_DRIVER, Component::SpdmDriver),
        (boot::SECURE_OS, Component::SecureOs),
    ],
    autoload: false,
    tells_parts: None,
    file: c"amdgpu/psp_13_0_6_sos.bin",
    // `psp_v13_0_is_aux_sos_load_required`: below version 85.115.0.
    is_earlier: |regs| regs.read_word(SCRATCH) < 0x0055_7300,
};

/// `regMP1_PUB_SCRATCH0`, an address in bytes: the version of the power management's firmware.
const SCRATCH: u32 = 0x03b1_0090 / 4;

/// The security processor.
pub(super) struct Hal;

impl super::Hal for Hal {
    fn tables(&self) -> Tables {
        &[&mp0::TABLE]
    }

    fn interface(&self) -> Option<&'static Interface> {
        Some(&INTERFACE)
    }
}
