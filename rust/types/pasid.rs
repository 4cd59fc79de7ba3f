// SPDX-License-Identifier: GPL-2.0

//! PASIDs: numbers of processes' address spaces.

use core::num::NonZeroU16;

/// A process address space id as the hardware reports it: never 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(transparent)]
pub(crate) struct Pasid(NonZeroU16);

impl Pasid {
    /// From the number.
    pub(crate) const fn new(number: NonZeroU16) -> Self {
        Self(number)
    }

    /// The number.
    pub(crate) fn get(self) -> u16 {
        self.0.get()
    }
}
