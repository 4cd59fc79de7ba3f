// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is counted beside requests, each of which works now and then: files that show what a process has.

use crate::table::SLOTS as REQUESTS;

/// Files that show what a process has, of each kind.
pub const LOOKS: [&str; 9] = [
    "look: fdinfo",
    "look: vram_",
    "look: sdma_",
    "look: pasid",
    "look: evicted_ms",
    "look: cu_occupancy",
    "look: a queue",
    "look: debugfs pasid_",
    "look: debugfs",
];
const ALL: usize = LOOKS.len();
/// Slots of all that is counted: requests, then these.
pub const SLOTS: usize = REQUESTS + ALL;

/// The slot of a look at a file of this kind.
pub fn look(kind: usize) -> usize {
    REQUESTS + kind
}

/// All of them: slots and names.
pub fn all() -> impl Iterator<Item = (usize, &'static str)> {
    (REQUESTS..).zip(LOOKS)
}
