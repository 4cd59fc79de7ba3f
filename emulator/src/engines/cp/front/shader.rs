// SPDX-License-Identifier: MIT OR Apache-2.0

//! The registers that describe a dispatch, as words of an MQD.

/// Words of an MQD up to the last user data.
pub(crate) const REGISTERS: usize = 81;
/// Them at the time of a dispatch.
pub(crate) type Registers = [u32; REGISTERS];

/// COMPUTE_PGM_RSRC2: a trap handler is there, which the queue's process does not choose.
pub(crate) const TRAP_PRESENT: u32 = 1 << 6;
