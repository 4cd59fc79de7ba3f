// SPDX-License-Identifier: GPL-2.0

//! The GART: system memory for address space 0.
//!
//! One table of 131,072 entries in VRAM. Entries are written through BAR 0; after each change the
//! host data path is flushed and the TLBs of address space 0 are, as `amdgpu_gart_invalidate_tlb`
//! does. The table lives as long as the device.

use super::{tlb, GART_SIZE};
use crate::{
    bo::{pages::PageMap, vram::Vram},
    gpu::Hw,
    hw::pte::{self, ADDRESS},
};
use kernel::{new_mutex, prelude::*, sync::Arc, sync::Mutex};

const PAGES: usize = (GART_SIZE / pte::PAGE_SIZE) as usize;

/// The table and which of its pages are in use.
#[pin_data]
pub(crate) struct Gart {
    /// Offset of the table in VRAM.
    table: u64,
    #[pin]
    map: Mutex<PageMap>,
}

impl Gart {
    /// Makes an empty table.
    pub(crate) fn new(vram: &Vram) -> Result<Arc<Self>> {
        let table = vram.alloc_forever(PAGES as u64 * 8)?;
        let mut map = PageMap::new(PAGES)?;
        // The GART may start at address 0, which the hardware takes for "nowhere": a ring whose
        // buffer was the first would get no read pointer.
        map.alloc(1, 1)?;
        Arc::pin_init(
            pin_init!(Self { table, map <- new_mutex!(map, "rkfd GART") }),
            GFP_KERNEL,
        )
    }

    /// Offset of the table in VRAM.
    pub(super) fn table(&self) -> u64 {
        self.table
    }

    fn set(&self, hw: &Hw, first: usize, count: usize, entry: impl Fn(u64) -> u64) -> Result {
        let start = self.table + first as u64 * 8;
        hw.vram.with(|bytes| {
            (0..count as u64).try_for_each(|i| bytes.write64(start + i * 8, entry(i)))
        })?;
        tlb::flush_vmid(hw, 0)
    }
}

/// Pages in the GART; unmapped when dropped.
pub(crate) struct Range {
    hw: Arc<Hw>,
    first: usize,
    count: usize,
}

impl Range {
    /// Maps `count` pages at a bus address.
    pub(crate) fn map(hw: &Arc<Hw>, bus: u64, count: usize) -> Result<Self> {
        let first = hw.gart.map.lock().alloc(count, 1)?;
        let range = Self {
            hw: hw.clone(),
            first,
            count,
        };
        let flags = hw.chip.family.gmc.gart_flags;
        hw.gart.set(hw, first, count, |i| {
            (bus + i * pte::PAGE_SIZE) & ADDRESS | flags
        })?;
        Ok(range)
    }

    /// Address for the GPU.
    pub(crate) fn addr(&self) -> u64 {
        self.hw.layout.gart_start + self.first as u64 * pte::PAGE_SIZE
    }
}

impl Drop for Range {
    fn drop(&mut self) {
        match self.hw.gart.set(&self.hw, self.first, self.count, |_| 0) {
            // Without the device there is nothing that could still use the old entries.
            Ok(()) | Err(ENODEV) => {
                self.hw.gart.map.lock().release(self.first, self.count);
            }
            // The pages stay taken. Their memory is freed: the firmware that would touch it
            // doesn't answer, and whoever owned it has told it to stop.
            Err(error) => {
                dev_err!(
                    self.hw.device(),
                    "unmapping GART pages failed ({:?})\n",
                    error
                );
            }
        }
    }
}
