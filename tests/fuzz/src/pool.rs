// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a process has made: what is live, and what was and is gone.

use rkfd_bare::rng::Rng;
use rkfd_bare::sys::Map;
use std::collections::VecDeque;
use std::os::fd::OwnedFd;

/// Gone things that are remembered, of each kind.
const STALE: usize = 32;

/// Things of one kind.
pub struct Kind<T> {
    live: Vec<T>,
    stale: VecDeque<T>,
}

impl<T: Copy + PartialEq> Kind<T> {
    fn new() -> Self {
        Self {
            live: Vec::new(),
            stale: VecDeque::new(),
        }
    }

    /// One more.
    pub fn add(&mut self, thing: T) {
        self.live.push(thing);
    }

    /// It is gone.
    pub fn remove(&mut self, is: impl Fn(&T) -> bool) {
        if let Some(at) = self.live.iter().position(is) {
            self.stale.push_back(self.live.swap_remove(at));
            if self.stale.len() > STALE {
                self.stale.pop_front();
            }
        }
    }

    /// A live one.
    pub fn live(&self, rng: &mut Rng) -> Option<T> {
        rng.maybe(&self.live).copied()
    }

    /// Mostly a live one, sometimes one that is gone.
    pub fn any(&self, rng: &mut Rng) -> Option<T> {
        if rng.chance(1, 6) {
            let at = rng.below(self.stale.len() as u64) as usize;
            return self.stale.get(at).copied();
        }
        self.live(rng)
    }
}

/// A buffer object.
#[derive(Clone, Copy, PartialEq)]
pub struct Bo {
    /// Its handle.
    pub handle: u64,
    /// Its GPU address.
    pub va: u64,
    /// Bytes.
    pub size: u64,
    /// Where to map it.
    pub offset: u64,
    /// The `ALLOC_` bits.
    pub flags: u32,
}

/// A queue.
#[derive(Clone, Copy, PartialEq)]
pub struct Queue {
    /// Its id.
    pub id: u32,
    /// Where to map its doorbell.
    pub doorbell: u64,
    /// Which of the process' kits it works on.
    pub kit: usize,
}

/// A mapping, and whether it may be written.
pub struct Mapping {
    /// The mapping.
    pub map: Map,
    /// Bytes.
    pub len: usize,
    /// Stores don't fault.
    pub writable: bool,
}

/// Everything.
pub struct Pool {
    /// Buffer objects.
    pub bos: Kind<Bo>,
    /// Queues.
    pub queues: Kind<Queue>,
    /// Events.
    pub events: Kind<u32>,
    /// GEM handles.
    pub gems: Kind<u32>,
    /// Handles of synchronisation objects.
    pub syncobjs: Kind<u32>,
    /// Where the render node maps GEM buffers.
    pub offsets: Kind<u64>,
    /// DMA-bufs, files of management events, further files of the nodes.
    pub files: Vec<OwnedFd>,
    /// Mappings.
    pub maps: Vec<Mapping>,
}

impl Pool {
    /// Nothing yet.
    pub fn new() -> Self {
        Self {
            bos: Kind::new(),
            queues: Kind::new(),
            events: Kind::new(),
            gems: Kind::new(),
            syncobjs: Kind::new(),
            offsets: Kind::new(),
            files: Vec::new(),
            maps: Vec::new(),
        }
    }
}
