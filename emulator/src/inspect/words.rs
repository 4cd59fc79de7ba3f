// SPDX-License-Identifier: MIT OR Apache-2.0

//! Numbers as text, and text as numbers.

/// Words of a row.
const ROW: usize = 8;

/// A number, hexadecimal behind `0x`.
pub(super) fn number(word: &str) -> Option<u64> {
    match word.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => word.parse().ok(),
    }
}

/// Rows of words, each behind the name of its first.
pub(super) fn rows(words: &[u32], name: impl Fn(usize) -> String) -> Vec<String> {
    let row = |(n, row): (usize, &[u32])| {
        let words: Vec<String> = row.iter().map(|word| format!("{word:08x}")).collect();
        format!("{}: {}", name(n * ROW), words.join(" "))
    };
    words.chunks(ROW).enumerate().map(row).collect()
}
