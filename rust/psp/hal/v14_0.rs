// SPDX-License-Identifier: GPL-2.0

//! MP0 14.0, of gfx12: its firmware comes with that of the run list controller, by an autoload that the
//! driver doesn't start.

use super::Interface;
use crate::regs::Tables;

/// The security processor.
pub(super) struct Hal;

impl super::Hal for Hal {
    fn tables(&self) -> Tables {
        &[]
    }

    fn interface(&self) -> Option<&'static Interface> {
        None
    }
}
