// SPDX-License-Identifier: MIT OR Apache-2.0
//! Host memory that the GPU shares with others: guest CPUs, DMA engines, other workgroups.
//!
//! Every access is a single relaxed atomic of the access's size when it is aligned, and a chain of
//! byte atomics when it is not, as a bus would split it. No reference to the bytes ever exists, so
//! what others do to them at the same time cannot break anything but the program's own result.

use std::any::Any;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU16, AtomicU32, AtomicU64, AtomicU8, Ordering};
use std::sync::Arc;
use vm_memory::VolatileSlice;

/// Bytes that one translation covers.
pub const PAGE: usize = 4096;

/// One 4 KiB page of host memory and what keeps it mapped.
#[derive(Clone)]
pub struct HostPage {
    base: NonNull<u8>,
    held_back: bool,
    _owner: Arc<dyn Any + Send + Sync>,
}

// SAFETY: the page is only touched by atomic operations, and its owner is Send and Sync.
unsafe impl Send for HostPage {}
// SAFETY: as above.
unsafe impl Sync for HostPage {}

macro_rules! scalar {
    ($load:ident, $store:ident, $cas:ident, $int:ty, $atomic:ty) => {
        /// Load; aligned ones are single-copy atomic. Bytes past the page's end read as zero.
        #[inline]
        pub fn $load(&self, at: usize) -> $int {
            const SIZE: usize = size_of::<$int>();
            match self.atomic::<$atomic>(at, SIZE) {
                Some(cell) => <$int>::from_le(cell.load(Ordering::Relaxed)),
                None => {
                    let mut bytes = [0; SIZE];
                    for (n, byte) in bytes.iter_mut().enumerate() {
                        *byte = self
                            .atomic::<AtomicU8>(at + n, 1)
                            .map_or(0, |c| c.load(Ordering::Relaxed));
                    }
                    <$int>::from_le_bytes(bytes)
                }
            }
        }

        /// Store; aligned ones are single-copy atomic. Bytes past the page's end are dropped.
        #[inline]
        pub fn $store(&self, at: usize, value: $int) {
            match self.atomic::<$atomic>(at, size_of::<$int>()) {
                Some(cell) => cell.store(value.to_le(), Ordering::Relaxed),
                None => {
                    for (n, byte) in value.to_le_bytes().into_iter().enumerate() {
                        if let Some(cell) = self.atomic::<AtomicU8>(at + n, 1) {
                            cell.store(byte, Ordering::Relaxed);
                        }
                    }
                }
            }
        }

        /// Replace by a function of the old value, atomically among all users of the memory, and
        /// return the old value. Unaligned or outside: `None`.
        pub fn $cas(&self, at: usize, f: impl Fn($int) -> $int) -> Option<$int> {
            let cell = self.atomic::<$atomic>(at, size_of::<$int>())?;
            let step = |old| Some(f(<$int>::from_le(old)).to_le());
            let old = match cell.fetch_update(Ordering::SeqCst, Ordering::SeqCst, step) {
                Ok(old) | Err(old) => old,
            };
            Some(<$int>::from_le(old))
        }
    };
}

impl HostPage {
    /// Whether it is the same memory.
    pub fn is(&self, other: &Self) -> bool {
        self.base == other.base
    }

    /// A page of host memory.
    ///
    /// # Safety
    /// `base` must be aligned to 8 bytes and `PAGE` bytes from it must stay mapped, readable and
    /// (if the translation grants writing) writable for as long as `owner` lives. Everyone else who
    /// touches them must do so with atomic or volatile operations, or from outside this process.
    pub unsafe fn new(base: NonNull<u8>, owner: Arc<dyn Any + Send + Sync>) -> Self {
        debug_assert!(base.as_ptr() as usize % 8 == 0);
        Self {
            base,
            held_back: false,
            _owner: owner,
        }
    }

    /// A page of memory that `vm-memory` keeps mapped for good.
    pub fn from_volatile(page: VolatileSlice<'static>) -> Option<Self> {
        let base = NonNull::new(page.ptr_guard_mut().as_ptr())?;
        if page.len() < PAGE || base.as_ptr() as usize % 8 != 0 {
            return None;
        }
        // SAFETY: aligned and long enough, checked above; a slice with lifetime 'static stays
        // mapped until the process ends; and vm-memory's own accesses are volatile or atomic.
        Some(unsafe { Self::new(base, Arc::new(())) })
    }

    /// Page `number` of memory that is Rust's own.
    pub fn of(cells: &Arc<[AtomicU64]>, number: usize) -> Option<Self> {
        let words = cells.get(number * (PAGE / 8)..(number + 1) * (PAGE / 8))?;
        let base = NonNull::from(words).cast();
        // SAFETY: the slice is a page long, aligned for AtomicU64 and kept by the Arc; it can only
        // be touched through atomics.
        Some(unsafe { Self::new(base, Arc::new(cells.clone())) })
    }

    /// The same page, as the second-level cache sees it that may hold stores back: the translation says so, by its
    /// memory type.
    pub fn held_back(self) -> Self {
        Self {
            held_back: true,
            ..self
        }
    }

    /// Whether the second-level cache may hold stores back.
    pub(crate) fn may_be_held_back(&self) -> bool {
        self.held_back
    }

    /// Where it lies: no two pages that are mapped at a time lie in the same place.
    pub(crate) fn address(&self) -> usize {
        self.base.as_ptr() as usize
    }

    /// Its aligned dwords, in the host's byte order as they lie.
    #[inline]
    pub fn dwords(&self) -> &[AtomicU32; PAGE / 4] {
        // SAFETY: the base is aligned to 8 and the page is PAGE bytes, valid while `self.owner`
        // lives; it is touched through atomics only.
        unsafe { &*self.base.as_ptr().cast() }
    }

    /// Its aligned pairs of dwords, the same way.
    #[inline]
    pub fn pairs(&self) -> &[AtomicU64; PAGE / 8] {
        // SAFETY: as above.
        unsafe { &*self.base.as_ptr().cast() }
    }

    /// Loads dwords from dword `at` on, each by itself or two at a time. Those past the page's end are left as they are.
    #[inline]
    pub fn load_row<const N: usize>(&self, at: usize, row: &mut [u32; N]) {
        if at % 2 == 0 && N % 2 == 0 {
            let pairs = self.pairs().get(at / 2..).unwrap_or(&[]);
            for (to, pair) in row.chunks_exact_mut(2).zip(pairs) {
                let pair = u64::from_le(pair.load(Ordering::Relaxed));
                to.copy_from_slice(&[pair as u32, (pair >> 32) as u32]);
            }
        } else {
            let dwords = self.dwords().get(at..).unwrap_or(&[]);
            for (to, dword) in row.iter_mut().zip(dwords) {
                *to = u32::from_le(dword.load(Ordering::Relaxed));
            }
        }
    }

    /// Stores dwords from dword `at` on, each by itself or two at a time. Those past the page's end are dropped.
    #[inline]
    pub fn store_row(&self, at: usize, row: &[u32]) {
        if at % 2 == 0 && row.len() % 2 == 0 {
            let pairs = self.pairs().get(at / 2..).unwrap_or(&[]);
            for (pair, value) in pairs.iter().zip(row.chunks_exact(2)) {
                let value = u64::from(value[0]) | (u64::from(value[1]) << 32);
                pair.store(value.to_le(), Ordering::Relaxed);
            }
        } else {
            let dwords = self.dwords().get(at..).unwrap_or(&[]);
            for (dword, value) in dwords.iter().zip(row) {
                dword.store(value.to_le(), Ordering::Relaxed);
            }
        }
    }

    #[inline]
    fn atomic<A>(&self, at: usize, size: usize) -> Option<&A> {
        if at % size != 0 || at + size > PAGE {
            return None;
        }
        // SAFETY: inside the page and aligned, both checked above (the base is aligned to 8); the
        // page is valid while `self.owner` lives; A is an atomic of `size` bytes.
        Some(unsafe { &*self.base.as_ptr().add(at).cast::<A>() })
    }

    scalar!(load_u8, store_u8, update_u8, u8, AtomicU8);
    scalar!(load_u16, store_u16, update_u16, u16, AtomicU16);
    scalar!(load_u32, store_u32, update_u32, u32, AtomicU32);
    scalar!(load_u64, store_u64, update_u64, u64, AtomicU64);
}
