// SPDX-License-Identifier: GPL-2.0

//! Numbers of events in the ABI.

/// Number of an event among those of its process, as user programs and interrupts name it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(transparent)]
pub(crate) struct EventId(u32);

impl EventId {
    /// From the number.
    pub(crate) const fn new(id: u32) -> Self {
        Self(id)
    }

    /// The number.
    pub(crate) const fn get(self) -> u32 {
        self.0
    }
}
