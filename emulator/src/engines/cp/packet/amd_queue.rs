// SPDX-License-Identifier: MIT OR Apache-2.0

//! `amd_queue_t`: what the HSA runtime keeps around a queue's read pointer, as far as the packet
//! processor reads it.
//!
//! Source: HSA runtime, `amd_hsa_queue.h`.

/// Where the read index lies in `amd_queue_t`: the read pointer's address leads to the whole.
pub(crate) const READ_INDEX: u64 = 0x80;
/// `read_dispatch_id_field_base_byte_offset` in `amd_queue_t`, which is [`READ_INDEX`] if this is an `amd_queue_t`.
pub(crate) const READ_INDEX_OFFSET: u64 = 0x88;
/// `compute_tmpring_size`: waves in bits 11:0, and the size of a wave's.
pub(crate) const TMPRING: u64 = 0x8c;
/// `scratch_backing_memory_location`.
pub(crate) const SCRATCH: u64 = 0xa0;
/// Where `amd_queue_t` has the handle of the signal for errors.
pub(crate) const INACTIVE_SIGNAL: u64 = 0xc0;
