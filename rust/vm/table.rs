// SPDX-License-Identifier: GPL-2.0

//! Page tables in VRAM.
//!
//! Four levels of 512 entries: PDB2 (512 GiB an entry), PDB1 (1 GiB), PDB0 (2 MiB), PTB (4 KiB).
//! An entry of PDB1 or PDB0 may map its range itself. What marks an entry as a directory, as a
//! leaf or as empty differs between generations: [`Format`].
//!
//! Entries carry the size of the fragment they are part of: a power of two of pages around them
//! that is aligned, consecutive and mapped alike, which a TLB can hold as one.
//!
//! An empty entry isn't zero.

use super::flags::Format;
use crate::{
    bo::vram::VramRange,
    gpu::Hw,
    hw::pte::{fragment, index, ENTRIES, LEVEL_BITS, PAGE_SIZE, VALID},
};
use kernel::{prelude::*, sync::Arc};

/// Level of the root.
const ROOT: u32 = 3;
const PDB1: u32 = 2;
/// Largest fragment (the field has five bits).
const MAX_FRAGMENT: u32 = 31;

/// Bytes that an entry of a level covers.
const fn span(level: u32) -> u64 {
    PAGE_SIZE << (level * LEVEL_BITS)
}

/// A mark of a level.
fn of(marks: &[u64; 4], level: u32) -> u64 {
    marks.get(level as usize).copied().unwrap_or(0)
}

/// A table and those below it.
struct Table {
    mem: VramRange,
    /// Tables below, by entry; empty in a PTB.
    children: KVec<Option<KBox<Table>>>,
    /// Entries that map memory themselves, one bit each.
    leaves: [u64; ENTRIES / 64],
    /// Entries that lead to a table.
    below: usize,
    /// In a list of dead tables: the next.
    next: Option<KBox<Table>>,
}

/// Tables that nothing leads to any more, but that the GPU may still have cached.
pub(crate) struct Dead(Option<KBox<Table>>);

impl Dead {
    fn push(&mut self, mut table: KBox<Table>) {
        table.next = self.0.take();
        self.0 = Some(table);
    }
}

impl Drop for Dead {
    fn drop(&mut self) {
        // One at a time: a list may be long, and the stack is short.
        while let Some(mut table) = self.0.take() {
            self.0 = table.next.take();
        }
    }
}

/// The tables of an address space.
pub(super) struct Tables {
    hw: Arc<Hw>,
    root: KBox<Table>,
}

impl Table {
    fn new(hw: &Arc<Hw>, level: u32) -> Result<KBox<Self>> {
        let mem = VramRange::new(hw, PAGE_SIZE)?;
        let empty = of(&hw.chip.family.pte.empty, level);
        mem.fill64(0, ENTRIES as u64, |_| empty)?;
        let mut children = KVec::new();
        if level > 0 {
            children.reserve(ENTRIES, GFP_KERNEL)?;
            for _ in 0..ENTRIES {
                children.push(None, GFP_KERNEL)?;
            }
        }
        Ok(KBox::new(
            Self {
                mem,
                children,
                leaves: [0; ENTRIES / 64],
                below: 0,
                next: None,
            },
            GFP_KERNEL,
        )?)
    }

    fn set(&self, at: usize, entry: u64) -> Result {
        self.mem.write64(at as u64 * 8, entry)
    }

    fn mark_leaves(&mut self, first: usize, count: usize, used: bool) {
        for at in first..first.saturating_add(count).min(ENTRIES) {
            if let Some(word) = self.leaves.get_mut(at / 64) {
                let bit = 1u64 << (at % 64);
                *word = if used { *word | bit } else { *word & !bit };
            }
        }
    }

    fn is_empty(&self) -> bool {
        self.below == 0 && self.leaves.iter().all(|&word| word == 0)
    }
}

/// The entry of a table of `level` that leads to a table at an offset in VRAM.
fn directory_entry(hw: &Hw, level: u32, offset: u64) -> u64 {
    let marks = of(&hw.chip.family.pte.directory, level);
    hw.layout.vram_pte(offset) | VALID | marks
}

/// Log2 of the pages of the largest fragment that starts at `va` and `addr` and fits in `len`.
fn fragment_of(va: u64, addr: u64, len: u64) -> u32 {
    let pages = len / PAGE_SIZE;
    let aligned = ((va | addr) / PAGE_SIZE).trailing_zeros();
    aligned
        .min(pages.checked_ilog2().unwrap_or(0))
        .min(MAX_FRAGMENT)
}

impl Tables {
    /// An empty root.
    pub(super) fn new(hw: &Arc<Hw>) -> Result<Self> {
        Ok(Self {
            hw: hw.clone(),
            root: Table::new(hw, ROOT)?,
        })
    }

    /// What registers take as the base of the page tables.
    pub(super) fn root_entry(&self) -> u64 {
        self.hw.layout.vram_pte(self.root.mem.start()) | VALID
    }

    /// Maps `len` bytes of consecutive addresses. Whoever calls checked that nothing is mapped
    /// there. On an error a part may be mapped: unmap it.
    pub(super) fn map(&mut self, va: u64, addr: u64, len: u64, flags: u64) -> Result {
        let (mut va, mut addr, mut left) = (va, addr, len);
        while left > 0 {
            // The smallest fragments come first and last; a run of equal ones is written at once.
            let log2 = fragment_of(va, addr, left);
            let level = (log2 / LEVEL_BITS).min(PDB1);
            let bytes = PAGE_SIZE << log2;
            let leaf = flags | fragment(log2 as u8) | of(&self.hw.chip.family.pte.leaf, level);
            let (hw, table) = (self.hw.clone(), &mut *self.root);
            map_leaves(&hw, table, ROOT, level, va, addr, bytes, leaf)?;
            va += bytes;
            addr += bytes;
            left -= bytes;
        }
        Ok(())
    }

    /// Empties the entries of a range; returns tables that became empty.
    pub(super) fn unmap(&mut self, va: u64, len: u64) -> Dead {
        let mut dead = Dead(None);
        if len > 0 {
            let format = self.hw.chip.family.pte;
            unmap_range(format, &mut self.root, ROOT, va, len, &mut dead);
        }
        dead
    }
}

/// Writes leaves at `level` for `len` bytes, making tables on the way.
#[allow(clippy::too_many_arguments)]
fn map_leaves(
    hw: &Arc<Hw>,
    table: &mut Table,
    this: u32,
    level: u32,
    va: u64,
    addr: u64,
    len: u64,
    leaf: u64,
) -> Result {
    if this == level {
        let first = index(va, this);
        let count = len >> (span(this).trailing_zeros());
        // A fragment of this level is at most a whole table: `fragment_of` chose the level.
        table
            .mem
            .fill64(first as u64 * 8, count, |i| leaf | (addr + i * span(this)))?;
        table.mark_leaves(first, count as usize, true);
        return Ok(());
    }
    let (mut va, mut addr, mut left) = (va, addr, len);
    while left > 0 {
        let at = index(va, this);
        let here = left.min(span(this) - (va & (span(this) - 1)));
        if table.children.get(at).ok_or(EINVAL)?.is_none() {
            let child = Table::new(hw, this - 1)?;
            table.set(at, directory_entry(hw, this, child.mem.start()))?;
            *table.children.get_mut(at).ok_or(EINVAL)? = Some(child);
            table.below += 1;
        }
        let child = table
            .children
            .get_mut(at)
            .and_then(Option::as_mut)
            .ok_or(EINVAL)?;
        map_leaves(hw, child, this - 1, level, va, addr, here, leaf)?;
        va += here;
        addr += here;
        left -= here;
    }
    Ok(())
}

/// Empties entries from the leaves up. Stores to a device that is gone fail, which is all the
/// same: the tables are forgotten either way.
fn unmap_range(format: &Format, table: &mut Table, level: u32, va: u64, len: u64, dead: &mut Dead) {
    let empty = of(&format.empty, level);
    if level == 0 {
        let (first, count) = (index(va, 0), len / PAGE_SIZE);
        let _ = table.mem.fill64(first as u64 * 8, count, |_| empty);
        table.mark_leaves(first, count as usize, false);
        return;
    }
    let (mut va, mut left) = (va, len);
    while left > 0 {
        let at = index(va, level);
        let here = left.min(span(level) - (va & (span(level) - 1)));
        match table.children.get_mut(at) {
            Some(Some(child)) => {
                unmap_range(format, child, level - 1, va, here, dead);
                if child.is_empty() {
                    let _ = table.set(at, empty);
                    if let Some(gone) = table.children.get_mut(at).and_then(Option::take) {
                        dead.push(gone);
                    }
                    table.below = table.below.saturating_sub(1);
                }
            }
            // A leaf of this level, or nothing where mapping failed half-way.
            _ => {
                let _ = table.set(at, empty);
                table.mark_leaves(at, 1, false);
            }
        }
        va += here;
        left -= here;
    }
}
