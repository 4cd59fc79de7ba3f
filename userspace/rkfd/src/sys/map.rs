// SPDX-License-Identifier: MIT OR Apache-2.0

//! Mapped memory that a device shares.
//!
//! The device may write it at any time, and so may other threads, so there are never references to
//! its bytes: words are atomics, and bulk data is copied by atomics of its naturally aligned words.

use std::os::fd::BorrowedFd;
use std::ptr::NonNull;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU16, AtomicU32, AtomicU64, AtomicU8};

use rustix::mm::{mmap, mmap_anonymous, munmap, MapFlags, ProtFlags};

use crate::error::{Error, Result};

/// The page size of the GPU and of this architecture.
pub(crate) const PAGE: usize = 4096;

/// Bytes behind a reserved range that hold nothing, so that a kernel that goes past its end meets a fault
/// instead of the next range's memory.
pub(crate) const GUARD: usize = 64 << 10;

/// A range of the address space: reserved, or with memory in it. Unmapped when dropped.
#[derive(Debug)]
pub(crate) struct Mapping {
    base: NonNull<u8>,
    len: usize,
    /// Bytes behind it that are reserved with it.
    guard: usize,
    accessible: bool,
    /// Nobody else can have something in its `len` bytes.
    owned: bool,
}

// SAFETY: a mapping is memory of the process, not of a thread; all access is by atomics through
// `&self`.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Reserves `len` bytes (a multiple of the page size) at a multiple of `align` (a power of
    /// two), and [`GUARD`] bytes behind them. Nothing is accessible.
    pub(crate) fn reserve(len: usize, align: usize) -> Result<Self> {
        let align = align.max(PAGE);
        let failed = |errno| Error::Map {
            what: "address range",
            size: len,
            errno,
        };
        let all = len.checked_add(GUARD);
        let padded = all
            .and_then(|all| all.checked_add(align - PAGE))
            .ok_or(failed(rustix::io::Errno::NOMEM))?;
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
        let (anywhere, none) = (std::ptr::null_mut(), ProtFlags::empty());
        // SAFETY: no address is asked for, so no mapping is replaced.
        let raw = unsafe { mmap_anonymous(anywhere, padded, none, flags) };
        let raw = raw.map_err(failed)?.cast::<u8>();
        let head = raw.align_offset(align);
        let kept = len + GUARD;
        let tail = padded - head - kept;
        // SAFETY: head + kept + tail = padded, so all three parts lie within the new mapping, which
        // nobody else knows of.
        unsafe {
            if head != 0 {
                let _ = munmap(raw.cast(), head);
            }
            if tail != 0 {
                let _ = munmap(raw.add(head + kept).cast(), tail);
            }
            let base = NonNull::new(raw.add(head)).ok_or(Error::NotHostVisible)?;
            Ok(Self {
                base,
                len,
                guard: GUARD,
                accessible: false,
                owned: true,
            })
        }
    }

    /// Puts a file's memory over the whole range.
    ///
    /// # Errors
    ///
    /// [`Error::Map`] with the file's errno. Nothing is accessible then.
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
        .map_err(|errno| {
            self.reserve_again();
            Error::Map {
                what: "buffer object",
                size: self.len,
                errno,
            }
        })?;
        self.accessible = true;
        Ok(())
    }

    /// Reserves the range after a failure that may have left a gap in its place: the file is asked when
    /// what was there is gone already. Another thread may have some of the gap by now. Then the range isn't
    /// this mapping's any more.
    fn reserve_again(&mut self) {
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE | MapFlags::FIXED_NOREPLACE;
        let (base, none) = (self.base.as_ptr().cast(), ProtFlags::empty());
        // SAFETY: no mapping is replaced.
        let again = unsafe { mmap_anonymous(base, self.len, none, flags) };
        // It also fails where there is no gap. Then what was reserved stays so, which is harmless.
        self.owned = again.is_ok();
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
            guard: 0,
            accessible: true,
            owned: true,
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
        // this process is atomic.
        Some(unsafe { AtomicU64::from_ptr(word) })
    }

    /// `count` 32-bit words from `offset`.
    pub(crate) fn words32(&self, offset: usize, count: usize) -> Option<&[AtomicU32]> {
        let p = self.at(offset, count.checked_mul(4)?, 4)?;
        // SAFETY: `count * 4` accessible bytes, aligned, alive as long as `self`; atomics may be
        // written behind a shared reference.
        Some(unsafe { std::slice::from_raw_parts(p.as_ptr().cast(), count) })
    }

    /// `count` times `N` 64-bit words from `offset`.
    pub(crate) fn slots<const N: usize>(
        &self,
        offset: usize,
        count: usize,
    ) -> Option<&[[AtomicU64; N]]> {
        let p = self.at(offset, count.checked_mul(N * 8)?, 8)?;
        // SAFETY: `count * N * 8` accessible bytes, aligned, alive as long as `self`; every access to
        // them in this process is atomic.
        Some(unsafe { std::slice::from_raw_parts(p.as_ptr().cast(), count) })
    }

    /// Copies bytes out, each naturally aligned word at once. `None` when the range isn't
    /// accessible.
    pub(crate) fn read(&self, offset: usize, to: &mut [u8]) -> Option<()> {
        let from = self.at(offset, to.len(), 1)?.as_ptr();
        let (head, words) = whole_words(from as usize, to.len());
        let (first, rest) = to.split_at_mut_checked(head)?;
        let (middle, last) = rest.split_at_mut_checked(words)?;
        // SAFETY: all `to.len()` bytes from `from` on are accessible, and alive as long as `self`;
        // the middle is aligned; every access to these bytes in this process is atomic.
        unsafe {
            read_edge(from, first);
            for (n, bytes) in middle.chunks_exact_mut(8).enumerate() {
                let word = word::<AtomicU64>(from.add(head + n * 8)).load(Relaxed);
                bytes.copy_from_slice(&word.to_ne_bytes());
            }
            read_edge(from.add(head + words), last);
        }
        Some(())
    }

    /// Copies bytes in, each naturally aligned word at once. `None` when the range isn't
    /// accessible.
    pub(crate) fn write(&self, offset: usize, from: &[u8]) -> Option<()> {
        let to = self.at(offset, from.len(), 1)?.as_ptr();
        let (head, words) = whole_words(to as usize, from.len());
        let (first, rest) = from.split_at_checked(head)?;
        let (middle, last) = rest.split_at_checked(words)?;
        // SAFETY: as in `read`.
        unsafe {
            write_edge(to, first);
            for (n, bytes) in middle.chunks_exact(8).enumerate() {
                let value = u64::from_ne_bytes(bytes.try_into().unwrap_or_default());
                word::<AtomicU64>(to.add(head + n * 8)).store(value, Relaxed);
            }
            write_edge(to.add(head + words), last);
        }
        Some(())
    }
}

/// The atomic at an address.
///
/// # Safety
///
/// The address is aligned for it, and accessible as long as the reference lives; every access to
/// its bytes in this process is atomic.
unsafe fn word<'a, A>(at: *mut u8) -> &'a A {
    // SAFETY: the caller vouches for it; atomics may be written behind a shared reference.
    unsafe { &*at.cast::<A>() }
}

/// Bytes before the first aligned word of 8 bytes in a range, and bytes of all such words.
fn whole_words(address: usize, len: usize) -> (usize, usize) {
    let head = (address.wrapping_neg() & 7).min(len);
    (head, (len - head) & !7)
}

/// Splits fewer than 8 bytes from an address on into aligned units, as large as possible.
fn units(address: usize, len: usize) -> impl Iterator<Item = (usize, usize)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let unit = match ((address + at).trailing_zeros(), len - at) {
            (_, 0) => return None,
            (2.., 4..) => 4,
            (1.., 2..) => 2,
            _ => 1,
        };
        at += unit;
        Some((at - unit, unit))
    })
}

/// # Safety
///
/// As many bytes from `from` on are accessible, and every access to them is atomic.
unsafe fn read_edge(from: *mut u8, to: &mut [u8]) {
    let mut rest = to.iter_mut();
    for (at, unit) in units(from as usize, rest.len()) {
        // SAFETY: the caller's; the unit lies within, aligned.
        let value = unsafe {
            let from = from.add(at);
            match unit {
                4 => word::<AtomicU32>(from).load(Relaxed),
                2 => word::<AtomicU16>(from).load(Relaxed).into(),
                _ => word::<AtomicU8>(from).load(Relaxed).into(),
            }
        };
        let places = rest.by_ref().take(unit);
        places
            .zip(value.to_le_bytes())
            .for_each(|(place, byte)| *place = byte);
    }
}

/// # Safety
///
/// As many bytes from `to` on are accessible, and every access to them is atomic.
unsafe fn write_edge(to: *mut u8, from: &[u8]) {
    for (at, unit) in units(to as usize, from.len()) {
        let mut value = [0; 4];
        let bytes = from.iter().skip(at).take(unit);
        value
            .iter_mut()
            .zip(bytes)
            .for_each(|(place, byte)| *place = *byte);
        let value = u32::from_le_bytes(value);
        // SAFETY: the caller's; the unit lies within, aligned.
        unsafe {
            let to = to.add(at);
            match unit {
                4 => word::<AtomicU32>(to).store(value, Relaxed),
                2 => word::<AtomicU16>(to).store(value as u16, Relaxed),
                _ => word::<AtomicU8>(to).store(value as u8, Relaxed),
            }
        }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        let (skipped, len) = match self.owned {
            true => (0, self.len + self.guard),
            false => (self.len, self.guard),
        };
        // SAFETY: the range, or the guard behind it, is this mapping's own, and accessors borrow from `self`,
        // so none is left. A failure leaves the range mapped, which is harmless.
        let _ = unsafe { munmap(self.base.as_ptr().add(skipped).cast(), len) };
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
    fn the_guard_behind_a_reservation_is_its_own() {
        let map = Mapping::reserve(PAGE, PAGE).unwrap();
        let others: Vec<Mapping> = (0..64)
            .map(|_| Mapping::reserve(PAGE, PAGE).unwrap())
            .collect();
        let guarded = map.address()..map.address() + (PAGE + GUARD) as u64;
        let within = |other: &&Mapping| guarded.contains(&other.address());
        assert_eq!(others.iter().filter(within).count(), 0);
    }

    /// Whether a page at this address is taken; it is from now on.
    fn is_taken(address: u64) -> bool {
        let flags = MapFlags::PRIVATE | MapFlags::FIXED_NOREPLACE;
        // SAFETY: no mapping is replaced.
        let page = unsafe { mmap_anonymous(address as *mut _, PAGE, ProtFlags::empty(), flags) };
        page.is_err()
    }

    #[test]
    fn a_file_without_memory_leaves_no_gap() {
        let socket = std::os::unix::net::UnixDatagram::unbound().unwrap();
        let mut map = Mapping::reserve(2 * PAGE, PAGE).unwrap();
        assert!(map.place(socket.as_fd(), 0).is_err());
        assert!(!map.accessible());
        assert!(is_taken(map.address()) && is_taken(map.address() + PAGE as u64));
    }

    #[test]
    fn what_another_has_put_into_a_gap_stays() {
        let mut map = Mapping::reserve(PAGE, PAGE).unwrap();
        // As if the reservation, which is still there, were another's.
        map.reserve_again();
        let address = map.address();
        drop(map);
        assert!(is_taken(address));
        // SAFETY: nobody uses the page, which is this test's.
        unsafe { munmap(address as *mut _, PAGE) }.unwrap();
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
        assert_eq!(whole_words(0x1003, 24), (5, 16));
        assert_eq!(whole_words(0x1001, 5), (5, 0));
        assert!(units(0x1003, 5).eq([(0, 1), (1, 4)]));
        assert!(units(0x1008, 7).eq([(0, 4), (4, 2), (6, 1)]));
        assert!(map.write(PAGE - 4, &[0; 5]).is_none());
        assert!(map.word64(PAGE - 4).is_none() && map.word64(4).is_none());
        assert!(map.words32(0, PAGE / 4 + 1).is_none() && map.words32(0, usize::MAX).is_none());
    }
}
