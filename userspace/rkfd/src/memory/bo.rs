// SPDX-License-Identifier: MIT OR Apache-2.0

//! Buffer objects: the driver's memory, mapped at one address for CPU and GPU.

use std::os::fd::AsFd;
use std::sync::Arc;

use rkfd_uapi::memory as uapi;

use crate::driver::Link;
use crate::error::{Error, Result};
use crate::sys::map::{Mapping, PAGE};
use crate::trace::{self, Step};

/// The combinations of allocation flags that are used.
pub(crate) mod flags {
    use super::uapi::*;

    /// System memory that is always coherent: rings, signals, kernel arguments.
    pub(crate) const SHARED: u32 = ALLOC_GTT
        | ALLOC_WRITABLE
        | ALLOC_EXECUTABLE
        | ALLOC_NO_SUBSTITUTE
        | ALLOC_COHERENT
        | ALLOC_UNCACHED;
    /// System memory for data.
    pub(crate) const GTT: u32 = ALLOC_GTT | ALLOC_WRITABLE | ALLOC_NO_SUBSTITUTE | ALLOC_COHERENT;
    /// Device memory that the CPU can map.
    pub(crate) const VRAM: u32 = ALLOC_VRAM | ALLOC_WRITABLE | ALLOC_PUBLIC | ALLOC_NO_SUBSTITUTE;
    /// Device memory that only the GPU sees.
    pub(crate) const VRAM_PRIVATE: u32 = ALLOC_VRAM | ALLOC_WRITABLE | ALLOC_NO_SUBSTITUTE;
    /// May hold code.
    pub(crate) const EXECUTABLE: u32 = ALLOC_EXECUTABLE;
    /// The CPU maps objects with these.
    pub(super) const HOST: u32 = ALLOC_GTT | ALLOC_PUBLIC;
}

/// A buffer object, mapped on the GPU. Dropping it unmaps and frees it.
#[derive(Debug)]
pub(crate) struct Bo {
    link: Arc<Link>,
    handle: u64,
    map: Option<Mapping>,
    size: usize,
}

impl Bo {
    /// Makes an object of exactly `size` bytes, rounded up to a page.
    pub(crate) fn new(link: &Arc<Link>, size: usize, flags: u32) -> Result<Self> {
        let rounded = size
            .checked_next_multiple_of(PAGE)
            .filter(|&size| size != 0);
        let size = rounded.ok_or(Error::Size {
            elements: size,
            size: 1,
        })?;
        // Large objects are aligned so that large pages can map them.
        let align = if size >= 2 << 20 { 2 << 20 } else { PAGE };
        let mut map = Mapping::reserve(size, align)?;
        let va = map.address();
        let (base, limit) = (link.apertures.gpuvm_base, link.apertures.gpuvm_limit);
        if va < base || va + (size as u64 - 1) > limit {
            return Err(Error::Map {
                what: "address range within the GPU's",
                size,
                errno: rustix::io::Errno::NOMEM,
            });
        }
        let kfd = &link.driver.kfd;
        let (handle, offset) = kfd.alloc(link.gpu_id, va, size as u64, flags)?;
        let host = flags & self::flags::HOST != 0;
        let mapped = match host {
            true => map.place(link.render.as_fd(), offset),
            false => Ok(()),
        };
        // From here on the object is freed when something fails.
        let bo = Self {
            link: link.clone(),
            handle,
            map: Some(map),
            size,
        };
        mapped?;
        if host {
            trace::emit(&Step::Map {
                what: "buffer object",
                file: "render node",
                offset,
                address: va,
                size,
            });
        }
        kfd.map(handle, link.gpu_id)?;
        Ok(bo)
    }

    pub(crate) fn link(&self) -> &Arc<Link> {
        &self.link
    }

    pub(crate) fn handle(&self) -> u64 {
        self.handle
    }

    pub(crate) fn size(&self) -> usize {
        self.size
    }

    pub(crate) fn address(&self) -> u64 {
        self.map.as_ref().map_or(0, Mapping::address)
    }

    /// The memory; an error when the CPU does not see it.
    pub(crate) fn host(&self) -> Result<&Mapping> {
        self.map
            .as_ref()
            .filter(|map| map.accessible())
            .ok_or(Error::NotHostVisible)
    }

    /// Sets all bytes to zero.
    pub(crate) fn clear(&self) -> Result<()> {
        let map = self.host()?;
        let zeros = [0; PAGE];
        for offset in (0..self.size).step_by(PAGE) {
            map.write(offset, &zeros).ok_or(Error::NotHostVisible)?;
        }
        Ok(())
    }
}

impl Drop for Bo {
    fn drop(&mut self) {
        let kfd = &self.link.driver.kfd;
        // An object that was never mapped fails to unmap, which doesn't keep it from being freed.
        let _ = kfd.unmap(self.handle, self.link.gpu_id);
        if kfd.free(self.handle).is_err() {
            // The GPU may still reach these addresses: they are not used again.
            std::mem::forget(self.map.take());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flags_are_those_that_rocm_uses() {
        assert_eq!(flags::SHARED, 0xd600_0002);
        assert_eq!(flags::VRAM, 0xb000_0001);
        assert_eq!(flags::VRAM | flags::EXECUTABLE, 0xf000_0001);
    }
}
