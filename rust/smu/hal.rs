// SPDX-License-Identifier: GPL-2.0

//! What differs between management units.
//!
//! The version of the graphics core chooses, as for the security processor: a chip that has one has the other.

use super::{
    columns::{
        Columns,
        From,
        Reported, //
    },
    levels,
    place::Place,
    reading::{
        ByLoad,
        Values, //
    },
    source::{
        Metric,
        Source, //
    },
    table::{
        Card,
        Format, //
    },
    ChipReset,
    Interface,
    Mailbox,
    Service, //
};
use crate::{
    regs::Tables,
    types::GcVersion, //
};
use kernel::str::CStr;

mod v13_0_6;
mod v14_0;

/// The management unit of a chip.
pub(crate) trait Hal: Sync {
    /// The tables of the registers that it uses.
    fn tables(&self) -> Tables;

    /// The file with its firmware; `None` where that is in the chip.
    fn file(&self) -> Option<&'static CStr> {
        None
    }

    /// The file with tables for the security processor, where there is one.
    fn tables_file(&self) -> Option<&'static CStr> {
        None
    }

    /// Which of them is that of a PCI device.
    fn table_of(&self, _device: u16) -> Option<u32> {
        None
    }

    /// How the driver talks to it.
    fn interface(&self) -> &'static Interface;
}

/// The management unit beside a graphics core.
pub(crate) fn hal(version: GcVersion) -> &'static dyn Hal {
    match version {
        GcVersion::V9_4_3 => &v13_0_6::Hal,
        GcVersion::V12_0_1 => &v14_0::Hal,
        #[cfg(rkfd_stub_chip)]
        GcVersion::Stub => &v14_0::Hal,
    }
}
