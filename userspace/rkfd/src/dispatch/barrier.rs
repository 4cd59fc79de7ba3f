// SPDX-License-Identifier: MIT OR Apache-2.0

//! Packets that wait for signals.

use rkfd_hw::aql::{self, Header, FENCE_SYSTEM};

use super::submission::{Resources, Submission};
use super::target::Work;
use crate::error::{Error, Result};
use crate::queue::{Packet, Queue};
use crate::signal::Signal;

impl Queue {
    /// Submits a packet that completes when all of up to five signals are 0. Their memory stays theirs until then,
    /// also when they are dropped.
    ///
    /// # Errors
    ///
    /// [`Error::Length`] for more signals, [`Error::OtherGpu`] for one of another GPU's, and as
    /// [`Submission::submit`].
    pub fn barrier_and(&self, signals: &[&Signal]) -> Result<Submission> {
        self.barrier_packet(aql::TYPE_BARRIER_AND, signals)
    }

    /// Submits a packet that completes when one of up to five signals is 0.
    ///
    /// # Errors
    ///
    /// As [`barrier_and`](Self::barrier_and).
    pub fn barrier_or(&self, signals: &[&Signal]) -> Result<Submission> {
        self.barrier_packet(aql::TYPE_BARRIER_OR, signals)
    }

    fn barrier_packet(&self, packet_type: u8, signals: &[&Signal]) -> Result<Submission> {
        if signals
            .iter()
            .any(|signal| signal.link().gpu_id != self.gpu().id())
        {
            return Err(Error::OtherGpu { what: "a signal" });
        }
        let header = Header {
            packet_type,
            barrier: true,
            acquire: FENCE_SYSTEM,
            release: FENCE_SYSTEM,
        };
        let signal = self.gpu().signal_of(0, true)?;
        let mut packet = aql::Barrier::zeroed()
            .with(aql::Barrier::HEADER, header.bits())
            .with(aql::Barrier::COMPLETION_SIGNAL, signal.address());
        let slots = [
            aql::Barrier::DEP_SIGNAL_0,
            aql::Barrier::DEP_SIGNAL_1,
            aql::Barrier::DEP_SIGNAL_2,
            aql::Barrier::DEP_SIGNAL_3,
            aql::Barrier::DEP_SIGNAL_4,
        ];
        if signals.len() > slots.len() {
            return Err(Error::Length {
                buffer: slots.len(),
                slice: signals.len(),
            });
        }
        for (slot, signal) in slots.into_iter().zip(signals) {
            packet.set(slot, signal.address());
        }
        let work = Work::Packet(self.clone(), Packet::from(&packet.0));
        let resources = Resources {
            _signals: signals.iter().map(|signal| signal.memory()).collect(),
            ..Resources::default()
        };
        let mut submission = Submission::new(work, signal, resources);
        submission.submit()?;
        Ok(submission)
    }
}
