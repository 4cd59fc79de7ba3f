// SPDX-License-Identifier: MIT OR Apache-2.0

//! The doorbell BAR: words that the guest stores and the device polls.
//!
//! The guest maps the BAR's memory file, so a store makes no exit; who listens to a doorbell loads
//! it again and again. A doorbell is a 32-bit word by index; compute queues use the aligned pair
//! from an even index as one of 64 bits.

use crate::memory::host::{HostPage, Mapping};
use crate::report::{Report, Whose};
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::Arc;

/// SDMA engines that doorbells may be routed to.
const SDMA_ENGINES: usize = 16;
/// Words of a page of doorbells.
const PAGE_WORDS: u32 = 1024;
/// What a queue's doorbell has from when it is connected until it rings.
pub const NOT_RUNG: u64 = u64::MAX;

/// The doorbells.
pub struct Doorbells {
    file: Mapping,
    all: HostPage,
    enabled: AtomicBool,
    /// Whether any word reaches the graphics core.
    graphics: AtomicBool,
    /// Words that reach the interrupt handler: first, and how many in the high half.
    ih: AtomicU64,
    /// Words that reach each SDMA engine, in the same way.
    sdma: [AtomicU64; SDMA_ENGINES],
    report: Arc<Report>,
}

impl Doorbells {
    /// A doorbell BAR of `size` bytes, disabled.
    ///
    /// # Errors
    /// The host has no memory file for it.
    pub fn new(size: u64, report: Arc<Report>) -> io::Result<Self> {
        let file = Mapping::anonymous("rkfd-doorbells", size)?;
        let all = file
            .part(0, size as usize)
            .ok_or_else(|| io::Error::other("empty doorbell BAR"))?;
        Ok(Self {
            file,
            all,
            enabled: AtomicBool::new(false),
            graphics: AtomicBool::new(false),
            ih: AtomicU64::new(0),
            sdma: Default::default(),
            report,
        })
    }

    /// The memory file, for the guest to map.
    pub fn file(&self) -> Mapping {
        self.file
    }

    /// How many 32-bit doorbells there are.
    pub fn words(&self) -> u32 {
        (self.all.len() / 4) as u32
    }

    /// Whether the aperture is enabled (`RCC_DOORBELL_APER_EN`): stores before are dropped.
    pub fn is_enabled(&self) -> bool {
        self.enabled.load(Ordering::Acquire)
    }

    /// Enables or disables the aperture. What was stored while it was disabled never reached the
    /// device: it is recorded and dropped.
    pub fn enable(&self, on: bool) {
        if self.enabled.swap(on, Ordering::AcqRel) == on {
            return;
        }
        for (index, word) in self.rung() {
            if on {
                self.lost(index);
            }
            word.store(0, Ordering::Release);
        }
    }

    /// Whether the aperture is enabled. While it is not, a ring of a queue's doorbell, at a word index, is recorded
    /// and dropped.
    pub fn lets_through(&self, index: u32) -> bool {
        let enabled = self.is_enabled();
        if let (false, Some(word)) = (enabled, self.all.u64(index as usize * 4)) {
            if is_rung(word.swap(NOT_RUNG, Ordering::AcqRel)) {
                self.lost(index);
            }
        }
        enabled
    }

    /// Records that a ring never reached the device.
    fn lost(&self, index: u32) {
        // The first page is the driver's in every layout; programs map others.
        let whose = match index < PAGE_WORDS {
            true => Whose::Driver,
            false => Whose::Program,
        };
        self.report.record(
            whose,
            format_args!("doorbell {index:#x} rung while the aperture was disabled"),
        );
    }

    /// The 64-bit doorbells.
    fn words_of_64(&self) -> impl Iterator<Item = (u32, &'static AtomicU64)> + '_ {
        (0..self.words())
            .step_by(2)
            .filter_map(|index| Some((index, self.all.u64(index as usize * 4)?)))
    }

    /// Those that rang.
    fn rung(&self) -> impl Iterator<Item = (u32, &'static AtomicU64)> + '_ {
        (self.words_of_64()).filter(|(_, word)| is_rung(word.load(Ordering::Acquire)))
    }

    /// The 64-bit doorbell at a word index, with acquire order: what the guest wrote before it
    /// rang is visible. Disabled doorbells read as zero; an odd index, or one beyond the BAR, is
    /// recorded.
    pub fn load(&self, index: u32) -> u64 {
        if !self.is_enabled() {
            return 0;
        }
        let word = (index % 2 == 0)
            .then(|| self.all.u64(index as usize * 4))
            .flatten();
        match word {
            Some(word) => word.load(Ordering::Acquire),
            None => {
                self.report.violation(format_args!(
                    "64-bit doorbell at word {index:#x}, which the BAR has not"
                ));
                0
            }
        }
    }

    /// The 32-bit doorbell at a word index, otherwise as [`Doorbells::load`].
    pub fn load_u32(&self, index: u32) -> u32 {
        if !self.is_enabled() {
            return 0;
        }
        self.all
            .u32(index as usize * 4)
            .map_or(0, |word| word.load(Ordering::Acquire))
    }

    /// Sets the 64-bit doorbell at a word index, so that the next ring is seen as a change: the
    /// device does so when it connects a queue, with the queue's own write pointer.
    pub fn store(&self, index: u32, value: u64) {
        if let Some(word) = self.all.u64(index as usize * 4) {
            word.store(value, Ordering::Release);
        }
    }

    /// Sets the 32-bit doorbell at a word index, as [`Doorbells::store`] does.
    pub fn store_u32(&self, index: u32, value: u32) {
        if let Some(word) = self.all.u32(index as usize * 4) {
            word.store(value, Ordering::Release);
        }
    }

    /// Opens or closes the way to the graphics core.
    pub fn route_graphics(&self, open: bool) {
        self.graphics.store(open, Ordering::Release);
    }

    /// Whether words reach the graphics core. One that does not is lost.
    pub fn reaches_graphics(&self) -> bool {
        self.graphics.load(Ordering::Acquire)
    }

    /// Sets which words reach the interrupt handler.
    pub fn route_ih(&self, first: u32, count: u32) {
        self.ih.store(
            u64::from(first) | (u64::from(count) << 32),
            Ordering::Release,
        );
    }

    /// Whether a word reaches the interrupt handler.
    pub fn reaches_ih(&self, index: u32) -> bool {
        let range = self.ih.load(Ordering::Acquire);
        let (first, count) = (range as u32, (range >> 32) as u32);
        index.checked_sub(first).is_some_and(|n| n < count)
    }

    /// Sets which words reach an SDMA engine.
    pub fn route_sdma(&self, engine: usize, first: u32, count: u32) {
        if let Some(range) = self.sdma.get(engine) {
            range.store(
                u64::from(first) | (u64::from(count) << 32),
                Ordering::Release,
            );
        }
    }

    /// Whether a word reaches an SDMA engine. The range is one of each page of doorbells, since a
    /// process has pages of its own (`kfd_doorbell.c`: the same doorbells are reserved in each).
    pub fn reaches_sdma(&self, engine: u8, index: u32) -> bool {
        let range = self
            .sdma
            .get(usize::from(engine))
            .map_or(0, |range| range.load(Ordering::Acquire));
        let (first, count) = (range as u32, (range >> 32) as u32);
        let in_page = index % PAGE_WORDS;
        in_page.checked_sub(first).is_some_and(|n| n < count)
    }

    /// Start-up state: disabled and zero.
    pub fn reset(&self) {
        self.enabled.store(false, Ordering::Release);
        self.route_graphics(false);
        self.route_ih(0, 0);
        (0..SDMA_ENGINES).for_each(|engine| self.route_sdma(engine, 0, 0));
        for (_, word) in self.words_of_64() {
            if word.load(Ordering::Acquire) != 0 {
                word.store(0, Ordering::Release);
            }
        }
    }
}

fn is_rung(value: u64) -> bool {
    value != 0 && value != NOT_RUNG
}
