// SPDX-License-Identifier: GPL-2.0

//! The files of upstream's folder `kfd`, in upstream's format: MQDs of programs' queues, and what
//! memory is taken.
//!
//! They show what is in memory when they are read, and wait for nobody: what somebody
//! holds who may be waiting for the hardware is shown as busy.
//!
//! Sources: `kfd_debugfs_init` (kfd_debugfs.c), `kfd_debugfs_mqds_by_process` (kfd_process.c),
//! `pqm_debugfs_mqds` (kfd_process_queue_manager.c), `kfd_debugfs_kfd_mem_limits`
//! (amdgpu_amdkfd_gpuvm.c).

use super::rows;
use crate::{
    process::{
        Process,
        Processes,
        State, //
    },
    types::Format, //
};
use kernel::{
    fmt,
    sync::Arc, //
};

/// `mqds`: each process, and each of its queues with the MQDs as they are in memory. As upstream, what is
/// called PASID is the number of the process' first thread.
pub(super) fn mqds(processes: &Arc<Processes>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let mut result = Ok(());
    processes.for_each(|process| {
        if result.is_ok() {
            result = of_process(process, f);
        }
    });
    result
}

fn of_process(process: &Process, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let tgid = process.who.tgid;
    writeln!(f, "Process {tgid} PASID {tgid}:")?;
    process
        .try_with(|state| queues(process, state, f))
        .unwrap_or_else(|| writeln!(f, "  Busy"))
}

fn queues(process: &Process, state: &State, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for (_, queue) in state.queues.iter() {
        let Some(device) = process.devices().get(queue.device) else {
            continue;
        };
        let kind = match queue.hw.format() {
            Format::Aql | Format::Pm4 => "Compute",
            Format::Sdma => "SDMA",
        };
        writeln!(f, "  {kind} queue on device {:x}", device.gpu.id().get())?;
        for words in queue.hw.mqds() {
            rows(f, "    ", 0, words)?;
        }
    }
    Ok(())
}

/// `mem_limit`: the system memory of buffer objects. There is one limit, upstream's of TTM.
pub(super) fn mem_limit(processes: &Arc<Processes>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let memory = &processes.shared().memory;
    let (used, limit) = (memory.used() >> 20, memory.limit() >> 20);
    writeln!(f, "System mem used {used}M out of {limit}M")?;
    writeln!(f, "TTM mem used {used}M out of {limit}M")
}
