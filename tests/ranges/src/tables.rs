// SPDX-License-Identifier: MIT OR Apache-2.0

//! Page tables against a map of ranges.
//!
//! After each step all tables are read as the hardware walks them, every entry of each, and must map
//! what the model maps, page by page, and nothing else. Bits are those of Linux's `amdgpu_vm.h`,
//! what each level looks like is that of `gmc_v9_0_get_vm_pde` and `gmc_v12_0_get_vm_pde`.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use proptest::prelude::*;
use proptest::test_runner::TestCaseError;

use super::entry::{EntryAddr, EntryFlags};
use super::hal::hal;
use super::table::{Page, Tables};
use crate::prelude::{Result, ENOMEM};
use crate::types::{GcVersion, GpuVa, PageRange};

const PAGE: u64 = 4096;
const ENTRIES: usize = 512;
/// `AMDGPU_PTE_VALID`, `_READABLE`, `_WRITEABLE`.
const VALID: u64 = 1;
const FLAGS: u64 = VALID | 1 << 5 | 1 << 6;
/// `AMDGPU_PDE_PTE`, `AMDGPU_PTE_TF` of gfx9; `AMDGPU_PDE_PTE_GFX12`.
const PDE_PTE: u64 = 1 << 54;
const FURTHER: u64 = 1 << 56;
const IS_PTE_12: u64 = 1 << 63;
const ADDRESS: u64 = 0x0000_ffff_ffff_f000;

/// Memory for tables. A page is never taken twice, so an entry that leads to a freed one shows.
#[derive(Default)]
struct Memory {
    pages: Vec<Option<[u64; ENTRIES]>>,
    /// Pages that can still be taken.
    left: usize,
    /// What must be mapped after every store: an address, and where it leads.
    watched: Vec<(u64, u64)>,
    /// The root of the tables, and whose format they have.
    tables: (u64, bool),
    /// Something that is watched was not mapped for a moment.
    was_away: bool,
    /// Words that were stored.
    stored: u64,
}

impl Memory {
    /// Where an address leads; `None` where nothing is mapped.
    fn walk(&self, va: u64) -> Option<u64> {
        let (mut table, gfx12) = self.tables;
        for level in (0..4).rev() {
            let words = self.pages.get(((table & ADDRESS) / PAGE) as usize - 1)?;
            let entry = words.as_ref()?[(va >> (12 + 9 * level)) as usize % ENTRIES];
            if entry & VALID == 0 {
                return None;
            }
            if is_leaf(entry, gfx12, level) {
                return Some((entry & ADDRESS) + (va & ((PAGE << (9 * level)) - 1)));
            }
            table = entry;
        }
        None
    }
}

/// Whether an entry of a level maps memory itself, or nothing.
fn is_leaf(entry: u64, gfx12: bool, level: u32) -> bool {
    match (gfx12, level) {
        (true, _) => entry & IS_PTE_12 != 0,
        (false, 0) => true,
        (false, 1) => entry & FURTHER == 0,
        (false, _) => entry & PDE_PTE != 0,
    }
}

type Store = Rc<RefCell<Memory>>;

struct Frame {
    store: Store,
    index: usize,
}

impl Page for Frame {
    type Store = Store;

    fn new(store: &Store) -> Result<Self> {
        let mut memory = store.borrow_mut();
        memory.left = memory.left.checked_sub(1).ok_or(ENOMEM)?;
        memory.pages.push(Some([u64::MAX; ENTRIES]));
        let (store, index) = (store.clone(), memory.pages.len() - 1);
        Ok(Self { store, index })
    }

    fn address(&self, _: &Store) -> u64 {
        (self.index as u64 + 1) * PAGE
    }

    fn fill(&self, first: usize, count: u64, value: impl Fn(u64) -> u64) -> Result {
        let mut memory = self.store.borrow_mut();
        memory.stored += count;
        let words = memory.pages[self.index].as_mut().unwrap();
        let words = &mut words[first..first + count as usize];
        words
            .iter_mut()
            .zip(0..)
            .for_each(|(word, i)| *word = value(i));
        let there = |&(va, addr): &(u64, u64)| memory.walk(va) == Some(addr);
        let all = memory.watched.iter().all(there);
        memory.was_away |= !all;
        Ok(())
    }

    fn settle(_: &Store) {}
}

impl Drop for Frame {
    fn drop(&mut self) {
        let mut memory = self.store.borrow_mut();
        memory.pages[self.index] = None;
        memory.left += 1;
    }
}

/// Bits of a page's number below what an entry of the root covers.
const LARGE: u64 = (1 << 27) - 1;

/// What is mapped: a start, and a size and an address in memory.
type Ranges = BTreeMap<u64, (u64, u64)>;

/// The mapping that an address lies in.
fn mapping(ranges: &Ranges, va: u64) -> Option<(u64, u64, u64)> {
    let (&start, &(bytes, addr)) = ranges.range(..=va).next_back()?;
    (va - start < bytes).then_some((start, bytes, addr))
}

/// Reads a table and those below it: each leaf against the model, and the bytes that all leaves map.
fn read(
    memory: &Memory,
    (table, level, base): (u64, u32, u64),
    gfx12: bool,
    model: &Ranges,
) -> Result<u64, TestCaseError> {
    let page = (table & ADDRESS) / PAGE;
    let words = memory.pages.get(page as usize - 1).copied().flatten();
    let words = words.ok_or_else(|| TestCaseError::fail("an entry leads to a freed table"))?;
    let span = PAGE << (9 * level);
    let mut mapped = 0;
    for (entry, i) in words.into_iter().zip(0..) {
        let va = base + i * span;
        let is_leaf = is_leaf(entry, gfx12, level);
        if entry & VALID == 0 {
            prop_assert!(
                is_leaf,
                "what is empty is a leaf: {entry:#x} of level {level}"
            );
        } else if !is_leaf {
            mapped += read(memory, (entry, level - 1, va), gfx12, model)?;
        } else {
            prop_assert_eq!(entry & FLAGS, FLAGS);
            let found = mapping(model, va);
            prop_assert!(found.is_some(), "{va:#x} is mapped, and should not be");
            let (start, bytes, addr) = found.unwrap_or_default();
            prop_assert!(
                va + span <= start + bytes,
                "a leaf reaches further than its mapping"
            );
            let to = entry & ADDRESS;
            prop_assert_eq!(to, addr + (va - start));
            prop_assert_eq!(to % span, 0, "a leaf's address is aligned to what it maps");
            // All of a fragment is mapped alike, and a leaf is not larger than its fragment.
            let fragment = PAGE << (entry >> 7 & 0x1f);
            prop_assert!(fragment >= span);
            let (first, there) = (va & !(fragment - 1), to & !(fragment - 1));
            prop_assert_eq!(va - first, to - there);
            prop_assert!(first >= start && first + fragment <= start + bytes);
            mapped += span;
        }
    }
    Ok(mapped)
}

/// What is done with page tables.
#[derive(Clone, Debug)]
pub enum Step {
    /// Map from an address on: pages, and pages of memory behind address 0.
    Map(u64, u64, u64),
    /// Unmap one of the mappings.
    Unmap(usize),
    /// Unmap a part of one of them: pages from its start, and pages.
    Cut(usize, u64, u64),
}

/// Pages near a multiple of what an entry of some level covers.
fn near() -> impl Strategy<Value = u64> {
    let multiple = (0..4u32, 0..5u64, -3i64..4);
    multiple.prop_map(|(level, of, away)| (of << (9 * level)).saturating_add_signed(away))
}

/// How many tables can be had, whose format, and steps.
fn steps(most: impl Strategy<Value = usize>) -> impl Strategy<Value = (usize, bool, Vec<Step>)> {
    let bytes = prop_oneof![3 => 1..40u64, 3 => near(), 1 => 1..(3u64 << 18)];
    let step = prop_oneof![
        3 => (near(), bytes, near()).prop_map(|(va, pages, to)| Step::Map(va, pages, to)),
        1 => any::<usize>().prop_map(Step::Unmap),
        2 => (any::<usize>(), near(), prop_oneof![1..40u64, near()])
            .prop_map(|(which, first, pages)| Step::Cut(which, first, pages)),
    ];
    (most, any::<bool>(), prop::collection::vec(step, 1..14))
}

/// Steps with memory enough.
pub fn page_tables() -> impl Strategy<Value = (usize, bool, Vec<Step>)> {
    steps(Just(usize::MAX))
}

/// Steps with memory for a few tables only.
pub fn tables_without_memory() -> impl Strategy<Value = (usize, bool, Vec<Step>)> {
    steps(1..12usize)
}

/// Unmaps a part of a mapping, as an address space does: first what is left of it is mapped once more, in smaller
/// pieces, and it must be mapped all the time.
fn cut(
    tables: &mut Tables<Frame>,
    store: &Store,
    model: &mut Ranges,
    (start, bytes, addr): (u64, u64, u64),
    part: std::ops::Range<u64>,
) -> Result<(), TestCaseError> {
    let rest = [0..part.start, part.end..bytes];
    let rest: Vec<_> = rest.into_iter().filter(|r| !r.is_empty()).collect();
    let ends =
        |r: &std::ops::Range<u64>| [r.start, (r.start + r.end) / 2 & !(PAGE - 1), r.end - PAGE];
    let watched = rest.iter().flat_map(ends);
    store.borrow_mut().watched = watched.map(|at| (start + at, addr + at)).collect();
    let range = |r: &std::ops::Range<u64>| {
        PageRange::new(GpuVa::new(start + r.start), r.end - r.start).unwrap()
    };
    let narrowed = rest
        .iter()
        .try_for_each(|r| tables.map(range(r), EntryAddr(addr + r.start), EntryFlags(FLAGS)));
    match narrowed {
        Ok(()) => {
            drop(tables.unmap(range(&part)));
            model.remove(&start);
            for r in rest {
                model.insert(start + r.start, (r.end - r.start, addr + r.start));
            }
        }
        // All is mapped as it was, maybe in smaller pieces.
        Err(error) => prop_assert_eq!(error, ENOMEM),
    }
    store.borrow_mut().watched.clear();
    prop_assert!(
        !store.borrow().was_away,
        "what is left was not mapped for a moment"
    );
    Ok(())
}

/// Words that are stored when the first page of 2 MiB, which one entry maps, is mapped for itself.
pub fn stored_to_split() -> u64 {
    let store = Store::default();
    store.borrow_mut().left = usize::MAX;
    let mut tables = Tables::<Frame>::new(&store, hal(GcVersion::V9_4_3)).unwrap();
    let range = |pages| PageRange::new(GpuVa::new(0), pages * PAGE).unwrap();
    let (addr, flags) = (EntryAddr(0), EntryFlags(FLAGS));
    tables.map(range(ENTRIES as u64), addr, flags).unwrap();
    let before = store.borrow().stored;
    tables.map(range(1), addr, flags).unwrap();
    let after = store.borrow().stored;
    after - before
}

/// The tables map what the model does after each step, also after one that failed half-way, and in
/// the end nothing is left but the root.
pub fn check((most, gfx12, steps): (usize, bool, Vec<Step>)) -> Result<(), TestCaseError> {
    let store = Store::default();
    store.borrow_mut().left = most;
    let format = hal(if gfx12 {
        GcVersion::V12_0_1
    } else {
        GcVersion::V9_4_3
    });
    let mut tables = Tables::<Frame>::new(&store, format).unwrap();
    let root = tables.root_entry();
    store.borrow_mut().tables = (root, gfx12);
    let mut model = Ranges::new();
    let is_right = |model: &Ranges| {
        let mapped = read(&store.borrow(), (root, 3, 0), gfx12, model)?;
        // Every leaf lies in a mapping, none twice: equal sums leave no page out.
        let wanted: u64 = model.values().map(|&(bytes, _)| bytes).sum();
        prop_assert_eq!(mapped, wanted);
        Ok(())
    };
    for step in steps {
        match step {
            Step::Map(va, pages, to) => {
                // What is large lies alike on both sides, or it would take a leaf for each page.
                let to = match pages {
                    ..=2048 => to,
                    _ => (to & !LARGE) | (va & LARGE),
                };
                let Ok(at) = PageRange::new(GpuVa::new(va * PAGE), pages * PAGE) else {
                    continue;
                };
                // Whoever maps looks that nothing is there.
                let last = model.range(..at.end().get()).next_back();
                if last.is_some_and(|(start, (bytes, _))| start + bytes > at.start().get()) {
                    continue;
                }
                match tables.map(at, EntryAddr(to * PAGE), EntryFlags(FLAGS)) {
                    Ok(()) => {
                        model.insert(at.start().get(), (at.bytes(), to * PAGE));
                    }
                    Err(error) => {
                        prop_assert_eq!(error, ENOMEM);
                        drop(tables.unmap(at));
                    }
                }
            }
            Step::Unmap(which) => {
                let Some(&start) = model.keys().nth(which % model.len().max(1)) else {
                    continue;
                };
                let (bytes, _) = model.remove(&start).unwrap_or_default();
                drop(tables.unmap(PageRange::new(GpuVa::new(start), bytes).unwrap()));
            }
            Step::Cut(which, first, pages) => {
                let Some((&start, &(bytes, addr))) = model.iter().nth(which % model.len().max(1))
                else {
                    continue;
                };
                let first = first * PAGE % bytes;
                let end = (first + pages.max(1) * PAGE).min(bytes);
                cut(
                    &mut tables,
                    &store,
                    &mut model,
                    (start, bytes, addr),
                    first..end,
                )?;
            }
        }
        is_right(&model)?;
    }
    for (start, (bytes, _)) in std::mem::take(&mut model) {
        drop(tables.unmap(PageRange::new(GpuVa::new(start), bytes).unwrap()));
    }
    // The last to be unmapped lets go of what was replaced.
    drop(tables.unmap(PageRange::new(GpuVa::new(0), PAGE).unwrap()));
    is_right(&model)?;
    let pages = store.borrow().pages.iter().flatten().count();
    prop_assert_eq!(pages, 1, "tables that map nothing are freed");
    Ok(())
}
