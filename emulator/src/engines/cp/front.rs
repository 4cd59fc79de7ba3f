// SPDX-License-Identifier: MIT OR Apache-2.0

//! What a queue runs by: its place, its registers, and what a generation has in them.

pub mod generation;
pub mod hqd;
pub mod slot;
