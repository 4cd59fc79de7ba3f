// SPDX-License-Identifier: GPL-2.0

//! Synchronisation objects of a file, which the DRM core keeps: waiting for what one has, and telling by one that
//! something is done.

use super::{
    file::Opened,
    Driver, //
};
use core::ptr::NonNull;
use kernel::{
    error::to_result,
    prelude::*, //
};

extern "C" {
    /// <drm/drm_syncobj.h>, of `drm.ko`. Takes a `struct drm_file`; gives a counted `struct drm_syncobj`.
    fn drm_syncobj_find(file: *mut c_void, handle: u32) -> *mut c_void;
    // Of `syncobj.c`.
    fn rkfd_syncobj_wait(file: *mut c_void, handle: u32) -> c_int;
    fn rkfd_syncobj_point() -> *mut c_void;
    fn rkfd_syncobj_forget(syncobj: *mut c_void, point: *mut c_void);
    fn rkfd_syncobj_reach(syncobj: *mut c_void, point: *mut c_void, number: u64);
}

/// What is to be told of by an object: counted, with the memory that this takes.
pub(crate) struct Notice {
    syncobj: NonNull<c_void>,
    /// Memory for a point, or null when the object has no time line.
    point: *mut c_void,
    number: u64,
}

impl Notice {
    /// Tells that it is done.
    pub(crate) fn done(mut self) {
        let point = core::mem::replace(&mut self.point, core::ptr::null_mut());
        // SAFETY: The object is counted; it takes the memory, which is ours.
        unsafe { rkfd_syncobj_reach(self.syncobj.as_ptr(), point, self.number) };
    }
}

impl Drop for Notice {
    fn drop(&mut self) {
        // SAFETY: The reference is ours, and so is the memory, if any is left.
        unsafe { rkfd_syncobj_forget(self.syncobj.as_ptr(), self.point) };
    }
}

impl<T: Driver> Opened<'_, T> {
    /// Waits for the fence that an object of the file has.
    ///
    /// # Errors
    ///
    /// ENOENT without an object, EINVAL without a fence, and what ends an interrupted system call.
    pub(crate) fn wait_for(self, handle: u32) -> Result {
        // SAFETY: The file is open.
        to_result(unsafe { rkfd_syncobj_wait(self.as_ptr().cast(), handle) })
    }

    /// Prepares to tell by an object of the file that something is done: by a point of its time line or, if that is 0,
    /// by a fence in place of the one that it has.
    ///
    /// # Errors
    ///
    /// ENOENT without an object, ENOMEM.
    pub(crate) fn notice(self, handle: u32, number: u64) -> Result<Notice> {
        // SAFETY: The file is open.
        let syncobj = unsafe { drm_syncobj_find(self.as_ptr().cast(), handle) };
        let mut notice = Notice {
            syncobj: NonNull::new(syncobj).ok_or(ENOENT)?,
            point: core::ptr::null_mut(),
            number,
        };
        if number != 0 {
            // SAFETY: Needs nothing.
            notice.point = unsafe { rkfd_syncobj_point() };
            if notice.point.is_null() {
                return Err(ENOMEM);
            }
        }
        Ok(notice)
    }
}
