// SPDX-License-Identifier: GPL-2.0

//! MP0 14.0.3, of gfx12 (`psp_v14_0.c`; the order, `psp_hw_start`). Its names of registers are others, and
//! what goes through them is the same. The run list controller hands out what it takes.

use super::{
    Interface,
    Mailboxes, //
};
use crate::{
    hw::{
        firmware::Component,
        psp::boot,
        regs::mp_14_0_2 as mp0, //
    },
    regs::Tables, //
};

static INTERFACE: Interface = Interface {
    mailboxes: Mailboxes {
        boot: mp0::MPASP_SMN_C2PMSG_35.any(),
        component: mp0::MPASP_SMN_C2PMSG_36.any(),
        alive: mp0::MPASP_SMN_C2PMSG_81.any(),
        version: mp0::MPASP_SMN_C2PMSG_81.any(),
        control: mp0::MPASP_SMN_C2PMSG_64.any(),
        ring_low: mp0::MPASP_SMN_C2PMSG_69.any(),
        ring_high: mp0::MPASP_SMN_C2PMSG_70.any(),
        ring_size: mp0::MPASP_SMN_C2PMSG_71.any(),
        write_pointer: mp0::MPASP_SMN_C2PMSG_67.any(),
    },
    components: &[
        (boot::KEY_DATABASE, Component::KeyDatabase),
        (boot::SPL_TABLE, Component::SplTable),
        (boot::SYSTEM_DRIVER, Component::SystemDriver),
        (boot::SOC_DRIVER, Component::SocDriver),
        (boot::INTERFACE_DRIVER, Component::InterfaceDriver),
        (boot::DEBUG_DRIVER, Component::DebugDriver),
        (boot::RAS_DRIVER, Component::RasDriver),
        (boot::KEY_MANAGER, Component::KeyManager),
        (boot::SECURE_OS, Component::SecureOs),
    ],
    autoload: true,
    tells_parts: Some(0x003a_0e14),
    file: c"amdgpu/psp_14_0_3_sos.bin",
    is_earlier: |_| false,
};

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
