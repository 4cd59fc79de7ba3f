// SPDX-License-Identifier: MIT OR Apache-2.0

//! What each decoder must hold for any bytes, as one function for each: the tests here call them with
//! seeded bytes, and `fuzz/` with those that libFuzzer finds.
//!
//! A target returns when all is well and panics otherwise.

mod code;
mod device;
mod firmware;
mod instructions;
mod layouts;
mod packets;
mod rules;
mod saved;
mod vbios;

pub use code::code;
pub use device::device;
pub use firmware::firmware;
pub use instructions::{instructions, programs};
pub use layouts::layouts;
pub use packets::{aql, commands, frames, pm4, sdma};
pub use rkfd_ranges::check_discovery as discovery;
pub use rules::rules;
pub use saved::saved;
pub use vbios::vbios;

/// A target.
pub type Target = fn(&[u8]);

/// All targets, by name.
pub const TARGETS: &[(&str, Target)] = &[
    ("layouts", layouts),
    ("pm4", pm4),
    ("commands", commands),
    ("sdma", sdma),
    ("frames", frames),
    ("aql", aql),
    ("rules", rules),
    ("device", device),
    ("code", code),
    ("instructions", instructions),
    ("programs", programs),
    ("firmware", firmware),
    ("discovery", discovery),
    ("saved", saved),
    ("vbios", vbios),
];

/// The whole words of some bytes, in the GPU's order: the least byte first.
fn words(bytes: &[u8]) -> Vec<u32> {
    let word = |bytes: &[u8]| {
        let all = bytes.iter().rev();
        all.fold(0, |word, byte| (word << 8) | u32::from(*byte))
    };
    bytes.chunks_exact(4).map(word).collect()
}
