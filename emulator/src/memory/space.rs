// SPDX-License-Identifier: MIT OR Apache-2.0

//! Access through an address space: translation by page, and copies across pages.

use super::hdp::Word;
use super::host::Mapping;
use super::walk::{walk, Access, FaultReason, Path, Place, Rights, Translation, VmFault};
use super::{HostPage, Hub, Memory, PAGE};
use crate::report::Whose;
use crate::rules::{Effect, Event, Kind};
use crate::trace::Value;
use std::sync::atomic::Ordering;

/// One VMID of one hub.
#[derive(Clone, Copy)]
pub struct Space<'a> {
    memory: &'a Memory,
    hub: Hub,
    vmid: u8,
}

impl<'a> Space<'a> {
    /// The address space of a VMID below 16.
    pub(super) fn new(memory: &'a Memory, hub: Hub, vmid: u8) -> Self {
        Self { memory, hub, vmid }
    }

    /// The hub.
    pub fn hub(&self) -> Hub {
        self.hub
    }

    /// The VMID.
    pub fn vmid(&self) -> u8 {
        self.vmid
    }

    /// The video memory, whose pages some addresses translate to.
    pub fn vram(&self) -> Mapping {
        self.memory.vram
    }

    /// A number that grows whenever a page got from [`Space::page`] may have become stale: who
    /// keeps pages asks for new ones when it has changed.
    pub fn epoch(&self) -> u64 {
        let tlb = self.memory.hub(self.hub).tlb(self.vmid).epoch();
        tlb.wrapping_add(self.memory.bus.epoch())
    }

    /// The 4 KiB of host memory that hold `va` (rounded down to a page).
    ///
    /// # Errors
    /// The address does not translate or does not allow the access.
    pub fn page(&self, va: u64, access: Access) -> Result<HostPage, VmFault> {
        self.page_for_shaders(va, access).map(|(page, _)| page)
    }

    /// [`Self::page`], and whether the graphics core's second-level cache may hold back what is stored there.
    ///
    /// # Errors
    /// As [`Self::page`].
    pub fn page_for_shaders(&self, va: u64, access: Access) -> Result<(HostPage, bool), VmFault> {
        let fault = |reason| VmFault {
            hub: self.hub,
            vmid: self.vmid,
            va,
            access,
            reason,
        };
        let found = self.translate(va, access).map_err(fault)?;
        if !found.rights.allow(access) {
            return Err(fault(FaultReason::Permission));
        }
        let at = found
            .place
            .plus((va & !(PAGE - 1)).wrapping_sub(found.start));
        let page = match at {
            Place::Nothing => self.memory.nothing(access),
            at => self.memory.at(at),
        };
        let page = page.ok_or(fault(FaultReason::NoMemory))?;
        Ok((page, found.held_back))
    }

    /// Where an address lies, from the cache or by a page walk.
    ///
    /// # Errors
    /// Why it does not translate.
    fn translate(&self, va: u64, access: Access) -> Result<Translation, FaultReason> {
        let hub = self.memory.hub(self.hub);
        if self.vmid == 0 {
            if let Some(direct) = hub.system_aperture(va)? {
                return Ok(direct);
            }
        }
        let tlb = hub.tlb(self.vmid);
        if let Some(kept) = tlb.get(va).or_else(|| tlb.refill(va)) {
            return Ok(kept);
        }
        let epoch = tlb.epoch();
        let (context, mut path) = (hub.context(self.vmid), Path::default());
        let found = walk(self.memory, self.hub, self.vmid, &context, va, &mut path);
        self.trace_walk(va, access, context.base, &path, &found);
        let mut found = found?;
        if self.vmid != 0 && access == Access::Write {
            let keys = [("vmid", self.vmid.into())];
            let walk = Event::of(Kind::Walk).with(&keys);
            if self.memory.rules().ask(&walk) == Some(Effect::StalePage) {
                found.place = found.place.plus(PAGE);
            }
        }
        tlb.put(found, epoch);
        Ok(found)
    }

    /// Where an address lies, for who looks into the device: what the page walk reads, and what it finds. Nothing is
    /// kept of it, and nothing recorded.
    ///
    /// # Errors
    /// Why it does not translate.
    pub fn look(&self, va: u64) -> (Path, Result<Translation, FaultReason>) {
        let hub = self.memory.hub(self.hub);
        let mut path = Path {
            is_look: true,
            ..Path::default()
        };
        if self.vmid == 0 {
            match hub.system_aperture(va) {
                Ok(None) => {}
                Ok(Some(direct)) => return (path, Ok(direct)),
                Err(why) => return (path, Err(why)),
            }
        }
        let context = hub.context(self.vmid);
        path.at.push(0);
        path.entries.push(context.base);
        let found = walk(self.memory, self.hub, self.vmid, &context, va, &mut path);
        (path, found)
    }

    /// Bytes at an address as [`Self::look`] finds it, as far as they are in its page.
    pub fn peek(&self, va: u64, out: &mut [u8]) -> bool {
        let Ok(found) = self.look(va).1 else {
            return false;
        };
        let first = va & !(PAGE - 1);
        let page = self
            .memory
            .at(found.place.plus(first.wrapping_sub(found.start)));
        page.is_some_and(|page| page.read((va - first) as usize, out))
    }

    /// A walk in the trace: what the translation caches lacked of a process, and how it was found.
    fn trace_walk(
        &self,
        va: u64,
        access: Access,
        base: u64,
        path: &Path,
        found: &Result<Translation, FaultReason>,
    ) {
        let trace = self.memory.report().shown_in();
        let Some(trace) = trace.filter(|_| self.vmid != 0) else {
            return;
        };
        let (hub, access) = (self.hub.to_string(), format!("{access:?}"));
        let mut members = vec![
            ("hub", Value::Text(&hub)),
            ("vmid", Value::Num(self.vmid.into())),
            ("va", Value::Hex(va)),
            ("access", Value::Text(&access)),
            ("base", Value::Hex(base)),
            ("at", Value::Longs(&path.at)),
            ("entries", Value::Longs(&path.entries)),
        ];
        let reason;
        match found {
            Ok(found) => {
                let (memory, at) = match found.place {
                    Place::Vram(at) => ("VRAM", at),
                    Place::Bus(at) => ("system", at),
                    Place::Nothing => ("none", 0),
                };
                members.extend([
                    ("start", Value::Hex(found.start)),
                    ("bytes", Value::Hex(found.len)),
                    ("memory", Value::Text(memory)),
                    ("place", Value::Hex(at)),
                ]);
            }
            Err(why) => {
                reason = format!("{why:?}");
                members.push(("fault", Value::Text(&reason)));
            }
        }
        trace.event("page_walk", &members);
    }

    /// Reads bytes.
    ///
    /// # Errors
    /// A page of them does not translate; those before it were read.
    pub fn read(&self, va: u64, out: &mut [u8]) -> Result<(), VmFault> {
        let mut done = 0;
        while let Some(rest) = out.get_mut(done..).filter(|rest| !rest.is_empty()) {
            let (page, at, n) =
                self.piece(va.wrapping_add(done as u64), rest.len(), Access::Read)?;
            if let Some(part) = rest.get_mut(..n) {
                // Always inside: `piece` ends at the page's end.
                match self.kernels(&page) {
                    Some(offset) => self.read_kernels(offset + at as u64, part),
                    None => _ = page.read(at, part),
                }
            }
            done += n;
        }
        Ok(())
    }

    /// Writes bytes.
    ///
    /// # Errors
    /// A page of them does not translate; those before it were written.
    pub fn write(&self, va: u64, bytes: &[u8]) -> Result<(), VmFault> {
        let mut done = 0;
        while let Some(rest) = bytes.get(done..).filter(|rest| !rest.is_empty()) {
            let (page, at, n) =
                self.piece(va.wrapping_add(done as u64), rest.len(), Access::Write)?;
            let part = rest.get(..n).unwrap_or_default();
            self.store(&page, at, n, || _ = page.write(at, part));
            done += n;
        }
        Ok(())
    }

    /// Reads words.
    ///
    /// # Errors
    /// As [`Space::read`].
    pub fn read_words(&self, va: u64, out: &mut [u32]) -> Result<(), VmFault> {
        let mut bytes = vec![0; out.len() * 4];
        self.read(va, &mut bytes)?;
        for (word, b) in out.iter_mut().zip(bytes.chunks_exact(4)) {
            *word = u32::from_le_bytes(b.try_into().unwrap_or_default());
        }
        Ok(())
    }

    /// Writes words.
    ///
    /// # Errors
    /// As [`Space::write`].
    pub fn write_words(&self, va: u64, words: &[u32]) -> Result<(), VmFault> {
        let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
        self.write(va, &bytes)
    }

    /// Lets `store` store to `len` bytes from byte `at` of a page on. Who writes to a page got from
    /// [`Space::page`] does it by this, so that the host data path ([`super::hdp`]) knows.
    pub fn store(&self, page: &HostPage, at: usize, len: usize, store: impl FnOnce()) {
        match self.kernels(page) {
            Some(offset) => self
                .memory
                .engine_stores(offset + at as u64, len as u64, store),
            None => store(),
        }
    }

    /// As [`Space::store`], to bytes of VRAM that several pages of it hold.
    pub fn store_vram(&self, offset: u64, bytes: u64, store: impl FnOnce()) {
        match self.vmid {
            0 => self.memory.engine_stores(offset, bytes, store),
            _ => store(),
        }
    }

    /// So many bytes from an address on are about to be written: VRAM that the kernel writes gets a new owner, maybe.
    pub fn takes(&self, va: u64, bytes: u64) {
        if self.vmid != 0 || !self.memory.checks_reuse() {
            return;
        }
        let mut done = 0;
        while done < bytes {
            let va = va.wrapping_add(done);
            let Ok(found) = self.look(va).1 else { return };
            let inside = va.wrapping_sub(found.start);
            let n = found.len.saturating_sub(inside).max(1).min(bytes - done);
            if let Place::Vram(at) = found.place.plus(inside) {
                self.memory.check_reuse(at, n);
            }
            done += n;
        }
    }

    /// The offset in VRAM of a page that is reached by the kernel's address space.
    fn kernels(&self, page: &HostPage) -> Option<u64> {
        match self.vmid {
            0 => self.memory.vram.offset_of(page),
            _ => None,
        }
    }

    /// Reads bytes of a page of VRAM as the host data path lets them be seen. That the host has
    /// changed them without a flush is recorded, but not for a single word: that is how an engine
    /// polls, and who polls may see the old value for a while.
    fn read_kernels(&self, offset: u64, out: &mut [u8]) {
        let memory = self.memory;
        let stale = memory.host_path.bytes(memory.vram, offset, out);
        if let Some(word) = stale.filter(|_| out.len() > 8) {
            memory.record_stale(Whose::Driver, self.hub, self.vmid, "read", word);
        }
    }

    /// Loads an aligned 32-bit word at once, with acquire order.
    ///
    /// # Errors
    /// It does not translate, or is misaligned ([`FaultReason::Range`]).
    pub fn load_u32(&self, va: u64) -> Result<u32, VmFault> {
        let page = self.page(va, Access::Read)?;
        let word = page
            .u32((va % PAGE) as usize)
            .ok_or(self.misaligned(va, Access::Read))?;
        if let Some(offset) = self.kernels(&page) {
            let mut seen = [0; 4];
            self.read_kernels(offset + va % PAGE, &mut seen);
            return Ok(u32::from_le_bytes(seen));
        }
        Ok(word.load(Ordering::Acquire))
    }

    /// Loads an aligned 64-bit word at once, with acquire order.
    ///
    /// # Errors
    /// As [`Space::load_u32`].
    pub fn load_u64(&self, va: u64) -> Result<u64, VmFault> {
        let page = self.page(va, Access::Read)?;
        let word = page
            .u64((va % PAGE) as usize)
            .ok_or(self.misaligned(va, Access::Read))?;
        if let Some(offset) = self.kernels(&page) {
            let mut seen = [0; 8];
            self.read_kernels(offset + va % PAGE, &mut seen);
            return Ok(u64::from_le_bytes(seen));
        }
        Ok(word.load(Ordering::Acquire))
    }

    /// Stores an aligned 32-bit word at once, with release order.
    ///
    /// # Errors
    /// As [`Space::load_u32`].
    pub fn store_u32(&self, va: u64, value: u32) -> Result<(), VmFault> {
        let page = self.page(va, Access::Write)?;
        let word = page
            .u32((va % PAGE) as usize)
            .ok_or(self.misaligned(va, Access::Write))?;
        self.store(&page, (va % PAGE) as usize, 4, || {
            word.store(value, Ordering::Release);
        });
        Ok(())
    }

    /// Stores an aligned 64-bit word at once, with release order.
    ///
    /// # Errors
    /// As [`Space::load_u32`].
    pub fn store_u64(&self, va: u64, value: u64) -> Result<(), VmFault> {
        let page = self.page(va, Access::Write)?;
        let word = page
            .u64((va % PAGE) as usize)
            .ok_or(self.misaligned(va, Access::Write))?;
        self.store(&page, (va % PAGE) as usize, 8, || {
            word.store(value, Ordering::Release);
        });
        Ok(())
    }

    /// Replaces an aligned 64-bit word by `f` of it, atomically, and returns the old one.
    ///
    /// # Errors
    /// As [`Space::load_u32`].
    pub fn update_u64(&self, va: u64, f: impl Fn(u64) -> u64) -> Result<u64, VmFault> {
        let page = self.page(va, Access::Atomic)?;
        let word = page
            .u64((va % PAGE) as usize)
            .ok_or(self.misaligned(va, Access::Atomic))?;
        let mut old = word.load(Ordering::Acquire);
        self.store(&page, (va % PAGE) as usize, 8, || {
            while let Err(now) =
                word.compare_exchange_weak(old, f(old), Ordering::AcqRel, Ordering::Acquire)
            {
                old = now;
            }
        });
        Ok(old)
    }

    /// Replaces an aligned 32-bit word by `f` of it, atomically, and returns the old one.
    ///
    /// # Errors
    /// As [`Space::load_u32`].
    pub fn update_u32(&self, va: u64, f: impl Fn(u32) -> u32) -> Result<u32, VmFault> {
        let page = self.page(va, Access::Atomic)?;
        let word = page
            .u32((va % PAGE) as usize)
            .ok_or(self.misaligned(va, Access::Atomic))?;
        let mut old = word.load(Ordering::Acquire);
        self.store(&page, (va % PAGE) as usize, 4, || {
            while let Err(now) =
                word.compare_exchange_weak(old, f(old), Ordering::AcqRel, Ordering::Acquire)
            {
                old = now;
            }
        });
        Ok(old)
    }

    /// The part of an access that lies in the page of its first byte.
    fn piece(
        &self,
        va: u64,
        len: usize,
        access: Access,
    ) -> Result<(HostPage, usize, usize), VmFault> {
        let at = (va % PAGE) as usize;
        Ok((self.page(va, access)?, at, len.min(PAGE as usize - at)))
    }

    fn misaligned(&self, va: u64, access: Access) -> VmFault {
        let reason = FaultReason::Range;
        VmFault {
            hub: self.hub,
            vmid: self.vmid,
            va,
            access,
            reason,
        }
    }
}

impl Memory {
    /// The page at a place. A bus address without guest RAM, or an offset beyond VRAM, is recorded.
    pub fn at(&self, place: Place) -> Option<HostPage> {
        match place {
            Place::Bus(address) => self.bus.page(address),
            Place::Vram(offset) => {
                let offset = offset & !(PAGE - 1);
                let page = self.vram.part(offset, PAGE as usize);
                if page.is_none() {
                    self.report()
                        .violation(format_args!("access beyond VRAM at offset {offset:#x}"));
                }
                page
            }
            Place::Nothing => self.nothing(Access::Read),
        }
    }

    /// What stands for a page that isn't resident: one that is zero for loads, and another for stores, which is zero
    /// for each who begins to store there.
    fn nothing(&self, access: Access) -> Option<HostPage> {
        let is_load = matches!(access, Access::Read | Access::Execute);
        let at = if is_load { 0 } else { PAGE };
        let page = self.nothing.part(at, PAGE as usize)?;
        if !is_load {
            let _ = page.write(0, &[0; PAGE as usize]);
        }
        Some(page)
    }

    /// Entry `index` of a page table, as the GPU sees it.
    pub(super) fn entry(&self, table: Place, index: u64) -> Option<Word> {
        let place = table.plus(index.wrapping_mul(8));
        let page = self.at(place)?;
        match place {
            Place::Vram(offset) => self.host_path.word(self.vram, offset),
            Place::Bus(offset) => {
                let now = page.u64((offset % PAGE) as usize)?.load(Ordering::Acquire);
                Some(Word::current(offset, now))
            }
            Place::Nothing => None,
        }
    }

    /// Records that the GPU met a word whose new value HDP holds back.
    pub(super) fn record_stale(&self, whose: Whose, hub: Hub, vmid: u8, what: &str, word: Word) {
        let Word {
            offset,
            seen,
            stored,
        } = word;
        self.report().record(
            whose,
            format_args!(
                "{hub} hub VMID {vmid}: {what}: VRAM at {offset:#x} was written by the host and not \
                 flushed from HDP: it is {seen:#x} for the GPU, the host wrote {stored:#x}"
            ),
        );
    }

    /// A direct translation: `len` bytes at `start` that lie at `place`.
    pub(super) fn direct(start: u64, len: u64, place: Place) -> Translation {
        Translation {
            start,
            len,
            place,
            rights: Rights::ALL,
            held_back: false,
        }
    }
}
