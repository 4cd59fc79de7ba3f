// SPDX-License-Identifier: GPL-2.0

//! What the hardware reports about processes: page faults, bad queues, hangs.

use super::{
    GpuVa,
    Pasid, //
};

/// A page fault of the GPU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct VmFault {
    /// Whose address space.
    pub(crate) pasid: Pasid,
    /// Page-aligned address.
    pub(crate) va: GpuVa,
    /// The page had no mapping (as opposed to one that doesn't allow the access).
    pub(crate) not_present: bool,
    /// A store.
    pub(crate) write: bool,
    /// An instruction fetch.
    pub(crate) execute: bool,
    /// What the hub says of it, if it does.
    pub(crate) hub: Option<HubStatus>,
}

/// What a hub has in its status register about a fault.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct HubStatus {
    /// The register (VM_L2_PROTECTION_FAULT_STATUS).
    pub(crate) status: u32,
    /// Which hub: its kind, and its number (`AMDGPU_VMHUB_TYPE_`, `_IDX_SHIFT`).
    pub(crate) hub: u32,
}

/// What is wrong with a queue, as the firmware that refuses to go on with it reports, or the trap
/// handler of one of its waves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct QueueError {
    /// Whose queue.
    pub(crate) pasid: Pasid,
    /// Low bits of the queue's doorbell index in the process' slice.
    pub(crate) doorbell_id: u32,
    /// What is wrong, a bit for each exception
    /// ([`exception_mask`](crate::uapi::debug::exception_mask)).
    pub(crate) exceptions: u64,
}

/// What hangs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Hang {
    /// Single queues; their processes are noted, and only they get a report.
    Queues,
    /// The scheduler, and with it the GPU: every process on it gets a report.
    Gpu,
    /// The device is gone: whoever waits for it wakes.
    Lost,
}
