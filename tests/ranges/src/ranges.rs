// SPDX-License-Identifier: MIT OR Apache-2.0

//! Ranges of pages, and the map that gives pages out.

use proptest::prelude::*;
use proptest::test_runner::TestCaseError;

use crate::pages::PageMap;
use crate::prelude::{EINVAL, ENOMEM};
use crate::types::{GpuVa, PageRange};

const PAGE: u64 = 4096;
/// The address space of a process: 48 bits.
const SPACE: u128 = 1 << 48;

/// Numbers of any size, most of them near a power of two, where sums wrap and limits lie.
fn number() -> impl Strategy<Value = u64> {
    let near = (0..64u32, -2i64..3, prop_oneof![Just(1), Just(PAGE)]);
    prop_oneof![
        any::<u64>(),
        near.prop_map(|(bit, away, unit)| (1u64 << bit).wrapping_add_signed(away * unit as i64)),
    ]
}

/// First addresses, sizes and addresses to look for. Many ranges end near the end of the address
/// space, or near 2^64, where a sum that wraps is small.
pub fn page_ranges() -> impl Strategy<Value = (u64, u64, u64)> {
    let end = (prop_oneof![Just(0u64), Just(1 << 48)], -2i64..3);
    let end = end.prop_map(|(end, away)| end.wrapping_add_signed(away * PAGE as i64));
    let start = prop_oneof![number(), number().prop_map(|start| start & !(PAGE - 1))];
    let to_end = (start, end, number()).prop_map(|(start, end, probe)| {
        let bytes = end.wrapping_sub(start);
        (start, bytes, probe)
    });
    prop_oneof![to_end, (number(), number(), number())]
}

/// A range is taken when it is whole pages of the address space, by sums that can't wrap, and then
/// its ends are those of the numbers.
pub fn check_page_range((start, bytes, probe): (u64, u64, u64)) -> Result<(), TestCaseError> {
    let end = u128::from(start) + u128::from(bytes);
    let good = bytes != 0 && start % PAGE == 0 && bytes % PAGE == 0 && end <= SPACE;
    let range = PageRange::new(GpuVa::new(start), bytes);
    prop_assert_eq!(range.is_ok(), good);
    let Ok(range) = range else {
        prop_assert_eq!(range, Err(EINVAL));
        return Ok(());
    };
    prop_assert_eq!(u128::from(range.end().get()), end);
    prop_assert_eq!(u128::from(range.last().get()), end - 1);
    let within = probe >= start && u128::from(probe) < end;
    let offset = range.offset_of(GpuVa::new(probe));
    prop_assert_eq!(offset, within.then(|| probe.wrapping_sub(start)));
    let page = PageRange::page_of(GpuVa::new(probe));
    prop_assert_eq!(page.is_ok(), u128::from(probe) < SPACE);
    if let Ok(page) = page {
        prop_assert_eq!(
            (page.start().get(), page.bytes()),
            (probe & !(PAGE - 1), PAGE)
        );
    }
    Ok(())
}

/// What is done with a page map.
#[derive(Clone, Debug)]
pub enum Step {
    /// Take so many at a multiple of something.
    Alloc(usize, usize),
    /// Give one of what was taken back.
    Release(usize),
    /// Take given ones.
    Reserve(usize, usize),
}

/// A number of pages, and steps.
pub fn page_maps() -> impl Strategy<Value = (usize, Vec<Step>)> {
    let count = || prop_oneof![8 => 0..80usize, 1 => number().prop_map(|n| n as usize)];
    let step = prop_oneof![
        4 => (count(), count()).prop_map(|(count, align)| Step::Alloc(count, align)),
        3 => any::<usize>().prop_map(Step::Release),
        1 => (count(), count()).prop_map(|(first, count)| Step::Reserve(first, count)),
    ];
    (0..300usize, prop::collection::vec(step, 0..60))
}

/// No page is given twice, none is refused while there is a run, and none is lost.
pub fn check_page_map((pages, steps): (usize, Vec<Step>)) -> Result<(), TestCaseError> {
    let mut map = PageMap::new(pages).unwrap();
    let mut used = vec![false; pages];
    let mut taken = Vec::new();
    for step in steps {
        match step {
            Step::Alloc(count, align) => {
                let free = |first: &usize| {
                    let run = used.get(*first..first.saturating_add(count));
                    run.is_some_and(|run| run.iter().all(|used| !used))
                };
                let mut starts = (0..pages).step_by(align.max(1));
                let there = count != 0 && align != 0 && starts.any(|first| free(&first));
                match map.alloc(count, align) {
                    Ok(first) => {
                        prop_assert!(there && free(&first) && first % align == 0);
                        used[first..first + count].fill(true);
                        taken.push((first, count));
                    }
                    Err(error) => {
                        prop_assert_eq!(error, ENOMEM);
                        prop_assert!(!there, "refused though there is a run");
                    }
                }
            }
            Step::Release(which) if !taken.is_empty() => {
                let (first, count) = taken.swap_remove(which % taken.len());
                map.release(first, count);
                used[first..first + count].fill(false);
            }
            Step::Release(_) => {}
            Step::Reserve(first, count) => {
                map.reserve(first, count);
                let end = first.saturating_add(count).min(pages);
                used.get_mut(first..end).unwrap_or_default().fill(true);
            }
        }
        prop_assert_eq!(map.free_pages(), used.iter().filter(|used| !**used).count());
    }
    Ok(())
}
