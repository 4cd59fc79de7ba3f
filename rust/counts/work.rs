// SPDX-License-Identifier: GPL-2.0

//! What the driver does to a GPU for those who ask, counted: what a request causes is the difference of two
//! readings.

use kernel::sync::atomic::{
    Atomic,
    Relaxed, //
};

/// What is counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Deed {
    /// Registers that were loaded: each takes as long as the bus.
    RegisterLoads,
    /// Registers that were stored.
    RegisterStores,
    /// Words of 64 bits that were stored in page tables, those that empty entries included.
    TableWords,
    /// Bytes of VRAM that the CPU cleared through BAR 0.
    ClearedBytes,
    /// Sleeps because firmware had not answered when it was looked.
    Sleeps,
}

impl Deed {
    /// Every kind with its name, in the order in which they are shown.
    const NAMES: [(Self, &'static str); 5] = [
        (Self::RegisterLoads, "register_loads"),
        (Self::RegisterStores, "register_stores"),
        (Self::TableWords, "table_words"),
        (Self::ClearedBytes, "cleared_bytes"),
        (Self::Sleeps, "sleeps"),
    ];
}

/// The numbers of a GPU, since it was found.
pub(crate) struct Work([Atomic<u64>; Deed::NAMES.len()]);

impl Work {
    /// Nothing was done yet.
    pub(crate) fn new() -> Self {
        Self(core::array::from_fn(|_| Atomic::new(0)))
    }

    /// Counts so many more.
    pub(crate) fn add(&self, deed: Deed, count: u64) {
        // CAST: The discriminant.
        if let Some(number) = self.0.get(deed as usize) {
            number.fetch_add(count, Relaxed);
        }
    }

    /// Names and numbers, in a fixed order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        let numbers = self.0.iter().map(|number| number.load(Relaxed));
        Deed::NAMES.iter().map(|(_, name)| *name).zip(numbers)
    }
}
