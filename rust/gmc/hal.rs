// SPDX-License-Identifier: GPL-2.0

//! What differs between memory controllers.

use super::hub::table::Table;
use crate::{
    regs::{
        Regs,
        Tables, //
    },
    types::{
        GcVersion,
        MmhubVersion, //
    }, //
};
use kernel::prelude::*;

mod mmhub_v1_8;
mod mmhub_v4_1;
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

/// A device's place in a hive, whose nodes see each other's memory as parts of one frame buffer.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Hive {
    /// How many nodes there are; 0 when the device is in none.
    pub(crate) nodes: u32,
    /// Where the device's part begins in the frame buffer.
    pub(crate) offset: u64,
}

/// The memory controller of a version.
pub(crate) trait Hal: Sync {
    /// The tables of the registers that it uses.
    fn tables(&self) -> Tables;

    /// The graphics hubs.
    fn hub(&self) -> &'static Table;

    /// What page table entries add to an offset in VRAM, from the hub that has it.
    fn vram_offset(&self, regs: &Regs, mmhub: &dyn Mmhub) -> u64;

    /// The device's place in a hive.
    ///
    /// # Errors
    ///
    /// EINVAL when it is none that the chip can have.
    fn hive(&self, _regs: &Regs) -> Result<Hive> {
        Ok(Hive::default())
    }

    /// Where the GART goes.
    fn gart(&self) -> Placement;

    /// Flags of the GART's entries.
    fn gart_flags(&self) -> u64;

    /// Sets up what must be before the hubs are, with VRAM from `vram_start` on.
    fn prepare(&self, _regs: &Regs, _vram_start: u64) {}

    /// Sets up what only this graphics hub has, after its caches.
    fn prepare_hub(&self, _regs: &Regs, _instance: u8) {}

    /// Gates the clocks of what is idle between the memory and who uses it, or has them run.
    fn gate_clocks(&self, _regs: &Regs, _on: bool) {}

    /// The process that has an address space now.
    fn pasid_of(&self, regs: &Regs, vmid: u32) -> Option<u32>;
}

/// The multimedia hub of a version.
pub(crate) trait Mmhub: Sync {
    /// The tables of the registers that it uses.
    fn tables(&self) -> Tables;

    /// Its registers.
    fn hub(&self) -> &'static Table;

    /// Where the frame buffer begins in address space 0.
    fn fb_start(&self, regs: &Regs) -> u64;

    /// The last byte of a hive's frame buffer there. Only those have one whose devices may be in a
    /// hive.
    fn hive_end(&self, regs: &Regs) -> u64 {
        self.fb_start(regs)
    }

    /// What page table entries add to an offset in VRAM.
    fn vram_offset(&self, regs: &Regs) -> u64;

    /// Sets up what only this hub has, after its caches.
    fn prepare(&self, _regs: &Regs, _instance: u8) {}
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

/// The multimedia hub of a version (`gmc_v9_0_set_mmhub_funcs`, `gmc_v12_0_set_mmhub_funcs`).
pub(crate) fn mmhub(mmhub: MmhubVersion) -> &'static dyn Mmhub {
    match mmhub {
        MmhubVersion::V1_8_0 => &mmhub_v1_8::Mmhub,
        MmhubVersion::V4_1_0 => &mmhub_v4_1::Mmhub,
        #[cfg(rkfd_stub_chip)]
        MmhubVersion::Stub => &mmhub_v4_1::Mmhub,
    }
}
