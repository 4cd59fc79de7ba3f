// SPDX-License-Identifier: GPL-2.0

//! MP1 14.0, of gfx12: the security processor gives it its firmware, and the driver has nothing to ask of it. Copy engines have registers of their own to be reset
//! by.

use super::Mailbox;
use crate::regs::Tables;
use kernel::str::CStr;

/// The management unit.
pub(super) struct Hal;

impl super::Hal for Hal {
    fn tables(&self) -> Tables {
        &[]
    }

    /// `smu_v14_0_init_microcode`.
    fn file(&self) -> Option<&'static CStr> {
        Some(c"amdgpu/smu_14_0_3.bin")
    }

    fn mailbox(&self) -> Option<&'static Mailbox> {
        None
    }
}
