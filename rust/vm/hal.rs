// SPDX-License-Identifier: GPL-2.0

//! What differs between formats of page tables. Tables have four levels of 512 entries in all; levels
//! count from 0, the table of 4 KiB pages, to 3, the root.

use super::flags::MapFlags;
use crate::types::GcVersion;

mod gfx12;
mod gfx9;

/// Marks of a level's entries: one for each level.
pub(crate) type Marks = [u64; 4];

/// The page tables of a version.
pub(crate) trait Hal: Sync {
    /// What entries of a level have that lead to a table.
    fn directory(&self) -> &'static Marks;

    /// What entries of a level have that map memory themselves.
    fn leaf(&self) -> &'static Marks;

    /// The same of entries that map something which isn't resident.
    fn absent(&self) -> &'static Marks {
        self.leaf()
    }

    /// What Linux leaves in entries that map nothing.
    fn empty(&self) -> &'static Marks;

    /// A leaf without memory, whose pages aren't resident.
    fn nothing(&self) -> u64;

    /// Memory type and snooping of a leaf for the GPU's own memory (`local`) or the system's.
    fn caching(&self, local: bool, flags: MapFlags) -> u64;
}

/// The one of a version (`gmc_v9_0_set_gmc_funcs`, `gmc_v12_0_set_gmc_funcs`).
pub(crate) fn hal(gc: GcVersion) -> &'static dyn Hal {
    match gc {
        GcVersion::V9_4_3 => &gfx9::Hal,
        GcVersion::V12_0_1 => &gfx12::Hal,
        #[cfg(rkfd_stub_chip)]
        GcVersion::Stub => &gfx12::Hal,
    }
}
