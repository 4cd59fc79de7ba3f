// SPDX-License-Identifier: GPL-2.0

//! What a queue is made of, as numbers.

use super::{
    DoorbellIndex,
    DoorbellWord,
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

/// What a queue is made of. Addresses are of the process' address space.
pub(crate) struct QueueSpec {
    pub(crate) format: Format,
    pub(crate) ring: u64,
    /// Bytes, a power of two; 0 disables the queue.
    pub(crate) ring_size: u64,
    pub(crate) rptr: u64,
    pub(crate) wptr: u64,
    pub(crate) eop: u64,
    pub(crate) eop_size: u32,
    /// Area for saving waves, 0 for none; bytes of one XCC's part.
    pub(crate) cwsr: u64,
    pub(crate) cwsr_size: u32,
    pub(crate) ctl_stack_size: u32,
    /// 0 to 15.
    pub(crate) priority: u8,
    /// 0 to 100; 0 disables the queue.
    pub(crate) percent: u8,
    /// The XCC that runs PM4 packets.
    pub(crate) pm4_target_xcc: u8,
    /// It has the process' global wave sync resources.
    pub(crate) gws: bool,
    /// Its doorbell on the BAR, and in the process' slice.
    pub(crate) doorbell: DoorbellWord,
    pub(crate) doorbell_index: DoorbellIndex,
    /// Where it is, if it is of a copy engine.
    pub(crate) sdma: Option<SdmaPlace>,
}

impl QueueSpec {
    /// Whether the queue should run (`QUEUE_IS_ACTIVE`).
    pub(crate) fn is_active(&self) -> bool {
        self.ring != 0 && self.ring_size != 0 && self.percent != 0
    }
}
