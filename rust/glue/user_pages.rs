// SPDX-License-Identifier: GPL-2.0

//! Pages of a program's own memory, pinned so that a device may read and write them.
//!
//! The kernel crate of 7.3 has no pinned user pages.
//!
//! The pins aren't of the long-term kind: whoever has them watches the range (`glue::interval`) and
//! gives them back when it changes. So pages of files can be pinned, as upstream's user pointers
//! can point at them.

use core::ptr::NonNull;
use kernel::{
    bindings,
    mm::{
        virt::flags,
        MmWithUser, //
    },
    page::{
        BorrowedPage,
        Page,
        PAGE_SIZE, //
    },
    prelude::*, //
};

/// Pages that are pinned at once. Their addresses are on the stack, of which this is a sixteenth.
const CHUNK: usize = 128;

/// Pinned pages, in order. Dropped, they are let go; writable ones are marked dirty before.
pub(crate) struct UserPages {
    pages: KVVec<BorrowedPage<'static>>,
    writable: bool,
}

// SAFETY: A pinned page is unpinned from any thread, and pages have their own locks.
unsafe impl Send for UserPages {}
// SAFETY: As above.
unsafe impl Sync for UserPages {}

impl UserPages {
    /// Pins `count` pages from the page of `start` on, to be written if `writable`. Takes the mmap lock.
    ///
    /// # Errors
    ///
    /// EFAULT where nothing is mapped, or something that isn't memory; EPERM where it is read-only and
    /// was to be writable; ENOMEM; EINTR and the like when the program is being killed.
    pub(crate) fn pin(mm: &MmWithUser, start: usize, count: usize, writable: bool) -> Result<Self> {
        let start = start & !(PAGE_SIZE - 1);
        let mut this = Self {
            pages: KVVec::with_capacity(count, GFP_KERNEL_ACCOUNT | __GFP_NOWARN)?,
            writable,
        };
        let how = if writable { bindings::FOLL_WRITE } else { 0 };
        let current = kernel::current!();
        let own = current
            .mm()
            .is_some_and(|own| core::ptr::eq(own.as_raw(), mm.as_raw()));
        while this.pages.len() < count {
            let mut chunk = [core::ptr::null_mut(); CHUNK];
            let want = count.saturating_sub(this.pages.len()).min(CHUNK);
            let at = (this.pages.len().checked_mul(PAGE_SIZE))
                .and_then(|done| start.checked_add(done))
                .ok_or(EFAULT)?;
            let pinned = if own {
                // SAFETY: There is room for `want` pointers.
                let n = unsafe {
                    // CAST: At most a chunk.
                    bindings::pin_user_pages_fast(at, want as c_int, how, chunk.as_mut_ptr())
                };
                n as isize
            } else {
                let guard = mm.mmap_read_lock();
                // SAFETY: As above; the mmap lock is held, and stays held, as there is no place (a null
                // `locked`) to report that it was dropped.
                let n = unsafe {
                    bindings::pin_user_pages_remote(
                        mm.as_raw(),
                        at,
                        want,
                        how,
                        chunk.as_mut_ptr(),
                        core::ptr::null_mut(),
                    )
                };
                drop(guard);
                n as isize
            };
            if pinned <= 0 {
                // CAST: An errno.
                let error = Error::from_errno((pinned as c_int).min(0));
                return Err(if pinned == 0 || error == EFAULT {
                    why(mm, at)
                } else {
                    error
                });
            }
            for page in chunk.iter().take(pinned.unsigned_abs()) {
                let page = NonNull::new(*page).ok_or(EFAULT)?;
                // SAFETY: The pin keeps the page until `drop`.
                let page = unsafe { BorrowedPage::from_raw(page) };
                // There is room for all.
                let _ = this.pages.push_within_capacity(page);
            }
        }
        Ok(this)
    }

    /// Whether they were pinned to be written.
    pub(crate) fn are_writable(&self) -> bool {
        self.writable
    }

    /// The page with this number.
    pub(crate) fn get(&self, index: usize) -> Option<&Page> {
        Some(self.pages.get(index)?)
    }

    /// The pages.
    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = &Page> {
        self.pages.iter().map(|page| &**page)
    }
}

/// Whether a range is one mapping of anonymous memory (`amdgpu_ttm_tt_get_user_pages`).
///
/// # Errors
///
/// EFAULT where nothing is mapped at its start; EPERM when a file is, or the mapping ends before the range.
pub(crate) fn check_anonymous(mm: &MmWithUser, start: usize, len: usize) -> Result {
    let guard = mm.mmap_read_lock();
    let vma = guard.vma_lookup(start).ok_or(EFAULT)?;
    // SAFETY: The area is valid while the mmap lock is held.
    let of_file = unsafe { !(*vma.as_ptr()).vm_file.is_null() };
    let ends_before = start.checked_add(len).is_none_or(|end| vma.end() < end);
    match of_file || ends_before {
        true => Err(EPERM),
        false => Ok(()),
    }
}

/// The error of `hmm_range_fault` for an address that can't be written.
fn why(mm: &MmWithUser, at: usize) -> Error {
    let guard = mm.mmap_read_lock();
    match guard.vma_lookup(at) {
        Some(vma) => {
            let has = |flag| vma.flags() & flag != 0;
            let special = has(flags::IO) || has(flags::PFNMAP);
            if has(flags::READ) && !has(flags::WRITE) && !special {
                EPERM
            } else {
                EFAULT
            }
        }
        None => EFAULT,
    }
}

impl Drop for UserPages {
    fn drop(&mut self) {
        for page in &self.pages {
            let mut page = page.as_ptr();
            // SAFETY: Pinned by `pin`, once, and the device is done with it by the caller's word.
            unsafe { bindings::unpin_user_pages_dirty_lock(&mut page, 1, self.writable) };
        }
    }
}
