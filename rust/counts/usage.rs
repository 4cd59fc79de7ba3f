// SPDX-License-Identifier: GPL-2.0

//! What a process takes of a GPU, and how long it was kept from it, for people to look at.
//!
//! Sources: Linux, `vram_usage`, `evict_duration_counter` and `last_evict_timestamp` of
//! `struct kfd_process_device`.

use crate::glue::user;
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

const NS_PER_MS: u64 = 1_000_000;

/// The numbers of a process on a GPU.
pub(crate) struct Usage {
    /// The number of its address space there, 0 before it has one.
    pasid: Atomic<u32>,
    vram: Atomic<u64>,
    /// Evictions that are not undone.
    lasting: Atomic<u64>,
    /// Times it was evicted.
    evictions: Atomic<u64>,
    /// When the eviction that lasts began, in ns since boot.
    since: Atomic<u64>,
    /// ns of those that ended.
    ended: Atomic<u64>,
    /// What copy queues that are gone did, as these count.
    copied: Atomic<u64>,
}

impl Usage {
    /// Nothing yet.
    pub(crate) fn new() -> Result<Arc<Self>> {
        let usage = Self {
            pasid: Atomic::new(0),
            vram: Atomic::new(0),
            lasting: Atomic::new(0),
            evictions: Atomic::new(0),
            since: Atomic::new(0),
            ended: Atomic::new(0),
            copied: Atomic::new(0),
        };
        Ok(Arc::new(usage, GFP_KERNEL_ACCOUNT)?)
    }

    /// Its address space has this number from now on.
    pub(crate) fn set_pasid(&self, pasid: u16) {
        self.pasid.store(pasid.into(), Relaxed);
    }

    /// The number of its address space, 0 before it has one.
    pub(crate) fn pasid(&self) -> u32 {
        self.pasid.load(Relaxed)
    }

    /// Counts VRAM, until the result is dropped.
    pub(crate) fn take_vram(self: &Arc<Self>, bytes: u64) -> VramUse {
        self.vram.fetch_add(bytes, Relaxed);
        VramUse {
            usage: self.clone(),
            bytes,
        }
    }

    /// Bytes of VRAM.
    pub(crate) fn vram(&self) -> u64 {
        self.vram.load(Relaxed)
    }

    /// A copy queue ends, whose counter has this.
    pub(crate) fn keep_copied(&self, count: u64) {
        self.copied.fetch_add(count, Relaxed);
    }

    /// What copy queues that ended did.
    pub(crate) fn copied(&self) -> u64 {
        self.copied.load(Relaxed)
    }

    /// The process is evicted.
    pub(crate) fn evict(&self) {
        if self.lasting.fetch_add(1, Relaxed) == 0 {
            self.since.store(user::boottime_ns(), Relaxed);
        }
        self.evictions.fetch_add(1, Relaxed);
    }

    /// One of the evictions is undone.
    pub(crate) fn restore(&self) {
        if self.lasting.fetch_sub(1, Relaxed) == 1 {
            let lasted = user::boottime_ns().saturating_sub(self.since.load(Relaxed));
            self.ended.fetch_add(lasted, Relaxed);
        }
    }

    /// Times it was evicted, and how many of these last.
    pub(crate) fn evictions(&self) -> (u64, u64) {
        (self.evictions.load(Relaxed), self.lasting.load(Relaxed))
    }

    /// How long the evictions took that have ended, in ms.
    pub(crate) fn evicted_ms(&self) -> u64 {
        self.ended.load(Relaxed) / NS_PER_MS
    }
}

/// VRAM that is counted.
pub(crate) struct VramUse {
    usage: Arc<Usage>,
    bytes: u64,
}

impl Drop for VramUse {
    fn drop(&mut self) {
        self.usage.vram.fetch_sub(self.bytes, Relaxed);
    }
}
