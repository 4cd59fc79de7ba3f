// SPDX-License-Identifier: GPL-2.0

//! Page tables in VRAM.
//!
//! Four levels of 512 entries: PDB2 (512 GiB an entry), PDB1 (1 GiB), PDB0 (2 MiB), PTB (4 KiB).
//! An entry of PDB1 or PDB0 may map its range itself. What marks an entry as a directory, as a
//! leaf or as empty differs between generations: [`Hal`].
//!
//! Entries carry the size of the fragment they are part of: a power of two of pages around them
//! that is aligned, consecutive and mapped alike, which a TLB can hold as one.
//!
//! An empty entry isn't zero.
//!
//! Where a table's words are kept is a [`Page`]: VRAM, but for the tests.

use super::{
    entry::{
        EntryAddr,
        EntryFlags, //
    },
    hal::{
        Hal,
        Marks, //
    }, //
};
use crate::{
    counts::Deed,
    hw::pte::{
        fragment,
        index,
        ENTRIES,
        LEVEL_BITS,
        PAGE_SIZE,
        VALID, //
    },
    types::{
        GpuVa,
        PageRange, //
    },
    vram::{
        Vram,
        VramRange, //
    }, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// Level of the root.
const ROOT: u32 = 3;
const PDB1: u32 = 2;
/// Largest fragment (the field has five bits).
const MAX_FRAGMENT: u32 = 31;

/// Bytes that an entry of a level covers.
const fn span(level: u32) -> u64 {
    PAGE_SIZE << level.saturating_mul(LEVEL_BITS)
}

/// Bytes from an address to the end of what the entry of a level covers.
fn rest(va: GpuVa, level: u32) -> u64 {
    let span = span(level);
    span.saturating_sub(va.get() & span.saturating_sub(1))
}

/// A mark of a level.
fn of(marks: &Marks, level: u32) -> u64 {
    marks.get(level as usize).copied().unwrap_or(0)
}

/// Memory for the words of one table.
pub(super) trait Page: Sized {
    /// What it is taken from.
    type Store: Clone;

    /// Takes a page.
    fn new(store: &Self::Store) -> Result<Self>;

    /// Its address, as entries name it.
    fn address(&self, store: &Self::Store) -> u64;

    /// Stores `count` words from word `first` on, the i-th being `value(i)`.
    fn fill(&self, first: usize, count: u64, value: impl Fn(u64) -> u64) -> Result;

    /// The GPU finds what was stored before this in no case after what is stored afterwards.
    fn settle(store: &Self::Store);
}

impl Page for VramRange {
    type Store = Arc<Vram>;

    fn new(vram: &Arc<Vram>) -> Result<Self> {
        VramRange::new(vram, PAGE_SIZE)
    }

    fn address(&self, _: &Arc<Vram>) -> u64 {
        self.pte_addr()
    }

    fn fill(&self, first: usize, count: u64, value: impl Fn(u64) -> u64) -> Result {
        self.work().add(Deed::TableWords, count);
        self.fill64((first as u64).checked_mul(8).ok_or(EINVAL)?, count, value)
    }

    fn settle(vram: &Arc<Vram>) {
        vram.flush_hdp();
    }
}

/// A table and those below it.
struct Table<P> {
    mem: P,
    /// Tables below, by entry; empty in a PTB.
    children: KVec<Option<KBox<Table<P>>>>,
    /// Entries that map memory themselves, one bit each.
    leaves: [u64; ENTRIES / 64],
    /// Entries that lead to a table.
    below: usize,
    /// In a list of dead tables: the next.
    next: Option<KBox<Table<P>>>,
}

/// Tables that nothing leads to any more, but that the GPU may still have cached.
pub(crate) struct Dead<P = VramRange>(Option<KBox<Table<P>>>);

impl<P> Dead<P> {
    pub(super) fn none() -> Self {
        Self(None)
    }

    /// Takes those of another list.
    pub(super) fn append(&mut self, mut other: Self) {
        while let Some(mut table) = other.0.take() {
            other.0 = table.next.take();
            self.push(table);
        }
    }

    fn push(&mut self, mut table: KBox<Table<P>>) {
        table.next = self.0.take();
        self.0 = Some(table);
    }
}

impl<P> Drop for Dead<P> {
    fn drop(&mut self) {
        // One at a time: a list may be long, and the stack is short.
        while let Some(mut table) = self.0.take() {
            self.0 = table.next.take();
        }
    }
}

/// The tables of an address space.
pub(super) struct Tables<P: Page = VramRange> {
    store: P::Store,
    format: &'static dyn Hal,
    root: KBox<Table<P>>,
    /// Tables whose place a leaf took, until something is unmapped.
    replaced: Dead<P>,
}

impl<P: Page> Table<P> {
    /// An empty one.
    fn new(store: &P::Store, format: &dyn Hal, level: u32) -> Result<KBox<Self>> {
        let empty = of(format.empty(), level);
        Self::filled(store, level, |_| empty)
    }

    /// One with these entries, of which none leads to a table. Each is stored once.
    fn filled(store: &P::Store, level: u32, entry: impl Fn(u64) -> u64) -> Result<KBox<Self>> {
        let mem = P::new(store)?;
        mem.fill(0, ENTRIES as u64, entry)?;
        let mut children = KVec::new();
        if level > 0 {
            children.reserve(ENTRIES, GFP_KERNEL_ACCOUNT)?;
            for _ in 0..ENTRIES {
                children.push(None, GFP_KERNEL_ACCOUNT)?;
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
            GFP_KERNEL_ACCOUNT,
        )?)
    }

    fn set(&self, at: usize, entry: u64) -> Result {
        self.mem.fill(at, 1, |_| entry)
    }

    fn mark_leaves(&mut self, first: usize, count: usize, used: bool) {
        for at in first..first.saturating_add(count).min(ENTRIES) {
            if let Some(word) = self.leaves.get_mut(at / 64) {
                let bit = 1u64 << (at % 64);
                *word = if used { *word | bit } else { *word & !bit };
            }
        }
    }

    fn is_leaf(&self, at: usize) -> bool {
        let word = self.leaves.get(at / 64);
        word.is_some_and(|word| *word >> (at % 64) & 1 != 0)
    }

    fn is_empty(&self) -> bool {
        self.below == 0 && self.leaves.iter().all(|&word| word == 0)
    }
}

/// Log2 of the pages of the largest fragment that starts at `va` and `addr` and fits in `len`.
fn fragment_of(va: GpuVa, addr: EntryAddr, len: u64) -> u32 {
    let pages = len / PAGE_SIZE;
    let aligned = ((va.get() | addr.0) / PAGE_SIZE).trailing_zeros();
    aligned
        .min(pages.checked_ilog2().unwrap_or(0))
        .min(MAX_FRAGMENT)
}

impl<P: Page> Tables<P> {
    /// An empty root.
    pub(super) fn new(store: &P::Store, format: &'static dyn Hal) -> Result<Self> {
        Ok(Self {
            store: store.clone(),
            format,
            root: Table::new(store, format, ROOT)?,
            replaced: Dead(None),
        })
    }

    /// What registers take as the base of the page tables.
    pub(super) fn root_entry(&self) -> u64 {
        self.root.mem.address(&self.store) | VALID
    }

    /// Maps memory of consecutive addresses. Whoever calls checked that nothing is mapped there, or that the same
    /// memory is, in the same way: that stays mapped all the time, and afterwards no fragment reaches out of the
    /// range. On an error a part may be mapped: unmap it, unless all was mapped before, and is so then, too.
    ///
    /// # Errors
    ///
    /// ENOMEM, ENODEV.
    pub(super) fn map(&mut self, at: PageRange, addr: EntryAddr, flags: EntryFlags) -> Result {
        let (mut va, mut addr, mut left) = (at.start(), addr, at.bytes());
        while left > 0 {
            // The smallest fragments come first and last; a run of equal ones is written at once.
            let log2 = fragment_of(va, addr, left);
            let level = (log2 / LEVEL_BITS).min(PDB1);
            let bytes = PAGE_SIZE << log2;
            let marks = match flags.0 & VALID {
                0 => self.format.absent(),
                _ => self.format.leaf(),
            };
            let leaf = Leaf {
                level,
                entry: flags.0 | fragment(log2 as u8) | of(marks, level),
                flags,
            };
            let root = &mut *self.root;
            let replaced = &mut self.replaced;
            map_leaves(
                &self.store,
                self.format,
                root,
                ROOT,
                leaf,
                va,
                addr,
                bytes,
                replaced,
            )?;
            va = va.byte(bytes);
            addr = addr.byte(bytes);
            left = left.saturating_sub(bytes);
        }
        Ok(())
    }

    /// Empties the entries of a range, out of which no fragment reaches; returns tables that became empty, or were
    /// replaced before.
    pub(super) fn unmap(&mut self, at: PageRange) -> Dead<P> {
        let mut dead = core::mem::replace(&mut self.replaced, Dead(None));
        let (va, len) = (at.start(), at.bytes());
        unmap_range(self.format, &mut self.root, ROOT, va, len, &mut dead);
        dead
    }
}

/// What maps memory: an entry without its address, of which the flags are a part, and the level of its table.
#[derive(Clone, Copy)]
struct Leaf {
    level: u32,
    entry: u64,
    flags: EntryFlags,
}

/// Writes leaves for `len` bytes, making tables on the way.
#[expect(
    clippy::too_many_arguments,
    reason = "a recursion passes on what it walks"
)]
fn map_leaves<P: Page>(
    store: &P::Store,
    format: &dyn Hal,
    table: &mut Table<P>,
    this: u32,
    leaf: Leaf,
    va: GpuVa,
    addr: EntryAddr,
    len: u64,
    replaced: &mut Dead<P>,
) -> Result {
    if this == leaf.level {
        let first = index(va.get(), this);
        let count = len >> (span(this).trailing_zeros());
        // A fragment of this level is at most a whole table: `fragment_of` chose the level.
        table.mem.fill(first, count, |i| {
            leaf.entry | addr.byte(i.wrapping_mul(span(this))).0
        })?;
        table.mark_leaves(first, count as usize, true);
        // Tables below that mapped the same in smaller pieces.
        let children = table.children.iter_mut().skip(first).take(count as usize);
        for child in children.filter_map(Option::take) {
            table.below = table.below.saturating_sub(1);
            replaced.push(child);
        }
        return Ok(());
    }
    let below = this.checked_sub(1).ok_or(EINVAL)?;
    let (mut va, mut addr, mut left) = (va, addr, len);
    while left > 0 {
        let at = index(va.get(), this);
        let here = left.min(rest(va, this));
        if table.children.get(at).ok_or(EINVAL)?.is_none() {
            let child = if table.is_leaf(at) {
                // What the leaf maps is mapped alike below it before the child takes its place.
                let start = addr.back(va.get() & span(this).saturating_sub(1));
                let child = whole(store, format, below, leaf, start)?;
                P::settle(store);
                child
            } else {
                Table::<P>::new(store, format, below)?
            };
            let marks = of(format.directory(), this);
            table.set(at, child.mem.address(store) | VALID | marks)?;
            table.mark_leaves(at, 1, false);
            *table.children.get_mut(at).ok_or(EINVAL)? = Some(child);
            table.below = table.below.saturating_add(1);
        }
        let child = table
            .children
            .get_mut(at)
            .and_then(Option::as_mut)
            .ok_or(EINVAL)?;
        map_leaves(store, format, child, below, leaf, va, addr, here, replaced)?;
        va = va.byte(here);
        addr = addr.byte(here);
        left = left.saturating_sub(here);
    }
    Ok(())
}

/// A table full of leaves of its own level, each a fragment for itself, of memory from `addr` on.
fn whole<P: Page>(
    store: &P::Store,
    format: &dyn Hal,
    level: u32,
    leaf: Leaf,
    addr: EntryAddr,
) -> Result<KBox<Table<P>>> {
    // CAST: At most 27, so that it fits the field.
    let own = fragment(level.saturating_mul(LEVEL_BITS) as u8);
    let entry = leaf.flags.0 | own | of(format.leaf(), level);
    let mut table = Table::<P>::filled(store, level, |i| {
        entry | addr.byte(i.wrapping_mul(span(level))).0
    })?;
    table.mark_leaves(0, ENTRIES, true);
    Ok(table)
}

/// Empties entries from the leaves up. Stores to a device that is gone fail, which is all the
/// same: the tables are forgotten either way.
fn unmap_range<P: Page>(
    format: &dyn Hal,
    table: &mut Table<P>,
    level: u32,
    va: GpuVa,
    len: u64,
    dead: &mut Dead<P>,
) {
    let empty = of(format.empty(), level);
    let Some(below) = level.checked_sub(1) else {
        let (first, count) = (index(va.get(), 0), len / PAGE_SIZE);
        let _ = table.mem.fill(first, count, |_| empty);
        table.mark_leaves(first, count as usize, false);
        return;
    };
    let (mut va, mut left) = (va, len);
    while left > 0 {
        let at = index(va.get(), level);
        let here = left.min(rest(va, level));
        match table.children.get_mut(at) {
            Some(Some(child)) => {
                unmap_range(format, child, below, va, here, dead);
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
        va = va.byte(here);
        left = left.saturating_sub(here);
    }
}

#[cfg(CONFIG_KUNIT = "y")]
mod kunit;
