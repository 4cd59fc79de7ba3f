// SPDX-License-Identifier: GPL-2.0

//! What a queue is made of, as numbers.

use super::{
    DoorbellIndex,
    DoorbellWord,
    GpuVa,
    RingParams,
    SdmaPlace, //
};

/// Format of a ring's packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Format {
    /// Packets of the HSA runtime.
    Aql,
    /// Packets of the command processor.
    Pm4,
    /// Those of a copy engine.
    Sdma,
}

/// Memory that a queue uses besides its ring; at address 0 there is none.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Buffer {
    pub(crate) at: GpuVa,
    pub(crate) bytes: u32,
}

/// Area for saving waves; at address 0 there is none.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SaveArea {
    pub(crate) at: GpuVa,
    /// Bytes of one XCC's part, and of the control stack within.
    pub(crate) bytes: u32,
    pub(crate) stack_bytes: u32,
}

/// What a queue is made of. Addresses are of the process' address space.
pub(crate) struct QueueSpec {
    pub(crate) format: Format,
    pub(crate) ring: RingParams,
    /// Where the read and the write pointer are in memory.
    pub(crate) rptr: GpuVa,
    pub(crate) wptr: GpuVa,
    /// Where the end of a pipe reports.
    pub(crate) eop: Buffer,
    pub(crate) save: SaveArea,
    /// It has the process' global wave sync resources.
    pub(crate) gws: bool,
    /// What it does is counted from its first packet on.
    pub(crate) counted: bool,
    /// Its doorbell on the BAR, and in the process' slice.
    pub(crate) doorbell: DoorbellWord,
    pub(crate) doorbell_index: DoorbellIndex,
    /// Where it is, if it is of a copy engine.
    pub(crate) sdma: Option<SdmaPlace>,
}
