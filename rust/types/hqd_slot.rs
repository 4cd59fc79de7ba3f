// SPDX-License-Identifier: GPL-2.0

//! Places for hardware queues.

/// A place for a hardware queue (HQD). MEs count from 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct HqdSlot {
    pub(crate) me: u32,
    pub(crate) pipe: u32,
    pub(crate) queue: u32,
}
