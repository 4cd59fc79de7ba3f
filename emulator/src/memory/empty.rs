// SPDX-License-Identifier: MIT OR Apache-2.0

//! Entries of page tables that aren't valid, and the marks that they have all the same.
//!
//! An entry without VALID isn't just any value. Linux fills new tables, and what it unmaps, with entries that are marked
//! (`amdgpu/amdgpu_vm_pt.c`, `amdgpu_vm_pt_clear` and `amdgpu_vm_pte_update_flags`):
//!
//! * in the last table with EXECUTABLE, a "workaround for fault priority problem on GMC9 and GFX12": without it a fault
//!   isn't reported as one of a page that is missing;
//! * in a directory as a leaf ("handle leaf PDEs as PTEs");
//! * in a block whose entries may translate further with bit 12 of the address instead (`gmc_v9_0_get_vm_pde`).
//!
//! A page that isn't resident (PRT) has no EXECUTABLE, and on gfx12 is one of snooped system memory (`gmc_v12_0_get_vm_pte`).

use super::generation::EntryBits;
use super::PAGE;
use rkfd_hw::pte;

/// Where an entry is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum At {
    /// In a directory.
    Directory,
    /// In a block whose entries cover more than a page.
    Block,
    /// In the last table.
    Last,
}

/// The marks that an entry of a process lacks, which isn't valid.
pub fn lacks(bits: &EntryBits, at: At, entry: u64) -> u64 {
    let is_prt = entry & bits.prt != 0;
    let own = match at {
        At::Directory => bits.pde_pte,
        At::Block => PAGE,
        At::Last if is_prt => 0,
        At::Last => pte::EXECUTABLE,
    };
    let own = if is_prt { own | bits.not_resident } else { own };
    own & !entry
}
