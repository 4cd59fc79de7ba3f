// SPDX-License-Identifier: GPL-2.0

//! PCI: where a device sits, and bus mastering as a guard.

use kernel::{bindings, device::Core, pci, sync::aref::ARef};

fn raw(pdev: &pci::Device) -> *mut bindings::pci_dev {
    // `pci::Device` is `repr(transparent)` over `Opaque<pci_dev>`.
    core::ptr::from_ref(pdev).cast_mut().cast()
}

/// Domain, bus, and device and function of a PCI device.
pub(crate) fn location(pdev: &pci::Device) -> (u32, u8, u8) {
    // SAFETY: The device is valid; its bus lives as long, and neither changes its number.
    unsafe {
        let dev = raw(pdev);
        let bus = (*dev).bus;
        // x86's `pci_domain_nr`: the domain is the first member of the bus' system data.
        let data = (*bus).sysdata.cast::<bindings::pci_sysdata>();
        let domain = if data.is_null() { 0 } else { (*data).domain };
        (domain as u32, (*bus).number, (*dev).devfn as u8)
    }
}

/// The device may read and write memory by itself; dropped, it may not any more.
pub(crate) struct Master(ARef<pci::Device>);

impl Master {
    /// Turns bus mastering on.
    pub(crate) fn new(pdev: &pci::Device<Core<'_>>) -> Self {
        pdev.set_master();
        let plain: &pci::Device = pdev;
        Self(plain.into())
    }
}

impl Drop for Master {
    fn drop(&mut self) {
        // SAFETY: The device is valid: a reference is held.
        unsafe { bindings::pci_clear_master(raw(&self.0)) };
    }
}
