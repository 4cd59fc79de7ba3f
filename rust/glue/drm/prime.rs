// SPDX-License-Identifier: GPL-2.0

//! GEM objects as DMA-bufs, and back (PRIME): the core's, with a table by which ours are known, on
//! whatever GPU they are.
//!
//! The core runs an import with a lock of the device held, as with every driver: an exporter that is
//! slow to attach keeps others from importing meanwhile.

use super::{
    device::driver_of,
    gem::{
        self,
        behind,
        Gem,
        Object,
        Ops, //
    },
    Driver, //
};
use crate::glue::{
    dma_buf::DmaBuf,
    linux,
    table::Table, //
};
use kernel::{
    bindings,
    error::from_err_ptr,
    prelude::*, //
};

static DMA_BUF_OPS: Table<bindings::dma_buf_ops> = {
    let mut ops: bindings::dma_buf_ops = pin_init::zeroed();
    ops.attach = Some(bindings::drm_gem_map_attach);
    ops.detach = Some(bindings::drm_gem_map_detach);
    ops.map_dma_buf = Some(bindings::drm_gem_map_dma_buf);
    ops.unmap_dma_buf = Some(bindings::drm_gem_unmap_dma_buf);
    ops.release = Some(bindings::drm_gem_dmabuf_release);
    ops.mmap = Some(bindings::drm_gem_dmabuf_mmap);
    Table(ops)
};

impl Ops {
    /// The table of what stands behind the objects of a driver.
    pub(crate) const fn new<O: Object>() -> Self {
        let mut funcs: bindings::drm_gem_object_funcs = pin_init::zeroed();
        funcs.free = Some(gem::free::<O>);
        funcs.open = Some(gem::open::<O>);
        funcs.close = Some(gem::close::<O>);
        funcs.export = Some(export::<O>);
        funcs.get_sg_table = Some(sg_table::<O>);
        funcs.mmap = Some(gem::mmap::<O>);
        Self(Table(funcs))
    }
}

/// As `ERR_PTR`.
fn error<T>(e: Error) -> *mut T {
    e.to_errno() as isize as *mut T
}

/// # Safety
///
/// `gem` is counted, and has `O`'s operations.
unsafe fn make_raw<O: Object>(
    gem: *mut bindings::drm_gem_object,
    flags: u32,
) -> Result<*mut bindings::dma_buf> {
    // SAFETY: As the caller promises.
    unsafe { behind::<O>(gem) }.may_export()?;
    // SAFETY: The object is counted, its device and reservation are valid as long.
    unsafe {
        let mut info = bindings::dma_buf_export_info {
            exp_name: c"rkfd".as_char_ptr(),
            owner: linux::this(),
            ops: DMA_BUF_OPS.as_ptr(),
            size: (*gem).size,
            // CAST: The bits of open.
            flags: flags as c_int,
            resv: (*gem).resv,
            priv_: gem.cast(),
        };
        from_err_ptr(bindings::drm_gem_dmabuf_export((*gem).dev, &mut info))
    }
}

extern "C" fn export<O: Object>(
    gem: *mut bindings::drm_gem_object,
    flags: c_int,
) -> *mut bindings::dma_buf {
    // SAFETY: The core holds the object.
    // CAST: The bits of open.
    unsafe { make_raw::<O>(gem, flags as u32) }.unwrap_or_else(error)
}

/// The pages as a table, which the core maps for the device that attached.
extern "C" fn sg_table<O: Object>(gem: *mut bindings::drm_gem_object) -> *mut bindings::sg_table {
    let table = || {
        // SAFETY: The core holds the object.
        let pages = unsafe { behind::<O>(gem) }.pages()?.iter();
        let mut raw = KVVec::with_capacity(pages.len(), GFP_KERNEL_ACCOUNT | __GFP_NOWARN)?;
        for page in pages {
            raw.push(page.as_ptr(), GFP_KERNEL_ACCOUNT)?;
        }
        let count = u32::try_from(raw.len())?;
        // SAFETY: There are `count` pointers to pages.
        let table = unsafe { bindings::drm_prime_pages_to_sg((*gem).dev, raw.as_mut_ptr(), count) };
        from_err_ptr(table)
    };
    table().unwrap_or_else(error)
}

impl<O: Object> Gem<O> {
    /// The object as a new DMA-buf, which holds object, device and module.
    pub(crate) fn export(&self, writable: bool) -> Result<DmaBuf> {
        let flags = if writable { bindings::O_RDWR } else { 0 };
        // SAFETY: The object is counted.
        unsafe { make_raw::<O>(self.as_ptr(), flags) }.and_then(DmaBuf::from_raw)
    }

    /// What stands behind a DMA-buf, if it is an object of this driver.
    pub(crate) fn of_dma_buf(buf: &DmaBuf) -> Option<Self> {
        // SAFETY: Counted; the operations never change. A DMA-buf with these holds an object.
        unsafe {
            let buf = buf.as_ptr();
            if !core::ptr::eq((*buf).ops, DMA_BUF_OPS.as_ptr()) {
                return None;
            }
            let gem = (*buf).priv_.cast::<bindings::drm_gem_object>();
            bindings::refcount_inc(&raw mut (*gem).refcount.refcount);
            Self::from_raw(gem)
        }
    }
}

/// A file of the device takes a DMA-buf that the core knows no object of.
pub(super) extern "C" fn import<T: Driver>(
    drm: *mut bindings::drm_device,
    buf: *mut bindings::dma_buf,
) -> *mut bindings::drm_gem_object {
    // SAFETY: The core holds device and DMA-buf.
    let (driver, buf) = unsafe {
        let driver = driver_of::<T>(drm);
        (driver, DmaBuf::counted(buf))
    };
    let own = Gem::<T::Object>::of_dma_buf(&buf);
    // SAFETY: The object is counted.
    let own = own.filter(|gem| unsafe { (*gem.as_ptr()).dev } == drm);
    match own.map_or_else(|| driver.import(buf), Ok) {
        Ok(gem) => gem.into_raw(),
        Err(e) => error(e),
    }
}
