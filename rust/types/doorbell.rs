// SPDX-License-Identifier: GPL-2.0

//! Numbers of a doorbell. A doorbell is 64 bits wide; there are two ways to count them.
//!
//! | name | counts | from | who takes it |
//! |---|---|---|---|
//! | [`DoorbellIndex`] | doorbells (64 bits) | the start of a process' slice | the allocator, interrupts |
//! | [`DoorbellWord`] | words (32 bits) | the start of the BAR | MQDs, packets, registers |
//!
//! A user program stores to the byte [`DoorbellIndex::byte`] of its slice.

use crate::hw::value::Bounded;

/// Index of a doorbell in a process' slice.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(transparent)]
pub(crate) struct DoorbellIndex(u32);

impl DoorbellIndex {
    /// From the number.
    pub(crate) const fn new(index: u32) -> Self {
        Self(index)
    }

    /// The number.
    pub(crate) const fn get(self) -> u32 {
        self.0
    }

    /// Byte offset in the slice.
    pub(crate) fn byte(self) -> u64 {
        u64::from(self.0) * 8
    }
}

/// Index of a doorbell in 32-bit words on the whole BAR.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(transparent)]
pub(crate) struct DoorbellWord(u32);

impl DoorbellWord {
    /// From the number.
    pub(crate) const fn new(word: u32) -> Self {
        Self(word)
    }

    /// The number.
    pub(crate) const fn get(self) -> u32 {
        self.0
    }

    /// The number as registers have it: a BAR has fewer words.
    pub(crate) fn in_register(self) -> Bounded<26> {
        Bounded::low_bits_of(self.0.into())
    }
}
