// SPDX-License-Identifier: GPL-2.0

//! Doorbells: BAR 2, where a store of 64 bits tells a queue that there is work.
//!
//! The BAR is cut into slices of 8 KiB, 1,024 doorbells each. The first belongs to the kernel
//! (KIQ, HIQ, IH); every process gets one more, mapped uncached into it. The hardware looks
//! at the doorbell's index within a page to find the engine it belongs to, so the indices of
//! other engines (SDMA, IH, VCN), and the same 512 further on, are never given to compute queues.
//!
//! A doorbell has three names: its index in the slice, the byte offset in the slice that a user
//! program stores to, and the index in 32-bit words on the whole BAR that MQDs and packets take.

use crate::gpu::Hw;
use kernel::{prelude::*, sync::Arc};

/// Bytes of a slice.
pub(crate) const SLICE_SIZE: usize = 8192;
/// Doorbells in a slice.
pub(crate) const SLICE_DOORBELLS: usize = 1024;

/// A process' slice of a GPU's doorbells. The slice is free again when the last reference goes.
#[pin_data(PinnedDrop)]
pub(crate) struct Slice {
    hw: Arc<Hw>,
    index: usize,
    #[pin]
    used: kernel::sync::Mutex<[u64; SLICE_DOORBELLS / 64]>,
}

/// A doorbell of a slice; free again when dropped.
pub(crate) struct Doorbell {
    slice: Arc<Slice>,
    id: usize,
}
