// SPDX-License-Identifier: MIT OR Apache-2.0

//! Each property over random cases. `PROPTEST_CASES` asks for another number of them.

use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn ranges_take_whole_pages_and_never_wrap(case in rkfd_ranges::page_ranges()) {
        rkfd_ranges::check_page_range(case)?;
    }

    #[test]
    fn pages_are_given_once_and_none_is_lost(case in rkfd_ranges::page_maps()) {
        rkfd_ranges::check_page_map(case)?;
    }

    #[test]
    fn tables_map_what_was_asked_and_nothing_else(case in rkfd_ranges::page_tables()) {
        rkfd_ranges::check_tables(case)?;
    }

    #[test]
    fn without_memory_tables_are_as_before(case in rkfd_ranges::tables_without_memory()) {
        rkfd_ranges::check_tables(case)?;
    }
}

/// A table of 512 entries, each stored once; the entry that leads to it; and that of the page.
#[test]
fn a_table_that_takes_the_place_of_a_leaf_is_stored_once() {
    assert_eq!(rkfd_ranges::stored_to_split(), 512 + 1 + 1);
}
