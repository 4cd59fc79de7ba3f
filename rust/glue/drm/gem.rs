// SPDX-License-Identifier: GPL-2.0

//! GEM objects: memory that files of a DRM device have handles to, and that goes out and comes in as
//! DMA-bufs, by the file `prime.rs`.
//!
//! What stands behind an object is a value of the driver's. Handles, names and DMA-bufs each hold the
//! object, which holds the device.

use super::{
    file::{
        file_of,
        Opened, //
    },
    Device,
    Driver, //
};
use crate::glue::{
    owned_pages::OwnedPages,
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
use core::{
    ops::Deref,
    ptr::NonNull, //
};
use kernel::{
    bindings,
    error::{
        from_result,
        to_result, //
    },
    prelude::*,
    sync::ArcBorrow, //
};

/// What stands behind a GEM object. All calls come from the context of a user process.
pub(crate) trait Object: Send + Sync + Sized + 'static {
    /// What an open file of the device holds.
    type File: Send + Sync + 'static;

    /// Its operations: `static OPS: Ops = Ops::new::<Render>();`. They tell the driver's objects from others.
    fn ops() -> &'static Ops;
    /// Those of a DMA-buf's mappings: `static VM_OPS: VmOps = drm::object_vm_ops::<Self>();`.
    fn vm_ops() -> &'static VmOps;
    /// A file has one more handle to it.
    fn opened(&self, file: ArcBorrow<'_, Self::File>) -> Result;
    /// A file has one handle less to it.
    fn closed(&self, file: ArcBorrow<'_, Self::File>);
    /// Whether it may go out as a DMA-buf.
    fn may_export(&self) -> Result;
    /// The pages, for another device to reach them by DMA.
    ///
    /// # Errors
    ///
    /// EINVAL for memory that isn't the system's: other devices have no way to it.
    fn pages(&self) -> Result<&OwnedPages>;
    /// Sets a new mapping of a DMA-buf up with [`Area::map`]. It lies within the object.
    fn mmap(&self, area: &Area<'_>) -> Result;
    /// Inserts the page that was touched in such a mapping.
    fn fault(&self, fault: &Fault<'_>) -> Result;
    /// Copies what a debugger reads or writes of such a mapping.
    fn access(&self, transfer: &Transfer<'_>) -> Result;
}

/// Operations of a kind of object.
pub(crate) struct Ops(pub(super) Table<bindings::drm_gem_object_funcs>);

impl Ops {
    pub(super) const fn as_ptr(&self) -> *const bindings::drm_gem_object_funcs {
        self.0.as_ptr()
    }
}

/// An object, what stands behind it, and the device that it needs until it is gone. Dropped in this order.
#[repr(C)]
struct Whole<O> {
    // First, so that a pointer to it is one to the whole.
    gem: bindings::drm_gem_object,
    behind: O,
    _device: Device,
}

/// A counted reference to a GEM object.
pub(crate) struct Gem<O: Object>(NonNull<Whole<O>>);

// SAFETY: Counted, with locks of its own; what stands behind it may be used by any thread.
unsafe impl<O: Object> Send for Gem<O> {}
// SAFETY: As above.
unsafe impl<O: Object> Sync for Gem<O> {}

impl<O: Object> Gem<O> {
    /// Makes an object of `size` bytes, whole pages.
    pub(crate) fn new(device: &Device, size: usize, behind: O) -> Result<Self> {
        let whole = KBox::new(
            Whole {
                gem: pin_init::zeroed(),
                behind,
                _device: device.clone(),
            },
            GFP_KERNEL_ACCOUNT,
        )?;
        let gem = Self(NonNull::from(KBox::leak(whole)));
        // SAFETY: Zeroed and ours, and stays where it is until it is freed; the whole keeps the device. The
        // table is a static.
        unsafe {
            bindings::drm_gem_private_object_init(device.as_ptr(), gem.as_ptr(), size);
            (*gem.as_ptr()).funcs = O::ops().as_ptr();
        }
        Ok(gem)
    }

    pub(super) fn as_ptr(&self) -> *mut bindings::drm_gem_object {
        self.0.as_ptr().cast()
    }

    /// The object, if it is one of this driver's.
    ///
    /// # Safety
    ///
    /// `gem` is counted, and the reference is given away.
    pub(super) unsafe fn from_raw(gem: *mut bindings::drm_gem_object) -> Option<Self> {
        let gem = NonNull::new(gem)?;
        // SAFETY: Counted; an object's operations never change.
        let funcs = unsafe { (*gem.as_ptr()).funcs };
        if core::ptr::eq(funcs, O::ops().as_ptr()) {
            return Some(Self(gem.cast()));
        }
        // SAFETY: The reference is ours.
        unsafe { put(gem.as_ptr()) };
        None
    }

    /// The pointer with its reference.
    pub(super) fn into_raw(self) -> *mut bindings::drm_gem_object {
        let gem = self.as_ptr();
        core::mem::forget(self);
        gem
    }

    /// The object that a handle of the file names.
    ///
    /// # Errors
    ///
    /// ENOENT when there is none.
    pub(crate) fn lookup<T: Driver<Object = O>>(file: Opened<'_, T>, handle: u32) -> Result<Self> {
        // SAFETY: The file is open. The reference that the call gives is passed on.
        unsafe { Self::from_raw(bindings::drm_gem_object_lookup(file.as_ptr(), handle)) }
            .ok_or(ENOENT)
    }

    /// Gives a file one more handle.
    pub(crate) fn handle<T: Driver<Object = O>>(&self, file: Opened<'_, T>) -> Result<u32> {
        let mut handle = 0;
        // SAFETY: File and object are counted, and the object is of this driver.
        to_result(unsafe {
            bindings::drm_gem_handle_create(file.as_ptr(), self.as_ptr(), &mut handle)
        })?;
        Ok(handle)
    }
}

impl<O: Object> Deref for Gem<O> {
    type Target = O;

    fn deref(&self) -> &O {
        // SAFETY: The object is counted by `self`.
        unsafe { &self.0.as_ref().behind }
    }
}

impl<O: Object> Clone for Gem<O> {
    fn clone(&self) -> Self {
        // SAFETY: The object is counted by `self` (`drm_gem_object_get`).
        unsafe { bindings::refcount_inc(&raw mut (*self.as_ptr()).refcount.refcount) };
        Self(self.0)
    }
}

impl<O: Object> Drop for Gem<O> {
    fn drop(&mut self) {
        // SAFETY: The reference is ours.
        unsafe { put(self.as_ptr()) };
    }
}

/// # Safety
///
/// The reference to `gem` is given up.
unsafe fn put(gem: *mut bindings::drm_gem_object) {
    // SAFETY: As the caller promises; the last reference frees it (`drm_gem_object_put`).
    unsafe {
        let count = &raw mut (*gem).refcount;
        if bindings::refcount_dec_and_test(&raw mut (*count).refcount) {
            bindings::drm_gem_object_free(count);
        }
    }
}

/// # Safety
///
/// `gem` is an object with `O`'s operations that lives for `'a`.
pub(super) unsafe fn behind<'a, O: Object>(gem: *mut bindings::drm_gem_object) -> &'a O {
    // SAFETY: Objects with these operations were made by [`Gem::new`].
    unsafe { &(*gem.cast::<Whole<O>>()).behind }
}

pub(super) extern "C" fn free<O: Object>(gem: *mut bindings::drm_gem_object) {
    // SAFETY: The last reference went; `Gem::new` made it from a box.
    unsafe {
        bindings::drm_gem_object_release(gem);
        drop(KBox::from_raw(gem.cast::<Whole<O>>()));
    }
}

pub(super) extern "C" fn open<O: Object>(
    gem: *mut bindings::drm_gem_object,
    file: *mut bindings::drm_file,
) -> c_int {
    from_result(|| {
        // SAFETY: The core holds object and file, and the file's device is that of the object.
        unsafe { behind::<O>(gem).opened(file_of(file))? };
        Ok(0)
    })
}

pub(super) extern "C" fn close<O: Object>(
    gem: *mut bindings::drm_gem_object,
    file: *mut bindings::drm_file,
) {
    // SAFETY: As in `open`. The file's part is dropped after the last handle.
    unsafe { behind::<O>(gem).closed(file_of(file)) };
}

pub(super) extern "C" fn mmap<O: Object>(
    gem: *mut bindings::drm_gem_object,
    vma: *mut bindings::vm_area_struct,
) -> c_int {
    from_result(|| {
        // SAFETY: The area is being set up by the core, who holds the mmap lock for writing, and holds
        // the object for the area.
        let (area, behind) = unsafe { (Area::from_raw(vma, O::vm_ops()), behind::<O>(gem)) };
        behind.mmap(&area)?;
        Ok(0)
    })
}

/// The operations of a DMA-buf's mappings, each of which holds its object.
pub(crate) const fn object_vm_ops<O: Object>() -> VmOps {
    VmOps::of(fault::<O>)
        .counted(bindings::drm_gem_vm_open, bindings::drm_gem_vm_close)
        .accessed(access::<O>)
}

/// # Safety
///
/// `vma` is an area that `mmap` set up, and stays for `'a`.
unsafe fn mapped<'a, O: Object>(vma: *mut bindings::vm_area_struct) -> &'a O {
    // SAFETY: The core stored the object in the area, which holds it.
    unsafe { behind::<O>((*vma).vm_private_data.cast()) }
}

extern "C" fn fault<O: Object>(vmf: *mut bindings::vm_fault) -> bindings::vm_fault_t {
    // SAFETY: The memory manager passes a fault of an area that `mmap` set up, which is locked during
    // the call.
    let (fault, behind) = unsafe {
        let vma = (*vmf).__bindgen_anon_1.vma;
        (Fault::from_raw(vmf), mapped::<O>(vma))
    };
    outcome(&fault, behind.fault(&fault))
}

extern "C" fn access<O: Object>(
    vma: *mut bindings::vm_area_struct,
    addr: c_ulong,
    buf: *mut c_void,
    len: c_int,
    write: c_int,
) -> c_int {
    // SAFETY: The memory manager passes an area that `mmap` set up, with the mmap lock held, and a buffer
    // of its own.
    unsafe {
        let behind = mapped::<O>(vma);
        transfer::answer(vma, addr, buf, len, write, |asked: &Transfer<'_>| {
            behind.access(asked)
        })
    }
}
