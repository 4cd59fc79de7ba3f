// SPDX-License-Identifier: GPL-2.0

//! How the hardware half reports to the user half that something happened.
//!
//! A lower room never calls a higher one by name. A GPU is brought up with an object that takes
//! what it reports; the interrupt handler's work item and probe and unbind call it. All calls come from process context with no lock of the hardware
//! half held, so an implementation may take process locks and may sleep, but must not wait for
//! the GPU: the work item that calls it is the one that would report the GPU's answer.

pub(crate) use crate::types::Pasid;
use crate::{gpu::Gpu, sched::Hang};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// A page fault of the GPU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct VmFault {
    /// Whose address space.
    pub(crate) pasid: Pasid,
    /// Page-aligned address.
    pub(crate) va: u64,
    /// The page had no mapping (as opposed to one that doesn't allow the access).
    pub(crate) not_present: bool,
    /// A store.
    pub(crate) write: bool,
    /// An instruction fetch.
    pub(crate) execute: bool,
}

/// What the firmware says of a queue that it refuses to go on with, or a trap handler of its wave.
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

/// What the user half implements.
pub(crate) trait Upcalls: Send + Sync {
    /// A GPU is ready. An error fails the probe.
    fn gpu_added(&self, gpu: &Arc<Gpu>) -> Result;

    /// A GPU goes: revoke every mapping of it, wake every waiter. [`Gpu::alive`] already says
    /// ENODEV, so what is created from now on fails. Called once for each `gpu_added` that
    /// succeeded, before the hardware is stopped.
    fn gpu_removed(&self, gpu: &Arc<Gpu>);

    /// The GPU signalled event `id`, of which only the low `bits` bits are known.
    fn signal(&self, gpu: &Gpu, pasid: Pasid, id: u32, bits: u32);

    /// The GPU faulted. The queues of the process are already taken off the GPU.
    fn vm_fault(&self, gpu: &Gpu, fault: &VmFault);

    /// Something is wrong with a queue: whether there is a runtime that it was told to.
    fn queue_error(&self, gpu: &Gpu, error: &QueueError) -> bool;

    /// Queues of the GPU had to be reset or hang, or the GPU itself does: a hardware exception for
    /// their processes, or for every process on it.
    fn gpu_hang(&self, gpu: &Gpu, hang: Hang);
}
