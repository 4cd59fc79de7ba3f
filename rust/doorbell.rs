// SPDX-License-Identifier: GPL-2.0

//! Doorbells: BAR 2, where a store of 64 bits announces work to a queue.
//!
//! The BAR is cut into slices of 8 KiB, 1,024 doorbells each. The first belongs to the kernel
//! (KIQ, HIQ, IH); every process gets one more, mapped uncached into it. The hardware looks
//! at the doorbell's index within a page to find the engine it belongs to, so the indices of
//! other engines (SDMA, IH, VCN), and the same 512 further on, are never given to compute queues;
//! an SDMA queue has the one there that belongs to its engine and its number.
//!
//! [`DoorbellIndex`] counts the doorbells of a slice, [`DoorbellWord`] the words of the whole BAR, as
//! MQDs and packets name a doorbell.

use crate::{
    device::{
        DeviceMapping,
        Handle, //
    },
    glue::{
        linux::DevresBar,
        trace, //
    },
    pages::PageMap,
    types::{
        DoorbellIndex,
        DoorbellWord, //
    }, //
};
use core::ops::Range;
use kernel::{
    device::Bound,
    io::Io,
    new_mutex,
    pci,
    prelude::*,
    sync::{
        Arc,
        Mutex, //
    }, //
};

/// Bytes of a slice.
pub(crate) const SLICE_SIZE: usize = 8192;
/// Doorbells in a slice.
pub(crate) const SLICE_DOORBELLS: usize = 1024;
/// Doorbells in a page: beyond, the routing repeats.
pub(crate) const PAGE_DOORBELLS: u32 = 512;

/// Word on the BAR of the first XCC's KIQ doorbell (`AMDGPU_DOORBELL_LAYOUT1_KIQ_START`).
pub(crate) const KIQ: DoorbellWord = DoorbellWord::fixed::<0>();
/// Word of HIQ's: the first of the kernel's second page, where KFD's own kernel page lies.
pub(crate) const HIQ: DoorbellWord = DoorbellWord::fixed::<1024>();
/// 64-bit doorbells from one XCC's kernel queues to the next's (`..._LAYOUT1_XCC_RANGE`).
pub(crate) const XCC_RANGE: u32 = 0x20;
/// Last 64-bit doorbell of the user queues of a page (`..._LAYOUT1_USERQUEUE_END`).
pub(crate) const USER_QUEUE_END: u32 = 0x1f;
/// Index of copy engine 0's first (`AMDGPU_DOORBELL_LAYOUT1_sDMA_ENGINE_START`,
/// `AMDGPU_NAVI10_DOORBELL_sDMA_ENGINE0`).
pub(crate) const SDMA_FIRST: u32 = 0x100;
/// 64-bit doorbells from one copy engine's to the next's: half of `sdma_doorbell_range`.
pub(crate) const SDMA_STRIDE: u32 = 10;

/// BAR 2.
#[pin_data]
pub(crate) struct Doorbells {
    dev: Arc<Handle>,
    bar: DevresBar,
    phys: u64,
    /// First and last index in a page that belongs to other engines.
    others: (u32, u32),
    #[pin]
    slices: Mutex<PageMap>,
}

impl Doorbells {
    /// Maps BAR 2 and sets the kernel's slice aside, and in every slice the doorbells of other
    /// engines, from the first to the last index in a page.
    pub(crate) fn new(
        pdev: &pci::Device<Bound>,
        dev: &Arc<Handle>,
        others: (u32, u32),
    ) -> Result<Arc<Self>> {
        let phys = pdev.resource_start(2)?;
        let len = usize::try_from(pdev.resource_len(2)?)?;
        let bar = pdev.iomap_region(2, c"rkfd doorbells")?.into_devres()?;
        let mut slices = PageMap::new(len / SLICE_SIZE)?;
        slices.reserve(0, 1);
        let dev = dev.clone();
        Arc::pin_init(
            pin_init!(Self {
                dev,
                bar,
                phys,
                others,
                slices <- new_mutex!(slices, "rkfd doorbell slices"),
            }),
            GFP_KERNEL,
        )
    }

    /// Physical address of the first.
    pub(crate) fn phys(&self) -> u64 {
        self.phys
    }

    fn slice_phys(&self, index: usize) -> u64 {
        // The map of slices has as many as the BAR.
        self.phys
            .saturating_add(index.saturating_mul(SLICE_SIZE) as u64)
    }

    /// Rings a doorbell of the kernel's.
    pub(crate) fn ring64(&self, word: DoorbellWord, value: u64) {
        trace::doorbell_rung(word.get(), value);
        let _ = self
            .bar
            .try_access_with(|bar| bar.try_write64(value, word.byte()));
    }

    /// Rings a doorbell that takes 32 bits.
    pub(crate) fn ring32(&self, word: DoorbellWord, value: u32) {
        trace::doorbell_rung(word.get(), value.into());
        let _ = self
            .bar
            .try_access_with(|bar| bar.try_write32(value, word.byte()));
    }
}

/// A process' slice of a GPU's doorbells; free again when the last reference goes.
#[pin_data(PinnedDrop)]
pub(crate) struct Slice {
    doorbells: Arc<Doorbells>,
    index: usize,
    /// For the GPU's own stores to its doorbells.
    map: DeviceMapping,
    #[pin]
    used: Mutex<Used>,
}

impl Slice {
    /// Takes a slice.
    ///
    /// # Errors
    ///
    /// ENOMEM when every slice is taken.
    pub(crate) fn new(doorbells: &Arc<Doorbells>) -> Result<Arc<Self>> {
        doorbells.dev.alive()?;
        let index = doorbells.slices.lock().alloc(1, 1)?;
        Self::at(doorbells, index).inspect_err(|_| doorbells.slices.lock().release(index, 1))
    }

    fn at(doorbells: &Arc<Doorbells>, index: usize) -> Result<Arc<Self>> {
        let used = Used::new(doorbells.others);
        let map = doorbells.dev.map(doorbells.slice_phys(index), SLICE_SIZE)?;
        let doorbells = doorbells.clone();
        Arc::pin_init(
            pin_init!(Self {
                doorbells,
                index,
                map,
                used <- new_mutex!(used, "rkfd doorbells"),
            }),
            GFP_KERNEL_ACCOUNT,
        )
    }

    /// Physical address.
    pub(crate) fn phys(&self) -> u64 {
        self.doorbells.slice_phys(self.index)
    }

    /// Its words on the BAR.
    pub(crate) fn words(&self) -> Range<usize> {
        let first = self.index.saturating_mul(SLICE_SIZE / 4);
        first..first.saturating_add(SLICE_SIZE / 4)
    }

    /// The slice as the GPU's page tables name it.
    pub(crate) fn mapping(&self) -> DeviceMapping {
        self.map.clone()
    }

    /// First page frame, for mapping the slice.
    pub(crate) fn pfn(&self) -> usize {
        (self.phys() >> 12) as usize
    }

    /// Takes the first free doorbell.
    ///
    /// # Errors
    ///
    /// EBUSY when none is left.
    pub(crate) fn alloc(self: &Arc<Self>) -> Result<Doorbell> {
        let index = self.used.lock().take().ok_or(EBUSY)?;
        Ok(Doorbell {
            slice: self.clone(),
            index: DoorbellIndex::new(index),
            taken: true,
        })
    }

    /// A doorbell of another engine, that belongs to whoever has its queue.
    pub(crate) fn of_engine(self: &Arc<Self>, index: DoorbellIndex) -> Doorbell {
        Doorbell {
            slice: self.clone(),
            index,
            taken: false,
        }
    }
}

/// The doorbells of a slice that are in use, one bit each.
struct Used([u64; SLICE_DOORBELLS / 64]);

impl Used {
    /// Those that belong to other engines.
    fn new((first, last): (u32, u32)) -> Self {
        Self(core::array::from_fn(|word| {
            (0..64u32).fold(0, |bits, bit| {
                let in_page = ((word as u32) << 6 | bit) % PAGE_DOORBELLS;
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
        Some(i << 6 | bit)
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
        self.doorbells.slices.lock().release(self.index, 1);
    }
}

/// A doorbell; free again when dropped.
pub(crate) struct Doorbell {
    slice: Arc<Slice>,
    index: DoorbellIndex,
    /// It was taken from those that are free, and not one that follows from an engine's queue.
    taken: bool,
}

impl Doorbell {
    /// Index in the slice.
    pub(crate) fn index(&self) -> DoorbellIndex {
        self.index
    }

    /// Index in 32-bit words on the BAR.
    ///
    /// # Errors
    ///
    /// EINVAL: the BAR is so large that registers can't name the word.
    pub(crate) fn word(&self) -> Result<DoorbellWord> {
        let first = self.slice.index.checked_mul(SLICE_SIZE / 4).ok_or(EINVAL)?;
        let word = first
            .checked_add((self.index.get() as usize) << 1)
            .ok_or(EINVAL)?;
        DoorbellWord::new(word.try_into()?)
    }
}

impl Drop for Doorbell {
    fn drop(&mut self) {
        if self.taken {
            self.slice.used.lock().give(self.index.get());
        }
    }
}

#[cfg(CONFIG_KUNIT = "y")]
mod kunit;
