// SPDX-License-Identifier: GPL-2.0

//! How much system memory buffer objects may take in all. Without a limit a program could drive the machine
//! out of memory.
//!
//! As upstream, pages of the driver's own have half of what there is (`ttm_tt_pages_limit`), and these with
//! those that programs lend (USERPTR) nearly all (`amdgpu_amdkfd_gpuvm_init_mem_limits`).

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

/// What upstream leaves to others of a machine that has twice as much (`AMDGPU_RESERVE_MEM_LIMIT`), in bytes.
const RESERVED: u64 = 3 << 29;

/// Whose pages an object is made of.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pages {
    /// The driver's.
    Own,
    /// The program's.
    Lent,
}

/// The system memory that buffer objects have.
pub(crate) struct SystemMemory {
    /// Of the driver's pages.
    own: Atomic<u64>,
    /// Of all.
    used: Atomic<u64>,
}

impl SystemMemory {
    /// None is used.
    pub(crate) fn new() -> Result<Arc<Self>> {
        let [own, used] = [Atomic::new(0), Atomic::new(0)];
        Ok(Arc::new(Self { own, used }, GFP_KERNEL)?)
    }

    /// The limit of the driver's pages, in bytes.
    pub(crate) fn limit(&self) -> u64 {
        total_memory() / 2
    }

    /// Bytes that are taken, whosever pages they are.
    pub(crate) fn used(&self) -> u64 {
        self.used.load(Relaxed)
    }

    /// Takes `size` bytes of the limits.
    ///
    /// # Errors
    ///
    /// ENOMEM when that is more than is left.
    pub(crate) fn take(self: &Arc<Self>, size: u64, pages: Pages) -> Result<GttShare> {
        if pages == Pages::Own {
            add(&self.own, size, self.limit())?;
        }
        if let Err(e) = add(&self.used, size, limit_of_all(total_memory())) {
            self.give_back_own(size, pages);
            return Err(e);
        }
        Ok(GttShare {
            memory: self.clone(),
            size,
            pages,
        })
    }

    /// The driver's pages leave their counter; those of programs were never in it.
    fn give_back_own(&self, size: u64, pages: Pages) {
        if pages == Pages::Own {
            self.own.fetch_sub(size, Relaxed);
        }
    }
}

/// The limit of all pages, of a machine with so much memory, in bytes.
fn limit_of_all(total: u64) -> u64 {
    let most = total.saturating_sub(total >> 6);
    match most < 2 * RESERVED {
        true => most >> 1,
        false => most.saturating_sub(RESERVED),
    }
}

/// Adds to a counter what doesn't take it beyond its limit, or ENOMEM.
fn add(counter: &Atomic<u64>, size: u64, limit: u64) -> Result {
    let mut used = counter.load(Relaxed);
    loop {
        // Compared before it is added: what is refused takes nothing from others meanwhile.
        let more = used.checked_add(size).filter(|more| *more <= limit);
        match counter.cmpxchg(used, more.ok_or(ENOMEM)?, Relaxed) {
            Ok(_) => return Ok(()),
            Err(now) => used = now,
        }
    }
}

/// A buffer object's part of the limits; given back when dropped.
pub(crate) struct GttShare {
    memory: Arc<SystemMemory>,
    size: u64,
    pages: Pages,
}

impl Drop for GttShare {
    fn drop(&mut self) {
        self.memory.used.fetch_sub(self.size, Relaxed);
        self.memory.give_back_own(self.size, self.pages);
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

#[cfg(CONFIG_KUNIT = "y")]
mod kunit;
