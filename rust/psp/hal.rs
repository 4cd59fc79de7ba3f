// SPDX-License-Identifier: GPL-2.0

//! What differs between security processors.
//!
//! The version of the graphics core chooses: a chip that has one has the other, and the processor's own
//! version tells boards apart that start the same way.

use crate::{
    hw::{
        firmware::Component,
        regs::AnyReg, //
    },
    regs::{
        Regs,
        Tables, //
    },
    types::GcVersion, //
};
use kernel::str::CStr;

mod v13_0;
mod v14_0;

/// The mailboxes, by what goes through them.
pub(super) struct Mailboxes {
    /// The boot loader's command and answer; the address of a component, in units of 1 MiB.
    pub(super) boot: AnyReg,
    pub(super) component: AnyReg,
    /// The secure OS' sign of life, and its version.
    pub(super) alive: AnyReg,
    pub(super) version: AnyReg,
    /// Its command and answer; the ring's address and its size in bytes; its write pointer in words.
    pub(super) control: AnyReg,
    pub(super) ring_low: AnyReg,
    pub(super) ring_high: AnyReg,
    pub(super) ring_size: AnyReg,
    pub(super) write_pointer: AnyReg,
}

/// How the driver talks to a security processor.
pub(crate) struct Interface {
    pub(super) mailboxes: Mailboxes,
    /// What the boot loader takes, in this order, each with its command.
    pub(super) components: &'static [(u32, Component)],
    /// The run list controller hands firmware out, and the trusted memory region is there for that from
    /// power-on: nobody asks for it or gives it up (`psp_skip_tmr`).
    pub(crate) autoload: bool,
    /// The version from which on the secure OS tells which parts of VRAM firmware keeps
    /// (`psp_update_fw_reservation`); `None`: none does.
    pub(super) tells_parts: Option<u32>,
    /// The file that has it.
    pub(crate) file: &'static CStr,
    /// Whether the firmware of the power management is so early that other parts of the file are for it.
    pub(crate) is_earlier: fn(&Regs) -> bool,
}

/// The security processor of a chip.
pub(crate) trait Hal: Sync {
    /// The tables of the registers that it uses.
    fn tables(&self) -> Tables;

    /// How the driver talks to it; `None` when it doesn't.
    fn interface(&self) -> Option<&'static Interface>;
}

/// The security processor beside a graphics core.
pub(crate) fn hal(version: GcVersion) -> &'static dyn Hal {
    match version {
        GcVersion::V9_4_3 => &v13_0::Hal,
        GcVersion::V12_0_1 => &v14_0::Hal,
        #[cfg(rkfd_stub_chip)]
        GcVersion::Stub => &v14_0::Hal,
    }
}
