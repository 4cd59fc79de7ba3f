// SPDX-License-Identifier: MIT OR Apache-2.0
//! The second-level cache of an XCC: what its compute units have stored and memory does not have yet.
//!
//! A store of a narrow scope to memory that the cache may hold back ([`HostPage::held_back`]) stays here. Compute units
//! of the same XCC see it at once; other XCCs, copy engines and the host read what memory had, until something writes
//! it back: a release of a scope that reaches beyond the cache, by an instruction or by the packet processor, or the
//! cache's own want of room. Source: LLVM, AMDGPUUsage, "Memory Model gfx942" (`buffer_wbl2`) and "Memory Model gfx12"
//! (`global_wb`).
//!
//! Milder than hardware: of what was only loaded it has no data but only, while its hits are counted, the line's
//! address; and atomics are done in memory.

use crate::decode::Scope;
use crate::memory::HostPage;
use crate::tags::Tags;
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

pub(crate) use crate::traffic::LINE;
/// Parts that have locks of their own.
const PARTS: usize = 16;
/// Lines of one part: 4 MiB in all, as of an XCC of CDNA3.
const MOST: usize = (4 << 20) / LINE / PARTS;

/// Bytes of a line that were stored.
pub(crate) struct Stores {
    data: [u8; LINE],
    /// A bit for each byte.
    stored: u128,
}

impl Stores {
    pub(crate) const NONE: Self = Self {
        data: [0; LINE],
        stored: 0,
    };

    /// Adds bytes that lie in the line.
    pub(crate) fn put(&mut self, from: usize, bytes: &[u8]) {
        self.data[from..from + bytes.len()].copy_from_slice(bytes);
        self.stored |= ((1 << bytes.len()) - 1) << from;
    }

    /// Adds later ones.
    fn merge(&mut self, later: &Self) {
        for (n, byte) in later.data.iter().enumerate() {
            if (later.stored >> n) & 1 != 0 {
                self.data[n] = *byte;
            }
        }
        self.stored |= later.stored;
    }
}

/// A line that memory does not have yet.
struct Line {
    page: HostPage,
    /// Where in the page it begins.
    first: usize,
    stores: Stores,
}

impl Line {
    fn write_back(&self) {
        for (word, bytes) in self.stores.data.chunks_exact(8).enumerate() {
            let at = self.first + 8 * word;
            match (self.stores.stored >> (8 * word)) as u8 {
                0 => {}
                0xff => self.page.store_u64(at, number(bytes)),
                some => (0..8).filter(|n| (some >> n) & 1 != 0).for_each(|n| {
                    self.page.store_u8(at + n, bytes[n]);
                }),
            }
        }
    }
}

/// The number that bytes are, the low one first.
fn number(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .rev()
        .fold(0, |n, byte| (n << 8) | u64::from(*byte))
}

/// The line that holds a byte of a page: its address on the host, and where in the page it begins.
fn line_of(page: &HostPage, at: usize) -> (usize, usize) {
    let first = at / LINE * LINE;
    (page.address() + first, first)
}

type Part = HashMap<usize, Line>;

/// The cache.
pub struct SecondLevel {
    parts: [Mutex<Part>; PARTS],
    /// Lines in all parts.
    lines: AtomicUsize,
    /// The narrowest scope that reaches beyond the cache.
    beyond: Scope,
    /// Which lines it has, for who counts its hits.
    tags: Tags,
}

impl SecondLevel {
    /// An empty one of so many channels. `several` says whether the device has several of them, so that its own scope
    /// reaches beyond each.
    pub fn new(several: bool, channels: usize) -> Self {
        Self {
            parts: std::array::from_fn(|_| Mutex::default()),
            lines: AtomicUsize::new(0),
            beyond: if several {
                Scope::Device
            } else {
                Scope::System
            },
            tags: Tags::new(channels),
        }
    }

    /// Looks up the line of a page that holds byte `at`, for who counts: its channel, and whether the line was there,
    /// which it is afterwards. Memory that the cache may not hold back is uncached.
    pub(crate) fn look(&self, page: &HostPage, at: usize) -> (usize, bool) {
        self.tags.look(line_of(page, at).0, page.may_be_held_back())
    }

    /// Whether a store of a scope may be held back.
    pub(crate) fn holds(&self, scope: Scope) -> bool {
        scope < self.beyond
    }

    /// A release: everything is written back if the scope reaches beyond the cache.
    pub fn release(&self, scope: Scope) {
        if !self.holds(scope) {
            self.write_back();
        }
    }

    /// Writes everything back.
    pub fn write_back(&self) {
        if self.is_empty() {
            return;
        }
        for part in &self.parts {
            self.empty(&mut part.lock().unwrap_or_else(PoisonError::into_inner));
        }
    }

    /// Loses what memory does not have yet, as a reset of the device does.
    pub fn lose(&self) {
        for part in &self.parts {
            let mut part = part.lock().unwrap_or_else(PoisonError::into_inner);
            self.forget(&mut part);
        }
    }

    fn is_empty(&self) -> bool {
        self.lines.load(Ordering::Acquire) == 0
    }

    fn empty(&self, part: &mut Part) {
        part.values().for_each(Line::write_back);
        self.forget(part);
    }

    fn forget(&self, part: &mut Part) {
        self.lines.fetch_sub(part.len(), Ordering::AcqRel);
        part.clear();
    }

    fn part(&self, line: usize) -> MutexGuard<'_, Part> {
        self.parts[line / LINE % PARTS]
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads a whole piece of a page that lies in one line.
    pub(crate) fn read(&self, page: &HostPage, at: usize, out: &mut [u8]) {
        let (line, first) = line_of(page, at);
        // Held while memory is read, too, or what is written back meanwhile would be seen in neither.
        let part = (!self.is_empty()).then(|| self.part(line));
        for (n, bytes) in out.chunks_mut(8).enumerate() {
            match bytes.len() {
                8 => bytes.copy_from_slice(&page.load_u64(at + 8 * n).to_le_bytes()),
                4 => bytes.copy_from_slice(&page.load_u32(at + 8 * n).to_le_bytes()),
                2 => bytes.copy_from_slice(&page.load_u16(at + 8 * n).to_le_bytes()),
                _ => (0..bytes.len()).for_each(|b| bytes[b] = page.load_u8(at + 8 * n + b)),
            }
        }
        let Some(held) = part.as_ref().and_then(|part| part.get(&line)) else {
            return;
        };
        for (n, byte) in out.iter_mut().enumerate() {
            let from = at - first + n;
            if (held.stores.stored >> from) & 1 != 0 {
                *byte = held.stores.data[from];
            }
        }
    }

    /// Loads 1, 2, 4 or 8 bytes of a page.
    pub(crate) fn load(&self, page: &HostPage, at: usize, bytes: usize) -> u64 {
        let mut value = [0; 8];
        let inside = (LINE - at % LINE).min(bytes);
        self.read(page, at, &mut value[..inside]);
        if inside < bytes {
            self.read(page, at + inside, &mut value[inside..bytes]);
        }
        u64::from_le_bytes(value)
    }

    /// Holds a store of 1, 2, 4 or 8 bytes back.
    pub(crate) fn store(&self, page: &HostPage, at: usize, bytes: usize, value: u64) {
        let value = &value.to_le_bytes()[..bytes];
        let inside = (LINE - at % LINE).min(bytes);
        let parts = value.split_at(inside);
        for (at, bytes) in [(at, parts.0), (at + inside, parts.1)] {
            if !bytes.is_empty() {
                let mut stores = Stores::NONE;
                stores.put(at % LINE, bytes);
                self.hold(page, at, &stores);
            }
        }
    }

    /// Holds stores to the line back that holds a byte of a page.
    pub(crate) fn hold(&self, page: &HostPage, at: usize, stores: &Stores) {
        let (line, first) = line_of(page, at);
        let mut part = self.part(line);
        if part.len() >= MOST && !part.contains_key(&line) {
            self.empty(&mut part);
        }
        let held = part.entry(line).or_insert_with(|| {
            self.lines.fetch_add(1, Ordering::AcqRel);
            Line {
                page: page.clone(),
                first,
                stores: Stores::NONE,
            }
        });
        held.stores.merge(stores);
    }

    /// Writes the lines back in which bytes of a page lie: memory is about to be accessed itself.
    pub(crate) fn settle(&self, page: &HostPage, at: usize, bytes: usize) {
        if self.is_empty() {
            return;
        }
        let last = line_of(page, at + bytes - 1).0;
        for line in (line_of(page, at).0..=last).step_by(LINE) {
            if let Some(held) = self.part(line).remove(&line) {
                held.write_back();
                self.lines.fetch_sub(1, Ordering::AcqRel);
            }
        }
    }
}
