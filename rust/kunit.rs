// SPDX-License-Identifier: GPL-2.0

//! What the KUnit suites share. Each room has its suite in a file `kunit.rs` of its own; they run
//! whenever a kernel with KUnit loads the module, and are not built for others.
//!
//! What a suite expects comes from Linux's source or from a model that is too simple to be wrong,
//! never from the code under test.

/// Numbers that look random and are the same in each run (Marsaglia's xorshift64).
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new() -> Self {
        Self(0x9e37_79b9_7f4a_7c15)
    }

    /// A number below `end`, which isn't 0.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }
}
