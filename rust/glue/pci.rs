// SPDX-License-Identifier: GPL-2.0

//! PCI: where a device sits, its link and atomic operations, and bus mastering as a guard.
//!
//! The kernel crate of 7.3 has no domain and bus of a PCI device, no links, no atomic operations, and
//! turns bus mastering on but not off.

use crate::types::PciLink;
use kernel::{
    bindings,
    device::Core,
    error::to_result,
    pci,
    prelude::*,
    sync::aref::ARef, //
};

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

/// Completion of atomic operations on 32 and 64 bits.
const ATOMICS: u32 =
    bindings::PCI_EXP_DEVCAP2_ATOMIC_COMP32 | bindings::PCI_EXP_DEVCAP2_ATOMIC_COMP64;

/// Lets the device make atomic operations on memory; whether it can, as all on the way to memory
/// must pass them on.
pub(crate) fn enable_atomics(pdev: &pci::Device<Core<'_>>) -> bool {
    let plain: &pci::Device = pdev;
    // SAFETY: The device is valid and, as it is being bound, nobody else sets this up.
    unsafe { bindings::pci_enable_atomic_ops_to_root(raw(plain), ATOMICS) == 0 }
}

/// Whether the device carries out atomic operations that others make on it.
pub(crate) fn completes_atomics(pdev: &pci::Device) -> bool {
    let mut caps = 0;
    // SAFETY: The device is valid; the value is written before this returns, 0 on an error.
    unsafe {
        bindings::pcie_capability_read_dword(raw(pdev), bindings::PCI_EXP_DEVCAP2 as i32, &mut caps)
    };
    caps & ATOMICS != 0
}

/// What the device's expansion ROM has, to its end as PCI describes it; none where there is no ROM, or none that can be
/// mapped.
///
/// # Errors
///
/// ENOMEM.
pub(crate) fn read_rom(pdev: &pci::Device<Core<'_>>) -> Result<Option<KVVec<u8>>> {
    let (dev, mut size) = (raw(pdev), 0);
    // SAFETY: The device is valid and, as it is being bound, nobody else maps its ROM; the size is written before this
    // returns.
    let rom = unsafe { bindings::pci_map_rom(dev, &mut size) };
    if rom.is_null() {
        return Ok(None);
    }
    let bytes = KVVec::from_elem(0u8, size, GFP_KERNEL).map(|mut bytes| {
        // SAFETY: The ROM is mapped for `size` bytes, and so many are there.
        unsafe { bindings::memcpy_fromio(bytes.as_mut_ptr().cast(), rom, size) };
        bytes
    });
    // SAFETY: It was mapped above, and isn't used any more.
    unsafe { bindings::pci_unmap_rom(dev, rom) };
    Ok(Some(bytes?))
}

/// The narrowest link on the device's way to memory, as it is now.
pub(crate) fn link(pdev: &pci::Device) -> PciLink {
    let (mut speed, mut width) = (
        bindings::pci_bus_speed_PCI_SPEED_UNKNOWN,
        bindings::pcie_link_width_PCIE_LNK_WIDTH_UNKNOWN,
    );
    // SAFETY: The device is valid, and so are those above it as long as it is; the function takes
    // no limiting device, and writes the others before it returns.
    unsafe {
        bindings::pcie_bandwidth_available(raw(pdev), core::ptr::null_mut(), &mut speed, &mut width)
    };
    let generation = match speed {
        bindings::pci_bus_speed_PCIE_SPEED_2_5GT => 1,
        bindings::pci_bus_speed_PCIE_SPEED_5_0GT => 2,
        bindings::pci_bus_speed_PCIE_SPEED_8_0GT => 3,
        bindings::pci_bus_speed_PCIE_SPEED_16_0GT => 4,
        bindings::pci_bus_speed_PCIE_SPEED_32_0GT => 5,
        _ => 0,
    };
    let lanes = match width {
        bindings::pcie_link_width_PCIE_LNK_WIDTH_UNKNOWN => 0,
        lanes => lanes,
    };
    PciLink { generation, lanes }
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

impl Master {
    /// Before the whole device is reset: keeps what its configuration space has, and turns bus mastering off.
    /// The device must be bound, and nobody else may reset it meanwhile.
    ///
    /// # Errors
    ///
    /// What the kernel reports of a capability that can't be kept.
    pub(crate) fn suspend(&self) -> Result<Suspended<'_>> {
        // SAFETY: The device is valid: a reference is held.
        to_result(unsafe { bindings::pci_save_state(raw(&self.0)) })?;
        // SAFETY: As above.
        unsafe { bindings::pci_clear_master(raw(&self.0)) };
        Ok(Suspended(self))
    }

    /// The device may not read and write memory any more, although it isn't let go yet.
    pub(crate) fn stop(&self) {
        // SAFETY: The device is valid: a reference is held.
        unsafe { bindings::pci_clear_master(raw(&self.0)) };
    }
}

/// Configuration space was kept; dropped, the device has it again, with bus mastering as it was.
pub(crate) struct Suspended<'a>(&'a Master);

impl Drop for Suspended<'_> {
    fn drop(&mut self) {
        // SAFETY: The device is valid: the borrowed guard holds a reference.
        unsafe { bindings::pci_restore_state(raw(&self.0 .0)) };
    }
}

impl Drop for Master {
    fn drop(&mut self) {
        // SAFETY: The device is valid: a reference is held.
        unsafe { bindings::pci_clear_master(raw(&self.0)) };
    }
}
