// SPDX-License-Identifier: GPL-2.0

//! A memory BAR mapped write-combined.
//!
//! The kernel crate of 7.3 has no write-combined BARs: it maps them uncached only, which makes clearing
//! and writing page tables through BAR 0 slow.
//! Stores reach the device in any order until [`Aperture::flush`]; loads see earlier stores.

use super::{
    linux,
    transfer::Transfer, //
};
use kernel::{
    bindings,
    device::Bound,
    error::to_result,
    pci,
    prelude::*,
    sync::aref::ARef, //
};

/// A mapped BAR. In a `Devres` it is unmapped when the device is unbound.
pub(crate) struct Aperture {
    base: *mut u8,
    len: u64,
    bar: i32,
    pdev: ARef<pci::Device>,
}

// SAFETY: `base` is a mapping that any CPU may access; access is by volatile loads and stores.
unsafe impl Send for Aperture {}
// SAFETY: As above.
unsafe impl Sync for Aperture {}

fn raw(pdev: &pci::Device) -> *mut bindings::pci_dev {
    // `pci::Device` is `repr(transparent)` over `Opaque<pci_dev>`.
    core::ptr::from_ref(pdev).cast_mut().cast()
}

impl Aperture {
    /// Claims and maps the first `len` bytes of a BAR.
    ///
    /// # Errors
    ///
    /// EBUSY when another driver holds the BAR, EINVAL when it is smaller than `len`.
    pub(crate) fn map(
        pdev: &pci::Device<Bound>,
        bar: u32,
        len: u64,
        name: &'static CStr,
    ) -> Result<Self> {
        let phys = pdev.resource_start(bar)?;
        if len == 0 || len > pdev.resource_len(bar)? {
            return Err(EINVAL);
        }
        let index = i32::try_from(bar)?;
        let dev: &pci::Device = pdev;
        // SAFETY: `dev` is a valid PCI device and `name` lives forever.
        to_result(unsafe { bindings::pci_request_region(raw(dev), index, name.as_char_ptr()) })?;
        // SAFETY: The range is the BAR's, which is now ours.
        let base = unsafe { bindings::ioremap_wc(phys, usize::try_from(len)?) };
        if base.is_null() {
            // SAFETY: The region was requested above.
            unsafe { bindings::pci_release_region(raw(dev), index) };
            return Err(ENOMEM);
        }
        Ok(Self {
            base: base.cast(),
            len,
            bar: index,
            pdev: dev.into(),
        })
    }

    fn at(&self, offset: u64, len: u64) -> Result<*mut u8> {
        let end = offset.checked_add(len).ok_or(EINVAL)?;
        if end > self.len {
            return Err(EINVAL);
        }
        Ok(self.base.wrapping_add(usize::try_from(offset)?))
    }

    /// The word at a byte offset.
    pub(crate) fn read32(&self, offset: u64) -> Result<u32> {
        let at = if offset % 4 == 0 {
            self.at(offset, 4)?
        } else {
            return Err(EINVAL);
        };
        // SAFETY: `at` lies in the mapping and is aligned.
        Ok(u32::from_le(unsafe { at.cast::<u32>().read_volatile() }))
    }

    /// The 64-bit word at a byte offset.
    pub(crate) fn read64(&self, offset: u64) -> Result<u64> {
        let at = if offset % 8 == 0 {
            self.at(offset, 8)?
        } else {
            return Err(EINVAL);
        };
        // SAFETY: `at` lies in the mapping and is aligned.
        Ok(u64::from_le(unsafe { at.cast::<u64>().read_volatile() }))
    }

    /// Stores a word at a byte offset.
    pub(crate) fn write32(&self, offset: u64, value: u32) -> Result {
        let at = if offset % 4 == 0 {
            self.at(offset, 4)?
        } else {
            return Err(EINVAL);
        };
        // SAFETY: `at` lies in the mapping and is aligned.
        unsafe { at.cast::<u32>().write_volatile(value.to_le()) };
        Ok(())
    }

    /// Stores a 64-bit word at a byte offset.
    pub(crate) fn write64(&self, offset: u64, value: u64) -> Result {
        let at = if offset % 8 == 0 {
            self.at(offset, 8)?
        } else {
            return Err(EINVAL);
        };
        // SAFETY: `at` lies in the mapping and is aligned.
        unsafe { at.cast::<u64>().write_volatile(value.to_le()) };
        Ok(())
    }

    /// Copies what a debugger reads or writes.
    pub(crate) fn transfer(&self, offset: u64, transfer: &Transfer<'_>) -> Result {
        let (at, len, buf) = (
            self.at(offset, transfer.len() as u64)?,
            transfer.len(),
            transfer.buf(),
        );
        // SAFETY: The range lies in the mapping, and the buffer has as many bytes.
        unsafe {
            match transfer.is_write() {
                true => bindings::memcpy_toio(at.cast(), buf.cast(), len),
                false => bindings::memcpy_fromio(buf.cast(), at.cast(), len),
            }
        }
        Ok(())
    }

    /// Clears a range.
    pub(crate) fn zero(&self, offset: u64, len: u64) -> Result {
        let at = self.at(offset, len)?;
        // SAFETY: The range lies in the mapping.
        unsafe { bindings::memset_io(at.cast(), 0, usize::try_from(len)?) };
        Ok(())
    }

    /// Makes earlier stores visible to the device before later ones to other BARs.
    pub(crate) fn flush(&self) {
        linux::write_barrier();
        // A locked instruction or a fence drains the write-combining buffers.
        core::sync::atomic::fence(core::sync::atomic::Ordering::SeqCst);
    }
}

impl Drop for Aperture {
    fn drop(&mut self) {
        // SAFETY: `base` was made by `ioremap_wc` and the region requested by `map`.
        unsafe {
            bindings::iounmap(self.base.cast());
            bindings::pci_release_region(raw(&self.pdev), self.bar);
        }
    }
}
