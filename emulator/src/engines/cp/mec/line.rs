// SPDX-License-Identifier: MIT OR Apache-2.0

//! The queues that a scheduler runs, and those that stand in line for an HQD.

use super::copying::Engine;
use super::process::Listed;
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Where a queue's write pointer is read when it is connected.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Pointer {
    /// In its process's address space; the MQD names the same address.
    Process(u64),
    /// In VMID 0.
    Gart(u64),
}

/// A queue as the driver has described it to a scheduler.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QueueMap {
    /// Name of the packet that described it.
    pub by: &'static str,
    pub engine: Engine,
    pub mqd: u64,
    pub doorbell: u32,
    pub wptr: Pointer,
    /// An unmap by SELECT_ALL_NON_STATIC leaves it.
    pub is_static: bool,
    /// Its priority level: a waiting queue takes the HQD of one of a lower level before the quantum is over.
    pub level: u8,
    /// How long it may keep its HQD when others wait; `None` if the MQD has that.
    pub quantum: Option<Duration>,
    /// Global wave sync resources that it has while it is connected.
    pub gws: u32,
}

/// A queue that the scheduler runs, and its process.
#[derive(Clone, Copy)]
pub(crate) struct Entry {
    pub process: Listed,
    pub queue: QueueMap,
    /// It was connected before.
    pub seen: bool,
    /// It was unmapped by the driver, or is wrong: its turn does not come again.
    pub gone: bool,
    /// It may not be connected for now.
    pub held: bool,
    pub rest: Duration,
    /// When it may be connected.
    pub ready: Instant,
    /// It may be connected when its doorbell is not this any more.
    pub bell: Option<u64>,
}

impl Entry {
    /// A queue that was not connected yet.
    pub fn new(process: Listed, queue: QueueMap) -> Self {
        Self {
            process,
            queue,
            seen: false,
            gone: false,
            held: false,
            rest: Duration::ZERO,
            ready: Instant::now(),
            bell: None,
        }
    }

    pub fn pasid(&self) -> u16 {
        self.process.pasid
    }

    /// Keeps it off HQDs, or no longer.
    pub fn hold(&mut self, on: bool) {
        self.held = on;
        if !on {
            self.wake();
        }
    }

    /// There may be work for it.
    pub fn wake(&mut self) {
        self.ready = Instant::now();
        self.bell = None;
    }
}

/// The queues that the scheduler runs.
#[derive(Default)]
pub(crate) struct Turns {
    pub entries: Vec<Entry>,
    /// Entries that have no HQD, next first.
    pub line: VecDeque<usize>,
    /// Processes that may have a VMID at a time.
    pub concurrent: usize,
    /// There may be more than fit: they take turns.
    pub shared: bool,
    /// The firmware clears compute units before a process has its turn.
    pub cleans: bool,
    /// The scheduler hears doorbells of queues that have no HQD.
    pub hears: bool,
}

impl Turns {
    /// A list of which nothing runs yet.
    pub fn new(entries: Vec<Entry>, concurrent: usize, shared: bool) -> Self {
        Self {
            line: (0..entries.len()).collect(),
            entries,
            concurrent,
            shared,
            cleans: false,
            hears: false,
        }
    }

    /// One more queue.
    pub fn add(&mut self, entry: Entry) {
        let free = self.entries.iter().position(|e| e.gone);
        let free = free.filter(|n| !self.line.contains(n));
        let n = free.unwrap_or(self.entries.len());
        match self.entries.get_mut(n) {
            Some(place) => *place = entry,
            None => self.entries.push(entry),
        }
        self.line.push_back(n);
    }

    /// Changes the queues that a scheduler chooses.
    pub fn change(&mut self, chosen: impl Fn(&Entry) -> bool, change: impl Fn(&mut Entry)) {
        let entries = self.entries.iter_mut().filter(|e| !e.gone);
        entries.filter(|e| chosen(e)).for_each(change);
    }

    /// A copy queue has left its engine: it stands in line again, unless it is the list's no more.
    pub fn copies_left(&mut self, mqd: u64, lost: bool) {
        let mut all = self.entries.iter_mut().enumerate();
        let Some((n, entry)) = all.find(|(_, e)| !e.gone && e.queue.mqd == mqd) else {
            return;
        };
        if lost || !self.shared {
            entry.gone = true;
        } else {
            entry.ready = Instant::now();
            self.line.push_back(n);
        }
    }

    /// Whether queues stand in line.
    pub fn waits(&self) -> bool {
        !self.line.is_empty()
    }

    /// Whether a queue is kept off HQDs.
    pub fn is_held(&self, mqd: u64) -> bool {
        let held = |e: &Entry| !e.gone && e.held && e.queue.mqd == mqd;
        self.entries.iter().any(held)
    }

    /// Whether a queue waits for its doorbell, which must not be changed then.
    pub fn listens(&self, mqd: u64) -> bool {
        let listening = |e: &Entry| !e.gone && e.bell.is_some() && e.queue.mqd == mqd;
        self.entries.iter().any(listening)
    }

    /// Whether queues take turns.
    pub fn is_on(&self) -> bool {
        self.shared && self.entries.iter().any(|e| !e.gone)
    }

    /// Whether a process's queues take turns.
    pub fn has_process(&self, pasid: u16) -> bool {
        self.shared && self.entries.iter().any(|e| !e.gone && e.pasid() == pasid)
    }

    /// Whether a queue was connected before by the same list.
    pub fn knows(&self, mqd: u64) -> bool {
        let known = |e: &Entry| e.seen && !e.gone && e.queue.mqd == mqd;
        self.shared && self.entries.iter().any(known)
    }
}
