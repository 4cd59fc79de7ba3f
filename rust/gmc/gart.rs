// SPDX-License-Identifier: GPL-2.0

//! The GART: system memory for address space 0.
//!
//! One table of 131,072 entries in VRAM. Entries are written through BAR 0; after each change the
//! host data path is flushed and the TLBs of address space 0 are, as `amdgpu_gart_invalidate_tlb`
//! does. The table lives as long as the device.

use super::{
    tlb::Tlb,
    GART_SIZE, //
};
use crate::{
    device::Handle,
    glue::ratelimit::ratelimited,
    hw::pte::{
        self,
        ADDRESS, //
    },
    pages::PageMap,
    types::{
        BusAddr,
        GpuVa,
        VramOffset, //
    },
    vram::Vram, //
};
use kernel::{
    new_mutex,
    prelude::*,
    sync::{
        Arc,
        Mutex, //
    }, //
};

const PAGES: usize = (GART_SIZE / pte::PAGE_SIZE) as usize;
/// Bytes of their entries.
const TABLE_BYTES: u64 = PAGES as u64 * 8;

/// The table and which of its pages are in use.
#[pin_data]
pub(crate) struct Gart {
    dev: Arc<Handle>,
    vram: Arc<Vram>,
    tlb: Arc<Tlb>,
    /// Flags of its entries.
    flags: u64,
    /// Offset of the table in VRAM.
    table: VramOffset,
    #[pin]
    state: Mutex<State>,
}

struct State {
    map: PageMap,
    /// What is in the table, for when VRAM has lost it.
    entries: KVVec<u64>,
}

impl Gart {
    /// Makes an empty table, whose entries will have these flags.
    pub(crate) fn new(
        dev: &Arc<Handle>,
        vram: &Arc<Vram>,
        tlb: &Arc<Tlb>,
        flags: u64,
    ) -> Result<Arc<Self>> {
        let table = vram.alloc_forever(TABLE_BYTES)?;
        let mut map = PageMap::new(PAGES)?;
        // The GART may start at address 0, which the hardware takes for "nowhere": a ring whose
        // buffer was the first would get no read pointer.
        map.alloc(1, 1)?;
        let entries = KVVec::from_elem(0u64, PAGES, GFP_KERNEL)?;
        let (dev, vram, tlb) = (dev.clone(), vram.clone(), tlb.clone());
        Arc::pin_init(
            pin_init!(Self {
                dev,
                vram,
                tlb,
                flags,
                table,
                state <- new_mutex!(State { map, entries }, "rkfd GART"),
            }),
            GFP_KERNEL,
        )
    }

    /// The device whose memory it maps.
    pub(crate) fn dev(&self) -> &Arc<Handle> {
        &self.dev
    }

    /// Offset of the table in VRAM.
    pub(super) fn table(&self) -> VramOffset {
        self.table
    }

    /// Writes the table anew, after VRAM has lost it. Nothing is flushed.
    pub(super) fn restore(&self) -> Result {
        let state = self.state.lock();
        self.write(0, &state.entries)
    }

    fn write(&self, first: usize, entries: &[u64]) -> Result {
        let first = (first as u64).checked_mul(8).ok_or(EINVAL)?;
        let start = self.table.get().checked_add(first).ok_or(EINVAL)?;
        self.vram.with(|bytes| {
            let mut entries = (start..).step_by(8).zip(entries);
            entries.try_for_each(|(at, &entry)| bytes.write64(at, entry))
        })
    }

    fn set(&self, first: usize, count: usize, entry: impl Fn(u64) -> u64) -> Result {
        let mut state = self.state.lock();
        let end = first.checked_add(count).ok_or(EINVAL)?;
        let entries = state.entries.get_mut(first..end).ok_or(EINVAL)?;
        for (i, place) in (0u64..).zip(entries.iter_mut()) {
            *place = entry(i);
        }
        self.write(first, entries)?;
        drop(state);
        self.tlb.flush_vmid(0)
    }
}

/// Pages in the GART; unmapped when dropped.
pub(crate) struct Range {
    gart: Arc<Gart>,
    first: usize,
    count: usize,
}

impl Range {
    /// Maps `count` pages at a bus address, the first at a multiple of `align` pages, of the address as
    /// well: the GART begins at a multiple of 4 GiB.
    pub(crate) fn map(gart: &Arc<Gart>, bus: BusAddr, count: usize, align: usize) -> Result<Self> {
        let first = gart.state.lock().map.alloc(count, align)?;
        let range = Self {
            gart: gart.clone(),
            first,
            count,
        };
        gart.set(first, count, |i| {
            bus.get().wrapping_add(i.wrapping_mul(pte::PAGE_SIZE)) & ADDRESS | gart.flags
        })?;
        Ok(range)
    }

    /// Address for the GPU.
    pub(crate) fn addr(&self) -> GpuVa {
        let start = self.gart.vram.layout().gart_start;
        GpuVa::new(start).byte((self.first as u64).wrapping_mul(pte::PAGE_SIZE))
    }
}

/// Pages anywhere in the system's memory, one behind the other in the GART; unmapped when dropped.
pub(crate) struct Window(Range);

impl Window {
    /// Maps pages at these bus addresses.
    ///
    /// # Errors
    ///
    /// ENOMEM when the GART has no room, ENODEV.
    pub(crate) fn new(gart: &Arc<Gart>, pages: &[u64]) -> Result<Self> {
        let count = pages.len();
        let first = gart.state.lock().map.alloc(count, 1)?;
        let mut window = Self(Range {
            gart: gart.clone(),
            first,
            count,
        });
        window.map(pages)?;
        Ok(window)
    }

    /// Whether it has as many pages.
    pub(crate) fn is_as_long_as(&self, pages: &[u64]) -> bool {
        self.0.count == pages.len()
    }

    /// Has these pages from now on, as many as before.
    ///
    /// # Errors
    ///
    /// EINVAL for another number of them, ENODEV.
    pub(crate) fn map(&mut self, pages: &[u64]) -> Result {
        let Range { gart, first, count } = &self.0;
        if pages.len() != *count {
            return Err(EINVAL);
        }
        // There is one for each.
        let page = |i: u64| pages.get(i as usize).copied().unwrap_or_default();
        gart.set(*first, *count, |i| page(i) & ADDRESS | gart.flags)
    }

    /// Address for the GPU.
    pub(crate) fn addr(&self) -> GpuVa {
        self.0.addr()
    }
}

impl Drop for Range {
    fn drop(&mut self) {
        match self.gart.set(self.first, self.count, |_| 0) {
            // Without the device there is nothing that could still use the old entries.
            Ok(()) | Err(ENODEV) => {
                self.gart.state.lock().map.release(self.first, self.count);
            }
            // The pages stay taken. Their memory is freed: the firmware that would touch it
            // doesn't answer, and whoever owned it has asked it to stop.
            Err(error) => {
                ratelimited!(
                    dev_err,
                    self.gart.dev.device(),
                    "unmapping GART pages failed ({:?})\n",
                    error
                );
            }
        }
    }
}
