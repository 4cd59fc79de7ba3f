// SPDX-License-Identifier: GPL-2.0

//! Flags of page table entries: what a mapping may do, and how each generation says so.

use crate::{
    bo::{Bo, Placement},
    gpu::Hw,
    hw::pte::{
        block_fragment, gfx12, mtype, Mtype, ADDRESS, EXECUTABLE, LEVEL_BITS, PAGE_SIZE, PDE_PTE,
        READABLE, SNOOPED, SYSTEM, TRANSLATE_FURTHER, VALID, WRITEABLE,
    },
};

/// How the GPU may use a mapping, and what a user program asked of its caches.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) struct MapFlags {
    pub(crate) writable: bool,
    pub(crate) executable: bool,
    /// Coherent with the CPU: gfx942 is, without further ado.
    pub(crate) coherent: bool,
    pub(crate) uncached: bool,
    /// Coherent at device-scope atomics as well.
    pub(crate) ext_coherent: bool,
}

/// What differs between generations. Tables have four levels of 512 entries in all; levels count
/// from 0, the table of 4 KiB pages, to 3, the root.
pub(crate) struct Format {
    /// What entries of a level have that lead to a table.
    pub(super) directory: [u64; 4],
    /// What entries of a level have that map memory themselves.
    pub(super) leaf: [u64; 4],
    /// What Linux leaves in entries that map nothing.
    pub(super) empty: [u64; 4],
    /// Memory type and snooping of a leaf; the argument tells whether it is the GPU's memory.
    caching: fn(bool, MapFlags) -> u64,
}

/// gfx942, as `gmc_v9_0_get_vm_pde` and `gmc_v9_0_get_coherence_flags` choose for a discrete GPU.
/// The walker is told of three levels and "translate further" (see `gmc/v9.rs`): the entries of
/// level 2 say that those below cover 2^9 pages each (BFS 9), those of level 1 that there is one
/// more level (TF). An entry of level 1 without TF maps 2 MiB itself.
///
/// An empty entry (`amdgpu_vm_pt_clear`) of level 0 has the executable bit, so that a fault counts
/// as "not present"; in a directory it is a leaf that isn't valid.
pub(crate) static GFX9: Format = Format {
    directory: [0, TRANSLATE_FURTHER, block_fragment(LEVEL_BITS as u8), 0],
    leaf: [0, 0, PDE_PTE, 0],
    empty: [EXECUTABLE, PAGE_SIZE, PDE_PTE, PDE_PTE],
    caching: |local, flags| {
        let cached = if flags.uncached {
            Mtype::Uc
        } else if flags.ext_coherent {
            if local {
                Mtype::Cc
            } else {
                Mtype::Uc
            }
        } else if local {
            Mtype::Rw
        } else {
            Mtype::Uc
        };
        SNOOPED | mtype(cached)
    },
};

/// gfx12, as `gmc_v12_0_get_vm_pde` and `gmc_v12_0_get_vm_pte` choose. Plain levels; every leaf
/// says that it is one, empty ones included (`init_pte_flags`).
pub(crate) static GFX12: Format = Format {
    directory: [0; 4],
    leaf: [gfx12::PDE_PTE; 4],
    empty: [
        EXECUTABLE | gfx12::PDE_PTE,
        gfx12::PDE_PTE,
        gfx12::PDE_PTE,
        gfx12::PDE_PTE,
    ],
    caching: |local, flags| {
        let cached = if flags.uncached { Mtype::Uc } else { Mtype::Nc };
        gfx12::mtype(cached) | if local { 0 } else { SNOOPED }
    },
};

/// Everything of an entry but its address and what its level adds.
pub(super) fn entry(hw: &Hw, bo: &Bo, flags: MapFlags) -> u64 {
    let local = bo.placement() == Some(Placement::Vram);
    let mut entry = VALID | READABLE | (hw.chip.family.pte.caching)(local, flags);
    if !local {
        entry |= SYSTEM;
    }
    if flags.writable {
        entry |= WRITEABLE;
    }
    if flags.executable {
        entry |= EXECUTABLE;
    }
    entry
}

/// The address of an entry for an address of a buffer object's segment.
pub(super) fn address(hw: &Hw, bo: &Bo, addr: u64) -> u64 {
    let address = match bo.placement() {
        Some(Placement::Vram) => hw.layout.vram_pte(addr),
        _ => addr,
    };
    address & ADDRESS
}
