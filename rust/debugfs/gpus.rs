// SPDX-License-Identifier: GPL-2.0

//! What GPUs have on their hardware queues when somebody looks.

use crate::{
    gfx::Loaded,
    gpu::Gpu,
    hw::regs::Block,
    process::Processes,
    sched::Shown,
    types::{
        GpuId,
        HqdSlot, //
    }, //
};
use kernel::{
    fmt,
    prelude::*, //
};

/// A GPU's queues that are on HQDs; `None` while somebody else looks at these.
struct Load {
    gpu: GpuId,
    queues: Option<KVec<Loaded>>,
}

/// Those of all GPUs.
pub(super) struct Loads(KVec<Load>);

impl Loads {
    /// Reads the registers of all HQDs. It waits for nobody.
    pub(super) fn read(processes: &Processes) -> Result<Self> {
        let mut loads = KVec::new();
        for gpu in processes.shared().gpus.all()? {
            let load = Load {
                gpu: gpu.id(),
                queues: loaded(&gpu)?,
            };
            loads.push(load, GFP_KERNEL)?;
        }
        Ok(Self(loads))
    }

    /// Writes a line for each HQD that a queue is on.
    pub(super) fn write(
        &self,
        gpu: &Gpu,
        queue: &Shown,
        f: &mut fmt::Formatter<'_>,
    ) -> fmt::Result {
        if queue.sdma.is_some() {
            return Ok(());
        }
        let Some(load) = self.0.iter().find(|load| load.gpu == gpu.id()) else {
            return Ok(());
        };
        let Some(queues) = &load.queues else {
            return writeln!(f, "    hqd busy");
        };
        for it in queues {
            if it.doorbell == queue.doorbell.get() {
                let (pipe, number) = (it.slot.pipe().get(), it.slot.queue().get());
                writeln!(
                    f,
                    "    hqd {} {pipe} {number} vmid {} read {} write {}",
                    it.xcc, it.vmid, it.read, it.write
                )?;
            }
        }
        Ok(())
    }
}

fn loaded(gpu: &Gpu) -> Result<Option<KVec<Loaded>>> {
    let mut queues = KVec::new();
    if gpu.alive().is_err() {
        return Ok(Some(queues));
    }
    let family = gpu.chip().family;
    for xcc in gpu.gfx().regs().instances(Block::Gc) {
        for pipe in 0..family.mec_pipes {
            let slots = (0..family.mec_queues_per_pipe).filter_map(|q| HqdSlot::compute(pipe, q));
            for slot in slots {
                match gpu.gfx().try_loaded(xcc, slot) {
                    None => return Ok(None),
                    Some(None) => {}
                    Some(Some(found)) => queues.push(found, GFP_KERNEL)?,
                }
            }
        }
    }
    Ok(Some(queues))
}
