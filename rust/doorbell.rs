// SPDX-License-Identifier: GPL-2.0

//! Doorbells: BAR 2, where a store of 64 bits tells a queue that there is work.
//!
//! The BAR is cut into slices of 8 KiB, 1,024 doorbells each. The first belongs to the kernel
//! (KIQ, HIQ, IH); every process gets one more, mapped uncached into it. The hardware looks
//! at the doorbell's index within a page to find the engine it belongs to, so the indices of
//! other engines (SDMA, IH, VCN), and the same 512 further on, are never given to compute queues;
//! an SDMA queue has the one there that belongs to its engine and its number.
//!
//! A doorbell has three names: its index in the slice, the byte offset in the slice that a user
//! program stores to, and the index in 32-bit words on the whole BAR that MQDs and packets take.

use crate::{
    bo::{pages::PageMap, Bo},
    chip::Family,
    gpu::Hw,
    sdma,
};
use kernel::{
    device::Bound,
    io::Io,
    new_mutex, pci,
    prelude::*,
    sync::{Arc, Mutex},
};

/// Bytes of a slice.
pub(crate) const SLICE_SIZE: usize = 8192;
/// Doorbells in a slice.
pub(crate) const SLICE_DOORBELLS: usize = 1024;
/// Doorbells in a page: beyond, the routing repeats.
pub(crate) const PAGE_DOORBELLS: u32 = 512;

/// Word on the BAR of the first XCC's KIQ doorbell (`AMDGPU_DOORBELL_LAYOUT1_KIQ_START`).
pub(crate) const KIQ: u32 = 0;
/// Word of HIQ's: the first of the kernel's second page, where KFD's own kernel page lies.
pub(crate) const HIQ: u32 = 1024;
/// 64-bit doorbells from one XCC's kernel queues to the next's (`..._LAYOUT1_XCC_RANGE`).
pub(crate) const XCC_RANGE: u32 = 0x20;
/// Last 64-bit doorbell of the user queues of a page (`..._LAYOUT1_USERQUEUE_END`).
pub(crate) const USER_QUEUE_END: u32 = 0x1f;

/// BAR 2.
#[pin_data]
pub(crate) struct Doorbells {
    bar: pci::DevresBar,
    phys: u64,
    #[pin]
    slices: Mutex<PageMap>,
}

impl Doorbells {
    /// Maps BAR 2 and sets the kernel's slice aside.
    pub(crate) fn new(pdev: &pci::Device<Bound>) -> Result<Arc<Self>> {
        let phys = pdev.resource_start(2)?;
        let len = usize::try_from(pdev.resource_len(2)?)?;
        let bar = pdev.iomap_region(2, c"rkfd doorbells")?.into_devres()?;
        let mut slices = PageMap::new(len / SLICE_SIZE)?;
        slices.reserve(0, 1);
        Arc::pin_init(
            pin_init!(Self { bar, phys, slices <- new_mutex!(slices, "rkfd doorbell slices") }),
            GFP_KERNEL,
        )
    }

    /// Rings a doorbell of the kernel's.
    pub(crate) fn ring64(&self, word: u32, value: u64) {
        let _ = self
            .bar
            .try_access_with(|bar| bar.try_write64(value, word as usize * 4));
    }

    /// Rings a doorbell that takes 32 bits.
    pub(crate) fn ring32(&self, word: u32, value: u32) {
        let _ = self
            .bar
            .try_access_with(|bar| bar.try_write32(value, word as usize * 4));
    }
}

/// A process' slice of a GPU's doorbells; free again when the last reference goes.
#[pin_data(PinnedDrop)]
pub(crate) struct Slice {
    hw: Arc<Hw>,
    index: usize,
    #[pin]
    used: Mutex<Used>,
}

impl Slice {
    /// Takes a slice.
    ///
    /// # Errors
    ///
    /// ENOMEM when every slice is taken.
    pub(crate) fn new(hw: &Arc<Hw>) -> Result<Arc<Self>> {
        hw.alive()?;
        let index = hw.doorbells.slices.lock().alloc(1, 1)?;
        let used = Used::new(hw.chip.family);
        let hw2 = hw.clone();
        Arc::pin_init(
            pin_init!(Self { hw: hw2, index, used <- new_mutex!(used, "rkfd doorbells") }),
            GFP_KERNEL,
        )
        .inspect_err(|_| hw.doorbells.slices.lock().release(index, 1))
    }

    /// Physical address.
    pub(crate) fn phys(&self) -> u64 {
        self.hw.doorbells.phys + (self.index * SLICE_SIZE) as u64
    }

    /// First page frame, for mapping the slice.
    pub(crate) fn pfn(&self) -> usize {
        (self.phys() >> 12) as usize
    }

    /// A buffer object of the slice, to map it into a VM.
    pub(crate) fn bo(self: &Arc<Self>) -> Result<Arc<Bo>> {
        Bo::of_doorbells(&self.hw, self.clone())
    }

    /// Takes the first free doorbell.
    ///
    /// # Errors
    ///
    /// EBUSY when none is left.
    pub(crate) fn alloc(self: &Arc<Self>) -> Result<Doorbell> {
        let id = self.used.lock().take().ok_or(EBUSY)?;
        Ok(Doorbell {
            slice: self.clone(),
            id,
            slot: None,
        })
    }

    /// The doorbell of an SDMA queue, which it has to itself as long as it has the slot.
    pub(crate) fn sdma(self: &Arc<Self>, slot: sdma::Slot) -> Doorbell {
        Doorbell {
            slice: self.clone(),
            id: slot.doorbell(),
            slot: Some(slot),
        }
    }
}

/// The doorbells of a slice that are in use, one bit each.
struct Used([u64; SLICE_DOORBELLS / 64]);

impl Used {
    /// Those that belong to other engines.
    fn new(family: &Family) -> Self {
        let (first, last) = family.non_cp_doorbells;
        Self(core::array::from_fn(|word| {
            (0..64u32).fold(0, |bits, bit| {
                let in_page = (word as u32 * 64 + bit) % PAGE_DOORBELLS;
                bits | u64::from((first..=last).contains(&in_page)) << bit
            })
        }))
    }

    /// Takes the first that is free.
    fn take(&mut self) -> Option<u32> {
        let mut words = (0u32..).zip(self.0.iter_mut());
        let (i, word) = words.find(|(_, word)| **word != u64::MAX)?;
        let bit = word.trailing_ones();
        *word |= 1 << bit;
        Some(i * 64 + bit)
    }

    /// Gives one back.
    fn give(&mut self, id: u32) {
        if let Some(word) = self.0.get_mut(id as usize / 64) {
            *word &= !(1 << (id % 64));
        }
    }
}

#[pinned_drop]
impl PinnedDrop for Slice {
    fn drop(self: Pin<&mut Self>) {
        self.hw.doorbells.slices.lock().release(self.index, 1);
    }
}

/// A doorbell; free again when dropped.
pub(crate) struct Doorbell {
    slice: Arc<Slice>,
    id: u32,
    /// Of an SDMA queue, what it follows from.
    slot: Option<sdma::Slot>,
}

impl Doorbell {
    /// Index in the slice.
    #[allow(dead_code)] // For the user half.
    pub(crate) fn index(&self) -> u32 {
        self.id
    }

    /// Engine and queue, of an SDMA queue.
    pub(crate) fn sdma(&self) -> Option<&sdma::Slot> {
        self.slot.as_ref()
    }

    /// Byte offset in the slice.
    pub(crate) fn byte_in_slice(&self) -> u64 {
        u64::from(self.id) * 8
    }

    /// Index in 32-bit words on the BAR.
    pub(crate) fn bar_word(&self) -> u32 {
        (self.slice.index * SLICE_SIZE / 4) as u32 + self.id * 2
    }
}

impl Drop for Doorbell {
    fn drop(&mut self) {
        if self.slot.is_none() {
            self.slice.used.lock().give(self.id);
        }
    }
}

#[cfg(CONFIG_KUNIT = "y")]
mod kunit;
