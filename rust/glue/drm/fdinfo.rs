// SPDX-License-Identifier: GPL-2.0

//! What a driver tells of an open file in `/proc/PID/fdinfo/FD` (`drm_show_fdinfo`).
//!
//! Format: Linux, `Documentation/gpu/drm-usage-stats.rst`. Names, the client's number and the PCI address are the
//! core's to print.

use super::{
    file::Opened,
    gem::{
        behind,
        Object, //
    },
    Driver, //
};
use crate::glue::user;
use core::marker::PhantomData;
use kernel::{
    bindings,
    prelude::*, //
};

extern "C" {
    /// Not in `bindings`: <drm/drm_print.h>. Takes a `struct drm_printer`.
    fn drm_printf(printer: *mut c_void, format: *const c_char, ...);
}

/// Bytes of memory of a kind that a file has.
#[derive(Clone, Copy, Default)]
pub(crate) struct MemoryStats {
    /// Of objects that others have too.
    pub(crate) shared: u64,
    /// Of objects that nobody else has.
    pub(crate) private: u64,
    /// What of both lies there.
    pub(crate) resident: u64,
    /// What of that may be thrown away.
    pub(crate) purgeable: u64,
}

/// Where the lines go.
pub(crate) struct Printer<'a> {
    printer: *mut bindings::drm_printer,
    _call: PhantomData<&'a ()>,
}

impl Printer<'_> {
    /// Prints a number. `key` ends with a colon.
    pub(crate) fn number(&self, key: &CStr, value: u64) {
        // SAFETY: The printer is valid during the call that passed it, and the arguments are those of the format.
        unsafe {
            drm_printf(
                self.printer.cast(),
                c"%s\t%llu\n".as_char_ptr(),
                key.as_char_ptr(),
                value,
            )
        };
    }

    /// Prints a size in KiB. `key` ends with a colon.
    pub(crate) fn kib(&self, key: &CStr, bytes: u64) {
        // SAFETY: As in `number`.
        unsafe {
            drm_printf(
                self.printer.cast(),
                c"%s\t%llu KiB\n".as_char_ptr(),
                key.as_char_ptr(),
                bytes / 1024,
            )
        };
    }

    /// Prints the lines of a kind of memory.
    pub(crate) fn memory(&self, kind: &CStr, stats: &MemoryStats) {
        let stats = bindings::drm_memory_stats {
            shared: stats.shared,
            private: stats.private,
            resident: stats.resident,
            purgeable: stats.purgeable,
            active: 0,
        };
        let known = bindings::drm_gem_object_status_DRM_GEM_OBJECT_RESIDENT
            | bindings::drm_gem_object_status_DRM_GEM_OBJECT_PURGEABLE;
        // SAFETY: The printer is valid during the call that passed it, and the core only reads the others.
        unsafe {
            bindings::drm_print_memory_stats(self.printer, &stats, known, kind.as_char_ptr())
        };
    }
}

impl<T: Driver> Opened<'_, T> {
    /// Calls `look` for each handle of the file, with its number, its object, and whether others have the object too
    /// (`drm_gem_object_is_shared_for_memory_stats`). `look` must not sleep. Handles that come or go meanwhile may be
    /// missed, and all that are left are when the caller is killed.
    pub(crate) fn each_object(self, mut look: impl FnMut(u32, &T::Object, bool)) {
        let file = self.as_ptr();
        let mut next: c_int = 0;
        loop {
            // SAFETY: The file is open. Under its lock, its table is as it is, and a handle in it counts its object,
            // which is one of this driver's if it has its operations.
            let found = unsafe {
                bindings::spin_lock(&raw mut (*file).table_lock);
                let gem = bindings::idr_get_next(&raw mut (*file).object_idr, &mut next)
                    .cast::<bindings::drm_gem_object>();
                if !gem.is_null() && core::ptr::eq((*gem).funcs, T::Object::ops().as_ptr()) {
                    let shared = (*gem).handle_count > 1 || !(*gem).dma_buf.is_null();
                    look(next.unsigned_abs(), behind::<T::Object>(gem), shared);
                }
                bindings::spin_unlock(&raw mut (*file).table_lock);
                !gem.is_null()
            };
            match next.checked_add(1) {
                Some(number) if found && !user::is_killed() => next = number,
                _ => break,
            }
        }
    }
}

pub(super) extern "C" fn show<T: Driver>(
    printer: *mut bindings::drm_printer,
    file: *mut bindings::drm_file,
) {
    let printer = Printer {
        printer,
        _call: PhantomData,
    };
    // SAFETY: The core holds the open file of this driver during the call.
    T::show(unsafe { Opened::from_raw(file) }, &printer);
}
