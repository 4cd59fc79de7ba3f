// SPDX-License-Identifier: GPL-2.0

//! A DRM device: made, registered so that programs can open it, unplugged.

use super::Driver;
use crate::glue::devcgroup::DeviceNumber;
use core::ptr::NonNull;
use kernel::{
    bindings,
    device,
    error::{
        from_err_ptr,
        to_result, //
    },
    prelude::*,
    sync::Arc, //
};

/// The device, and what its driver keeps with it.
#[repr(C)]
struct Whole<T> {
    // First, so that a pointer to it is one to the whole.
    drm: bindings::drm_device,
    driver: Arc<T>,
}

/// What the driver keeps with a device.
///
/// # Safety
///
/// `drm` was made by [`Device::new`] for a `T`, and lives for `'a`.
pub(super) unsafe fn driver_of<'a, T: Driver>(drm: *mut bindings::drm_device) -> &'a T {
    // SAFETY: As the caller promises; the field is written once, before anybody can open the device.
    unsafe { &(*drm.cast::<Whole<T>>()).driver }
}

pub(super) extern "C" fn release<T: Driver>(drm: *mut bindings::drm_device) {
    // SAFETY: The last reference went, and the core frees the memory afterwards. The callback is only
    // reached through a [`Device`], which is made after the field was written.
    unsafe { core::ptr::drop_in_place(&raw mut (*drm.cast::<Whole<T>>()).driver) };
}

/// A counted reference to a DRM device.
pub(crate) struct Device(NonNull<bindings::drm_device>);

// SAFETY: Counted, with locks of its own.
unsafe impl Send for Device {}
// SAFETY: As above.
unsafe impl Sync for Device {}

impl Device {
    /// Makes a device below `parent`, that nobody can open yet.
    ///
    /// # Errors
    ///
    /// ENOMEM, ENOSPC when all minors are taken.
    pub(crate) fn new<T: Driver>(parent: &device::Device, driver: Arc<T>) -> Result<Self> {
        let parent = core::ptr::from_ref(parent)
            .cast_mut()
            .cast::<bindings::device>();
        // SAFETY: `device::Device` is a transparent wrapper, and the core takes a reference. The table is a
        // static. The memory is as large as the whole, of which the device is the first field.
        let whole = from_err_ptr(unsafe {
            bindings::__drm_dev_alloc(
                parent,
                T::table().as_ptr(),
                core::mem::size_of::<Whole<T>>(),
                core::mem::offset_of!(Whole<T>, drm),
            )
        })?;
        let whole = NonNull::new(whole.cast::<Whole<T>>()).ok_or(ENOMEM)?;
        // SAFETY: Allocated above, and nobody else knows it.
        unsafe { (&raw mut (*whole.as_ptr()).driver).write(driver) };
        Ok(Self(whole.cast()))
    }

    pub(super) fn as_ptr(&self) -> *mut bindings::drm_device {
        self.0.as_ptr()
    }

    /// The number of its render node.
    pub(crate) fn render_node(&self) -> DeviceNumber {
        // SAFETY: The device is counted, and every device of ours has a render node from the start.
        let index = unsafe { (*(*self.as_ptr()).render).index };
        DeviceNumber {
            major: bindings::DRM_MAJOR,
            minor: index.unsigned_abs(),
        }
    }

    /// The address space that all its files share.
    pub(in crate::glue) fn mapping(&self) -> *mut bindings::address_space {
        // SAFETY: The device is counted, and keeps the inode.
        unsafe { (*(*self.as_ptr()).anon_inode).i_mapping }
    }

    /// Takes the pages out of every mapping of `len` bytes from `offset`; the next access faults.
    pub(crate) fn revoke(&self, offset: u64, len: u64) {
        // SAFETY: The address space lives as long as the device. The offset is taken as unsigned.
        unsafe { bindings::unmap_mapping_range(self.mapping(), offset as i64, len as i64, 1) };
    }

    /// Takes all pages out of every mapping.
    pub(crate) fn revoke_all(&self) {
        self.revoke(0, 0);
    }
}

impl Clone for Device {
    fn clone(&self) -> Self {
        // SAFETY: The device is counted by `self`.
        unsafe { bindings::drm_dev_get(self.as_ptr()) };
        Self(self.0)
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        // SAFETY: The reference is ours.
        unsafe { bindings::drm_dev_put(self.as_ptr()) };
    }
}

/// A device that programs can open; unplugged when dropped.
pub(crate) struct Registered(Device);

impl Registered {
    /// Makes the nodes, and tells udev of them.
    ///
    /// # Errors
    ///
    /// ENOMEM, EEXIST.
    pub(crate) fn new(device: Device) -> Result<Self> {
        // SAFETY: The device is counted, complete, and was never registered.
        to_result(unsafe { bindings::drm_dev_register(device.as_ptr(), 0) })?;
        Ok(Self(device))
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        // SAFETY: Registered by `new`. Afterwards nothing can be opened, and the core refuses requests of
        // files that are open.
        unsafe { bindings::drm_dev_unplug(self.0.as_ptr()) };
    }
}
