// SPDX-License-Identifier: GPL-2.0

//! What GPUs have on their hardware queues when somebody looks.

use crate::{
    gfx::{
        Loaded,
        Wave, //
    },
    gpu::Gpu,
    hw::regs::Block,
    process::Processes,
    sched::Shown,
    types::{
        GpuId,
        HqdSlot, //
    }, //
};
use core::cell::OnceCell;
use kernel::{
    fmt,
    prelude::*, //
};

/// A GPU's queues that are on HQDs; `None` while somebody else looks at these.
struct Load {
    gpu: GpuId,
    queues: Option<KVec<Loaded>>,
    /// Waves that are halted, once somebody asked; `None` while somebody else looks.
    halted: OnceCell<Option<KVec<Wave>>>,
}

/// Halted waves of a GPU that are kept, and of a queue that are shown.
const KEPT: usize = 256;
const SHOWN: usize = 16;

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
                halted: OnceCell::new(),
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

impl Loads {
    /// Writes a line for each of a queue's waves that are halted, so many as are looked at: which they are is read
    /// from all wave slots of the GPU, once. `code` loads the words at an address.
    pub(super) fn write_waves(
        &self,
        gpu: &Gpu,
        queue: &Shown,
        code: impl Fn(u64) -> Option<u32>,
        f: &mut fmt::Formatter<'_>,
    ) -> fmt::Result {
        let Some(load) = self.0.iter().find(|load| load.gpu == gpu.id()) else {
            return Ok(());
        };
        let queues = load.queues.iter().flatten();
        let its = queues.filter(|it| it.doorbell == queue.doorbell.get());
        if queue.sdma.is_some() || its.clone().next().is_none() {
            return Ok(());
        }
        let Some(waves) = load.halted.get_or_init(|| halted(gpu)) else {
            return writeln!(f, "    wave busy");
        };
        let is_its = |wave: &&Wave| {
            its.clone().any(|it| {
                wave.simd.xcc == it.xcc
                    && wave.hqd == Some(it.slot)
                    && u64::from(wave.vmid) == it.vmid
            })
        };
        for wave in waves.iter().filter(is_its).take(SHOWN) {
            let simd = &wave.simd;
            write!(
                f,
                "    wave {} {} {} {} {} {} pc {:#x} status {:#x}",
                simd.xcc,
                simd.engine.get(),
                simd.array.get(),
                simd.cu.get(),
                simd.number.get(),
                wave.slot.get(),
                wave.pc,
                wave.status
            )?;
            match code(wave.pc) {
                Some(word) => writeln!(f, " code {word:#010x}")?,
                None => writeln!(f, " code ?")?,
            }
        }
        Ok(())
    }
}

/// Waves that are halted; `None` while somebody else looks, or without memory.
fn halted(gpu: &Gpu) -> Option<KVec<Wave>> {
    let mut waves = KVec::with_capacity(KEPT, GFP_KERNEL).ok()?;
    if gpu.alive().is_err() {
        return Some(waves);
    }
    gpu.gfx().try_waves(gpu.chip(), |wave| {
        // Within its capacity it needs no memory.
        !wave.halted || waves.push_within_capacity(wave).is_ok()
    })?;
    Some(waves)
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
