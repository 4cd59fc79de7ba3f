// SPDX-License-Identifier: MIT OR Apache-2.0

//! Mapped memory that a device shares.
//!
//! The device may write it at any time, so there are never references to its bytes: words are
//! atomics, bulk data is copied with volatile accesses.

use std::os::fd::BorrowedFd;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64};

use rustix::mm::{mmap, mmap_anonymous, munmap, MapFlags, ProtFlags};

use crate::error::{Error, Result};

/// The page size of the GPU and of this architecture.
pub(crate) const PAGE: usize = 4096;

/// A range of the address space: reserved, or with memory in it. Unmapped when dropped.
#[derive(Debug)]
pub(crate) struct Mapping {
    base: NonNull<u8>,
    len: usize,
    accessible: bool,
}

// SAFETY: a mapping is memory of the process, not of a thread; all access is by atomics or
// volatile copies through `&self`.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Reserves `len` bytes (a multiple of the page size) at a multiple of `align` (a power of
    /// two). Nothing is accessible.
    pub(crate) fn reserve(len: usize, align: usize) -> Result<Self> {
        let align = align.max(PAGE);
        let failed = |errno| Error::Map {
            what: "address range",
            size: len,
            errno,
        };
        let padded = len
            .checked_add(align - PAGE)
            .ok_or(failed(rustix::io::Errno::NOMEM))?;
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
        let (anywhere, none) = (std::ptr::null_mut(), ProtFlags::empty());
        // SAFETY: no address is asked for, so no mapping is replaced.
        let raw = unsafe { mmap_anonymous(anywhere, padded, none, flags) };
        let raw = raw.map_err(failed)?.cast::<u8>();
        let head = raw.align_offset(align);
        let tail = padded - head - len;
        // SAFETY: head + len + tail = padded, so all three parts lie within the new mapping, which
        // nobody else knows of.
        unsafe {
            if head != 0 {
                let _ = munmap(raw.cast(), head);
            }
            if tail != 0 {
                let _ = munmap(raw.add(head + len).cast(), tail);
            }
            let base = NonNull::new(raw.add(head)).ok_or(Error::NotHostVisible)?;
            Ok(Self {
                base,
                len,
                accessible: false,
            })
        }
    }

    /// Puts a file's memory over the whole range.
    pub(crate) fn place(&mut self, file: BorrowedFd<'_>, offset: u64) -> Result<()> {
        let prot = ProtFlags::READ | ProtFlags::WRITE;
        let flags = MapFlags::SHARED | MapFlags::FIXED;
        // SAFETY: the range replaced is this mapping's own, which holds nothing that is in use:
        // it was not accessible.
        unsafe {
            mmap(
                self.base.as_ptr().cast(),
                self.len,
                prot,
                flags,
                file,
                offset,
            )
        }
        .map_err(|errno| Error::Map {
            what: "buffer object",
            size: self.len,
            errno,
        })?;
        self.accessible = true;
        Ok(())
    }

    /// Maps `len` bytes of a file wherever there is room.
    pub(crate) fn of_file(file: BorrowedFd<'_>, offset: u64, len: usize) -> Result<Self> {
        let prot = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: no address is asked for, so no mapping is replaced.
        let raw = unsafe {
            mmap(
                std::ptr::null_mut(),
                len,
                prot,
                MapFlags::SHARED,
                file,
                offset,
            )
        }
        .map_err(|errno| Error::Map {
            what: "doorbells",
            size: len,
            errno,
        })?;
        let base = NonNull::new(raw.cast::<u8>()).ok_or(Error::NotHostVisible)?;
        Ok(Self {
            base,
            len,
            accessible: true,
        })
    }

    /// Address of the first byte.
    pub(crate) fn address(&self) -> u64 {
        self.base.as_ptr() as u64
    }

    /// Whether the CPU can access the range.
    pub(crate) fn accessible(&self) -> bool {
        self.accessible
    }

    /// A pointer to `len` accessible bytes at `offset`, aligned to `align`.
    fn at(&self, offset: usize, len: usize, align: usize) -> Option<NonNull<u8>> {
        let fits = self.accessible && offset.checked_add(len)? <= self.len && offset % align == 0;
        // SAFETY: the offset lies within the mapping.
        fits.then(|| unsafe { self.base.add(offset) })
    }

    /// The 64-bit word at `offset`, if it lies within accessible memory and is aligned.
    pub(crate) fn word64(&self, offset: usize) -> Option<&AtomicU64> {
        let word = self.at(offset, 8, 8)?.as_ptr().cast();
        // SAFETY: 8 accessible bytes, aligned, alive as long as `self`; every access to them in
        // this process is atomic or a volatile copy.
        Some(unsafe { AtomicU64::from_ptr(word) })
    }

    /// `count` 32-bit words from `offset`.
    pub(crate) fn words32(&self, offset: usize, count: usize) -> Option<&[AtomicU32]> {
        let p = self.at(offset, count.checked_mul(4)?, 4)?;
        // SAFETY: `count * 4` accessible bytes, aligned, alive as long as `self`; atomics may be
        // written behind a shared reference.
        Some(unsafe { std::slice::from_raw_parts(p.as_ptr().cast(), count) })
    }

    /// Copies bytes out. `None` when the range isn't accessible.
    pub(crate) fn read(&self, offset: usize, to: &mut [u8]) -> Option<()> {
        let from = self.at(offset, to.len(), 1)?.as_ptr();
        let head = from.align_offset(8).min(to.len());
        let words = (to.len() - head) / 8;
        // SAFETY: all `to.len()` bytes from `from` are accessible; the words are aligned; the
        // destination is exclusively borrowed and as long as what is written.
        unsafe {
            let mut i = 0;
            while i < to.len() {
                if i >= head && i < head + words * 8 {
                    let word = from.add(i).cast::<u64>().read_volatile();
                    to.as_mut_ptr().add(i).cast::<u64>().write_unaligned(word);
                    i += 8;
                } else {
                    to.as_mut_ptr().add(i).write(from.add(i).read_volatile());
                    i += 1;
                }
            }
        }
        Some(())
    }

    /// Copies bytes in. `None` when the range isn't accessible.
    pub(crate) fn write(&self, offset: usize, from: &[u8]) -> Option<()> {
        let to = self.at(offset, from.len(), 1)?.as_ptr();
        let head = to.align_offset(8).min(from.len());
        let words = (from.len() - head) / 8;
        // SAFETY: all `from.len()` bytes from `to` are accessible; the words are aligned; the
        // source is borrowed and as long as what is read.
        unsafe {
            let mut i = 0;
            while i < from.len() {
                if i >= head && i < head + words * 8 {
                    let word = from.as_ptr().add(i).cast::<u64>().read_unaligned();
                    to.add(i).cast::<u64>().write_volatile(word);
                    i += 8;
                } else {
                    to.add(i).write_volatile(from.as_ptr().add(i).read());
                    i += 1;
                }
            }
        }
        Some(())
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the range is this mapping's own, and accessors borrow from `self`, so none is
        // left. A failure leaves the range mapped, which is harmless.
        let _ = unsafe { munmap(self.base.as_ptr().cast(), self.len) };
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;
    use std::sync::atomic::Ordering;

    use super::*;

    fn file(len: u64) -> std::fs::File {
        let file = tempfile::tempfile().unwrap();
        file.set_len(len).unwrap();
        file
    }

    #[test]
    fn a_reservation_is_aligned_and_not_accessible() {
        let map = Mapping::reserve(3 * PAGE, 1 << 21).unwrap();
        assert_eq!(map.address() % (1 << 21), 0);
        assert!(map.word64(0).is_none() && map.read(0, &mut [0; 4]).is_none());
    }

    #[test]
    fn placed_memory_is_shared_with_the_file() {
        let file = file(2 * PAGE as u64);
        let mut map = Mapping::reserve(PAGE, PAGE).unwrap();
        map.place(file.as_fd(), PAGE as u64).unwrap();
        let other = Mapping::of_file(file.as_fd(), PAGE as u64, PAGE).unwrap();
        map.word64(8)
            .unwrap()
            .store(0x1122_3344_5566_7788, Ordering::Release);
        let mut bytes = [0; 8];
        other.read(8, &mut bytes).unwrap();
        assert_eq!(u64::from_le_bytes(bytes), 0x1122_3344_5566_7788);
    }

    #[test]
    fn copies_of_any_alignment_are_exact_and_bounded() {
        let file = file(PAGE as u64);
        let map = Mapping::of_file(file.as_fd(), 0, PAGE).unwrap();
        for (offset, len) in [
            (0, 0),
            (1, 3),
            (3, 64),
            (7, 9),
            (8, 16),
            (PAGE - 5, 5),
            (13, 1000),
        ] {
            let data: Vec<u8> = (0..len).map(|i| (i * 7 + offset) as u8).collect();
            map.write(offset, &data).unwrap();
            let mut back = vec![0; len];
            map.read(offset, &mut back).unwrap();
            assert_eq!(back, data);
        }
        assert!(map.write(PAGE - 4, &[0; 5]).is_none());
        assert!(map.word64(PAGE - 4).is_none() && map.word64(4).is_none());
        assert!(map.words32(0, PAGE / 4 + 1).is_none() && map.words32(0, usize::MAX).is_none());
    }
}
