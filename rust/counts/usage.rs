// SPDX-License-Identifier: GPL-2.0

//! What a process takes of a GPU, and how long it was kept from it, for people to look at.
//!
//! Sources: Linux, `vram_usage`, `evict_duration_counter` and `last_evict_timestamp` of
//! `struct kfd_process_device`.

use crate::glue::user;
use kernel::{
    new_spinlock,
    prelude::*,
    sync::{
        atomic::{
            Atomic,
            Relaxed, //
        },
        Arc,
        SpinLock, //
    }, //
};

const NS_PER_MS: u64 = 1_000_000;

/// The evictions of a process.
struct Evictions {
    /// Those that are not undone.
    lasting: u64,
    /// Times it was evicted.
    all: u64,
    /// When the eviction that lasts began, in ns since boot.
    since: u64,
    /// ns of those that ended.
    ended: u64,
}

/// The numbers of a process on a GPU.
#[pin_data]
pub(crate) struct Usage {
    /// The number of its address space there, 0 before it has one.
    pasid: Atomic<u32>,
    vram: Atomic<u64>,
    /// Lock order: a leaf, also of those who must not sleep.
    #[pin]
    evictions: SpinLock<Evictions>,
    /// What copy queues that are gone did, as these count.
    copied: Atomic<u64>,
}

impl Usage {
    /// Nothing yet.
    pub(crate) fn new() -> Result<Arc<Self>> {
        let none = Evictions {
            lasting: 0,
            all: 0,
            since: 0,
            ended: 0,
        };
        Arc::pin_init(
            pin_init!(Self {
                pasid: Atomic::new(0),
                vram: Atomic::new(0),
                evictions <- new_spinlock!(none, "rkfd evictions"),
                copied: Atomic::new(0),
            }),
            GFP_KERNEL_ACCOUNT,
        )
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
        let now = user::boottime_ns();
        let mut evictions = self.evictions.lock();
        if evictions.lasting == 0 {
            evictions.since = now;
        }
        evictions.lasting = evictions.lasting.saturating_add(1);
        evictions.all = evictions.all.saturating_add(1);
    }

    /// One of the evictions is undone.
    pub(crate) fn restore(&self) {
        let now = user::boottime_ns();
        let mut evictions = self.evictions.lock();
        if evictions.lasting == 1 {
            let lasted = now.saturating_sub(evictions.since);
            evictions.ended = evictions.ended.saturating_add(lasted);
        }
        evictions.lasting = evictions.lasting.saturating_sub(1);
    }

    /// Times it was evicted, how many of these last, and how long those took that have ended, in ms.
    pub(crate) fn evictions(&self) -> (u64, u64, u64) {
        let evictions = self.evictions.lock();
        let (all, lasting) = (evictions.all, evictions.lasting);
        (all, lasting, evictions.ended / NS_PER_MS)
    }

    /// How long the evictions took that have ended, in ms.
    pub(crate) fn evicted_ms(&self) -> u64 {
        self.evictions().2
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
