// SPDX-License-Identifier: GPL-2.0

//! How much system memory buffer objects may take in all: half of what there is, as upstream's TTM
//! limit. Without it a program could drive the machine out of memory.

use crate::{
    glue::user::total_memory,
    gpu::{
        Gpu,
        VRAM_STEP, //
    },
};
use kernel::{
    prelude::*,
    sync::{
        atomic::{
            Atomic,
            Relaxed, //
        },
        Arc,
    },
};

static USED: Atomic<i64> = Atomic::new(0);

/// The limit, in bytes.
pub(crate) fn gtt_limit() -> u64 {
    total_memory() / 2
}

/// Bytes of it that are taken.
pub(crate) fn gtt_used() -> u64 {
    u64::try_from(USED.load(Relaxed)).unwrap_or(0)
}

/// A buffer object's part of the limit; given back when dropped.
pub(super) struct GttShare(i64);

impl GttShare {
    /// Takes `size` bytes of the limit.
    ///
    /// # Errors
    ///
    /// ENOMEM when that is more than is left.
    pub(super) fn new(size: u64) -> Result<Self> {
        let limit = gtt_limit();
        let size = i64::try_from(size).map_err(|_| ENOMEM)?;
        let used = USED.fetch_add(size, Relaxed);
        let share = Self(size);
        match u64::try_from(used.saturating_add(size)) {
            Ok(used) if used <= limit => Ok(share),
            _ => Err(ENOMEM),
        }
    }
}

impl Drop for GttShare {
    fn drop(&mut self) {
        USED.fetch_sub(self.0, Relaxed);
    }
}

/// What a buffer object in VRAM takes beyond its size of the memory that programs are told is
/// left; given back when dropped.
pub(super) struct VramShare {
    gpu: Arc<Gpu>,
    rounding: i64,
}

impl VramShare {
    /// For an object of `size` bytes.
    pub(super) fn new(gpu: &Arc<Gpu>, size: u64) -> Self {
        // CAST: Less than a step.
        let rounding = (size.wrapping_neg() % VRAM_STEP) as i64;
        gpu.round_vram(rounding);
        Self {
            gpu: gpu.clone(),
            rounding,
        }
    }
}

impl Drop for VramShare {
    fn drop(&mut self) {
        self.gpu.round_vram(-self.rounding);
    }
}

/// A buffer object's share of either kind of memory.
pub(super) enum Share {
    Gtt { _share: GttShare },
    Vram { _share: VramShare },
}

impl From<GttShare> for Share {
    fn from(share: GttShare) -> Self {
        Self::Gtt { _share: share }
    }
}

impl From<VramShare> for Share {
    fn from(share: VramShare) -> Self {
        Self::Vram { _share: share }
    }
}
