// SPDX-License-Identifier: MIT OR Apache-2.0

//! The translation cache of one address space.
//!
//! It keeps valid translations until they are invalidated, however stale they become: a driver
//! that forgets a flush gets the old page, as it does on silicon. It never keeps an invalid one.
//! A kept translation covers the fragment that its entry promised.

use super::walk::Translation;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{PoisonError, RwLock};

/// Translations by first virtual address; they do not overlap.
#[derive(Default)]
pub struct Tlb {
    kept: RwLock<BTreeMap<u64, Translation>>,
    epoch: AtomicU64,
}

impl Tlb {
    /// The kept translation of an address.
    pub fn get(&self, va: u64) -> Option<Translation> {
        let kept = self.kept.read().unwrap_or_else(PoisonError::into_inner);
        let (_, found) = kept.range(..=va).next_back()?;
        (va - found.start < found.len).then_some(*found)
    }

    /// Keeps a translation in the place of those that it overlaps, unless the cache was
    /// invalidated since `epoch`, when the walk began.
    pub fn put(&self, new: Translation, epoch: u64) {
        let mut kept = self.kept.write().unwrap_or_else(PoisonError::into_inner);
        if self.epoch.load(Ordering::Acquire) != epoch {
            return;
        }
        let last = new.start.saturating_add(new.len - 1);
        if let Some((&at, before)) = kept.range(..new.start).next_back() {
            if new.start - before.start < before.len {
                kept.remove(&at);
            }
        }
        let inside: Vec<u64> = kept.range(new.start..=last).map(|(&at, _)| at).collect();
        for at in inside {
            kept.remove(&at);
        }
        kept.insert(new.start, new);
    }

    /// Forgets everything.
    pub fn invalidate(&self) {
        let mut kept = self.kept.write().unwrap_or_else(PoisonError::into_inner);
        self.epoch.fetch_add(1, Ordering::AcqRel);
        kept.clear();
    }

    /// How often it was invalidated.
    pub fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::Acquire)
    }

    /// How many translations are kept.
    pub fn len(&self) -> usize {
        self.kept
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .len()
    }

    /// Whether nothing is kept.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
