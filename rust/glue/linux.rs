// SPDX-License-Identifier: GPL-2.0

//! What the series of Linux that the module is built with call by different names.
//!
//! Kbuild says which series the tree is of. Each has a file with the same names in it; the rest of the module uses
//! these, and what all series have in common.

#[cfg(not(rkfd_linux = "7.2"))]
mod v7_3;
#[cfg(not(rkfd_linux = "7.2"))]
pub(crate) use v7_3::*;

#[cfg(rkfd_linux = "7.2")]
mod v7_2;
#[cfg(rkfd_linux = "7.2")]
pub(crate) use v7_2::*;

use core::borrow::Borrow;

/// Has the interrupt handled. Called when no other interrupt can come.
pub(crate) trait OnInterrupt: Send + Sync {
    /// The device raised it.
    fn interrupt(&self);
}

/// The value of a parameter of the module, which one series lends and another copies.
pub(crate) fn parameter(value: impl Borrow<i32>) -> i32 {
    *value.borrow()
}
