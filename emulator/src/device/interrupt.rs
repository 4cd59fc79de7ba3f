// SPDX-License-Identifier: MIT OR Apache-2.0

//! What a block passes to the interrupt handler.

use crate::memory::Hub;

/// An interrupt as its client raises it. The interrupt handler adds time, process and die.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Interrupt {
    /// The client (`rkfd_hw::ih::client`).
    pub client: u8,
    /// What happened (`rkfd_hw::ih::source`).
    pub source: u8,
    /// The client's ring id: for the command processor, pipe and queue.
    pub ring_id: u8,
    /// The address space it is about.
    pub vmid: u8,
    /// Whose VMID it is.
    pub hub: Hub,
    /// The client's data.
    pub data: [u32; 4],
}
