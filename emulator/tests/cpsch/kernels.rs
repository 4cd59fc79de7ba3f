// SPDX-License-Identifier: MIT OR Apache-2.0

//! Kernels compiled by clang, loaded into a process of the rig.

use crate::queues::Process;
use rkfd_emulator_testkit::code;
pub use rkfd_emulator_testkit::code::pointers;
use std::collections::HashMap;

/// Loads a code object; addresses of its symbols.
pub fn load(process: &Process<'_>, name: &str) -> HashMap<String, u64> {
    let code = code::code(name, "gfx942");
    let base = process.alloc(code.image.len() as u64);
    process.put(base, &code.image);
    let symbols = code.symbols.into_iter();
    symbols.map(|(name, at)| (name, base + at)).collect()
}

/// Kernel arguments with the hidden ones: where they lie.
pub fn arguments(process: &Process<'_>, explicit: &[u8], grid: u32, group: u16) -> u64 {
    let bytes = code::arguments(explicit, grid, group);
    let va = process.alloc(bytes.len() as u64);
    process.put(va, &bytes);
    va
}
