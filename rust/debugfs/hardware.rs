// SPDX-License-Identifier: GPL-2.0

//! Files of the folder `rkfd` about what GPUs share out, which upstream doesn't show: VMIDs, doorbells, flushes of TLBs,
//! what was done to registers and page tables, and how the scheduling firmware does.
//!
//! They wait for nobody: what somebody holds who may be waiting for the hardware is shown as busy. Registers are read
//! without the scheduler's lock, so they show the firmware's rings while the driver waits for its answer.

use crate::{
    gpu::Gpu,
    process::{
        Doorbells,
        Process,
        Processes,
        State, //
    },
    types::Pasid, //
};
use core::num::NonZeroU16;
use kernel::{
    fmt,
    sync::Arc, //
};

/// Calls `show` for each GPU, below a line that names it.
fn each_gpu(
    processes: &Processes,
    f: &mut fmt::Formatter<'_>,
    show: impl Fn(&Gpu, &mut fmt::Formatter<'_>) -> fmt::Result,
) -> fmt::Result {
    let gpus = processes.shared().gpus.all().map_err(|_| fmt::Error)?;
    for gpu in &gpus {
        writeln!(f, "gpu {}", gpu.id().get())?;
        match gpu.alive() {
            Ok(()) => show(gpu, f)?,
            Err(_) => writeln!(f, "  stopped")?,
        }
    }
    Ok(())
}

/// `rkfd/vmids`: the VMIDs that have a process, as the mapping's registers say.
pub(super) fn vmids(processes: &Arc<Processes>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    each_gpu(processes, f, |gpu, f| {
        for vmid in 1..16 {
            let Some(number) = gpu.pasid_of(vmid) else {
                continue;
            };
            let pasid = u16::try_from(number).ok().and_then(NonZeroU16::new);
            let process = pasid.and_then(|pasid| processes.by_pasid(Pasid::new(pasid)));
            match process {
                Some(it) => writeln!(f, "  vmid {vmid} pasid {number} process {}", it.who.tgid)?,
                None => writeln!(f, "  vmid {vmid} pasid {number}")?,
            }
        }
        Ok(())
    })
}

/// `rkfd/work`: what was done to GPUs since they were found. It looks at no register, so that whoever reads it
/// twice finds what was done in between.
pub(super) fn work(processes: &Arc<Processes>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let gpus = processes.shared().gpus.all().map_err(|_| fmt::Error)?;
    for gpu in &gpus {
        writeln!(f, "gpu {}", gpu.id().get())?;
        for (name, number) in gpu.work().iter() {
            writeln!(f, "  {name} {number}")?;
        }
    }
    Ok(())
}

/// `rkfd/tlb`: flushes of TLBs.
pub(super) fn tlb(processes: &Arc<Processes>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    each_gpu(processes, f, |gpu, f| {
        for (name, number) in gpu.flush_counts().iter() {
            writeln!(f, "  {name} {number}")?;
        }
        Ok(())
    })
}

/// `rkfd/scheduler`: what the driver knows of the scheduling firmware, and where its rings are.
pub(super) fn scheduler(processes: &Arc<Processes>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    each_gpu(processes, f, |gpu, f| {
        let scheduler = gpu.scheduler();
        writeln!(f, "  kind {}", scheduler.kind())?;
        match scheduler.try_status() {
            Some(status) => {
                writeln!(f, "  state {}", status.state.name())?;
                writeln!(f, "  processes {}", status.processes)?;
                for (state, number) in status.queues {
                    writeln!(f, "  queues_{} {number}", state.name())?;
                }
            }
            None => writeln!(f, "  state busy")?,
        }
        for (name, slot) in scheduler.rings() {
            match gpu.gfx().try_loaded(0, *slot) {
                None => writeln!(f, "  ring {name} busy")?,
                Some(None) => writeln!(f, "  ring {name} off")?,
                Some(Some(ring)) => writeln!(
                    f,
                    "  ring {name} doorbell {:#x} read {} write {}",
                    ring.doorbell, ring.read, ring.write
                )?,
            }
        }
        Ok(())
    })
}

/// `rkfd/doorbells`: who has which slice of the doorbells, in words of the BAR, and which queue which doorbell.
pub(super) fn doorbells(processes: &Arc<Processes>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let mut result = Ok(());
    processes.for_each(|process| {
        if result.is_ok() {
            result = slices(process, f);
        }
    });
    result
}

fn slices(process: &Process, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let tgid = process.who.tgid;
    for (index, device) in process.devices().iter().enumerate() {
        let gpu = device.gpu.id().get();
        let slice = match device.doorbells.try_lock().as_deref() {
            Some(Doorbells::Slice(slice)) => slice.words(),
            Some(Doorbells::Unused | Doorbells::Gone) => continue,
            None => {
                writeln!(f, "process {tgid} gpu {gpu} busy")?;
                continue;
            }
        };
        writeln!(
            f,
            "process {tgid} gpu {gpu} words {:#x} {:#x}",
            slice.start, slice.end
        )?;
        process
            .try_with(|state| rung(state, index, f))
            .unwrap_or_else(|| writeln!(f, "  busy"))?;
    }
    Ok(())
}

fn rung(state: &State, device: usize, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for (id, queue) in state.queues.iter().filter(|(_, q)| q.device == device) {
        match queue.hw.try_show() {
            Some(shown) => writeln!(f, "  doorbell {:#x} queue {id}", shown.doorbell.get())?,
            None => writeln!(f, "  doorbell busy queue {id}")?,
        }
    }
    Ok(())
}
