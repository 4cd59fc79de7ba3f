// SPDX-License-Identifier: MIT OR Apache-2.0
//! Files that show what a process has, read while others change it.

use crate::counted::{self, LOOKS};
use crate::process::Process;
use rkfd_bare::rng::Rng;
use rkfd_bare::sys;
use std::os::fd::AsRawFd;
use std::time::Instant;

const SYSFS: &str = "/sys/class/kfd/kfd/proc";
const DEBUGFS: &str = "/sys/kernel/debug";

/// Reads one of them.
pub fn one(process: &Process, rng: &mut Rng) {
    let (pid, gpu) = (sys::pid(), process.node.gpu);
    let kind = rng.below(LOOKS.len() as u64) as usize;
    let path = match kind {
        0 => format!("/proc/self/fdinfo/{}", process.render.as_raw_fd()),
        1 => format!("{SYSFS}/{pid}/vram_{gpu}"),
        2 => format!("{SYSFS}/{pid}/sdma_{gpu}"),
        3 => format!("{SYSFS}/{pid}/pasid"),
        4 => format!("{SYSFS}/{pid}/stats_{gpu}/evicted_ms"),
        5 => format!("{SYSFS}/{pid}/stats_{gpu}/cu_occupancy"),
        6 => {
            let queue = process.pool().queues.any(rng).map_or(0, |q| q.id);
            let what = rng.pick(&["gpuid", "size", "type"]);
            format!("{SYSFS}/{pid}/queues/{queue}/{what}")
        }
        7 => format!("{DEBUGFS}/kfd/proc/{pid}/pasid_{gpu}"),
        _ => {
            let what = rng.pick(&["kfd/mqds", "kfd/hqds", "kfd/rls", "rkfd/queues"]);
            format!("{DEBUGFS}/{what}")
        }
    };
    let start = Instant::now();
    // What is gone meanwhile isn't there, and what is being changed can't be told.
    let read = std::fs::read(path).is_ok();
    let slot = counted::look(kind);
    process.shared.count(slot, read, start.elapsed());
}
