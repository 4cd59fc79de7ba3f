// SPDX-License-Identifier: GPL-2.0

//! A bitmap of pages: the allocator behind GART and doorbells.
//!
//! One bit a page, first fit from where the last search ended. A free never allocates, so it
//! cannot fail.

use kernel::prelude::*;

/// The pages of something; a set bit is a page in use.
pub(crate) struct PageMap {
    words: KVVec<u64>,
    pages: usize,
    next: usize,
}

impl PageMap {
    /// All pages free.
    pub(crate) fn new(pages: usize) -> Result<Self> {
        let words = KVVec::from_elem(0u64, pages.div_ceil(64), GFP_KERNEL)?;
        Ok(Self {
            words,
            pages,
            next: 0,
        })
    }

    /// Number of free pages, which only tests ask for: KUnit's, and the host's.
    #[cfg(any(CONFIG_KUNIT = "y", not(MODULE)))]
    pub(crate) fn free_pages(&self) -> usize {
        let is_free = |page: usize| self.find(page, page.saturating_add(1), false).is_some();
        (0..self.pages).filter(|&page| is_free(page)).count()
    }

    /// The first page in `from..end` whose bit is `set`.
    fn find(&self, from: usize, end: usize, set: bool) -> Option<usize> {
        let mut at = from;
        while at < end {
            let word = *self.words.get(at / 64)?;
            let word = (if set { word } else { !word }) >> (at % 64);
            if word != 0 {
                let found = at.saturating_add(word.trailing_zeros() as usize);
                return (found < end).then_some(found);
            }
            at = (at | 63).saturating_add(1);
        }
        None
    }

    fn search(&self, count: usize, align: usize, from: usize, to: usize) -> Option<usize> {
        let mut at = from;
        loop {
            at = self.find(at, to, false)?.checked_next_multiple_of(align)?;
            let end = at.checked_add(count)?;
            if end > to {
                return None;
            }
            match self.find(at, end, true) {
                None => return Some(at),
                Some(used) => at = used.saturating_add(1),
            }
        }
    }

    fn mark(&mut self, first: usize, count: usize, set: bool) {
        for page in first..first.saturating_add(count).min(self.pages) {
            if let Some(word) = self.words.get_mut(page / 64) {
                let bit = 1u64 << (page % 64);
                *word = if set { *word | bit } else { *word & !bit };
            }
        }
    }

    /// Takes `count` pages in a row, the first a multiple of `align`.
    ///
    /// # Errors
    ///
    /// ENOMEM when there are none, or none are asked for.
    pub(crate) fn alloc(&mut self, count: usize, align: usize) -> Result<usize> {
        let found = self
            .search(count, align, self.next.min(self.pages), self.pages)
            .or_else(|| self.search(count, align, 0, self.pages))
            .filter(|_| count > 0)
            .ok_or(ENOMEM)?;
        self.mark(found, count, true);
        self.next = found.saturating_add(count);
        Ok(found)
    }

    /// Takes given pages, whether or not they were free.
    pub(crate) fn reserve(&mut self, first: usize, count: usize) {
        self.mark(first, count, true);
    }

    /// Gives pages back.
    pub(crate) fn release(&mut self, first: usize, count: usize) {
        self.mark(first, count, false);
    }
}

#[cfg(CONFIG_KUNIT = "y")]
mod kunit;
