// SPDX-License-Identifier: MIT OR Apache-2.0

//! What a queue runs by: its place, its registers, and what a generation has in them.

pub(crate) mod buffer;
pub(crate) mod counters;
pub(crate) mod debug;
mod fixed;
pub mod generation;
pub mod hqd;
pub mod left;
pub(crate) mod look;
pub(crate) mod registers;
pub mod relaunch;
pub(crate) mod shader;
pub mod slot;
pub(crate) mod waves;
