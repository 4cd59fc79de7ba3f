// SPDX-License-Identifier: GPL-2.0

//! What differs between memory controllers.

use super::hub::table::Table;
use crate::{
    hw::regs::Block,
    regs::Regs,
    types::GcVersion, //
};

mod v12;
mod v9;

/// Where the GART goes (`AMDGPU_GART_PLACEMENT_*`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Placement {
    /// Below or above VRAM, where there is less room that still suffices.
    BestFit,
    /// At address 0.
    Low,
}

/// The memory controller of a version.
pub(crate) trait Hal: Sync {
    /// The kinds of hubs: the graphics ones first.
    fn hubs(&self) -> &'static [&'static Table];

    /// Where VRAM begins in address space 0, and what page table entries add to an offset in it.
    fn vram_base(&self, regs: &Regs) -> (u64, u64);

    /// Where the GART goes.
    fn gart(&self) -> Placement;

    /// Flags of the GART's entries.
    fn gart_flags(&self) -> u64;

    /// Sets up what must be before the hubs are, with VRAM from `vram_start` on.
    fn prepare(&self, _regs: &Regs, _vram_start: u64) {}

    /// Sets up what only some hubs have, after their caches.
    fn prepare_hub(&self, _regs: &Regs, _block: Block, _instance: u8) {}

    /// The process that has an address space now.
    fn pasid_of(&self, regs: &Regs, vmid: u32) -> Option<u32>;
}

/// The one of a version (`amdgpu_discovery_set_gmc_ip_blocks`).
pub(crate) fn hal(gc: GcVersion) -> &'static dyn Hal {
    match gc {
        GcVersion::V9_4_3 => &v9::Hal,
        GcVersion::V12_0_1 => &v12::Hal,
        #[cfg(rkfd_stub_chip)]
        GcVersion::Stub => &v12::Hal,
    }
}
