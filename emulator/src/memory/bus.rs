// SPDX-License-Identifier: MIT OR Apache-2.0

//! Guest RAM by bus address: what the device reaches by DMA.
//!
//! QEMU announces ranges of bus addresses with the memory file behind them, and takes them back,
//! sometimes in pieces or without having announced them. Each file is mapped once, whole, and stays
//! mapped ([`super::host`]); announcing and taking back only changes the table of ranges. All
//! arithmetic on its addresses is checked.

use super::host::Mapping;
use super::{HostPage, PAGE};
use crate::report::{Report, Whose};
use rustix::fs::fstat;
use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

/// A range of bus addresses: its length and what is behind it.
#[derive(Clone, Copy)]
struct Range {
    size: u64,
    /// The file and the range's offset in it; `None` for memory without a file (another
    /// device's BAR, or our own), which can't be reached.
    backing: Option<(Mapping, u64)>,
}

/// The table of ranges.
pub struct Bus {
    ranges: RwLock<BTreeMap<u64, Range>>,
    files: Mutex<HashMap<(u64, u64), Mapping>>,
    epoch: AtomicU64,
    own: Mutex<Vec<(u64, u64)>>,
    /// From which address on the device takes its own accesses for those to its doorbells, and these.
    self_ring: Mutex<Option<(u64, Mapping)>>,
    /// Whether the guest lets the device master the bus.
    master: AtomicBool,
    /// Whether what the interrupt handler writes may snoop.
    interrupts_snoop: AtomicBool,
    /// Whether the guest's processors cache what the device reaches.
    cached: AtomicBool,
    report: Arc<Report>,
}

impl Bus {
    /// An empty bus.
    pub fn new(report: Arc<Report>) -> Self {
        Self {
            ranges: RwLock::default(),
            files: Mutex::default(),
            epoch: AtomicU64::new(0),
            own: Mutex::default(),
            self_ring: Mutex::default(),
            master: AtomicBool::new(true),
            interrupts_snoop: AtomicBool::new(true),
            cached: AtomicBool::new(true),
            report,
        }
    }

    /// Announces `size` bytes at bus address `address`, which are those of `file` at `offset`.
    pub fn map(&self, address: u64, size: u64, offset: u64, file: Option<File>) {
        if size == 0 || address.checked_add(size).is_none() {
            return;
        }
        let backing = file.and_then(|file| Some((self.file(file)?, offset)));
        let backing =
            backing.filter(|(m, at)| at.checked_add(size).is_some_and(|end| end <= m.size()));
        self.unmap(address, size);
        let mut ranges = self.ranges.write().unwrap_or_else(PoisonError::into_inner);
        ranges.insert(address, Range { size, backing });
    }

    /// Takes a range back, whatever of it was announced.
    pub fn unmap(&self, address: u64, size: u64) {
        let end = address.saturating_add(size);
        let mut ranges = self.ranges.write().unwrap_or_else(PoisonError::into_inner);
        let first = ranges
            .range(..address)
            .next_back()
            .map_or(address, |(&at, _)| at);
        let hit: Vec<(u64, Range)> = ranges
            .range(first..end.max(first))
            .map(|(&at, &r)| (at, r))
            .filter(|(at, r)| at + r.size > address)
            .collect();
        for (at, range) in hit {
            ranges.remove(&at);
            if at < address {
                ranges.insert(
                    at,
                    Range {
                        size: address - at,
                        ..range
                    },
                );
            }
            if at + range.size > end {
                let skip = end - at;
                let backing = range.backing.map(|(m, offset)| (m, offset + skip));
                ranges.insert(
                    end,
                    Range {
                        size: range.size - skip,
                        backing,
                    },
                );
            }
        }
        self.epoch.fetch_add(1, Ordering::AcqRel);
    }

    /// Forgets all ranges: the client has gone.
    pub fn clear(&self) {
        self.ranges
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .clear();
        self.epoch.fetch_add(1, Ordering::AcqRel);
    }

    /// The page at a bus address (rounded down), or `None`, recorded, where there is no guest RAM.
    ///
    /// A device's BAR is what programs may have mapped: their doorbells and HDP registers (Linux,
    /// `amdgpu_amdkfd_gpuvm_alloc_memory_of_gpu`). The doorbells are reached while the driver has the device take such
    /// accesses for its own ([`Bus::set_self_ring`]); else who accesses them is at fault, and an engine that does so for the
    /// driver reports what it misses. While bus mastering is off the device reaches nothing, which is recorded too.
    pub fn page(&self, address: u64) -> Option<HostPage> {
        if !self.master.load(Ordering::Acquire) {
            self.report
                .violation(format_args!("DMA while bus mastering is off"));
            return None;
        }
        let page = self.peek(address).or_else(|| self.own_doorbells(address));
        if page.is_none() {
            let at = address & !(PAGE - 1);
            let whose = match self.is_bar(at) {
                true => Whose::Program,
                false => Whose::Driver,
            };
            self.report.record(
                whose,
                format_args!("DMA outside guest RAM at bus address {at:#x}"),
            );
        }
        page
    }

    /// From which address on the device takes its own accesses for those to its doorbells
    /// (`DOORBELL_SELFRING_GPA_APER_*`).
    pub fn set_self_ring(&self, aperture: Option<(u64, Mapping)>) {
        *self
            .self_ring
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = aperture;
        self.epoch.fetch_add(1, Ordering::AcqRel);
    }

    /// Whether it takes any of its own accesses for those to its doorbells.
    pub fn self_rings(&self) -> bool {
        let aperture = self.self_ring.lock();
        (*aperture.unwrap_or_else(PoisonError::into_inner)).is_some()
    }

    fn own_doorbells(&self, address: u64) -> Option<HostPage> {
        let aperture = self.self_ring.lock();
        let (first, doorbells) = (*aperture.unwrap_or_else(PoisonError::into_inner))?;
        let at = (address & !(PAGE - 1)).checked_sub(first)?;
        doorbells.part(at, PAGE as usize)
    }

    /// The device's own BARs: where they lie, and their sizes. QEMU announces only those that the guest maps.
    pub fn set_own(&self, bars: Vec<(u64, u64)>) {
        *self.own.lock().unwrap_or_else(PoisonError::into_inner) = bars;
    }

    /// Whether a device's memory lies at a bus address: this one's, or what was announced without a file.
    fn is_bar(&self, address: u64) -> bool {
        let own = self.own.lock().unwrap_or_else(PoisonError::into_inner);
        if own
            .iter()
            .any(|&(at, size)| address.wrapping_sub(at) < size)
        {
            return true;
        }
        let ranges = self.ranges.read().unwrap_or_else(PoisonError::into_inner);
        let range = ranges.range(..=address).next_back();
        range.is_some_and(|(at, range)| range.backing.is_none() && address - at < range.size)
    }

    /// As [`Bus::page`], without a record.
    pub fn peek(&self, address: u64) -> Option<HostPage> {
        let address = address & !(PAGE - 1);
        let ranges = self.ranges.read().unwrap_or_else(PoisonError::into_inner);
        let (&at, range) = ranges.range(..=address).next_back()?;
        if address - at > range.size.checked_sub(PAGE)? {
            return None;
        }
        let (mapping, offset) = range.backing?;
        mapping.part(offset + (address - at), PAGE as usize)
    }

    /// Switches bus mastering (the command register's bit).
    pub fn set_master(&self, on: bool) {
        self.master.store(on, Ordering::Release);
    }

    /// From now on the guest's processors cache what the device reaches, or don't. They do at start: a
    /// driver that maps all of it write-combined needs no snooping.
    pub fn set_cached(&self, cached: bool) {
        self.cached.store(cached, Ordering::Release);
    }

    /// Whether the bridge lets what the interrupt handler writes snoop (IH_REQ_NONSNOOP_EN is 0).
    pub fn set_interrupts_snoop(&self, on: bool) {
        self.interrupts_snoop.store(on, Ordering::Release);
    }

    /// As [`Bus::set_interrupts_snoop`] has it.
    pub fn interrupts_snoop(&self) -> bool {
        self.interrupts_snoop.load(Ordering::Acquire)
    }

    /// Whether an access that doesn't snoop may miss what the guest's processors have stored at a bus
    /// address: there is RAM, and they cache it.
    pub fn needs_snoop(&self, address: u64) -> bool {
        self.cached.load(Ordering::Acquire) && self.peek(address).is_some()
    }

    /// How often ranges were taken back: with it a kept [`HostPage`] is known to be current.
    pub fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::Acquire)
    }

    /// The mapping of a file: each is mapped once.
    fn file(&self, file: File) -> Option<Mapping> {
        let stat = fstat(&file).ok()?;
        let size = u64::try_from(stat.st_size).ok()?;
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(mapping) = files.get(&(stat.st_dev, stat.st_ino)) {
            if mapping.size() >= size {
                return Some(*mapping);
            }
        }
        let mapping = Mapping::file(file, size).ok()?;
        files.insert((stat.st_dev, stat.st_ino), mapping);
        Some(mapping)
    }
}
