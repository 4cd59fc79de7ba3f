// SPDX-License-Identifier: MIT OR Apache-2.0

//! What the host data path (HDP) holds back: stores of the host to VRAM that the GPU doesn't see yet.
//!
//! The host's processors store through BAR 0, and HDP may keep what they stored until the driver
//! flushes it (Linux, `amdgpu/amdgpu_hdp.c`, `amdgpu_hdp_generic_flush`). Here the BAR is memory that
//! the guest maps, so no store of the host can be intercepted. The model is therefore on the GPU's
//! side: some pages of VRAM are kept as the GPU first saw them, and a flush brings every kept page up
//! to date. Until then a word that the host has changed has its old value for the GPU. Kept are
//!
//! * pages that the VM hubs read page tables from;
//! * pages that an engine reads with the kernel's address space (VMID 0): MQDs, for example, after
//!   whose writing Linux flushes (`amdkfd/kfd_mqd_manager_v9.c`, `update_mqd_gpu_addr_v9_4_3`).
//!
//! What an engine writes with the kernel's address space is seen at once.
//!
//! The model is bounded as the hardware's buffer is: what was never read before is read as it is now,
//! and when too many pages are kept all of them are forgotten. What programs store to their own VRAM
//! isn't held back: their runtime flushes for them, by the registers that the driver lets it map, at
//! moments of which Linux's source says nothing. Loads by the host are never stale: neither HDP
//! 4.4.2 nor HDP 7.0 has a read cache that a driver invalidates (`amdgpu/hdp_v4_0.c`,
//! `amdgpu/hdp_v7_0.c`).

use super::host::Mapping;
use super::PAGE;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::atomic::Ordering;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// How many pages are kept at most.
const CAPACITY: usize = 512;

/// Bytes of a page as the GPU sees them.
type Kept = Box<[u8; PAGE as usize]>;

/// Pages by their number in VRAM.
type Pages = HashMap<u64, Kept>;

/// A word of VRAM as the GPU sees it, and as the host has left it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Word {
    /// Its offset in VRAM.
    pub offset: u64,
    /// What the GPU sees.
    pub seen: u64,
    /// What the host, or an engine, stored last.
    pub stored: u64,
}

impl Word {
    /// A word of which nothing is held back.
    pub fn current(offset: u64, value: u64) -> Self {
        Self {
            offset,
            seen: value,
            stored: value,
        }
    }

    /// Whether the host has stored another value that no flush has let through.
    pub fn is_stale(&self) -> bool {
        self.seen != self.stored
    }
}

/// The host data path of a device.
#[derive(Default)]
pub struct HostPath {
    pages: RwLock<Pages>,
}

impl HostPath {
    /// The aligned word at an offset of VRAM; `None` where it is misaligned or beyond the end.
    pub fn word(&self, vram: Mapping, offset: u64) -> Option<Word> {
        let part = vram.part(offset, 8)?;
        let word = part.u64(0)?;
        let (page, at) = (offset / PAGE, (offset % PAGE) as usize);
        self.keep(vram, page);
        let pages = self.read();
        // Under the lock: a flush in between would make values of two times.
        let stored = word.load(Ordering::Acquire);
        let kept = pages.get(&page).and_then(|kept| kept.get(at..at + 8));
        let seen = kept.and_then(|bytes| bytes.try_into().ok().map(u64::from_le_bytes));
        Some(Word {
            offset,
            seen: seen.unwrap_or(stored),
            stored,
        })
    }

    /// Reads bytes that lie in one page of VRAM, from `offset` on, as the GPU sees them. Returns the
    /// first word among them that the host has changed since. Beyond the end nothing is read.
    pub fn bytes(&self, vram: Mapping, offset: u64, out: &mut [u8]) -> Option<Word> {
        let mut stale = None;
        let mut done = 0;
        while let Some(rest) = out.get_mut(done..).filter(|rest| !rest.is_empty()) {
            let at = offset + done as u64;
            let word = self.word(vram, at & !7)?;
            stale = stale.or(Some(word).filter(Word::is_stale));
            let bytes = word.seen.to_le_bytes();
            let from = bytes.get((at % 8) as usize..).unwrap_or_default();
            let n = from.len().min(rest.len());
            for (to, from) in rest.iter_mut().zip(from) {
                *to = *from;
            }
            done += n;
        }
        stale
    }

    /// Lets everything that the host has stored through to memory.
    pub fn flush(&self, vram: Mapping) {
        for (&page, kept) in self.write().iter_mut() {
            Self::update(vram, page, 0..PAGE, kept);
        }
    }

    /// Lets an engine store to `bytes` bytes of VRAM from `offset` on: the GPU sees them at once.
    pub fn engine_stores(&self, vram: Mapping, offset: u64, bytes: u64, store: impl FnOnce()) {
        let end = offset.saturating_add(bytes);
        let touched = offset / PAGE..end.div_ceil(PAGE);
        let pages = self.read();
        if !Self::keeps_any(&pages, touched.clone()) {
            // Under the lock: a page that is kept now is kept with what is stored.
            store();
            return;
        }
        drop(pages);
        let mut pages = self.write();
        store();
        for (&page, kept) in pages.iter_mut() {
            if touched.contains(&page) {
                let start = page * PAGE;
                let bytes = offset.saturating_sub(start)..end.saturating_sub(start).min(PAGE);
                Self::update(vram, page, bytes, kept);
            }
        }
    }

    /// Start-up state: nothing is held back.
    pub fn reset(&self) {
        self.write().clear();
    }

    fn keeps_any(pages: &Pages, touched: Range<u64>) -> bool {
        match touched.end - touched.start {
            1 => pages.contains_key(&touched.start),
            _ => pages.keys().any(|page| touched.contains(page)),
        }
    }

    fn keep(&self, vram: Mapping, page: u64) {
        if self.read().contains_key(&page) {
            return;
        }
        let mut pages = self.write();
        if pages.len() >= CAPACITY {
            pages.clear();
        }
        pages.entry(page).or_insert_with(|| {
            let mut kept = Box::new([0; PAGE as usize]);
            Self::update(vram, page, 0..PAGE, &mut kept);
            kept
        });
    }

    /// Takes some bytes of a page over as they are in memory.
    fn update(vram: Mapping, page: u64, which: Range<u64>, kept: &mut Kept) {
        let part = vram.part(page * PAGE, PAGE as usize);
        let to = kept.get_mut(which.start as usize..which.end as usize);
        if let (Some(part), Some(to)) = (part, to) {
            // Always inside: the range is one of the page.
            let _ = part.read(which.start as usize, to);
        }
    }

    fn read(&self) -> RwLockReadGuard<'_, Pages> {
        self.pages.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Pages> {
        self.pages.write().unwrap_or_else(PoisonError::into_inner)
    }
}
