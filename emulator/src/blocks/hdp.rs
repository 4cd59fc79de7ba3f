// SPDX-License-Identifier: MIT OR Apache-2.0

//! The host data path: the CPU's way to VRAM.
//!
//! Its registers are storage. What it holds back of the CPU's stores is in [`crate::memory::hdp`], and
//! the registers that flush it are the north bridge's ([`super::nbio`]). Sources: Linux,
//! `amdgpu/hdp_v4_0.c`, `amdgpu/hdp_v7_0.c`.

use super::store::Store;
use crate::device::{IpBlock, Refused};
use rkfd_hw::regs::RegInfo;

/// The block.
pub struct Hdp {
    store: Store,
}

impl Hdp {
    /// Start-up state.
    pub(crate) fn new() -> Self {
        Self {
            store: Store::zeroed(&[
                "HDP_HOST_PATH_CNTL",
                "HDP_MISC_CNTL",
                "HDP_NONSURFACE_BASE",
                "HDP_NONSURFACE_BASE_HI",
                "HDP_MEM_POWER_CTRL",
                "HDP_CLK_CNTL",
            ]),
        }
    }
}

impl IpBlock for Hdp {
    fn read(&self, reg: &'static RegInfo) -> Result<u32, Refused> {
        self.store.read(reg)
    }

    fn write(&self, reg: &'static RegInfo, value: u32) -> Result<(), Refused> {
        self.store.write(reg, value)
    }

    fn reset(&self) {
        self.store.reset();
    }
}
