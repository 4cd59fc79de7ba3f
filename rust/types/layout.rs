// SPDX-License-Identifier: GPL-2.0

//! Where things lie in the GPU's own address space.

use super::{
    GpuVa,
    VramOffset, //
};

/// Addresses in address space 0, and of VRAM in page tables.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    /// VRAM's first byte in address space 0.
    pub(crate) vram_start: u64,
    /// First and last byte of the frame buffer in address space 0: VRAM's, and those of the other
    /// nodes of a hive.
    pub(crate) fb_start: u64,
    pub(crate) fb_end: u64,
    /// What page table entries add to an offset in VRAM.
    pub(crate) vram_base: u64,
    pub(crate) gart_start: u64,
    pub(crate) gart_end: u64,
}

impl Layout {
    /// Address in address space 0 of an offset in VRAM.
    pub(crate) fn vram_addr(&self, offset: VramOffset) -> GpuVa {
        GpuVa::new(self.vram_start.wrapping_add(offset.get()))
    }

    /// Address in page table entries of an offset in VRAM.
    pub(crate) fn vram_pte(&self, offset: VramOffset) -> u64 {
        self.vram_base.wrapping_add(offset.get())
    }
}
