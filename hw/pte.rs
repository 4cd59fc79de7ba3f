// SPDX-License-Identifier: MIT OR Apache-2.0

//! Page tables of the GPU (GPUVM): entries of gfx9, and what gfx12 changed ([`gfx12`]).
//!
//! Source: Linux, `amdgpu/amdgpu_vm.h` (`AMDGPU_PTE_*`, `AMDGPU_PDE_*`), `amdgpu/gmc_v9_0.c`.
//!
//! A table has 512 entries of 8 bytes (9 address bits a level). With four levels, PDB2 covers
//! 512 GiB an entry, PDB1 1 GiB, PDB0 2 MiB and PTB 4 KiB, for a 48-bit address. An entry above
//! PTB either points at the next table, or maps its whole range itself (`PDE_PTE`).

/// Page size and table size in bytes.
pub const PAGE_SIZE: u64 = 4096;
/// Entries in a table.
pub const ENTRIES: usize = 512;
/// Address bits that a level translates.
pub const LEVEL_BITS: u32 = 9;

/// The entry is used.
pub const VALID: u64 = 1 << 0;
/// The address is a bus address; otherwise it is an offset in VRAM.
pub const SYSTEM: u64 = 1 << 1;
/// Accesses snoop the CPU's caches.
pub const SNOOPED: u64 = 1 << 2;
/// Encrypted memory.
pub const TMZ: u64 = 1 << 3;
/// Instructions may be fetched.
pub const EXECUTABLE: u64 = 1 << 4;
/// Loads are allowed.
pub const READABLE: u64 = 1 << 5;
/// Stores are allowed.
pub const WRITEABLE: u64 = 1 << 6;
/// Address bits of an entry: bits 47:12.
pub const ADDRESS: u64 = 0x0000_ffff_ffff_f000;
/// Partially resident texture.
pub const PRT: u64 = 1 << 51;
/// In a directory: the entry maps the range itself.
pub const PDE_PTE: u64 = 1 << 54;
/// In PDB0: the entry translates further, below its usual size.
pub const TRANSLATE_FURTHER: u64 = 1 << 56;

/// The fragment field: 2^n pages around this entry map contiguous memory alike.
pub const fn fragment(log2_pages: u8) -> u64 {
    (log2_pages as u64 & 0x1f) << 7
}

/// The fragment field of an entry.
pub const fn fragment_of(entry: u64) -> u8 {
    ((entry >> 7) & 0x1f) as u8
}

/// The block-fragment-size field of a directory entry: bits 63:59.
pub const fn block_fragment(log2_pages: u8) -> u64 {
    (log2_pages as u64 & 0x1f) << 59
}

/// Memory types of gfx9: how the caches treat a page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Mtype {
    /// Cached, not coherent.
    Nc = 0,
    /// Write-combining up to gfx90a; cached and read-write (RW) from Arcturus on.
    Rw = 1,
    /// Cached and coherent.
    Cc = 2,
    /// Uncached.
    Uc = 3,
}

/// The memory-type field of gfx9: bits 58:57.
pub const fn mtype(mtype: Mtype) -> u64 {
    (mtype as u64) << 57
}

/// The memory type of an entry of gfx9.
pub const fn mtype_of(entry: u64) -> u8 {
    ((entry >> 57) & 3) as u8
}

/// What gfx12 places elsewhere.
pub mod gfx12 {
    use super::Mtype;

    /// In a directory: the entry maps the range itself. Page table entries have it, too.
    pub const PDE_PTE: u64 = 1 << 63;
    /// Partially resident texture.
    pub const PRT: u64 = 1 << 56;
    /// Compressed.
    pub const DCC: u64 = 1 << 58;
    /// Atomics may go over the bus.
    pub const BUS_ATOMICS: u64 = 1 << 59;

    /// The block-fragment-size field of a directory entry: bits 62:58.
    pub const fn block_fragment(log2_pages: u8) -> u64 {
        (log2_pages as u64 & 0x1f) << 58
    }

    /// The memory-type field: bits 55:54.
    pub const fn mtype(mtype: Mtype) -> u64 {
        (mtype as u64) << 54
    }

    /// The memory type of an entry.
    pub const fn mtype_of(entry: u64) -> u8 {
        ((entry >> 54) & 3) as u8
    }
}

/// Index into the table of level `level` (0 = PTB, 3 = PDB2) for a virtual address.
pub const fn index(va: u64, level: u32) -> usize {
    (va >> level.wrapping_mul(LEVEL_BITS).wrapping_add(12)) as usize & (ENTRIES - 1)
}

/// Flags of a page table entry with their names in `amdgpu_vm.h`, for the ABI test.
pub const FLAGS: &[(u64, &str)] = &[
    (VALID, "AMDGPU_PTE_VALID"),
    (SYSTEM, "AMDGPU_PTE_SYSTEM"),
    (SNOOPED, "AMDGPU_PTE_SNOOPED"),
    (TMZ, "AMDGPU_PTE_TMZ"),
    (EXECUTABLE, "AMDGPU_PTE_EXECUTABLE"),
    (READABLE, "AMDGPU_PTE_READABLE"),
    (WRITEABLE, "AMDGPU_PTE_WRITEABLE"),
    (fragment(0x1f), "AMDGPU_PTE_FRAG(0x1fULL)"),
    (PRT, "AMDGPU_PTE_PRT"),
    (PDE_PTE, "AMDGPU_PDE_PTE"),
    (TRANSLATE_FURTHER, "AMDGPU_PTE_TF"),
    (block_fragment(9), "AMDGPU_PDE_BFS(9ULL)"),
    (mtype(Mtype::Uc), "AMDGPU_PTE_MTYPE_VG10_SHIFT(3ULL)"),
    (gfx12::PDE_PTE, "AMDGPU_PDE_PTE_GFX12"),
    (gfx12::PDE_PTE, "AMDGPU_PTE_IS_PTE"),
    (gfx12::PRT, "AMDGPU_PTE_PRT_GFX12"),
    (gfx12::DCC, "AMDGPU_PTE_DCC"),
    (gfx12::BUS_ATOMICS, "AMDGPU_PTE_BUS_ATOMICS"),
    (gfx12::block_fragment(9), "AMDGPU_PDE_BFS_GFX12(9ULL)"),
    (
        gfx12::mtype(Mtype::Uc),
        "AMDGPU_PTE_MTYPE_GFX12_SHIFT(3ULL)",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indices_take_an_address_apart() {
        let va = 0x7123_4567_8000;
        let whole = (0..4).fold(0, |a, level| {
            a | ((index(va, level) as u64) << (12 + level * LEVEL_BITS))
        });
        assert_eq!(whole, va);
    }
}
