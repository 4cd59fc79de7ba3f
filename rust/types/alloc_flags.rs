// SPDX-License-Identifier: GPL-2.0

//! What a program asks of memory.

use crate::uapi::memory as abi;

/// The `ALLOC_` bits of a buffer object. Upstream doesn't refuse those that it doesn't know.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(transparent)]
pub(crate) struct AllocFlags(u32);

impl AllocFlags {
    pub(crate) const VRAM: Self = Self(abi::ALLOC_VRAM);
    pub(crate) const GTT: Self = Self(abi::ALLOC_GTT);
    pub(crate) const PUBLIC: Self = Self(abi::ALLOC_PUBLIC);
    pub(crate) const WRITABLE: Self = Self(abi::ALLOC_WRITABLE);
    pub(crate) const EXECUTABLE: Self = Self(abi::ALLOC_EXECUTABLE);
    pub(crate) const COHERENT: Self = Self(abi::ALLOC_COHERENT);
    pub(crate) const UNCACHED: Self = Self(abi::ALLOC_UNCACHED);
    pub(crate) const EXT_COHERENT: Self = Self(abi::ALLOC_EXT_COHERENT);

    /// From the bits.
    pub(crate) const fn new(bits: u32) -> Self {
        Self(bits)
    }

    /// The bits.
    pub(crate) const fn get(self) -> u32 {
        self.0
    }

    /// These and others.
    pub(crate) const fn and(self, others: Self) -> Self {
        Self(self.0 | others.0)
    }

    const fn has(self, bit: u32) -> bool {
        self.0 & bit != 0
    }

    /// Memory of the GPU.
    pub(crate) const fn vram(self) -> bool {
        self.has(abi::ALLOC_VRAM)
    }

    /// System memory.
    pub(crate) const fn gtt(self) -> bool {
        self.has(abi::ALLOC_GTT)
    }

    /// The program's own memory.
    pub(crate) const fn user(self) -> bool {
        self.has(abi::ALLOC_USERPTR)
    }

    /// Doorbells.
    pub(crate) const fn doorbell(self) -> bool {
        self.has(abi::ALLOC_DOORBELL)
    }

    /// The registers that flush HDP.
    pub(crate) const fn registers(self) -> bool {
        self.has(abi::ALLOC_MMIO_REMAP)
    }

    /// The GPU may store to it.
    pub(crate) const fn writable(self) -> bool {
        self.has(abi::ALLOC_WRITABLE)
    }

    /// The GPU may fetch instructions from it.
    pub(crate) const fn executable(self) -> bool {
        self.has(abi::ALLOC_EXECUTABLE)
    }

    /// VRAM that programs can map.
    pub(crate) const fn public(self) -> bool {
        self.has(abi::ALLOC_PUBLIC)
    }

    /// It is mapped twice, back to back.
    pub(crate) const fn double(self) -> bool {
        self.has(abi::ALLOC_AQL_QUEUE_MEM)
    }

    /// Coherent with the CPU.
    pub(crate) const fn coherent(self) -> bool {
        self.has(abi::ALLOC_COHERENT)
    }

    /// Not cached.
    pub(crate) const fn uncached(self) -> bool {
        self.has(abi::ALLOC_UNCACHED)
    }

    /// Coherent at device-scope atomics as well.
    pub(crate) const fn ext_coherent(self) -> bool {
        self.has(abi::ALLOC_EXT_COHERENT)
    }
}
