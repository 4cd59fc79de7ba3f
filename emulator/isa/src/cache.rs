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

use crate::memory::{HostPage, PAGE};

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

    fn clear(&mut self) {
        if std::mem::take(&mut self.any) {
            self.tags.fill(NONE);
        }
    }

    /// The line that has byte `at` of a page, filled if it was not there.
    #[inline]
    fn line(&mut self, page: &HostPage, at: usize) -> &[u8; N] {
        let first = at / N * N;
        let tag = page.address() + first;
        let slot = self.slot(tag);
        if self.tags[slot] != tag {
            self.fill(page, first, tag, slot);
        }
        &self.data[slot]
    }

    fn fill(&mut self, page: &HostPage, first: usize, tag: usize, slot: usize) {
        self.tags[slot] = tag;
        self.any = true;
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
    fn load(&mut self, page: &HostPage, at: usize, bytes: usize) -> u64 {
        let mut number = [0; 8];
        let mut done = 0;
        while done < bytes {
            let from = (at + done) % N;
            let n = (bytes - done).min(N - from);
            let line = self.line(page, at + done);
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
    scalar: Lines<64>,
    path: Path,
    acquires: [u64; 2],
}

impl Default for Caches {
    fn default() -> Self {
        Self {
            vector: Lines::new(256),
            scalar: Lines::new(256),
            path: Path::default(),
            acquires: [0; 2],
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

    /// Says what the instruction reads through that is about to be executed.
    #[inline]
    pub(crate) fn read_through(&mut self, path: Path) {
        self.path = path;
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
        match self.path {
            Path::Vector => self.vector.load(page, at, bytes),
            Path::Scalar => self.scalar.load(page, at, bytes),
            Path::Beyond => {
                self.vector.drop(page, at, bytes);
                match bytes {
                    1 => page.load_u8(at).into(),
                    2 => page.load_u16(at).into(),
                    4 => page.load_u32(at).into(),
                    _ => page.load_u64(at),
                }
            }
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

    /// The vector cache's line with byte `at` of a page.
    #[inline]
    pub(crate) fn line(&mut self, page: &HostPage, at: usize) -> &[u8; VECTOR_LINE] {
        self.vector.line(page, at)
    }
}
