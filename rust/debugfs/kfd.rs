// SPDX-License-Identifier: GPL-2.0

//! The files of upstream's folder `kfd`, in upstream's format: MQDs of programs' queues, hardware queues,
//! run lists, and what memory is taken.
//!
//! But for `hang_hws`, they show what is in memory and in registers when they are read, and wait for nobody: what somebody
//! holds who may be waiting for the hardware is shown as busy.
//!
//! Sources: `kfd_debugfs_init` (kfd_debugfs.c), `kfd_debugfs_mqds_by_process` (kfd_process.c),
//! `pqm_debugfs_mqds` (kfd_process_queue_manager.c), `kfd_debugfs_hqds_by_device` and
//! `kfd_debugfs_rls_by_device` (kfd_topology.c), `dqm_debugfs_hqds` (kfd_device_queue_manager.c),
//! `pm_debugfs_runlist` (kfd_packet_manager.c), `kfd_debugfs_hang_hws` (kfd_device.c), `kfd_debugfs_kfd_mem_limits` (amdgpu_amdkfd_gpuvm.c).

use super::rows;
use crate::{
    glue::linux::EOPNOTSUPP,
    gpu::Gpu,
    hw::regs::Block,
    process::{
        Process,
        Processes,
        State, //
    },
    types::{
        Format,
        GpuId,
        HqdSlot,
        SdmaPlace, //
    }, //
};
use kernel::{
    fmt,
    prelude::*,
    sync::Arc,
    uaccess::UserSliceReader, //
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

/// `hqds`: the registers of each hardware queue, those of the copy engines last.
pub(super) fn hqds(processes: &Arc<Processes>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for_each_gpu(processes, f, |gpu, f| {
        if gpu.alive().is_err() {
            return writeln!(f, " Device is stopped");
        }
        let family = gpu.chip().family;
        for xcc in gpu.gfx().regs().instances(Block::Gc) {
            if let Some(slot) = gpu.scheduler().own_queue() {
                let (mec, pipe, queue) = (slot.me().get(), slot.pipe().get(), slot.queue().get());
                writeln!(
                    f,
                    "   Inst {xcc}, HIQ on MEC {mec} Pipe {pipe} Queue {queue}"
                )?;
                hqd(gpu, xcc, slot, f)?;
            }
            for pipe in 0..family.mec_pipes {
                for queue in 0..family.mec_queues_per_pipe {
                    if let Some(slot) = HqdSlot::compute(pipe, queue) {
                        writeln!(f, " Inst {xcc},  CP Pipe {pipe}, Queue {queue}")?;
                        hqd(gpu, xcc, slot, f)?;
                    }
                }
            }
        }
        copying(gpu, f)
    })
}

fn copying(gpu: &Gpu, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let chip = gpu.chip();
    for engine in 0..chip.sdma_counts.engines() {
        for queue in 0..chip.family.sdma.queues_per_engine {
            writeln!(f, "  SDMA Engine {engine}, RLC {queue}")?;
            gpu.copier()
                .read_queue(SdmaPlace { engine, queue }, |at, values| {
                    rows(f, "    ", at, values)
                })?;
        }
    }
    Ok(())
}

fn hqd(gpu: &Gpu, xcc: u8, slot: HqdSlot, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match gpu.gfx().try_read_hqd(xcc, slot) {
        Some(found) => rows(f, "    ", found.at, found.values.into_iter()),
        None => writeln!(f, "    Busy"),
    }
}

/// `rls`: the run list that each GPU was given last, until it was taken back.
pub(super) fn rls(processes: &Arc<Processes>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for_each_gpu(processes, f, |gpu, f| {
        let mut written = Ok(());
        let found = gpu
            .scheduler()
            .with_run_list(&mut |words| written = rows(f, "  ", 0, words));
        written?;
        match found {
            Ok(()) => Ok(()),
            Err(EBUSY) => writeln!(f, "  Busy"),
            Err(_) => writeln!(f, "  No active runlist"),
        }
    })
}

/// `mem_limit`: the system memory of buffer objects. There is one limit, upstream's of TTM.
pub(super) fn mem_limit(processes: &Arc<Processes>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let memory = &processes.shared().memory;
    let (used, limit) = (memory.used() >> 20, memory.limit() >> 20);
    writeln!(f, "System mem used {used}M out of {limit}M")?;
    writeln!(f, "TTM mem used {used}M out of {limit}M")
}

/// Bytes that `hang_hws` takes at most.
const MOST: usize = 15;

/// `hang_hws`: makes the scheduling firmware of the GPU hang whose id is written, in decimal. As upstream, what comes of
/// that is in the kernel's log, and where there is no way to make firmware hang, too.
///
/// # Errors
///
/// EINVAL when it is no id of a GPU, EFAULT.
pub(super) fn hang_hws(processes: &Arc<Processes>, text: &mut UserSliceReader) -> Result {
    let mut bytes = [0; MOST];
    let len = text.len();
    let bytes = bytes.get_mut(..len).ok_or(EINVAL)?;
    text.read_slice(bytes)?;
    let text = core::str::from_utf8(bytes).map_err(|_| EINVAL)?;
    let id = text.strip_suffix('\n').unwrap_or(text);
    let id = id.parse().ok().and_then(GpuId::from_user).ok_or(EINVAL)?;
    let gpu = processes.shared().gpus.lookup(id).ok_or(EINVAL)?;
    if gpu.scheduler().make_hang() == Err(EOPNOTSUPP) {
        dev_err!(
            gpu.device(),
            "making the scheduling firmware hang is not supported\n"
        );
    }
    Ok(())
}

/// Calls `show` for each GPU, below a line with its node of the topology, where the processors are node 0.
fn for_each_gpu(
    processes: &Arc<Processes>,
    f: &mut fmt::Formatter<'_>,
    show: impl Fn(&Gpu, &mut fmt::Formatter<'_>) -> fmt::Result,
) -> fmt::Result {
    let gpus = processes.shared().gpus.all().map_err(|_| fmt::Error)?;
    for (node, gpu) in (1..).zip(gpus.iter()) {
        let node: u32 = node;
        writeln!(f, "Node {node}, gpu_id {:x}:", gpu.id().get())?;
        show(gpu, f)?;
    }
    Ok(())
}
