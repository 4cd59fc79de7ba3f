// SPDX-License-Identifier: GPL-2.0

//! A file of a program's into which the kernel writes a byte when something happened.
//!
//! The kernel crate of 7.3 can't write to files, and the kernel's own `kernel_write` waits where a pipe is
//! full. What writes here never waits for room: whoever left a pipe full of such bytes knows already.

use core::{
    mem::MaybeUninit,
    ptr::NonNull, //
};
use kernel::{
    bindings,
    prelude::*, //
};

/// `FMODE_WRITE`: it is open for writing.
const WRITE: u32 = 1 << 1;
/// `FMODE_NOWAIT`: it can be written to without waiting.
const NOWAIT: u32 = 1 << 27;
/// `IOCB_NOWAIT`, which is `RWF_NOWAIT`.
const IOCB_NOWAIT: c_int = 8;

/// The file, counted.
pub(crate) struct EventFile(NonNull<bindings::file>);

// SAFETY: Files are counted and may be written to from any thread.
unsafe impl Send for EventFile {}
// SAFETY: As above.
unsafe impl Sync for EventFile {}

impl EventFile {
    /// The file that the caller has by this descriptor.
    ///
    /// # Errors
    ///
    /// EBADF when there is none.
    pub(crate) fn of(descriptor: u32) -> Result<Self> {
        // SAFETY: Any number may be asked for; the result is null or counted for us.
        let file = unsafe { bindings::fget(descriptor) };
        Ok(Self(NonNull::new(file).ok_or(EBADF)?))
    }

    /// Writes a dot into a pipe or a socket, if there is room. Other files can make a writer wait, and get
    /// none.
    pub(crate) fn ring(&self) {
        let file = self.0.as_ptr();
        // SAFETY: The file is counted; its mode and inode never change.
        let (mode, kind) = unsafe { ((*file).f_mode, (*(*file).f_inode).i_mode) };
        let is_regular = u32::from(kind) & bindings::S_IFMT == bindings::S_IFREG;
        if mode & (WRITE | NOWAIT) != WRITE | NOWAIT || is_regular {
            return;
        }
        let mut byte = *b".";
        let part = bindings::kvec {
            iov_base: byte.as_mut_ptr().cast(),
            iov_len: byte.len(),
        };
        let mut control = bindings::kiocb {
            ki_filp: file,
            ki_flags: IOCB_NOWAIT,
            ..pin_init::zeroed()
        };
        let mut from = MaybeUninit::<bindings::iov_iter>::uninit();
        let iter = from.as_mut_ptr();
        // SAFETY: The first call initialises the iterator. The request is a synchronous one, which ends with the
        // call, and all that it refers to lives until then. What it returns is of no use: a full pipe has been rung.
        unsafe {
            bindings::iov_iter_kvec(iter, bindings::ITER_SOURCE, &part, 1, part.iov_len);
            bindings::vfs_iocb_iter_write(file, &mut control, iter);
        }
    }
}

impl Drop for EventFile {
    fn drop(&mut self) {
        // SAFETY: `of` counted it.
        unsafe { bindings::fput(self.0.as_ptr()) };
    }
}
