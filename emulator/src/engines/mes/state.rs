// SPDX-License-Identifier: MIT OR Apache-2.0

//! What frames have set up, and what those that wait have begun.

use super::frame::ErrorWord;
use super::slot::{Pipe, PIPES};
use std::time::{Duration, Instant};

/// The time for an unmap if no frame sets it.
const PATIENCE: Duration = Duration::from_secs(1);
/// What a frame that waits has begun.
#[derive(Clone, Default)]
pub(super) struct Begun {
    /// WAIT_REG_MEM has written its register.
    pub written: bool,
    /// Until when queues have to leave.
    deadline: Option<Instant>,
    /// RESET found these queues: MQDs of those that ran before, and of hung ones.
    running: Option<Vec<u64>>,
    hung: Option<Vec<u64>>,
}

/// What the frames have set up.
pub(super) struct Control {
    pub resources: [bool; PIPES],
    begun: [Begun; PIPES],
    /// The time for an unmap.
    pub patience: Duration,
    /// HQDs of all types that the scheduler may use.
    pub hqds: u32,
    /// Of each SDMA engine, the queues that it may use.
    pub sdma_hqds: [u32; 2],
    /// It hears doorbells of queues without an HQD.
    pub hears: bool,
    /// How, as `unmapped_doorbell_handling` has it.
    pub unmapped: u64,
    /// For each level the doorbell that announces work of that level.
    pub aggregated: [u32; 5],
    /// The pipes' logs.
    pub logs: [Option<Log>; PIPES],
}

impl Default for Control {
    fn default() -> Self {
        Self {
            resources: Default::default(),
            begun: Default::default(),
            patience: PATIENCE,
            hqds: 0,
            sdma_hqds: [0; 2],
            hears: false,
            unmapped: 0,
            aggregated: Default::default(),
            logs: Default::default(),
        }
    }
}

impl Control {
    /// A pipe's ring is gone, and what was set up by it.
    pub(super) fn forget(&mut self, pipe: Pipe) {
        if let Some(set) = self.resources.get_mut(pipe.index()) {
            *set = false;
        }
        if let Some(log) = self.logs.get_mut(pipe.index()) {
            *log = None;
        }
        *self.begun(pipe) = Begun::default();
    }

    pub(super) fn begun(&mut self, pipe: Pipe) -> &mut Begun {
        &mut self.begun[pipe.index()]
    }

    /// Until when queues have to leave for a pipe's frame.
    pub(super) fn deadline(&mut self, pipe: Pipe) -> &mut Option<Instant> {
        &mut self.begun(pipe).deadline
    }

    /// Hung queues that a pipe's frame has found.
    pub(super) fn hung(&mut self, pipe: Pipe) -> &mut Option<Vec<u64>> {
        &mut self.begun(pipe).hung
    }

    /// Queues that ran when a pipe's frame began: `now` if it begins.
    pub(super) fn running(&mut self, pipe: Pipe, now: Vec<u64>) -> Vec<u64> {
        self.begun(pipe).running.get_or_insert(now).clone()
    }
}

/// A log that is written.
#[derive(Default)]
pub(super) struct Log {
    pub at: u64,
    /// `first_free_entry_index` and `wraparound_count`.
    pub next: u32,
    pub wraps: u32,
    /// The gangs, by their contexts, and the state that was written last.
    pub written: Vec<(u64, u32)>,
}

/// How a frame ends.
pub(super) enum Outcome {
    /// Its completion is written.
    Done,
    /// It is looked at again: it waits for something.
    Wait,
    /// The error is written.
    Failed(ErrorWord),
}
