// SPDX-License-Identifier: MIT OR Apache-2.0
//! Memory that all processes of a run share: counts, who does what, and names of things to try on others.

use crate::counted::SLOTS;
use crate::table::SLOTS as REQUESTS;
use rkfd_bare::sys::Map;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// Ids and handles that processes leave for each other.
const FOREIGN: usize = 256;
/// Words of a slot: how often it worked, how often it failed, nanoseconds in all.
const REQUEST: usize = 3;
/// Words of a thread: calls begun, slot of the request that it is in (+ 1, 0 for none).
const THREAD: usize = 2;

/// The memory.
pub struct Shared {
    map: Map,
    threads: usize,
}

impl Shared {
    /// For so many threads in all.
    pub fn new(threads: usize) -> Result<Self, i32> {
        let words = SLOTS * REQUEST + FOREIGN + threads * THREAD;
        Ok(Self {
            map: Map::shared(words * 8)?,
            threads,
        })
    }

    fn word(&self, index: usize) -> &AtomicU64 {
        self.map.atomic(index * 8)
    }

    /// Counts a request's end, and the time that it took.
    pub fn count(&self, slot: usize, ok: bool, time: Duration) {
        let index = slot.min(SLOTS - 1) * REQUEST;
        self.word(index + usize::from(!ok)).fetch_add(1, Relaxed);
        self.word(index + 2)
            .fetch_add(time.as_nanos() as u64, Relaxed);
    }

    /// How often a request worked, and failed.
    pub fn counts(&self, slot: usize) -> (u64, u64) {
        let at = |i| self.word(slot * REQUEST + i).load(Relaxed);
        (at(0), at(1))
    }

    /// Time that all requests of a slot took, those of killed processes left out.
    pub fn time(&self, slot: usize) -> Duration {
        Duration::from_nanos(self.word(slot * REQUEST + 2).load(Relaxed))
    }

    /// Requests in all: acts that are counted by themselves make such.
    pub fn calls(&self) -> u64 {
        (0..REQUESTS)
            .map(|n| self.counts(n))
            .map(|(ok, bad)| ok + bad)
            .sum()
    }

    /// Leaves a name for others.
    pub fn publish(&self, at: u64, name: u64) {
        let at = at as usize % FOREIGN;
        self.word(SLOTS * REQUEST + at).store(name, Relaxed);
    }

    /// A name that somebody left.
    pub fn foreign(&self, at: u64) -> u64 {
        let at = at as usize % FOREIGN;
        self.word(SLOTS * REQUEST + at).load(Relaxed)
    }

    /// A thread begins a call, or ends it (`None`).
    pub fn doing(&self, thread: usize, slot: Option<usize>) {
        let at = SLOTS * REQUEST + FOREIGN + thread % self.threads * THREAD;
        self.word(at).fetch_add(1, Relaxed);
        self.word(at + 1)
            .store(slot.map_or(0, |n| n as u64 + 1), Relaxed);
    }

    /// What a thread has begun so far, and the slot of the request that it is in.
    pub fn progress(&self, thread: usize) -> (u64, Option<usize>) {
        let at = SLOTS * REQUEST + FOREIGN + thread % self.threads * THREAD;
        let slot = self.word(at + 1).load(Relaxed);
        (
            self.word(at).load(Relaxed),
            slot.checked_sub(1).map(|n| n as usize),
        )
    }
}
