// SPDX-License-Identifier: GPL-2.0

//! How much system memory buffer objects may take in all: half of what there is, as upstream's TTM
//! limit. Without it a program could drive the machine out of memory.

use crate::{
    glue::user::total_memory,
    gpu::{
        Gpu,
        VRAM_STEP, //
    }, //
};
use kernel::{
    prelude::*,
    sync::{
        atomic::{
            Atomic,
            Relaxed, //
        },
        Arc, //
    }, //
};

/// The system memory that buffer objects have.
pub(crate) struct SystemMemory {
    used: Atomic<u64>,
}

impl SystemMemory {
    /// None is used.
    pub(crate) fn new() -> Result<Arc<Self>> {
        let used = Atomic::new(0);
        Ok(Arc::new(Self { used }, GFP_KERNEL)?)
    }

    /// The limit, in bytes.
    pub(crate) fn limit(&self) -> u64 {
        total_memory() / 2
    }

    /// Bytes of it that are taken.
    pub(crate) fn used(&self) -> u64 {
        self.used.load(Relaxed)
    }

    /// Takes `size` bytes of the limit.
    ///
    /// # Errors
    ///
    /// ENOMEM when that is more than is left.
    pub(crate) fn take(self: &Arc<Self>, size: u64) -> Result<GttShare> {
        let limit = self.limit();
        let mut used = self.used.load(Relaxed);
        loop {
            // Compared before it is added: what is refused takes nothing from others meanwhile.
            let more = used.checked_add(size).filter(|more| *more <= limit);
            match self.used.cmpxchg(used, more.ok_or(ENOMEM)?, Relaxed) {
                Ok(_) => {
                    return Ok(GttShare {
                        memory: self.clone(),
                        size,
                    })
                }
                Err(now) => used = now,
            }
        }
    }
}

/// A buffer object's part of the limit; given back when dropped.
pub(crate) struct GttShare {
    memory: Arc<SystemMemory>,
    size: u64,
}

impl Drop for GttShare {
    fn drop(&mut self) {
        self.memory.used.fetch_sub(self.size, Relaxed);
    }
}

/// What a buffer object in VRAM takes beyond its size of the memory that is reported as
/// left; given back when dropped.
pub(crate) struct VramShare {
    gpu: Arc<Gpu>,
    rounding: i64,
}

impl VramShare {
    /// For an object of `size` bytes.
    pub(crate) fn new(gpu: &Arc<Gpu>, size: u64) -> Self {
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
        self.gpu.round_vram(self.rounding.wrapping_neg());
    }
}

/// A buffer object's share of either kind of memory.
pub(crate) enum Share {
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
