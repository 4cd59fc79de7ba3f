// SPDX-License-Identifier: GPL-2.0

//! The page map against a list of flags.

use super::PageMap;
use crate::kunit::Random;
use kernel::prelude::*;

/// Not a multiple of a word's bits.
const PAGES: usize = 1000;

/// The map's pages, one flag each.
struct Model([bool; PAGES]);

impl Model {
    fn set(&mut self, first: usize, count: usize, used: bool) -> bool {
        let Some(pages) = self.0.get_mut(first..first + count) else {
            return false;
        };
        // What is given out was free, what is given back was not.
        let as_it_should = pages.iter().all(|page| *page != used);
        pages.fill(used);
        as_it_should
    }

    fn free(&self) -> usize {
        self.0.iter().filter(|used| !**used).count()
    }

    /// Whether there is a run of free pages at a multiple of `align`.
    fn has(&self, count: usize, align: usize) -> bool {
        (0..PAGES)
            .step_by(align)
            .filter_map(|first| self.0.get(first..first + count))
            .any(|run| run.iter().all(|used| !used))
    }
}

#[kunit_tests(rkfd_page_map)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_given_twice_or_refused_while_there_is_room() -> Result {
        let (mut map, mut model, mut random) =
            (PageMap::new(PAGES)?, Model([false; PAGES]), Random::new());
        let mut taken = KVec::new();
        let (mut given, mut refused) = (0, 0);
        for _ in 0..2000 {
            if random.below(5) < 3 {
                let count = 1 + random.below(60) as usize;
                let align = 1 << random.below(7);
                match map.alloc(count, align) {
                    Ok(first) => {
                        assert_eq!(first % align, 0);
                        assert!(model.set(first, count, true));
                        taken.push((first, count), GFP_KERNEL)?;
                        given += 1;
                    }
                    Err(error) => {
                        assert_eq!(error, ENOMEM);
                        assert!(!model.has(count, align));
                        refused += 1;
                    }
                }
            } else if !taken.is_empty() {
                let at = random.below(taken.len() as u64) as usize;
                let (first, count) = taken.remove(at).map_err(|_| EINVAL)?;
                map.release(first, count);
                assert!(model.set(first, count, false));
            }
            assert_eq!(map.free_pages(), model.free());
        }
        // The case is of no use unless both happen.
        assert!(given > 100 && refused > 100);
        Ok(())
    }

    #[test]
    fn reserving_and_releasing_twice_counts_once() -> Result {
        let mut map = PageMap::new(130)?;
        map.reserve(60, 10);
        map.reserve(64, 10);
        assert_eq!(map.free_pages(), 130 - 14);
        map.release(60, 4);
        map.release(60, 4);
        assert_eq!(map.free_pages(), 130 - 10);
        // Beyond the end is nothing.
        map.reserve(128, 1000);
        map.release(usize::MAX, 5);
        assert_eq!(map.free_pages(), 130 - 12);
        Ok(())
    }

    #[test]
    fn a_number_comes_round_again_last() -> Result {
        let mut map = PageMap::new(70)?;
        for wanted in 0..69 {
            assert_eq!(map.alloc(1, 1), Ok(wanted));
            map.release(wanted, 1);
        }
        assert_eq!(map.alloc(1, 1), Ok(69));
        assert_eq!(map.alloc(1, 1), Ok(0));
        Ok(())
    }

    /// The first page after one in use can begin a run.
    #[test]
    fn a_run_fits_its_gap() -> Result {
        let mut map = PageMap::new(10)?;
        map.reserve(3, 1);
        assert_eq!(map.alloc(6, 1), Ok(4));
        assert_eq!(map.alloc(3, 1), Ok(0));
        assert_eq!(map.free_pages(), 0);
        Ok(())
    }

    #[test]
    fn impossible_requests_are_refused() -> Result {
        let mut map = PageMap::new(64)?;
        for (count, align) in [(0, 1), (1, 0), (65, 1), (usize::MAX, 1), (1, usize::MAX)] {
            let result = map.alloc(count, align);
            // Page 0 is a multiple of anything.
            assert!(result == Err(ENOMEM) || (count, align, result) == (1, usize::MAX, Ok(0)));
        }
        let mut none = PageMap::new(0)?;
        assert_eq!(none.alloc(1, 1), Err(ENOMEM));
        Ok(())
    }
}
