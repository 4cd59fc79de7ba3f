// SPDX-License-Identifier: GPL-2.0

//! DMA-bufs: memory behind a file descriptor, which drivers and programs hand each other.
//!
//! The kernel crate of 7.3 has no DMA-bufs but those of GEM objects.
//!
//! Those of ours are made of GEM objects, by the DRM core ([`super::drm`]).
//!
//! An [`Attachment`] is a device's access to a DMA-buf of somebody else. It doesn't follow moves:
//! such an importer makes an exporter that could move its memory pin it. The core's own way to import
//! keeps the attachment as long as the object; ours ends when the device is unbound.

use super::linux;
use core::ptr::NonNull;
use kernel::{
    bindings,
    device::{
        Bound,
        Device, //
    },
    error::from_err_ptr,
    page::PAGE_SIZE,
    prelude::*, //
};

/// A counted reference to a DMA-buf.
pub(crate) struct DmaBuf(NonNull<bindings::dma_buf>);

// SAFETY: DMA-bufs are counted files with locks of their own.
unsafe impl Send for DmaBuf {}
// SAFETY: As above.
unsafe impl Sync for DmaBuf {}

impl DmaBuf {
    /// # Errors
    ///
    /// ENOMEM for none.
    pub(super) fn from_raw(buf: *mut bindings::dma_buf) -> Result<Self> {
        Ok(Self(NonNull::new(buf).ok_or(ENOMEM)?))
    }

    /// One more reference.
    ///
    /// # Safety
    ///
    /// `buf` is counted.
    pub(super) unsafe fn counted(buf: *mut bindings::dma_buf) -> Self {
        // SAFETY: As the caller promises: it isn't null, and neither is its file.
        unsafe {
            bindings::get_file((*buf).file);
            Self(NonNull::new_unchecked(buf))
        }
    }

    pub(super) fn as_ptr(&self) -> *mut bindings::dma_buf {
        self.0.as_ptr()
    }

    /// The DMA-buf behind a descriptor of the caller's.
    ///
    /// # Errors
    ///
    /// EBADF when there is none, EINVAL when it is of something else.
    pub(crate) fn get(fd: u32) -> Result<Self> {
        // SAFETY: Any number may be asked for.
        // CAST: Descriptors beyond are negative, and there are none.
        let dmabuf = from_err_ptr(unsafe { bindings::dma_buf_get(fd as c_int) })?;
        Ok(Self(NonNull::new(dmabuf).ok_or(EINVAL)?))
    }

    /// Gives the caller a descriptor.
    ///
    /// # Errors
    ///
    /// EMFILE and the like when the caller can't have one more.
    pub(crate) fn fd(self, flags: u32) -> Result<u32> {
        // SAFETY: The reference is the descriptor's from here on, unless it fails.
        let fd = unsafe { bindings::dma_buf_fd(self.0.as_ptr(), flags as c_int) };
        let fd = u32::try_from(fd).map_err(|_| Error::from_errno(fd))?;
        core::mem::forget(self);
        Ok(fd)
    }

    /// Bytes.
    pub(crate) fn size(&self) -> usize {
        // SAFETY: Counted; the size never changes.
        unsafe { (*self.0.as_ptr()).size }
    }
}

impl Clone for DmaBuf {
    fn clone(&self) -> Self {
        // SAFETY: Counted by `self`.
        unsafe { Self::counted(self.as_ptr()) }
    }
}

impl Drop for DmaBuf {
    fn drop(&mut self) {
        // SAFETY: The reference is ours.
        unsafe { bindings::dma_buf_put(self.0.as_ptr()) };
    }
}

/// A device's access to a DMA-buf.
pub(crate) struct Attachment {
    buf: DmaBuf,
    attach: NonNull<bindings::dma_buf_attachment>,
    table: *mut bindings::sg_table,
    /// Of each page, in order.
    bus: KVVec<u64>,
}

// SAFETY: Attachments may be used and undone from any thread.
unsafe impl Send for Attachment {}
// SAFETY: As above.
unsafe impl Sync for Attachment {}

impl Attachment {
    /// Attaches a device for reading and writing.
    ///
    /// # Errors
    ///
    /// The exporter's error; EINVAL when the memory isn't whole pages.
    pub(crate) fn new(buf: DmaBuf, dev: &Device<Bound>) -> Result<Self> {
        let dev = core::ptr::from_ref(dev)
            .cast_mut()
            .cast::<bindings::device>();
        // SAFETY: The DMA-buf is counted; the device is bound, and the caller undoes this before
        // it isn't any more.
        let attach = from_err_ptr(unsafe { bindings::dma_buf_attach(buf.0.as_ptr(), dev) })?;
        // SAFETY: Attached above.
        let table = unsafe { bindings::dma_buf_map_attachment_unlocked(attach, linux::BOTH_WAYS) };
        let table = from_err_ptr(table).inspect_err(|_| {
            // SAFETY: Attached above, and not mapped.
            unsafe { bindings::dma_buf_detach(buf.0.as_ptr(), attach) }
        })?;
        // From here on `drop` undoes it.
        let mut this = Self {
            attach: NonNull::new(attach).ok_or(ENOMEM)?,
            table,
            bus: KVVec::new(),
            buf,
        };
        this.read_table()?;
        Ok(this)
    }

    fn read_table(&mut self) -> Result {
        const PAGE: u64 = PAGE_SIZE as u64;
        let pages = self.buf.size() / PAGE_SIZE;
        self.bus.reserve(pages, GFP_KERNEL_ACCOUNT | __GFP_NOWARN)?;
        // SAFETY: The table is valid until it is unmapped.
        let (mut entry, entries) = unsafe { ((*self.table).sgl, (*self.table).nents) };
        for _ in 0..entries {
            if entry.is_null() {
                return Err(EINVAL);
            }
            // SAFETY: One of the mapped entries.
            let (mut at, len) = unsafe {
                (
                    bindings::sg_dma_address(entry),
                    u64::from(bindings::sg_dma_len(entry)),
                )
            };
            if at % PAGE != 0 || len % PAGE != 0 {
                return Err(EINVAL);
            }
            for _ in 0..(len / PAGE) {
                if self.bus.len() < pages {
                    self.bus.push(at, GFP_KERNEL_ACCOUNT)?;
                }
                at = at.wrapping_add(PAGE);
            }
            // SAFETY: As above.
            entry = unsafe { bindings::sg_next(entry) };
        }
        if self.bus.len() < pages {
            return Err(EINVAL);
        }
        Ok(())
    }

    /// The bus address of each page, in order.
    pub(crate) fn bus(&self) -> &[u64] {
        &self.bus
    }
}

impl Drop for Attachment {
    fn drop(&mut self) {
        let attach = self.attach.as_ptr();
        // SAFETY: Attached and mapped by `new`.
        unsafe {
            bindings::dma_buf_unmap_attachment_unlocked(attach, self.table, linux::BOTH_WAYS);
            bindings::dma_buf_detach(self.buf.0.as_ptr(), attach);
        }
    }
}
