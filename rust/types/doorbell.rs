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
use kernel::prelude::*;

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
        u64::from(self.0) << 3
    }
}

/// Index of a doorbell in 32-bit words on the whole BAR.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(transparent)]
pub(crate) struct DoorbellWord(Bounded<26>);

impl DoorbellWord {
    /// The word `WORD`, which is checked when the module is compiled.
    pub(crate) const fn fixed<const WORD: u64>() -> Self {
        Self(Bounded::new::<WORD>())
    }

    /// From the number.
    ///
    /// # Errors
    ///
    /// EINVAL: it is beyond what registers can name.
    pub(crate) fn new(word: u32) -> Result<Self> {
        Bounded::try_new(word.into()).map(Self).ok_or(EINVAL)
    }

    /// The number.
    pub(crate) fn get(self) -> u32 {
        self.0.into()
    }

    /// Byte offset in the BAR.
    pub(crate) fn byte(self) -> usize {
        (self.get() as usize) << 2
    }

    /// The number as registers and packets have it.
    pub(crate) const fn in_register(self) -> Bounded<26> {
        self.0
    }
}

/// One of the first 1,024 words, which are the kernel's.
impl From<Bounded<10>> for DoorbellWord {
    fn from(word: Bounded<10>) -> Self {
        Self(word.widened())
    }
}
