// SPDX-License-Identifier: MIT OR Apache-2.0

//! What the module reads of a device and of files before it trusts either.

use crate::{bytes, extremes, run};
use proptest::collection::vec;
use proptest::prelude::*;
use rkfd_emulator::chip::{mi308x, navi48};
use rkfd_emulator::rules::Rules;
use rkfd_hw::discovery::{checksum, u16_at};

/// Replaces words of a file by numbers of the extreme kind.
fn damage(file: &mut [u8], changes: Vec<(prop::sample::Index, u64, bool)>) {
    for (at, number, wide) in changes {
        let bytes = if wide { 4 } else { 2 };
        let at = at.index(file.len() / 2 - 1) * 2;
        file[at..at + bytes].copy_from_slice(&number.to_le_bytes()[..bytes]);
    }
}

fn changes(len: usize) -> impl Strategy<Value = Vec<(prop::sample::Index, u64, bool)>> {
    let number = prop_oneof![prop::sample::select(extremes(len)), 0..300u64];
    vec((any::<prop::sample::Index>(), number, any::<bool>()), 0..4)
}

/// A file with a header of eleven words, four words of code, and two of them its jump table.
#[test]
fn firmware_files() {
    let words = [
        60,
        44,
        1,
        0x0004_0009,
        7,
        16,
        44,
        0,
        1,
        1,
        2,
        0x11,
        0x22,
        0x33,
        0x44,
    ];
    let file = bytes(&words);
    let damaged = (changes(file.len()), 0..80usize).prop_map(move |(changes, len)| {
        let mut file = file.clone();
        damage(&mut file, changes);
        file.truncate(len);
        file
    });
    run(rkfd_decoders::firmware, 20_000, damaged);
}

/// Makes the sums right that are compared before anything else is read.
fn sum_up(binary: &mut [u8]) {
    for table in 0..3 {
        let entry = 12 + 8 * table;
        let offset = usize::from(u16_at(binary, entry).unwrap_or(0));
        let rest = binary.get(offset..).unwrap_or(&[]);
        let size = [u16_at(rest, 6), u16_at(rest, 8), Some(136)][table].unwrap_or(0);
        if let Some(table) = rest.get(..usize::from(size)) {
            let sum = checksum(table).to_le_bytes();
            binary[entry + 2..entry + 4].copy_from_slice(&sum);
        }
    }
    let size = usize::from(u16_at(binary, 10).unwrap_or(0));
    if let Some(summed) = binary.get(10..size) {
        let sum = checksum(summed).to_le_bytes();
        binary[8..10].copy_from_slice(&sum);
    }
}

#[test]
fn discovery_tables() {
    let chips = [&mi308x::SPX, &navi48::CHIP];
    let tables = chips.map(|chip| chip.discovery(&Rules::none()));
    let longest = tables.iter().map(Vec::len).max().unwrap_or(0);
    let table = prop::sample::select(tables.to_vec());
    let damaged = (table, changes(longest), any::<bool>()).prop_map(|(table, changes, summed)| {
        let mut table = table;
        damage(&mut table, changes);
        if summed {
            sum_up(&mut table);
        }
        table
    });
    run(rkfd_decoders::discovery, 5_000, damaged);
}
