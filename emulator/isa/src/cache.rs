// SPDX-License-Identifier: MIT OR Apache-2.0
//! The first-level caches of a compute unit: one for vector memory, one for scalar memory.
//!
//! Neither is coherent with anybody: a load that finds its line gets what memory had when the line was filled.
//! The vector cache writes through. What drops lines is what drops them on the chip (LLVM, AMDGPUUsage, "Memory
//! Model gfx942" and "Memory Model gfx12"): `buffer_inv` and `global_inv` of a scope beyond the wave's for the
//! vector cache, `s_dcache_inv` for the scalar one, and an acquire of the packet processor for both.
//!
//! A workgroup has a compute unit's caches to itself while it runs, and the next one inherits them: that is a chip
//! with more compute units than workgroups run at a time. Lines are found by the host's address of the memory,
//! which is the physical address: translations don't matter.
//!
//! Milder than hardware: a store drops the line, and so does a load that bypasses the cache; what the chip leaves
//! in the line then is not documented.

use crate::decode::counters::returns;
use crate::decode::{Inst, Scope};
use crate::memory::{HostPage, PAGE};
use crate::second::{SecondLevel, Stores};
use crate::traffic::{Request, Traffic};
use std::sync::Arc;

/// What the instruction that is being executed reads through.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Path {
    /// The vector cache.
    #[default]
    Vector,
    /// Past the vector cache: its scope is wider than the compute unit.
    Beyond,
    /// The scalar cache.
    Scalar,
}

/// Bytes of a line of the vector cache.
pub(crate) const VECTOR_LINE: usize = 128;
/// Bytes of a line of the scalar cache.
const SCALAR_LINE: usize = 64;

/// No line lies there: the lowest page of the host is never mapped.
const NONE: usize = 0;

/// Lines of `N` bytes, each with one place where it can be.
struct Lines<const N: usize> {
    tags: Vec<usize>,
    data: Vec<[u8; N]>,
    any: bool,
}

impl<const N: usize> Lines<N> {
    fn new(count: usize) -> Self {
        Self {
            tags: vec![NONE; count],
            data: vec![[0; N]; count],
            any: false,
        }
    }

    fn slot(&self, tag: usize) -> usize {
        (tag / N) % self.tags.len()
    }

    /// Whether the line is there that has byte `at` of a page.
    fn has(&self, page: &HostPage, at: usize) -> bool {
        let tag = page.address() + at / N * N;
        self.tags[self.slot(tag)] == tag
    }

    fn clear(&mut self) {
        if std::mem::take(&mut self.any) {
            self.tags.fill(NONE);
        }
    }

    /// The line that has byte `at` of a page, filled if it was not there.
    #[inline]
    fn line(&mut self, page: &HostPage, at: usize, next: Option<&SecondLevel>) -> &[u8; N] {
        let first = at / N * N;
        let tag = page.address() + first;
        let slot = self.slot(tag);
        if self.tags[slot] != tag {
            self.fill(page, first, tag, slot, next);
        }
        &self.data[slot]
    }

    fn fill(
        &mut self,
        page: &HostPage,
        first: usize,
        tag: usize,
        slot: usize,
        next: Option<&SecondLevel>,
    ) {
        self.tags[slot] = tag;
        self.any = true;
        if let Some(next) = next {
            return next.read(page, first, &mut self.data[slot]);
        }
        for (n, bytes) in self.data[slot].chunks_exact_mut(8).enumerate() {
            bytes.copy_from_slice(&page.load_u64(first + 8 * n).to_le_bytes());
        }
    }

    fn drop(&mut self, page: &HostPage, at: usize, bytes: usize) {
        if !self.any {
            return;
        }
        let last = (at + bytes.max(1) - 1).min(PAGE - 1);
        for first in (at / N * N..=last).step_by(N) {
            let tag = page.address() + first;
            let slot = self.slot(tag);
            if self.tags[slot] == tag {
                self.tags[slot] = NONE;
            }
        }
    }

    /// The number that the `bytes` (1, 2, 4 or 8) from `at` on are.
    #[inline]
    fn load(
        &mut self,
        page: &HostPage,
        at: usize,
        bytes: usize,
        next: Option<&SecondLevel>,
    ) -> u64 {
        let mut number = [0; 8];
        let mut done = 0;
        while done < bytes {
            let from = (at + done) % N;
            let n = (bytes - done).min(N - from);
            let line = self.line(page, at + done, next);
            number[done..done + n].copy_from_slice(&line[from..from + n]);
            done += n;
        }
        u64::from_le_bytes(number)
    }
}

/// A compute unit's caches.
pub struct Caches {
    // 32 KiB of lines of 128 bytes (CDNA3 ISA, section 1.1; gfx12's is as large).
    vector: Lines<VECTOR_LINE>,
    // 16 KiB of lines of 64 bytes.
    scalar: Lines<SCALAR_LINE>,
    path: Path,
    acquires: [u64; 2],
    /// The one of the XCC, if it has any.
    second: Option<Arc<SecondLevel>>,
    /// It may hold back what the instruction stores.
    holds: bool,
    /// What waves ask for, while somebody counts it.
    pub(crate) traffic: Option<Box<Traffic>>,
}

impl Default for Caches {
    fn default() -> Self {
        Self {
            vector: Lines::new(256),
            scalar: Lines::new(256),
            path: Path::default(),
            acquires: [0; 2],
            second: None,
            holds: false,
            traffic: None,
        }
    }
}

impl Caches {
    /// Drops what the packet processor's acquires say, which are counted: those for the vector cache, those for
    /// the scalar one.
    pub(crate) fn follow(&mut self, acquires: [u64; 2]) {
        let [vector, scalar] = acquires;
        if self.acquires[0] != vector {
            self.drop_vector();
        }
        if self.acquires[1] != scalar {
            self.drop_scalar();
        }
        self.acquires = acquires;
    }

    /// Empty caches above a second level.
    pub(crate) fn above(second: Option<Arc<SecondLevel>>) -> Self {
        Self {
            second,
            ..Self::default()
        }
    }

    /// An instruction of vector memory is about to be executed.
    #[inline]
    pub(crate) fn vector(&mut self, i: &Inst) {
        let scope = i.scope;
        if let Some(traffic) = &mut self.traffic {
            traffic.begin(returns(i));
        }
        self.path = match scope {
            Scope::Wave => Path::Vector,
            _ => Path::Beyond,
        };
        self.holds = self
            .second
            .as_ref()
            .is_some_and(|second| second.holds(scope));
    }

    /// An instruction of scalar memory is about to be executed.
    #[inline]
    pub(crate) fn scalar(&mut self) {
        if let Some(traffic) = &mut self.traffic {
            traffic.begin(true);
        }
        self.path = Path::Scalar;
        self.holds = self.second.is_some();
    }

    /// Whether there is a second level.
    pub(crate) fn has_second(&self) -> bool {
        self.second.is_some()
    }

    /// A release of a scope, by an instruction.
    pub(crate) fn release(&self, scope: Scope) {
        if let Some(second) = &self.second {
            second.release(scope);
        }
    }

    /// Counts what the instruction asks for, if somebody wants to know: before it is done, which may change what is
    /// there.
    #[inline]
    fn ask(&mut self, page: &HostPage, at: usize, bytes: usize, request: Request) {
        if self.traffic.is_some() {
            self.count(page, at, bytes, request);
        }
    }

    #[cold]
    fn count(&mut self, page: &HostPage, at: usize, bytes: usize, request: Request) {
        let (Some(traffic), Some(second)) = (&mut self.traffic, &self.second) else {
            return;
        };
        let line = match self.path {
            Path::Scalar => SCALAR_LINE,
            Path::Vector | Path::Beyond => VECTOR_LINE,
        };
        let last = (at + bytes.max(1) - 1).min(PAGE - 1);
        for first in (at / line * line..=last).step_by(line) {
            if !traffic.is_new(page.address() + first) {
                continue;
            }
            let hit = request == Request::Read
                && match self.path {
                    Path::Vector => self.vector.has(page, first),
                    Path::Scalar => self.scalar.has(page, first),
                    Path::Beyond => false,
                };
            if self.path != Path::Scalar {
                traffic.looked(request, hit);
            }
            if !hit {
                traffic.passed_on(request, second.look(page, first));
            }
        }
    }

    /// Drops the vector cache's lines.
    pub(crate) fn drop_vector(&mut self) {
        self.vector.clear();
    }

    /// Drops the scalar cache's lines.
    pub(crate) fn drop_scalar(&mut self) {
        self.scalar.clear();
    }

    /// Loads 1, 2, 4 or 8 bytes that lie in one page.
    #[inline]
    pub(crate) fn load(&mut self, page: &HostPage, at: usize, bytes: usize) -> u64 {
        self.ask(page, at, bytes, Request::Read);
        match self.path {
            Path::Vector => self.vector.load(page, at, bytes, self.second.as_deref()),
            Path::Scalar => self.scalar.load(page, at, bytes, self.second.as_deref()),
            Path::Beyond => {
                self.vector.drop(page, at, bytes);
                if let Some(second) = &self.second {
                    return second.load(page, at, bytes);
                }
                match bytes {
                    1 => page.load_u8(at).into(),
                    2 => page.load_u16(at).into(),
                    4 => page.load_u32(at).into(),
                    _ => page.load_u64(at),
                }
            }
        }
    }

    /// Stores 1, 2, 4 or 8 bytes that lie in one page.
    #[inline]
    pub(crate) fn store(&mut self, page: &HostPage, at: usize, bytes: usize, value: u64) {
        self.ask(page, at, bytes, Request::Write);
        self.changed(page, at, bytes);
        if let Some(second) = &self.second {
            if self.hold(page) {
                return second.store(page, at, bytes, value);
            }
            second.settle(page, at, bytes);
        }
        match bytes {
            1 => page.store_u8(at, value as u8),
            2 => page.store_u16(at, value as u16),
            4 => page.store_u32(at, value as u32),
            _ => page.store_u64(at, value),
        }
    }

    /// Whether what the instruction stores to a page is held back.
    #[inline]
    pub(crate) fn hold(&self, page: &HostPage) -> bool {
        self.holds && page.may_be_held_back()
    }

    /// Holds stores to one line back.
    pub(crate) fn store_line(&mut self, page: &HostPage, at: usize, stores: &Stores) {
        self.ask(page, at, 1, Request::Write);
        self.changed(page, at, 1);
        if let Some(second) = &self.second {
            second.hold(page, at, stores);
        }
    }

    /// Memory itself is about to be changed, by an atomic.
    #[inline]
    pub(crate) fn settle(&mut self, page: &HostPage, at: usize, bytes: usize) {
        self.ask(page, at, bytes, Request::Atomic);
        self.changed(page, at, bytes);
        if let Some(second) = &self.second {
            second.settle(page, at, bytes);
        }
    }

    /// The compute unit has changed bytes of a page: by a store, or by an atomic, which the second level does.
    #[inline]
    pub(crate) fn changed(&mut self, page: &HostPage, at: usize, bytes: usize) {
        match self.path {
            Path::Scalar => self.scalar.drop(page, at, bytes),
            Path::Vector | Path::Beyond => self.vector.drop(page, at, bytes),
        }
    }

    /// A byte behind the first level, which is asked for nothing: stores don't stay in it.
    pub(crate) fn look(&self, page: &HostPage, at: usize) -> u8 {
        match &self.second {
            Some(second) => second.load(page, at, 1) as u8,
            None => page.load_u8(at),
        }
    }

    /// The vector cache's line with byte `at` of a page.
    #[inline]
    pub(crate) fn line(&mut self, page: &HostPage, at: usize) -> &[u8; VECTOR_LINE] {
        self.ask(page, at, 1, Request::Read);
        self.vector.line(page, at, self.second.as_deref())
    }
}
