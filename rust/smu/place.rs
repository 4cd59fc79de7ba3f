// SPDX-License-Identifier: GPL-2.0

//! Where a value is in a table of the unit's.

use crate::{
    gmc::KernelBuf,
    hw::layout::Field, //
};
use kernel::prelude::*;

/// Bits of a word, the lowest of which are a fraction.
#[derive(Clone, Copy)]
pub(super) struct Place {
    word: usize,
    mask: u32,
    low: u32,
    fraction: u32,
}

impl Place {
    /// That of a field of one word, with so many bits of a fraction.
    pub(super) const fn of<T: ?Sized, const W: u32>(field: Field<T, W>, fraction: u32) -> Self {
        Self {
            word: field.word(),
            mask: field.mask(),
            low: (field.bit() % 32) as u32,
            fraction,
        }
    }

    /// That of a field without a fraction.
    pub(super) const fn whole<T: ?Sized, const W: u32>(field: Field<T, W>) -> Self {
        Self::of(field, 0)
    }

    /// That of the word so many behind.
    pub(super) const fn behind(self, words: usize) -> Self {
        Self {
            word: self.word.saturating_add(words),
            ..self
        }
    }

    /// Number of its word.
    pub(super) const fn word(&self) -> usize {
        self.word
    }

    /// All of its bits.
    ///
    /// # Errors
    ///
    /// EINVAL when it lies behind the table's memory.
    pub(super) fn bits(&self, memory: &KernelBuf) -> Result<u32> {
        let bits = memory.read(self.word)? & self.mask;
        Ok(bits.checked_shr(self.low).unwrap_or(0))
    }

    /// The value in whole units (`SMUQ10_ROUND`).
    ///
    /// # Errors
    ///
    /// As of [`Self::bits`].
    pub(super) fn rounded(&self, memory: &KernelBuf) -> Result<u32> {
        let value = self.bits(memory)?;
        let half = 1u32.checked_shl(self.fraction).unwrap_or(0) >> 1;
        let value = value.checked_add(half).unwrap_or(value);
        Ok(value.checked_shr(self.fraction).unwrap_or(0))
    }

    /// The value in thousandths (`SMUQ10_TO_MILLIWATT`, `SMUQ10_TO_MILLICELSIUS`).
    ///
    /// # Errors
    ///
    /// As of [`Self::bits`].
    pub(super) fn thousandths(&self, memory: &KernelBuf) -> Result<u32> {
        let value = u64::from(self.bits(memory)?).saturating_mul(1000);
        let value = value.checked_shr(self.fraction).unwrap_or(0);
        Ok(u32::try_from(value).unwrap_or(u32::MAX))
    }
}
