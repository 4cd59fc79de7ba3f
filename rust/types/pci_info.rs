// SPDX-License-Identifier: GPL-2.0

//! Facts about a PCI device.

/// A link of PCI Express.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PciLink {
    /// 1 for 2.5 GT/s to 5 for 32 GT/s; 0 when it isn't known.
    pub(crate) generation: u32,
    /// 0 when they aren't known.
    pub(crate) lanes: u32,
}

/// Ids and place of a PCI device.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PciInfo {
    pub(crate) domain: u32,
    pub(crate) bus: u8,
    pub(crate) devfn: u8,
    pub(crate) vendor: u16,
    pub(crate) device: u16,
    pub(crate) subsystem_vendor: u16,
    pub(crate) subsystem_device: u16,
    pub(crate) revision: u8,
    /// It makes atomic operations on memory.
    pub(crate) requests_atomics: bool,
    /// It carries out those of others.
    pub(crate) completes_atomics: bool,
    /// The narrowest link on its way to memory.
    pub(crate) link: PciLink,
}

impl PciInfo {
    /// `location_id` of the topology: bus and device function.
    pub(crate) fn location_id(&self) -> u32 {
        u32::from(self.bus) << 8 | u32::from(self.devfn)
    }
}
