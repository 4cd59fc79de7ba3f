// SPDX-License-Identifier: GPL-2.0

//! How the hardware half reports to the user half that something happened.
//!
//! A lower room never calls a higher one by name. A GPU is brought up with an object that takes
//! what it reports. All calls come from process context with no lock of the hardware half held, so an
//! implementation may sleep, but must not wait for the GPU.
//!
//! [`Upcalls::try_signal`] comes from the work item that walks the interrupt ring, and all programs'
//! signals come by there: it waits for no lock that a program can hold. The other calls may.

use super::Gpu;
use crate::types::{
    Hang,
    Pasid,
    QueueError,
    VmFault, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// What the user half implements.
pub(crate) trait Upcalls: Send + Sync {
    /// A GPU is ready. An error fails the probe.
    fn gpu_added(&self, gpu: &Arc<Gpu>) -> Result;

    /// A GPU goes: revoke every mapping of it, wake every waiter. [`Gpu::alive`] already fails with
    /// ENODEV, so what is created from now on fails. Called once for each `gpu_added`, also where
    /// that failed, before the hardware is stopped.
    fn gpu_removed(&self, gpu: &Arc<Gpu>);

    /// The GPU signalled event `id`, of which only the low `bits` bits are known; with 0 bits any of
    /// the process' events may be meant. May wait for the process.
    fn signal(&self, gpu: &Gpu, pasid: Pasid, id: u32, bits: u32);

    /// As [`signal`](Self::signal), but waits for nobody: false when the process is busy with its events,
    /// and nothing was done.
    fn try_signal(&self, gpu: &Gpu, pasid: Pasid, id: u32, bits: u32) -> bool;

    /// The GPU faulted, before anything is done about it. Whether a debugger has the process, and wants to decide
    /// what is done. Waits for nobody.
    fn is_debugged_fault(&self, gpu: &Gpu, fault: &VmFault) -> bool;

    /// The GPU faulted. The queues of the process are already taken off the GPU.
    fn vm_fault(&self, gpu: &Gpu, fault: &VmFault);

    /// Reports an error of a queue to its process' debugger or runtime. Returns whether there is one that wants it.
    fn queue_error(&self, gpu: &Gpu, error: &QueueError) -> bool;

    /// The GPU is about to be reset for the `number`th time, or `done`: it was, and works again.
    fn gpu_reset(&self, gpu: &Gpu, number: u32, done: bool);

    /// Queues of the GPU had to be reset or hang, or the GPU itself does: a hardware exception for
    /// their processes, or for every process on it. Or the device was found to be gone: every waiter
    /// wakes with an error.
    fn gpu_hang(&self, gpu: &Gpu, hang: Hang);
}
