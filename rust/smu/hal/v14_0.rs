// SPDX-License-Identifier: GPL-2.0

//! MP1 14.0, of gfx12: the driver has nothing to ask of it. Copy engines have registers of their own to be reset
//! by.

use super::Mailbox;
use crate::regs::Tables;

/// The management unit.
pub(super) struct Hal;

impl super::Hal for Hal {
    fn tables(&self) -> Tables {
        &[]
    }

    fn mailbox(&self) -> Option<&'static Mailbox> {
        None
    }
}
