// SPDX-License-Identifier: GPL-2.0

//! Ranges of a process' address space.

use super::GpuVa;
use kernel::prelude::*;

/// Whole pages of a process' 48-bit address space, at least one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PageRange {
    start: GpuVa,
    bytes: u64,
}

impl PageRange {
    /// Bytes of a page.
    pub(crate) const PAGE: u64 = 4096;
    /// The bits of an address that name its page.
    const MASK: u64 = !(Self::PAGE - 1);
    /// End of the address space.
    const SPACE_END: u64 = 1 << 48;

    /// From the first address and the size in bytes.
    ///
    /// # Errors
    ///
    /// EINVAL when it is empty, not whole pages, or not within the address space.
    pub(crate) fn new(start: GpuVa, bytes: u64) -> Result<Self> {
        if bytes == 0 || start.get() % Self::PAGE != 0 || bytes % Self::PAGE != 0 {
            return Err(EINVAL);
        }
        match start.checked_add(bytes) {
            Some(end) if end.get() <= Self::SPACE_END => Ok(Self { start, bytes }),
            _ => Err(EINVAL),
        }
    }

    /// The page that an address lies in.
    ///
    /// # Errors
    ///
    /// EINVAL beyond the address space.
    pub(crate) fn page_of(va: GpuVa) -> Result<Self> {
        Self::new(GpuVa::new(va.get() & Self::MASK), Self::PAGE)
    }

    /// The first address.
    pub(crate) fn start(self) -> GpuVa {
        self.start
    }

    /// The first address behind it.
    pub(crate) fn end(self) -> GpuVa {
        self.start.byte(self.bytes)
    }

    /// The last address in it.
    pub(crate) fn last(self) -> GpuVa {
        self.start.byte(self.bytes.saturating_sub(1))
    }

    /// Its size in bytes.
    pub(crate) fn bytes(self) -> u64 {
        self.bytes
    }

    /// Bytes from its start to an address in it; `None` for one outside.
    pub(crate) fn offset_of(self, va: GpuVa) -> Option<u64> {
        let offset = va.get().checked_sub(self.start.get())?;
        (offset < self.bytes).then_some(offset)
    }
}

#[cfg(CONFIG_KUNIT = "y")]
mod kunit;
