// SPDX-License-Identifier: MIT OR Apache-2.0

//! How much of a queue's context save area is left: no more workgroups are resident than can be saved.

use super::saved::{words_of, ENTRY};
use rkfd_hw::aql::KernelDispatch;
use rkfd_isa::{stored_bytes, Target};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

/// What is left of a queue's save area, in words.
#[derive(Debug)]
pub struct Room(AtomicU64);

impl Room {
    /// Of a queue whose waves are not saved: as much as one likes.
    pub fn endless() -> Arc<Self> {
        Arc::new(Self(AtomicU64::new(u64::MAX / 2)))
    }

    /// Of an area with so many words for workgroups.
    pub fn with(words: u64) -> Arc<Self> {
        Arc::new(Self(AtomicU64::new(words)))
    }

    /// Whether so much is left.
    pub fn has(&self, words: u64) -> bool {
        self.0.load(Ordering::Acquire) >= words
    }

    /// Takes so much, if it is left.
    pub fn take(&self, words: u64) -> bool {
        let take = |left: u64| left.checked_sub(words);
        self.0
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, take)
            .is_ok()
    }

    /// Gives it back.
    pub fn give(&self, words: u64) {
        self.0.fetch_add(words, Ordering::AcqRel);
    }
}

/// Words that a saved workgroup takes: of so many waves with so many lanes and vector registers each, and LDS.
pub(crate) fn words(target: &Target, waves: u64, lanes: u64, registers: u64, lds: u64) -> u64 {
    let others = waves.saturating_sub(1) * stored_bytes(target, lanes, registers, None);
    let stored = stored_bytes(target, lanes, registers, Some(lds)) + others;
    stored / 4 + (ENTRY + words_of(waves as usize)) as u64
}

/// Words that a workgroup of a packet takes at most, whatever its kernel.
pub(crate) fn most_of(target: &Target, packet: &KernelDispatch) -> u64 {
    use KernelDispatch as K;
    let size = |field| packet.get(field).max(1);
    let items = size(K::WORKGROUP_SIZE_X) * size(K::WORKGROUP_SIZE_Y) * size(K::WORKGROUP_SIZE_Z);
    most(target, items, packet.get(K::GROUP_SEGMENT_SIZE))
}

/// Words that a workgroup of so many work-items and bytes of LDS takes at most.
pub(crate) fn most(target: &Target, items: u64, lds: u64) -> u64 {
    let waves = items.div_ceil(32).clamp(1, 64);
    words(
        target,
        waves,
        32,
        512,
        lds.min(1 << 16).next_multiple_of(512),
    )
}
