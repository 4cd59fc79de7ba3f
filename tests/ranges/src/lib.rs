// SPDX-License-Identifier: MIT OR Apache-2.0

//! The module's arithmetic of addresses on the host: page tables, page maps and ranges, each against
//! a plain model, over random operations that proptest makes small when one fails.
//!
//! Compiled here are the module's own files. What they take of the `kernel` crate is in
//! [`prelude`] and [`sync`]; what they take of other rooms is in this file.

#![expect(
    dead_code,
    reason = "the module's files have more than the properties use"
)]
#![expect(unused_imports, reason = "so have their lists of what they export")]

extern crate self as kernel;

pub mod prelude;
mod ranges;

use rkfd_hw as hw;
use rkfd_uapi as uapi;
pub use std::fmt;

/// `kernel::sync`.
pub mod sync {
    pub use std::sync::Arc;
}

pub use ranges::{check_page_map, check_page_range, page_maps, page_ranges};
pub use vm::properties::{check as check_tables, page_tables, tables_without_memory};

#[path = "../../../rust"]
mod module {
    pub(crate) mod pages;
    pub(crate) mod types;
}
use module::{pages, types};

/// Rooms that page tables take words from: the properties have a store of their own.
mod vram {
    use super::prelude::*;

    pub(crate) struct Vram;
    pub(crate) struct VramRange;

    impl VramRange {
        pub(crate) fn new(_: &super::sync::Arc<Vram>, _: u64) -> Result<Self> {
            Err(ENOMEM)
        }

        pub(crate) fn pte_addr(&self) -> u64 {
            0
        }

        pub(crate) fn fill64(&self, _: u64, _: u64, _: impl Fn(u64) -> u64) -> Result {
            Err(ENODEV)
        }
    }
}

/// The room of address spaces, but for what names buffer objects.
#[path = "../../../rust/vm"]
mod vm {
    /// The words of an entry.
    pub(crate) mod entry {
        #[derive(Clone, Copy)]
        pub(crate) struct EntryFlags(pub(crate) u64);
        #[derive(Clone, Copy)]
        pub(crate) struct EntryAddr(pub(crate) u64);

        impl EntryAddr {
            pub(crate) fn byte(self, bytes: u64) -> Self {
                Self(self.0.wrapping_add(bytes))
            }
        }
    }
    mod flags;
    mod hal;
    #[path = "../../tests/ranges/src/tables.rs"]
    pub(crate) mod properties;
    mod table;
}
