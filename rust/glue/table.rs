// SPDX-License-Identifier: GPL-2.0

//! C tables of function pointers as statics.
//!
//! The kernel crate of 7.3 has no such tables for others: it makes each where it needs it.

/// A table that C code only reads.
#[repr(transparent)]
pub(super) struct Table<T>(pub(super) T);

// SAFETY: Nothing writes to the table after it was made, and what it points at is static.
unsafe impl<T> Sync for Table<T> {}

impl<T> Table<T> {
    /// The pointer that C takes.
    pub(super) const fn as_ptr(&self) -> *const T {
        &raw const self.0
    }
}
