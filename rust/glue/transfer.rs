// SPDX-License-Identifier: GPL-2.0

//! What a debugger reads or writes of device memory that a program has mapped: PEEK, POKE, `/proc/PID/mem`.
//!
//! The kernel crate of 7.3 has no access to mappings.
//!
//! The memory manager asks after it has checked that the debugger may look at the program (ptrace). As upstream, the
//! area's own rights don't count: runtimes map what only the GPU uses without any, for debuggers. `process_vm_readv`
//! and `process_vm_writev` never ask (EFAULT): they pin pages, of which device memory has none.
//!
//! Source: Linux, `__access_remote_vm` in `mm/memory.c`, `ttm_bo_vm_access` in `ttm_bo_vm.c`.

use core::marker::PhantomData;
use kernel::{
    bindings,
    mm::virt::VmaRef,
    page::PAGE_SIZE,
    prelude::*, //
};

/// Bytes that a debugger reads or writes, in one page of an area.
pub(crate) struct Transfer<'a> {
    offset: u64,
    buf: *mut u8,
    len: usize,
    write: bool,
    _buf: PhantomData<&'a mut [u8]>,
}

impl Transfer<'_> {
    /// What is asked for, up to the end of the page of `addr`: the memory manager asks for the rest anew, so that nothing
    /// beyond the area is reached.
    ///
    /// # Errors
    ///
    /// EIO for no bytes, EFAULT for an address that isn't the area's.
    ///
    /// # Safety
    ///
    /// `vma` is an area that stays as it is for the lifetime, and `buf` has `len` bytes that are the caller's for
    /// it: to be stored, or with `write` to be loaded.
    unsafe fn from_raw(
        vma: *mut bindings::vm_area_struct,
        addr: usize,
        buf: *mut c_void,
        len: c_int,
        write: bool,
    ) -> Result<Self> {
        // SAFETY: The area is valid, and nobody changes it.
        let (area, first_page) = unsafe { (VmaRef::from_raw(vma), (*vma).vm_pgoff) };
        let len = usize::try_from(len).map_err(|_| EIO)?;
        if len == 0 {
            return Err(EIO);
        }
        if addr >= area.end() {
            return Err(EFAULT);
        }
        let within = addr.checked_sub(area.start()).ok_or(EFAULT)?;
        let offset = (first_page as u64).checked_mul(PAGE_SIZE as u64);
        let offset = offset.and_then(|first| first.checked_add(within as u64));
        // Areas are whole pages.
        let rest = PAGE_SIZE.saturating_sub(addr % PAGE_SIZE);
        Ok(Self {
            offset: offset.ok_or(EFAULT)?,
            buf: buf.cast(),
            len: len.min(rest),
            write,
            _buf: PhantomData,
        })
    }

    /// The file offset where it begins, in bytes.
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    /// Bytes; at least one.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Whether the debugger writes.
    pub(crate) fn is_write(&self) -> bool {
        self.write
    }

    /// As many bytes as there are, to be loaded or stored.
    pub(super) fn buf(&self) -> *mut u8 {
        self.buf
    }
}

/// Answers the memory manager: bytes, or an errno that it takes as none.
///
/// # Safety
///
/// The arguments are those of an area's `access`, and the mmap lock is held.
pub(super) unsafe fn answer(
    vma: *mut bindings::vm_area_struct,
    addr: c_ulong,
    buf: *mut c_void,
    len: c_int,
    write: c_int,
    transfer: impl FnOnce(&Transfer<'_>) -> Result,
) -> c_int {
    // SAFETY: The lock keeps the area as it is, and the buffer is the caller's.
    let asked = unsafe { Transfer::from_raw(vma, addr, buf, len, write != 0) };
    let done = asked.and_then(|asked| {
        transfer(&asked)?;
        // CAST: At most a page.
        Ok(asked.len as c_int)
    });
    done.unwrap_or_else(Error::to_errno)
}
