// SPDX-License-Identifier: GPL-2.0

//! The performance counters of a GPU, which one process at a time has to itself.
//!
//! Programs set counters up by packets of their own queues; what the driver has of them is who may, and the
//! bit of a queue's MQD by which its waves are counted.
//!
//! Source: Linux, `amdkfd/kfd_chardev.c` (`profile_lock_device`, `kfd_profiler_pmc`),
//! `amdkfd/kfd_device_queue_manager.c` (`set_perfcount`) and `amdkfd/kfd_process.c`
//! (`kfd_process_profiler_release`).

use crate::gpu::Gpu;
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// A process has the counters of a GPU. When it gives them up, nothing is counted any more.
pub(crate) struct Profiling(Arc<Gpu>);

impl Profiling {
    /// Takes the counters.
    ///
    /// # Errors
    ///
    /// EBUSY when another process has them.
    pub(crate) fn new(gpu: &Arc<Gpu>) -> Result<Self> {
        gpu.counters().take()?;
        Ok(Self(gpu.clone()))
    }
}

impl Drop for Profiling {
    fn drop(&mut self) {
        count(&self.0, false);
        self.0.counters().give_up();
    }
}

/// Has what all queues of a GPU do counted from now on, or not.
pub(crate) fn count(gpu: &Gpu, on: bool) {
    // As upstream it has no answer: a queue that doesn't leave is the scheduler's to report, and a GPU that is gone
    // counts nothing.
    let _ = gpu.scheduler().count_events(on);
}
