// SPDX-License-Identifier: GPL-2.0

//! Page tables in memory of the tests, walked as the hardware does.
//!
//! Bits are those of Linux's `amdgpu_vm.h`, what each level looks like is that of
//! `gmc_v9_0_get_vm_pde` and `gmc_v12_0_get_vm_pde`.

use super::{
    Dead,
    EntryAddr,
    EntryFlags,
    Page,
    Tables, //
};
use crate::{
    kunit::Random,
    types::{
        GcVersion,
        GpuVa,
        PageRange, //
    },
    vm::{
        hal,
        Hal, //
    }, //
};
use kernel::{
    alloc::KVVec,
    new_mutex,
    prelude::*,
    sync::{
        Arc,
        Mutex, //
    }, //
};

/// `AMDGPU_PTE_VALID`, `_READABLE`, `_WRITEABLE`.
const VALID: u64 = 1;
const FLAGS: u64 = VALID | 1 << 5 | 1 << 6;
/// `AMDGPU_PTE_EXECUTABLE`, which marks empty entries of the lowest level.
const EXECUTABLE: u64 = 1 << 4;
/// `AMDGPU_PDE_PTE`, `AMDGPU_PTE_TF`, `AMDGPU_PDE_BFS(9)` of gfx9; `AMDGPU_PDE_PTE_GFX12`.
const PDE_PTE: u64 = 1 << 54;
const FURTHER: u64 = 1 << 56;
const BLOCK_9: u64 = 9 << 59;
const IS_PTE_12: u64 = 1 << 63;
const ADDRESS: u64 = 0x0000_ffff_ffff_f000;

const PAGE: u64 = 4096;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;
/// Pages that a run may take.
const MOST: usize = 64;
const WORDS: usize = 512;

/// Memory for tables. A page is never taken twice, so that a stale entry leads to a dead one.
struct Memory {
    words: KVVec<u64>,
    dead: [bool; MOST],
    /// How many may be taken.
    limit: usize,
}

type Store = Arc<Mutex<Memory>>;

fn store() -> Result<Store> {
    let memory = Memory {
        words: KVVec::new(),
        dead: [false; MOST],
        limit: MOST,
    };
    Arc::pin_init(new_mutex!(memory, "rkfd test memory"), GFP_KERNEL)
}

/// A page of it.
struct Fake {
    store: Store,
    index: usize,
}

impl Page for Fake {
    type Store = Store;

    fn new(store: &Store) -> Result<Self> {
        let mut memory = store.lock();
        let index = memory.words.len() / WORDS;
        if index >= memory.limit {
            return Err(ENOMEM);
        }
        // What is not filled shows.
        memory.words.extend_with(WORDS, u64::MAX, GFP_KERNEL)?;
        let store = store.clone();
        Ok(Self { store, index })
    }

    fn address(&self, _: &Store) -> u64 {
        (self.index as u64 + 1) * PAGE
    }

    fn fill(&self, first: usize, count: u64, value: impl Fn(u64) -> u64) -> Result {
        let mut memory = self.store.lock();
        let start = self.index * WORDS;
        let words = memory.words.get_mut(start..start + WORDS).ok_or(EINVAL)?;
        let words = words.get_mut(first..first + count as usize).ok_or(EINVAL)?;
        words.iter_mut().zip(0..).for_each(|(w, i)| *w = value(i));
        Ok(())
    }

    fn settle(_: &Self::Store) {}
}

impl Drop for Fake {
    fn drop(&mut self) {
        if let Some(dead) = self.store.lock().dead.get_mut(self.index) {
            *dead = true;
        }
    }
}

impl Memory {
    fn live(&self) -> usize {
        let taken = self.words.len() / WORDS;
        self.dead.iter().take(taken).filter(|dead| !**dead).count()
    }

    fn entry(&self, table: u64, va: u64, level: u32) -> Result<u64> {
        let page = (table & ADDRESS) / PAGE;
        let page = page.checked_sub(1).ok_or(EFAULT)? as usize;
        if self.dead.get(page) != Some(&false) {
            return Err(EFAULT);
        }
        let at = page * WORDS + (va >> (12 + 9 * level)) as usize % WORDS;
        self.words.get(at).copied().ok_or(EFAULT)
    }

    /// Walks to an address: the leaf and its level; `None` where nothing is mapped. EFAULT where
    /// the hardware would go astray.
    fn walk(&self, root: u64, va: u64, gfx12: bool) -> Result<Option<(u64, u32)>> {
        let mut table = root;
        for level in [3, 2, 1, 0] {
            let entry = self.entry(table, va, level)?;
            let is_leaf = match (gfx12, level) {
                (true, _) => entry & IS_PTE_12 != 0,
                (false, 0) => true,
                (false, 1) => entry & FURTHER == 0,
                (false, _) => entry & PDE_PTE != 0,
            };
            if entry & VALID == 0 {
                // Linux marks what is empty as a leaf, at each level.
                return if is_leaf { Ok(None) } else { Err(EFAULT) };
            }
            if is_leaf {
                return Ok(Some((entry, level)));
            }
            let wanted = if gfx12 {
                0
            } else {
                [0, FURTHER, BLOCK_9, 0][level as usize]
            };
            if entry & !ADDRESS & !VALID != wanted {
                return Err(EFAULT);
            }
            table = entry;
        }
        Err(EFAULT)
    }

    /// Where an address leads: the address in memory and log2 of the fragment's pages. The leaf's
    /// other bits must be those that were asked for, and what its level has.
    fn translate(&self, root: u64, va: u64, gfx12: bool) -> Result<Option<(u64, u32)>> {
        let Some((leaf, level)) = self.walk(root, va, gfx12)? else {
            return Ok(None);
        };
        let marks = match (gfx12, level) {
            (true, _) => IS_PTE_12,
            (false, 2) => PDE_PTE,
            (false, _) => 0,
        };
        let fragment = (leaf >> 7 & 0x1f) as u32;
        if leaf & !ADDRESS & !(0x1f << 7) != FLAGS | marks {
            return Err(EFAULT);
        }
        let within = va & ((PAGE << (9 * level)) - 1);
        if leaf & ADDRESS & ((PAGE << (9 * level)) - 1) != 0 {
            return Err(EFAULT);
        }
        Ok(Some(((leaf & ADDRESS) + within, fragment)))
    }
}

fn map(tables: &mut Tables<Fake>, va: u64, addr: u64, len: u64) -> Result {
    let at = PageRange::new(GpuVa::new(va), len)?;
    tables.map(at, EntryAddr(addr), EntryFlags(FLAGS))
}

fn unmap(tables: &mut Tables<Fake>, va: u64, len: u64) -> Result<Dead<Fake>> {
    Ok(tables.unmap(PageRange::new(GpuVa::new(va), len)?))
}

fn both() -> [(&'static dyn Hal, bool); 2] {
    [
        (hal(GcVersion::V9_4_3), false),
        (hal(GcVersion::V12_0_1), true),
    ]
}

/// A range of addresses, where it leads, and how long it is.
type Range = (u64, u64, u64);

/// Pages at both ends, around each change of a table, and one in each part.
fn samples(va: u64, len: u64) -> impl Iterator<Item = u64> {
    let step = (len / 37 / PAGE * PAGE).max(PAGE);
    let inner = (va..va + len).step_by(step as usize);
    let edge = (va | (2 * MIB - 1)).wrapping_add(1);
    let edges = [edge - PAGE, edge, va + len - PAGE];
    let edges = edges
        .into_iter()
        .filter(move |at| (va..va + len).contains(at));
    Iterator::chain(inner, edges)
}

/// Each sampled page of a mapped range leads where it should, and its fragment is right: aligned on
/// both sides, and with nothing outside of the range.
fn is_mapped(memory: &Memory, root: u64, gfx12: bool, (va, addr, len): Range) -> Result<bool> {
    for at in samples(va, len) {
        let Some((to, fragment)) = memory.translate(root, at, gfx12)? else {
            return Ok(false);
        };
        let size = PAGE << fragment;
        let (from, dest) = (at & !(size - 1), to & !(size - 1));
        if to != addr + (at - va) || at - from != to - dest || from < va || from + size > va + len {
            return Ok(false);
        }
    }
    Ok(true)
}

/// No sampled page of a range leads anywhere.
fn is_empty(memory: &Memory, root: u64, gfx12: bool, va: u64, len: u64) -> Result<bool> {
    for at in samples(va, len) {
        if memory.walk(root, at, gfx12)?.is_some() {
            return Ok(false);
        }
    }
    Ok(true)
}

#[kunit_tests(rkfd_page_table)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_found_and_its_neighbours_are_not() -> Result {
        for (format, gfx12) in both() {
            let store = store()?;
            let mut tables = Tables::<Fake>::new(&store, format)?;
            let root = tables.root_entry();
            assert_eq!(root, PAGE | VALID);
            let (va, addr) = (0x7fff_dead_b000, 0x12_3456_7000);
            map(&mut tables, va, addr, PAGE)?;
            {
                let memory = store.lock();
                assert_eq!(memory.translate(root, va, gfx12)?, Some((addr, 0)));
                for other in [va - PAGE, va + PAGE, va + 2 * MIB, va - GIB, 0] {
                    assert_eq!(memory.walk(root, other, gfx12)?, None);
                }
                assert_eq!(memory.live(), 4);
            }
            drop(unmap(&mut tables, va, PAGE)?);
            let memory = store.lock();
            assert_eq!(memory.walk(root, va, gfx12)?, None);
            assert_eq!(memory.live(), 1);
        }
        Ok(())
    }

    /// `amdgpu_vm_pt_clear`: what is empty is a leaf that isn't valid; the lowest level's has the
    /// executable bit, and the level above on gfx9 the address that `gmc_v9_0_get_vm_pde` puts in.
    #[test]
    fn empty_entries_are_those_of_linux() -> Result {
        let wanted = [
            [EXECUTABLE, 1 << 12, PDE_PTE, PDE_PTE],
            [EXECUTABLE | IS_PTE_12, IS_PTE_12, IS_PTE_12, IS_PTE_12],
        ];
        for ((format, _), wanted) in both().into_iter().zip(wanted) {
            let store = store()?;
            let mut tables = Tables::<Fake>::new(&store, format)?;
            map(&mut tables, 0, 0, PAGE)?;
            let memory = store.lock();
            // Tables are made from the root down, and only the first entry is in use.
            for (table, level) in (0..4).zip([3, 2, 1, 0]) {
                let words = memory.words.get(table * WORDS + 1..(table + 1) * WORDS);
                let empty = wanted.get(level).ok_or(EINVAL)?;
                assert!(words.ok_or(EINVAL)?.iter().all(|word| word == empty));
            }
        }
        Ok(())
    }

    /// `gmc_v9_0_get_vm_pde`: of what isn't resident, an entry of level 1 has a bit of the address.
    #[test]
    fn what_is_not_resident_is_marked_as_by_linux() -> Result {
        // `AMDGPU_PTE_PRT`, `AMDGPU_PTE_PRT_GFX12` with `AMDGPU_PDE_PTE_GFX12`.
        let wanted = [(1 << 51, 1 << 12), (1 << 56 | IS_PTE_12, 0)];
        for ((format, _), (flags, mark)) in both().into_iter().zip(wanted) {
            let store = store()?;
            let mut tables = Tables::<Fake>::new(&store, format)?;
            let at = PageRange::new(GpuVa::new(4 * MIB), 2 * MIB)?;
            tables.map(at, EntryAddr(4 * MIB), EntryFlags(flags))?;
            let memory = store.lock();
            // The root, its table and the one below, whose third entry it is; a fragment of 2^9 pages.
            let entry = memory.words.get(2 * WORDS + 2).ok_or(EINVAL)?;
            assert_eq!(*entry, flags | mark | 4 * MIB | 9 << 7);
        }
        Ok(())
    }

    #[test]
    fn aligned_ranges_take_one_entry() -> Result {
        for (format, gfx12) in both() {
            for (len, level, fragment) in [(2 * MIB, 1, 9), (GIB, 2, 18)] {
                let store = store()?;
                let mut tables = Tables::<Fake>::new(&store, format)?;
                let root = tables.root_entry();
                map(&mut tables, 5 * GIB, 3 * GIB, len)?;
                let memory = store.lock();
                let last = 5 * GIB + len - PAGE;
                assert!(memory
                    .walk(root, last, gfx12)?
                    .is_some_and(|l| l.1 == level));
                let to = 3 * GIB + len - PAGE;
                assert_eq!(memory.translate(root, last, gfx12)?, Some((to, fragment)));
                assert_eq!(memory.walk(root, last + PAGE, gfx12)?, None);
                assert_eq!(memory.live(), 4 - level as usize);
            }
        }
        Ok(())
    }

    /// More than a whole table of 1 GiB entries: the largest fragments span tables.
    #[test]
    fn a_range_of_terabytes_spans_tables() -> Result {
        for (format, gfx12) in both() {
            let store = store()?;
            let mut tables = Tables::<Fake>::new(&store, format)?;
            let root = tables.root_entry();
            let range = (1024 * GIB, 2048 * GIB, 1024 * GIB);
            map(&mut tables, range.0, range.1, range.2)?;
            {
                let memory = store.lock();
                assert!(is_mapped(&memory, root, gfx12, range)?);
                assert!(is_empty(&memory, root, gfx12, range.0 + range.2, PAGE)?);
                assert!(is_empty(&memory, root, gfx12, range.0 - PAGE, PAGE)?);
                assert_eq!(memory.live(), 3);
            }
            drop(unmap(&mut tables, range.0, range.2)?);
            assert_eq!(store.lock().live(), 1);
        }
        Ok(())
    }

    #[test]
    fn fragments_never_say_too_much() -> Result {
        for (format, gfx12) in both() {
            for (va, addr, len) in [
                (3 * PAGE, 7 * PAGE, 9 * PAGE),
                (2 * MIB - PAGE, 4 * MIB - PAGE, 2 * MIB + 2 * PAGE),
                // Aligned alike up to 16 pages only.
                (32 * MIB, 48 * MIB + 16 * PAGE, 3 * MIB),
                // Over the ends of a PTB, a PDB0 and a PDB1.
                (512 * GIB - 3 * MIB, GIB - 3 * MIB, 7 * MIB),
            ] {
                let store = store()?;
                let mut tables = Tables::<Fake>::new(&store, format)?;
                let root = tables.root_entry();
                map(&mut tables, va, addr, len)?;
                {
                    let memory = store.lock();
                    assert!(is_mapped(&memory, root, gfx12, (va, addr, len))?);
                    assert!(is_empty(&memory, root, gfx12, va - PAGE, PAGE)?);
                    assert!(is_empty(&memory, root, gfx12, va + len, PAGE)?);
                }
                drop(unmap(&mut tables, va, len)?);
                let memory = store.lock();
                assert!(is_empty(&memory, root, gfx12, va, len)?);
                assert_eq!(memory.live(), 1);
            }
        }
        Ok(())
    }

    /// Tables that became empty are kept until the TLB was flushed.
    #[test]
    fn dead_tables_live_as_long_as_their_token() -> Result {
        let store = store()?;
        let mut tables = Tables::<Fake>::new(&store, hal(GcVersion::V9_4_3))?;
        map(&mut tables, 0, 0, 4 * PAGE)?;
        map(&mut tables, 4 * PAGE, 0, PAGE)?;
        // The table is in use by the other range.
        let first: Dead<Fake> = unmap(&mut tables, 0, 4 * PAGE)?;
        drop(first);
        assert_eq!(store.lock().live(), 4);
        let second = unmap(&mut tables, 4 * PAGE, PAGE)?;
        assert_eq!(store.lock().live(), 4);
        drop(second);
        assert_eq!(store.lock().live(), 1);
        Ok(())
    }

    /// Whichever table can't be had: after the unmapping that follows nothing is mapped, no table
    /// stays, and another range is as it was.
    #[test]
    fn out_of_memory_leaves_nothing() -> Result {
        let other = (8 * MIB, 0, PAGE);
        // The range needs two PTBs, each of two PDB0s.
        let (va, len) = (GIB - PAGE, 2 * PAGE);
        for (format, gfx12) in both() {
            for more in 0..4 {
                let store = store()?;
                let mut tables = Tables::<Fake>::new(&store, format)?;
                let root = tables.root_entry();
                map(&mut tables, other.0, other.1, other.2)?;
                store.lock().limit = 4 + more;
                let result = map(&mut tables, va, 0, len);
                assert_eq!(result, if more < 3 { Err(ENOMEM) } else { Ok(()) });
                drop(unmap(&mut tables, va, len)?);
                let memory = store.lock();
                assert!(is_empty(&memory, root, gfx12, va, len)?);
                assert!(is_mapped(&memory, root, gfx12, other)?);
                assert_eq!(memory.live(), 4);
            }
        }
        Ok(())
    }

    /// Ranges come and go at random; all that should be mapped is, and nothing else.
    #[test]
    fn many_ranges_do_not_disturb_each_other() -> Result {
        const PLACES: u64 = 6;
        let mut random = Random::new();
        for (format, gfx12) in both() {
            let store = store()?;
            let mut tables = Tables::<Fake>::new(&store, format)?;
            let root = tables.root_entry();
            // Neighbours that share tables, around an end of a PDB0.
            let base = GIB - 3 * 4 * MIB;
            let mut ranges = [None::<Range>; PLACES as usize];
            for _ in 0..40 {
                let place = random.below(PLACES);
                let slot = ranges.get_mut(place as usize).ok_or(EINVAL)?;
                match slot.take() {
                    Some((va, _, len)) => drop(unmap(&mut tables, va, len)?),
                    // Only as many tables as there are pages for.
                    None if store.lock().words.len() / WORDS + 4 > MOST => {}
                    None => {
                        let offset = random.below(512) * PAGE;
                        let va = base + place * 4 * MIB + offset;
                        let len = (1 + random.below(1024 - offset / PAGE)) * PAGE;
                        let addr = random.below(1 << 20) * PAGE;
                        map(&mut tables, va, addr, len)?;
                        *slot = Some((va, addr, len));
                    }
                }
                let memory = store.lock();
                for (place, range) in (0..).zip(ranges) {
                    let (start, end) = (base + place * 4 * MIB, base + (place + 1) * 4 * MIB);
                    let (va, to) = range.map_or((end, end), |(va, _, len)| (va, va + len));
                    assert!(start == va || is_empty(&memory, root, gfx12, start, va - start)?);
                    assert!(end == to || is_empty(&memory, root, gfx12, to, end - to)?);
                    if let Some(range) = range {
                        assert!(is_mapped(&memory, root, gfx12, range)?);
                    }
                }
            }
            for (va, _, len) in ranges.into_iter().flatten() {
                drop(unmap(&mut tables, va, len)?);
            }
            assert_eq!(store.lock().live(), 1);
        }
        Ok(())
    }
}
