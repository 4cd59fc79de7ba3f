// SPDX-License-Identifier: MIT OR Apache-2.0

//! The translation cache of one address space.
//!
//! It keeps valid translations until they are invalidated, however stale they become: a driver
//! that forgets a flush gets the old page, as it does on silicon. It never keeps an invalid one.
//! A kept translation covers the fragment that its entry promised.
//!
//! Where the data cache keeps page table entries, too, a translation that is gone comes back from
//! there, and only a heavy flush makes the data cache drop them. An access that runs meanwhile may
//! put into the TLB what is just dropped, so a second flush has to follow
//! ([`Tlb::flush`]; Linux, `gmc_v9_0_hw_init`: `flush_tlb_needs_extra_type_2`). Here it always does.
//!
//! Only a heavy flush waits for accesses that are under way. What another one drops while queues run is noted, since
//! accesses that began before may still reach memory by it ([`Tlb::of_vram`]).

use super::walk::{Place, Translation};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{PoisonError, RwLock};

/// Kinds of flush (`FLUSH_TYPE`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Flush {
    /// Legacy (0) and light (1): what the TLB holds.
    Light,
    /// Heavy (2): also the entries that the data cache holds.
    Heavy,
}

impl Flush {
    /// The kind that a number of registers and packets means.
    pub fn of(number: u32) -> Self {
        match number {
            2 => Self::Heavy,
            _ => Self::Light,
        }
    }
}

/// Translations by first virtual address; they do not overlap.
#[derive(Default)]
struct Kept(BTreeMap<u64, Translation>);

impl Kept {
    fn get(&self, va: u64) -> Option<Translation> {
        let (_, found) = self.0.range(..=va).next_back()?;
        (va - found.start < found.len).then_some(*found)
    }

    /// Keeps a translation in the place of those that it overlaps.
    fn put(&mut self, new: Translation) {
        let last = new.start.saturating_add(new.len - 1);
        if let Some((&at, before)) = self.0.range(..new.start).next_back() {
            if new.start - before.start < before.len {
                self.0.remove(&at);
            }
        }
        let inside: Vec<u64> = self.0.range(new.start..=last).map(|(&at, _)| at).collect();
        for at in inside {
            self.0.remove(&at);
        }
        self.0.insert(new.start, new);
    }
}

/// What is kept of an address space.
#[derive(Default)]
struct All {
    tlb: Kept,
    /// By page table entries in the data cache; empty where it keeps none.
    lines: Kept,
    /// What accesses that are under way use, and nothing else.
    under_way: Kept,
}

/// By what an address space still reaches memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reach {
    /// It has the translation.
    Kept,
    /// Accesses under way had it before a flush that didn't wait for them.
    UnderWay,
}

/// The cache.
#[derive(Default)]
pub struct Tlb {
    kept: RwLock<All>,
    epoch: AtomicU64,
    /// Whether the data cache keeps page table entries.
    lines: bool,
}

impl Tlb {
    /// An empty one; `lines` says whether the data cache keeps page table entries.
    pub fn new(lines: bool) -> Self {
        Self {
            lines,
            ..Self::default()
        }
    }

    /// The kept translation of an address.
    pub fn get(&self, va: u64) -> Option<Translation> {
        let kept = self.kept.read().unwrap_or_else(PoisonError::into_inner);
        kept.tlb.get(va)
    }

    /// The translation of an address by an entry in the data cache; the TLB keeps it from now on.
    pub fn refill(&self, va: u64) -> Option<Translation> {
        if !self.lines {
            return None;
        }
        let mut kept = self.kept.write().unwrap_or_else(PoisonError::into_inner);
        let found = kept.lines.get(va)?;
        kept.tlb.put(found);
        Some(found)
    }

    /// Keeps a translation in the place of those that it overlaps, unless the cache was
    /// invalidated since `epoch`, when the walk began.
    pub fn put(&self, new: Translation, epoch: u64) {
        let mut kept = self.kept.write().unwrap_or_else(PoisonError::into_inner);
        if self.epoch.load(Ordering::Acquire) != epoch {
            return;
        }
        kept.tlb.put(new);
        if self.lines {
            kept.lines.put(new);
        }
    }

    /// Forgets what a flush of a kind makes it forget. `runs` says whether queues run in the address space.
    pub fn flush(&self, kind: Flush, runs: bool) {
        let mut kept = self.kept.write().unwrap_or_else(PoisonError::into_inner);
        self.epoch.fetch_add(1, Ordering::AcqRel);
        let All {
            tlb,
            lines,
            under_way,
        } = &mut *kept;
        // What comes from the lines may be back before the flush is done, and before the lines are gone.
        let comes_back = |at: &u64| lines.0.contains_key(at);
        if kind == Flush::Light && runs {
            let dropped = tlb.0.iter().filter(|(at, _)| !comes_back(at));
            dropped.for_each(|(_, found)| under_way.put(*found));
        }
        tlb.0.retain(|at, _| comes_back(at));
        if kind == Flush::Heavy {
            lines.0.clear();
            under_way.0.clear();
        }
    }

    /// No access is under way any more.
    pub fn settle(&self) {
        let mut kept = self.kept.write().unwrap_or_else(PoisonError::into_inner);
        kept.under_way.0.clear();
    }

    /// Forgets everything.
    pub fn invalidate(&self) {
        let mut kept = self.kept.write().unwrap_or_else(PoisonError::into_inner);
        self.epoch.fetch_add(1, Ordering::AcqRel);
        *kept = All::default();
    }

    /// The translations by which some VRAM is reached: kept ones, those that the data cache would give back, and those
    /// of accesses under way.
    pub fn of_vram(&self, offset: u64, bytes: u64) -> Vec<(Translation, Reach)> {
        let end = offset.saturating_add(bytes);
        let kept = self.kept.read().unwrap_or_else(PoisonError::into_inner);
        let lines = kept.lines.0.iter();
        let lines = lines.filter(|(at, line)| kept.tlb.0.get(*at) != Some(*line));
        let held = (kept.tlb.0.iter().chain(lines)).map(|(_, found)| (*found, Reach::Kept));
        let under_way = kept.under_way.0.values();
        let under_way = under_way.map(|found| (*found, Reach::UnderWay));
        let is_there = |found: &Translation| match found.place {
            Place::Vram(at) => at < end && offset < at.saturating_add(found.len),
            _ => false,
        };
        let all = held.chain(under_way);
        all.filter(|(found, _)| is_there(found)).collect()
    }

    /// How often it was invalidated.
    pub fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::Acquire)
    }

    /// How many translations are kept.
    pub fn len(&self) -> usize {
        let kept = self.kept.read().unwrap_or_else(PoisonError::into_inner);
        kept.tlb.0.len()
    }

    /// Whether nothing is kept.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
