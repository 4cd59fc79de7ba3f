// SPDX-License-Identifier: MIT OR Apache-2.0
//! The least that handing over a packet takes: a copy of 64 bytes, a store of the header with release order,
//! and a store to the doorbell. No index is kept, and nobody asks whether the slot is free.

use std::cell::UnsafeCell;
use std::hint::black_box;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Bytes of a packet, as words that copy as wide as the processor can.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub struct Bytes(pub [u64; 8]);

/// A ring, a doorbell, and a counter for those who share them.
pub struct Floor {
    slots: Vec<UnsafeCell<Bytes>>,
    bell: AtomicU64,
    next: AtomicU64,
}

// SAFETY: Each slot is written by one thread at a time: `put` demands it.
unsafe impl Sync for Floor {}

impl Floor {
    /// With a power of two of slots.
    pub fn new(slots: usize) -> Self {
        let slots = (0..slots).map(|_| UnsafeCell::new(Bytes([0; 8])));
        Self {
            slots: slots.collect(),
            bell: AtomicU64::new(0),
            next: AtomicU64::new(0),
        }
    }

    /// Writes a packet and rings the doorbell.
    ///
    /// # Safety
    ///
    /// No other thread writes the slot of this index meanwhile.
    #[inline(always)]
    pub unsafe fn put(&self, index: u64, packet: &Bytes) {
        let at = index as usize & (self.slots.len() - 1);
        if let Some(slot) = self.slots.get(at) {
            // SAFETY: The caller's promise. The header is the first word, which is aligned.
            unsafe {
                slot.get().write(*packet);
                AtomicU32::from_ptr(slot.get().cast()).store(packet.0[0] as u32, Ordering::Release);
            }
        }
        self.bell.store(index, Ordering::Release);
    }

    /// Marks every slot as free, as a packet processor does. Its cache line is then the other processor's.
    pub fn consume(&self) {
        for slot in &self.slots {
            // SAFETY: Aligned, and alive as long as `self`.
            unsafe { AtomicU32::from_ptr(slot.get().cast()) }.store(1, Ordering::Release);
        }
    }

    /// An index that no other thread gets.
    #[inline(always)]
    pub fn next(&self) -> u64 {
        self.next.fetch_add(1, Ordering::AcqRel)
    }
}

/// Packets as a program has them.
pub fn packets(count: usize) -> Vec<Bytes> {
    black_box((0..count as u64).map(|n| Bytes([n | 1; 8])).collect())
}
