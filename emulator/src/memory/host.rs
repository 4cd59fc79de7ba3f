// SPDX-License-Identifier: MIT OR Apache-2.0

//! Memory files mapped into this process, and pages of them.
//!
//! A mapping lives until the process ends: it is leaked on purpose. The guest may take its RAM
//! away (`DMA_UNMAP`) while another thread uses a page of it; what then goes is only the
//! translation, never the mapping, so a page that was handed out stays readable.

use rustix::fs::{
    fallocate, fstat, ftruncate, memfd_create, seek, FallocateFlags, MemfdFlags, SeekFrom,
};
use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicU32, AtomicU64};
use vm_memory::{AtomicInteger, FileOffset, MmapRegion, VolatileMemory, VolatileSlice};

/// Bytes that are spoilt at once.
const SPOILT: usize = 4096;

/// A memory file, mapped whole.
#[derive(Clone, Copy)]
pub struct Mapping(&'static MmapRegion);

impl Mapping {
    /// A new memory file of `size` bytes, all zero; pages are taken from the host when touched.
    ///
    /// # Errors
    /// The host refuses the file or the mapping.
    pub fn anonymous(name: &str, size: u64) -> io::Result<Self> {
        let fd = memfd_create(name, MemfdFlags::CLOEXEC)?;
        ftruncate(&fd, size)?;
        Self::file(File::from(fd), size)
    }

    /// An existing memory file, from its start.
    ///
    /// # Errors
    /// The file is shorter than `size`, or the host refuses the mapping.
    pub fn file(file: File, size: u64) -> io::Result<Self> {
        let size = usize::try_from(size).map_err(io::Error::other)?;
        let region =
            MmapRegion::from_file(FileOffset::new(file, 0), size).map_err(io::Error::other)?;
        Ok(Self(Box::leak(Box::new(region))))
    }

    /// The memory file: what the guest is given to map.
    pub fn fd(&self) -> Option<&'static File> {
        self.0.file_offset().map(FileOffset::file)
    }

    /// Size in bytes.
    pub fn size(&self) -> u64 {
        self.0.size() as u64
    }

    /// Bytes of the host's memory that the file takes: pages that were touched and not given back.
    pub fn held(&self) -> u64 {
        let stat = self.fd().and_then(|file| fstat(file).ok());
        let blocks = stat.and_then(|stat| u64::try_from(stat.st_blocks).ok());
        blocks.unwrap_or_default() * 512
    }

    /// Makes a range zero by giving its pages back to the host, which cuts it to whole pages.
    /// Returns whether that was possible.
    pub fn give_back(&self, offset: u64, len: u64) -> bool {
        let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        self.fd()
            .is_some_and(|file| fallocate(file, flags, offset, len).is_ok())
    }

    /// Changes all that was ever written: memory that lost its content. What was never touched stays zero,
    /// and takes no memory of the host.
    pub fn spoil(&self) {
        let junk: [u8; SPOILT] = std::array::from_fn(|at| (at as u8).wrapping_mul(167) ^ 0xa5);
        let Some(file) = self.fd() else { return };
        let mut at = 0;
        while let Ok(start) = seek(file, SeekFrom::Data(at)) {
            let end = seek(file, SeekFrom::Hole(start)).unwrap_or(self.size());
            at = start;
            while at < end.min(self.size()) {
                let len = (end.min(self.size()) - at).min(SPOILT as u64) as usize;
                let bytes = junk.get(..len).unwrap_or(&[]);
                if !self.part(at, len).is_some_and(|part| part.write(0, bytes)) {
                    return;
                }
                at += len as u64;
            }
        }
    }

    /// Where a page lies in the file, if it is one of it.
    pub fn offset_of(&self, page: &HostPage) -> Option<u64> {
        std::ptr::eq(self.0, page.map).then_some(page.at as u64)
    }

    /// `len` bytes at `offset`, or `None` beyond the end.
    pub fn part(&self, offset: u64, len: usize) -> Option<HostPage> {
        let end = offset.checked_add(len as u64)?;
        (end <= self.size()).then_some(HostPage {
            map: self.0,
            at: offset as usize,
            len,
        })
    }
}

/// Bytes of host memory that the guest may change at any time.
///
/// All accesses are volatile or atomic. It stays usable until the process ends, and can be sent
/// to other threads and kept; whether what it was translated from still maps here is another
/// matter ([`super::tlb`]).
#[derive(Clone, Copy)]
pub struct HostPage {
    map: &'static MmapRegion,
    at: usize,
    len: usize,
}

impl HostPage {
    /// Length in bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it holds no bytes.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// `len` bytes from `offset`, or `None` beyond the end.
    pub fn part(&self, offset: usize, len: usize) -> Option<Self> {
        let end = offset.checked_add(len)?;
        (end <= self.len).then_some(Self {
            map: self.map,
            at: self.at + offset,
            len,
        })
    }

    /// The bytes as a `vm-memory` slice.
    pub fn slice(&self) -> Option<VolatileSlice<'static>> {
        self.map.get_slice(self.at, self.len).ok()
    }

    /// Copies bytes out; `false`, and nothing done, beyond the end.
    #[must_use]
    pub fn read(&self, offset: usize, out: &mut [u8]) -> bool {
        let Some(slice) = self.part(offset, out.len()).and_then(|p| p.slice()) else {
            return false;
        };
        slice.copy_to(out) == out.len()
    }

    /// Copies bytes in; `false`, and nothing done, beyond the end.
    #[must_use]
    pub fn write(&self, offset: usize, bytes: &[u8]) -> bool {
        let Some(slice) = self.part(offset, bytes.len()).and_then(|p| p.slice()) else {
            return false;
        };
        slice.copy_from(bytes);
        true
    }

    /// An atomic integer in the page, or `None` when misaligned or beyond the end.
    pub fn atomic<T: AtomicInteger>(&self, offset: usize) -> Option<&'static T> {
        let part = self.part(offset, size_of::<T>())?;
        self.map.get_atomic_ref::<T>(part.at).ok()
    }

    /// An aligned 32-bit word as an atomic.
    pub fn u32(&self, offset: usize) -> Option<&'static AtomicU32> {
        self.atomic(offset)
    }

    /// An aligned 64-bit word as an atomic.
    pub fn u64(&self, offset: usize) -> Option<&'static AtomicU64> {
        self.atomic(offset)
    }

    /// Whether two pages are the same bytes.
    pub fn same(&self, other: &Self) -> bool {
        std::ptr::eq(self.map, other.map) && self.at == other.at && self.len == other.len
    }
}
