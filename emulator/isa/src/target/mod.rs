// SPDX-License-Identifier: MIT OR Apache-2.0
//! What differs between chips: the opcode table and the number of lanes.
//!
//! Execution is generic over the lane count; a second chip adds its table, its operand layout in
//! `decode` and its operations in `exec`.

pub mod gfx942;

/// Lanes of a wave on gfx942.
pub const GFX942_LANES: usize = 64;
