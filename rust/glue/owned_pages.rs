// SPDX-License-Identifier: GPL-2.0

//! Pages of the system's memory that the driver owns, in pieces as large as there are.
//!
//! The kernel crate of 7.3 allocates pages one by one, and GPUs map what is in one piece by one entry.

use super::user;
use core::ptr::NonNull;
use kernel::{
    bindings,
    page::{
        BorrowedPage,
        Page, //
    },
    prelude::*, //
};

/// The order of the largest piece: 2 MiB, the largest that an entry of a table of the GPU maps.
const LARGEST: u32 = 9;

/// Pages, in order, each counted by itself. Dropped, they are freed.
pub(crate) struct OwnedPages(KVVec<BorrowedPage<'static>>);

// SAFETY: Pages are freed from any thread, and have their own locks.
unsafe impl Send for OwnedPages {}
// SAFETY: As above.
unsafe impl Sync for OwnedPages {}

impl OwnedPages {
    /// Allocates `count` pages, cleared and counted to the program's memory cgroup. No piece is followed by a
    /// larger one, so that each begins at a multiple of its size.
    ///
    /// # Errors
    ///
    /// ENOMEM when there are not so many pages, for which no program is killed; EINTR when the caller is killed.
    pub(crate) fn new(count: usize) -> Result<Self> {
        let room = KVVec::with_capacity(count, GFP_KERNEL_ACCOUNT | __GFP_NOWARN)?;
        let mut this = Self(room);
        let mut order = LARGEST;
        loop {
            let left = count.saturating_sub(this.0.len());
            let Some(fits) = left.checked_ilog2() else {
                return Ok(this);
            };
            if user::is_killed() {
                return Err(EINTR);
            }
            order = order.min(fits);
            match (this.push(order), order.checked_sub(1)) {
                (Ok(()), _) => {}
                (Err(_), Some(smaller)) => order = smaller,
                (Err(error), None) => return Err(error),
            }
        }
    }

    /// Allocates the next pages, two to the power of `order`. There is room for them.
    fn push(&mut self, order: u32) -> Result {
        // SAFETY: The flags allow to sleep only where this may.
        let first = unsafe { bindings::alloc_pages(flags(order), order) };
        let first = NonNull::new(first).ok_or(ENOMEM)?;
        // SAFETY: These pages are ours, and not a compound page. Each counts by itself from now on.
        unsafe { bindings::split_page(first.as_ptr(), order) };
        for n in 0..1usize << order {
            // SAFETY: It is the page number `n` of so many in a row, and kept until `drop`.
            let page = unsafe { BorrowedPage::from_raw(first.add(n)) };
            if self.0.push_within_capacity(page).is_err() {
                // SAFETY: Nobody else has it.
                unsafe { bindings::__free_pages(first.add(n).as_ptr(), 0) };
            }
        }
        Ok(())
    }

    /// The page with this number.
    pub(crate) fn get(&self, index: usize) -> Option<&Page> {
        Some(self.0.get(index)?)
    }

    /// The pages.
    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = &Page> {
        self.0.iter().map(|page| &**page)
    }
}

/// As `ttm_pool_alloc_page`: the largest pieces are worth looking for, those between them and single pages are not.
/// None is worth killing a program for, as `amdgpu_bo_create` has it (`gfp_retry_mayfail`), nor the last reserves.
fn flags(order: u32) -> bindings::gfp_t {
    const RETRY_MAYFAIL: bindings::gfp_t = 1 << bindings::___GFP_RETRY_MAYFAIL_BIT;
    const NOMEMALLOC: bindings::gfp_t = 1 << bindings::___GFP_NOMEMALLOC_BIT;
    let always = bindings::__GFP_ZERO | bindings::__GFP_NOWARN;
    always
        | match order {
            0 => bindings::GFP_KERNEL_ACCOUNT | RETRY_MAYFAIL,
            LARGEST => bindings::GFP_KERNEL_ACCOUNT | RETRY_MAYFAIL | NOMEMALLOC,
            _ => {
                (bindings::GFP_KERNEL_ACCOUNT & !bindings::GFP_KERNEL)
                    | bindings::GFP_NOWAIT
                    | NOMEMALLOC
            }
        }
}

impl Drop for OwnedPages {
    fn drop(&mut self) {
        for page in &self.0 {
            // SAFETY: This count of the page is ours.
            unsafe { bindings::__free_pages(page.as_ptr(), 0) };
        }
    }
}
