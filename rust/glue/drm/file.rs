// SPDX-License-Identifier: GPL-2.0

//! Open files of a DRM device. The core opens and closes them; what the driver keeps for each is an
//! `Arc` in the core's `drm_file`.

use super::{
    device::driver_of,
    Driver, //
};
use crate::glue::{
    linux,
    table::Table,
    transfer::{
        self,
        Transfer, //
    },
    vma::{
        outcome,
        Area,
        Fault,
        VmOps, //
    }, //
};
use core::marker::PhantomData;
use kernel::{
    bindings,
    error::from_result,
    fs::LocalFile,
    prelude::*,
    sync::{
        Arc,
        ArcBorrow, //
    },
    types::ForeignOwnable, //
};

extern "C" {
    /// Not in `bindings`: <drm/drm_auth.h>. Takes a `struct drm_file`.
    fn drm_is_current_master(file: *mut c_void) -> bool;
}

/// File operations of a driver.
pub(crate) struct Fops(Table<bindings::file_operations>);

impl Fops {
    /// The core's, but for mappings.
    pub(crate) const fn new<T: Driver>() -> Self {
        Self(Table(bindings::file_operations {
            owner: linux::this(),
            fop_flags: bindings::FOP_UNSIGNED_OFFSET,
            open: Some(bindings::drm_open),
            release: Some(bindings::drm_release),
            unlocked_ioctl: Some(bindings::drm_ioctl),
            compat_ioctl: COMPAT_IOCTL,
            poll: Some(bindings::drm_poll),
            read: Some(bindings::drm_read),
            llseek: Some(bindings::noop_llseek),
            mmap: Some(mmap::<T>),
            show_fdinfo: Some(bindings::drm_show_fdinfo),
            ..pin_init::zeroed()
        }))
    }

    pub(super) const fn as_ptr(&self) -> *const bindings::file_operations {
        self.0.as_ptr()
    }
}

type CompatIoctl = unsafe extern "C" fn(*mut bindings::file, c_uint, c_ulong) -> c_long;

/// How requests of 32-bit programs come in.
#[cfg(CONFIG_COMPAT)]
const COMPAT_IOCTL: Option<CompatIoctl> = Some(bindings::drm_compat_ioctl);
/// There are no 32-bit programs.
#[cfg(not(CONFIG_COMPAT))]
const COMPAT_IOCTL: Option<CompatIoctl> = None;

/// A file that makes a request.
pub(crate) struct Opened<'a, T> {
    file: *mut bindings::drm_file,
    _open: PhantomData<&'a T>,
}

impl<T> Clone for Opened<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Opened<'_, T> {}

impl<'a, T: Driver> Opened<'a, T> {
    /// # Safety
    ///
    /// `file` is an open file of a `T` that stays open for `'a`.
    pub(super) unsafe fn from_raw(file: *mut bindings::drm_file) -> Self {
        Self {
            file,
            _open: PhantomData,
        }
    }

    pub(super) fn as_ptr(self) -> *mut bindings::drm_file {
        self.file
    }

    /// What the file holds.
    pub(crate) fn file(self) -> ArcBorrow<'a, T::File> {
        // SAFETY: As `from_raw` was promised.
        unsafe { file_of::<T::File>(self.file) }
    }

    /// Whether it is the master of a screen: what opened the primary node first, or was made so.
    pub(crate) fn is_master(self) -> bool {
        // SAFETY: The file is open.
        unsafe { drm_is_current_master(self.file.cast()) }
    }

    /// What the driver keeps with its device.
    pub(crate) fn driver(self) -> &'a T {
        // SAFETY: An open file holds its device.
        unsafe { driver_of::<T>((*(*self.file).minor).dev) }
    }
}

/// The object behind a file, if the file is one of `T`'s.
pub(crate) fn borrow<T: Driver>(file: &LocalFile) -> Option<ArcBorrow<'_, T::File>> {
    // SAFETY: The file is counted; its operations don't change once it is open.
    let fops = unsafe { (*file.as_ptr()).f_op };
    if !core::ptr::eq(fops, T::fops().as_ptr()) {
        return None;
    }
    // SAFETY: Files with these operations were opened by the core for a `T`, and the reference keeps it
    // open.
    Some(unsafe { file_of::<T::File>((*file.as_ptr()).private_data.cast()) })
}

/// # Safety
///
/// `file` is an open file of a driver with files `F` that stays open for `'a`.
pub(super) unsafe fn file_of<'a, F: 'static>(file: *mut bindings::drm_file) -> ArcBorrow<'a, F> {
    // SAFETY: `open` stored the pointer of an `Arc`, which only `postclose` takes back.
    unsafe { <Arc<F> as ForeignOwnable>::borrow((*file).driver_priv) }
}

pub(super) extern "C" fn open<T: Driver>(
    drm: *mut bindings::drm_device,
    file: *mut bindings::drm_file,
) -> c_int {
    from_result(|| {
        // SAFETY: The core passes a device of this driver, which the file that is opened holds.
        let opened = unsafe { driver_of::<T>(drm) }.open()?;
        // SAFETY: The file is being opened: nobody else sees it.
        unsafe { (*file).driver_priv = opened.into_foreign() };
        Ok(0)
    })
}

pub(super) extern "C" fn postclose<T: Driver>(
    _drm: *mut bindings::drm_device,
    file: *mut bindings::drm_file,
) {
    // SAFETY: `open` succeeded, and the last reference to the file went, so nobody borrows from it.
    drop(unsafe { <Arc<T::File> as ForeignOwnable>::from_foreign((*file).driver_priv) });
}

extern "C" fn mmap<T: Driver>(
    file: *mut bindings::file,
    vma: *mut bindings::vm_area_struct,
) -> c_int {
    from_result(|| {
        // SAFETY: The area is being set up by the caller, who holds the mmap lock for writing.
        let area = unsafe { Area::from_raw(vma, T::vm_ops()) };
        // SAFETY: The VFS holds the file, which is one of a `T`, during the call.
        let file = unsafe { file_of::<T::File>((*file).private_data.cast()) };
        T::mmap(file, &area)?;
        Ok(0)
    })
}

/// The operations of a driver's mappings.
pub(crate) const fn vm_ops<T: Driver>() -> VmOps {
    VmOps::of(fault::<T>).accessed(access::<T>)
}

/// # Safety
///
/// `vma` is an area that `mmap` set up, and stays for `'a`.
unsafe fn mapped<'a, T: Driver>(vma: *mut bindings::vm_area_struct) -> ArcBorrow<'a, T::File> {
    // SAFETY: The area holds its file, which is one of a `T`.
    unsafe { file_of::<T::File>((*(*vma).vm_file).private_data.cast()) }
}

/// The fault handler of a driver's mappings.
extern "C" fn fault<T: Driver>(vmf: *mut bindings::vm_fault) -> bindings::vm_fault_t {
    // SAFETY: The memory manager passes a fault of an area that `mmap` set up, which is locked during
    // the call.
    let (fault, file) = unsafe {
        let vma = (*vmf).__bindgen_anon_1.vma;
        (Fault::from_raw(vmf), mapped::<T>(vma))
    };
    outcome(&fault, T::fault(file, &fault))
}

/// A debugger's way to a driver's mappings.
extern "C" fn access<T: Driver>(
    vma: *mut bindings::vm_area_struct,
    addr: c_ulong,
    buf: *mut c_void,
    len: c_int,
    write: c_int,
) -> c_int {
    // SAFETY: The memory manager passes an area that `mmap` set up, with the mmap lock held, and a buffer
    // of its own.
    unsafe {
        let file = mapped::<T>(vma);
        transfer::answer(vma, addr, buf, len, write, |asked: &Transfer<'_>| {
            T::access(file, asked)
        })
    }
}
