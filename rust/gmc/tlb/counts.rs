// SPDX-License-Identifier: GPL-2.0

//! How often TLBs were flushed, by whom, and how often nobody acknowledged.

use kernel::sync::atomic::{
    Atomic,
    Relaxed, //
};

/// What is counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum What {
    /// Flushes of a process' address space that were asked for.
    Process,
    /// Flushes of an address space by its VMID.
    Vmid,
    /// Requests that firmware made.
    Firmware,
    /// Requests by a hub's registers.
    Registers,
    /// Requests that were not acknowledged in time.
    Unanswered,
}

impl What {
    const NAMES: [(Self, &'static str); 5] = [
        (Self::Process, "of_process"),
        (Self::Vmid, "of_vmid"),
        (Self::Firmware, "by_firmware"),
        (Self::Registers, "by_registers"),
        (Self::Unanswered, "unanswered"),
    ];
}

/// The numbers of a GPU.
pub(crate) struct FlushCounts([Atomic<u64>; What::NAMES.len()]);

impl FlushCounts {
    /// Nothing was flushed yet.
    pub(super) fn new() -> Self {
        Self(core::array::from_fn(|_| Atomic::new(0)))
    }

    /// Counts one more.
    pub(super) fn add(&self, what: What) {
        // CAST: The discriminant.
        if let Some(number) = self.0.get(what as usize) {
            number.fetch_add(1, Relaxed);
        }
    }

    /// Names and numbers, in a fixed order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        let numbers = self.0.iter().map(|number| number.load(Relaxed));
        What::NAMES.iter().map(|(_, name)| *name).zip(numbers)
    }
}
