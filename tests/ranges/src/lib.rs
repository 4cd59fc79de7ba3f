// SPDX-License-Identifier: MIT OR Apache-2.0

//! The module's arithmetic of addresses on the host: page tables, page maps and ranges, each against
//! a plain model, over random operations that proptest makes small when one fails; and its reading of the
//! discovery table, for `tests/decoders`.
//!
//! Compiled here are the module's own files. What they take of the `kernel` crate is in
//! [`prelude`] and [`sync`]; what they take of other rooms is in this file.

#![expect(
    dead_code,
    reason = "the module's files have more than the properties use"
)]
#![expect(unused_imports, reason = "so have their lists of what they export")]

extern crate self as kernel;

mod discovery;
pub mod prelude;
mod ranges;

use rkfd_hw as hw;
use rkfd_uapi as uapi;
pub use std::fmt;

/// `kernel::device`.
pub mod device {
    /// A device, which messages name.
    pub struct Device;
}

/// What the module has of its own in place of the `kernel` crate.
mod glue {
    pub(crate) mod aperture {
        use crate::prelude::*;

        /// VRAM whose end is these bytes, and zero behind them.
        pub(crate) struct Aperture<'a>(pub(crate) &'a [u8]);

        impl Aperture<'_> {
            pub(crate) fn read32(&self, at: u64) -> Result<u32> {
                let byte = |n| self.0.get(at as usize + n).copied().unwrap_or(0);
                Ok(u32::from_le_bytes([byte(0), byte(1), byte(2), byte(3)]))
            }
        }
    }
}

/// `kernel::sync`.
pub mod sync {
    pub use std::sync::Arc;
}

pub use discovery::check_discovery;
pub use ranges::{check_page_map, check_page_range, page_maps, page_ranges};
pub use vm::properties::{
    check as check_tables, page_tables, stored_to_split, tables_without_memory,
};

#[path = "../../../rust"]
mod module {
    pub(crate) mod discovery;
    pub(crate) mod pages;
    pub(crate) mod types;
}
use module::{pages, types};

/// Rooms that page tables take words from: the properties have a store of their own.
mod vram {
    use super::prelude::*;

    pub(crate) struct Vram;
    pub(crate) struct VramRange;

    impl Vram {
        pub(crate) fn flush_hdp(&self) {}
    }

    impl VramRange {
        pub(crate) fn new(_: &super::sync::Arc<Vram>, _: u64) -> Result<Self> {
            Err(ENOMEM)
        }

        pub(crate) fn pte_addr(&self) -> u64 {
            0
        }

        pub(crate) fn work(&self) -> super::counts::Work {
            super::counts::Work
        }

        pub(crate) fn fill64(&self, _: u64, _: u64, _: impl Fn(u64) -> u64) -> Result {
            Err(ENODEV)
        }
    }
}

/// Counters of what is done to a GPU, of which there is none.
mod counts {
    pub(crate) enum Deed {
        TableWords,
    }

    pub(crate) struct Work;

    impl Work {
        pub(crate) fn add(&self, _: Deed, _: u64) {}
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

            pub(crate) fn back(self, bytes: u64) -> Self {
                Self(self.0.wrapping_sub(bytes))
            }
        }
    }
    mod flags;
    mod hal;
    #[path = "../../tests/ranges/src/tables.rs"]
    pub(crate) mod properties;
    mod table;
}
