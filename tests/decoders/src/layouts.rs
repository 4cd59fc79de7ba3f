// SPDX-License-Identifier: MIT OR Apache-2.0

//! The fields of layouts, as `hw/` declares them.

use crate::words;
use rkfd_hw::layout::{FieldInfo, LayoutInfo};
use rkfd_hw::{aql, discovery, mes, mqd, pm4};

/// The layouts whose fields don't share bits.
fn all() -> impl Iterator<Item = &'static LayoutInfo> {
    let sdma = rkfd_hw::sdma::LAYOUTS.iter().flat_map(|(_, all)| *all);
    let rest = [
        aql::LAYOUTS,
        discovery::LAYOUTS,
        mes::LAYOUTS,
        mqd::LAYOUTS,
        pm4::LAYOUTS,
    ];
    rest.into_iter().flatten().chain(sdma)
}

/// The number whose bits are a field's, bit by bit.
fn bits(field: &FieldInfo, words: &[u32]) -> u64 {
    let bit = |n: u8| {
        let at = usize::from(field.bit) + usize::from(n);
        let word = words.get(at / 32).copied().unwrap_or(0);
        u64::from((word >> (at % 32)) & 1) << n
    };
    (0..field.width).map(bit).sum()
}

/// A field reads its own bits, in whatever words, also too few; clearing it clears them and no others.
pub fn layouts(bytes: &[u8]) {
    let words = words(bytes);
    for layout in all() {
        for field in layout.fields {
            let value = bits(field, &words);
            assert_eq!(field.get(&words), value, "{}.{}", layout.name, field.name);
            let mut cleared = words.clone();
            field.clear(&mut cleared);
            assert_eq!(bits(field, &cleared), 0, "{}.{}", layout.name, field.name);
            let changed = words
                .iter()
                .zip(&cleared)
                .map(|(a, b)| (a ^ b).count_ones());
            let changed: u32 = changed.sum();
            let own = value.count_ones();
            assert_eq!(changed, own, "{}.{}", layout.name, field.name);
        }
    }
}
