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
//! and a page that finds no room takes that of another, which is forgotten. What programs store to their own VRAM
//! isn't held back: their runtime flushes for them, by the registers that the driver lets it map, at
//! moments of which Linux's source says nothing. Loads by the host are never stale: neither HDP
//! 4.4.2 nor HDP 7.0 has a read cache that a driver invalidates (`amdgpu/hdp_v4_0.c`,
//! `amdgpu/hdp_v7_0.c`).
//!
//! Each walk of a page table reads here, so reads take no lock: a page has a version, which is odd
//! while the page changes, and a reader that meets a change reads again.

use super::host::Mapping;
use super::PAGE;
use std::ops::Range;
use std::sync::atomic::{fence, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError, RwLock, RwLockWriteGuard};

/// How many groups of pages there are, and how many pages one keeps: 512 pages in all.
const SETS: usize = 128;
const WAYS: usize = 4;

/// 64-bit words of a page.
const WORDS: usize = PAGE as usize / 8;

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

/// A page of VRAM as the GPU sees it.
#[derive(Default)]
struct Kept {
    /// Odd while the other fields change.
    version: AtomicU32,
    /// The page's number plus one; 0 without a page.
    page: AtomicU64,
    words: OnceLock<Box<[AtomicU64; WORDS]>>,
    /// The same words as bytes, which are compared at once with a page that mostly hasn't changed. Used only by who
    /// changes the page.
    bytes: Mutex<Vec<u8>>,
}

impl Kept {
    fn is(&self, page: u64) -> bool {
        self.page() == Some(page)
    }

    /// What `look` returns of a page's words while they don't change. `None` if the page isn't here;
    /// `Err` if it changes just now.
    fn look<T>(&self, page: u64, look: impl Fn(&[AtomicU64]) -> T) -> Result<Option<T>, Changes> {
        let version = self.version.load(Ordering::Acquire);
        if version % 2 != 0 {
            return Err(Changes);
        }
        let seen = self.words.get().filter(|_| self.is(page));
        let seen = seen.map(|words| look(words.as_slice()));
        fence(Ordering::Acquire);
        match self.version.load(Ordering::Relaxed) == version {
            true => Ok(seen),
            false => Err(Changes),
        }
    }

    /// The page's number, if there is one.
    fn page(&self) -> Option<u64> {
        self.page.load(Ordering::Relaxed).checked_sub(1)
    }

    /// Readers wait from now on. Only who holds [`HostPath::change`] changes pages.
    fn begin(&self) {
        self.version.fetch_add(1, Ordering::Relaxed);
        fence(Ordering::Release);
    }

    /// Readers go on.
    fn end(&self) {
        self.version.fetch_add(1, Ordering::Release);
    }

    fn change(&self, change: impl FnOnce(&Self)) {
        self.begin();
        change(self);
        self.end();
    }

    /// Takes some bytes of its page over as they are in memory.
    fn update(&self, vram: Mapping, page: u64, bytes: Range<u64>) {
        let words = self.words.get_or_init(zeroes);
        let mut copy = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        copy.resize(PAGE as usize, 0);
        let mut now = [0; PAGE as usize];
        // Always inside: what has no word in VRAM is never kept.
        let _ = vram
            .part(page * PAGE, PAGE as usize)
            .is_some_and(|part| part.read(0, &mut now));
        let range = bytes.start as usize..bytes.end as usize;
        let (Some(old), Some(new)) = (copy.get_mut(range.clone()), now.get(range)) else {
            return;
        };
        if old == new {
            return;
        }
        old.copy_from_slice(new);
        for (word, bytes) in words.iter().zip(copy.chunks_exact(8)) {
            let bytes = bytes.try_into().unwrap_or_default();
            word.store(u64::from_le_bytes(bytes), Ordering::Relaxed);
        }
    }
}

fn zeroes() -> Box<[AtomicU64; WORDS]> {
    Box::new(std::array::from_fn(|_| AtomicU64::new(0)))
}

/// A page changes while it is read.
struct Changes;

/// Pages that compete for the same room.
#[derive(Default)]
struct Set {
    ways: [Kept; WAYS],
    /// The one that gives way next.
    next: AtomicU32,
}

/// The host data path of a device.
pub struct HostPath {
    sets: Box<[Set]>,
    /// Held to change pages; shared by stores of engines to pages that aren't kept.
    change: RwLock<()>,
}

impl Default for HostPath {
    fn default() -> Self {
        Self {
            sets: (0..SETS).map(|_| Set::default()).collect(),
            change: RwLock::default(),
        }
    }
}

impl HostPath {
    /// The aligned word at an offset of VRAM; `None` where it is misaligned or beyond the end.
    pub fn word(&self, vram: Mapping, offset: u64) -> Option<Word> {
        let word = vram.part(offset, 8)?.u64(0)?;
        let at = (offset % PAGE / 8) as usize;
        self.look(vram, offset / PAGE, |words| {
            // Between the same changes as the other: a flush would make values of two times.
            let stored = word.load(Ordering::Acquire);
            let seen = words.get(at).map(|seen| seen.load(Ordering::Relaxed));
            Word {
                offset,
                seen: seen.unwrap_or(stored),
                stored,
            }
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
        let _changing = self.changing();
        for kept in self.sets.iter().flat_map(|set| &set.ways) {
            if let Some(page) = kept.page() {
                kept.change(|kept| kept.update(vram, page, 0..PAGE));
            }
        }
    }

    /// Lets an engine store to `bytes` bytes of VRAM from `offset` on: the GPU sees them at once.
    pub fn engine_stores(&self, vram: Mapping, offset: u64, bytes: u64, store: impl FnOnce()) {
        let end = offset.saturating_add(bytes);
        let touched = offset / PAGE..end.div_ceil(PAGE);
        {
            let _unchanged = self.change.read().unwrap_or_else(PoisonError::into_inner);
            if self.kept(&touched).next().is_none() {
                // Under the lock: a page that is kept now is kept with what is stored.
                return store();
            }
        }
        let _changing = self.changing();
        // Readers wait from before the store on, or they would see memory changed without a flush.
        let kept: Vec<_> = self.kept(&touched).collect();
        for (kept, _) in &kept {
            kept.begin();
        }
        store();
        for (kept, page) in kept {
            let start = page * PAGE;
            let bytes = offset.saturating_sub(start)..end.saturating_sub(start).min(PAGE);
            kept.update(vram, page, bytes);
            kept.end();
        }
    }

    /// Start-up state: nothing is held back.
    pub fn reset(&self) {
        let _changing = self.changing();
        for kept in self.sets.iter().flat_map(|set| &set.ways) {
            kept.change(|kept| kept.page.store(0, Ordering::Relaxed));
        }
    }

    /// What `look` returns of the words of a page, which is kept from now on.
    fn look<T>(&self, vram: Mapping, page: u64, look: impl Fn(&[AtomicU64]) -> T) -> Option<T> {
        loop {
            let mut looks = self
                .set(page)?
                .ways
                .iter()
                .map(|kept| kept.look(page, &look));
            match looks.find_map(Result::transpose) {
                Some(Ok(seen)) => return Some(seen),
                // Until who changes it has done so.
                Some(Err(Changes)) => drop(self.change.read()),
                None => self.keep(vram, page)?,
            }
        }
    }

    /// Keeps a page as it is now.
    fn keep(&self, vram: Mapping, page: u64) -> Option<()> {
        let _changing = self.changing();
        let set = self.set(page)?;
        if set.ways.iter().any(|kept| kept.is(page)) {
            return Some(());
        }
        let free = set.ways.iter().find(|kept| kept.page().is_none());
        let next = || set.next.fetch_add(1, Ordering::Relaxed) as usize % WAYS;
        let kept = free.or_else(|| set.ways.get(next()))?;
        kept.change(|kept| {
            kept.page.store(page + 1, Ordering::Relaxed);
            kept.update(vram, page, 0..PAGE);
        });
        Some(())
    }

    /// The pages of a range that are kept.
    fn kept<'a>(&'a self, touched: &'a Range<u64>) -> impl Iterator<Item = (&'a Kept, u64)> + 'a {
        // One page lies in one set; of many, all sets are searched.
        let one = (touched.end - touched.start == 1).then_some(touched.start);
        let sets = match one {
            Some(page) => self.set(page).map(std::slice::from_ref),
            None => Some(&*self.sets),
        };
        let ways = sets.into_iter().flatten().flat_map(|set| &set.ways);
        ways.filter_map(|kept| Some((kept, kept.page().filter(|page| touched.contains(page))?)))
    }

    fn set(&self, page: u64) -> Option<&Set> {
        self.sets.get((page % SETS as u64) as usize)
    }

    fn changing(&self) -> RwLockWriteGuard<'_, ()> {
        self.change.write().unwrap_or_else(PoisonError::into_inner)
    }
}
