// SPDX-License-Identifier: MIT OR Apache-2.0
//! What waves ask of caches, counted for the chip's performance counters.
//!
//! An instruction asks once for each line of 128 bytes that its lanes touch, in each page by itself. The vector
//! cache passes on what it doesn't have, and all stores and atomics; the scalar cache what it doesn't have, of which
//! nothing else is counted.
//!
//! Sources: rocprofiler-sdk, `counter_defs.yaml` (TCP_* and TCC_* of gfx942), Linux, `include/soc24_enum.h`
//! (`TCP_PERF_SEL`, `GL2C_PERF_SEL`). That a request is a line, of either chip, is inferred: neither says it.

/// Bytes of a line.
pub(crate) const LINE: usize = 128;

/// A look-up in a cache: what was asked for, and whether the line was there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lookup {
    /// A load of a line that was there.
    ReadHit,
    /// A load of one that wasn't.
    ReadMiss,
    /// A store to a line that was there.
    WriteHit,
    /// A store to one that wasn't.
    WriteMiss,
    /// An atomic that answers with nothing, on a line that was there.
    AtomicHit,
    /// The same on one that wasn't.
    AtomicMiss,
    /// An atomic that answers with the old value, on a line that was there.
    ReturningHit,
    /// The same on one that wasn't.
    ReturningMiss,
}

/// How many kinds there are.
const KINDS: usize = Lookup::ReturningMiss as usize + 1;

/// What an instruction asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Request {
    Read,
    Write,
    Atomic,
}

/// Look-ups of each kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lookups([u64; KINDS]);

impl Lookups {
    /// How many of some kinds.
    pub fn of(&self, kinds: &[Lookup]) -> u64 {
        kinds.iter().map(|&kind| self.0[kind as usize]).sum()
    }

    fn count(&mut self, lookup: Lookup) {
        self.0[lookup as usize] += 1;
    }
}

/// What a compute unit has asked of caches.
#[derive(Debug, Default)]
pub struct Traffic {
    vector: Lookups,
    /// By the channel of the second-level cache.
    channels: Vec<Lookups>,
    /// The lines that the instruction has asked for.
    seen: Vec<usize>,
    /// The instruction answers with something.
    returns: bool,
}

impl Traffic {
    /// Its vector cache.
    pub fn vector(&self) -> &Lookups {
        &self.vector
    }

    /// The second-level cache, channel by channel, as far as it was asked.
    pub fn channels(&self) -> &[Lookups] {
        &self.channels
    }

    /// An instruction begins.
    pub(crate) fn begin(&mut self, returns: bool) {
        self.seen.clear();
        self.returns = returns;
    }

    /// Whether the instruction asks for a line for the first time.
    pub(crate) fn is_new(&mut self, line: usize) -> bool {
        let new = !self.seen.contains(&line);
        if new {
            self.seen.push(line);
        }
        new
    }

    fn found(&self, request: Request, hit: bool) -> Lookup {
        match (request, self.returns, hit) {
            (Request::Read, _, true) => Lookup::ReadHit,
            (Request::Read, _, false) => Lookup::ReadMiss,
            (Request::Write, _, true) => Lookup::WriteHit,
            (Request::Write, _, false) => Lookup::WriteMiss,
            (Request::Atomic, false, true) => Lookup::AtomicHit,
            (Request::Atomic, false, false) => Lookup::AtomicMiss,
            (Request::Atomic, true, true) => Lookup::ReturningHit,
            (Request::Atomic, true, false) => Lookup::ReturningMiss,
        }
    }

    /// The vector cache was asked.
    pub(crate) fn looked(&mut self, request: Request, hit: bool) {
        let lookup = self.found(request, hit);
        self.vector.count(lookup);
    }

    /// A channel of the second-level cache was asked.
    pub(crate) fn passed_on(&mut self, request: Request, (channel, hit): (usize, bool)) {
        if self.channels.len() <= channel {
            self.channels.resize_with(channel + 1, Lookups::default);
        }
        let lookup = self.found(request, hit);
        self.channels[channel].count(lookup);
    }
}
