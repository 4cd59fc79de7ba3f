// SPDX-License-Identifier: MIT OR Apache-2.0

//! The log that MES keeps in memory of the driver's: a header, then entries, the oldest of which are
//! written over.
//!
//! Source: Linux, `include/mes_v12_api_def.h`: `struct MES_LOG_BUFFER`.

/// Bytes of a pipe's log (`AMDGPU_MES_LOG_BUFFER_SIZE`).
pub const BYTES: u64 = 0xc000;
/// Bytes that Linux leaves behind it for the firmware's `mscratch` (`AMDGPU_MES_MSCRATCH_SIZE`).
pub const SCRATCH_BYTES: u64 = 0x40000;
/// Bytes of the header: index of the next entry and count of wraps (32 bits each), number of
/// entries (64 bits), 16 bytes reserved.
pub const HEADER_BYTES: u64 = 32;
/// Bytes of an entry: time stamp (64 bits), operation and reserved (32 bits each), two operands (64
/// bits each).
pub const ENTRY_BYTES: u64 = 32;
/// Entries that fit.
pub const ENTRIES: u64 = (BYTES - HEADER_BYTES) / ENTRY_BYTES;

/// Operation: a gang (first operand, its context) is in another state (second operand).
pub const CONTEXT_STATE_CHANGE: u32 = 0;
/// State: it is known no more.
pub const IDLE: u32 = 0;
/// State: a queue of it is on an HQD.
pub const RUNNING: u32 = 1;
/// State: it waits.
pub const READY: u32 = 2;
