// SPDX-License-Identifier: GPL-2.0

//! A GPU that is up.
//!
//! Two layers. [`Hw`] is what memory and address spaces need: registers, VRAM, GART, doorbells,
//! firmware that flushes TLBs. [`Gpu`] is `Hw` with the scheduler on top, and is what the user half holds. Buffer
//! objects, VMs and queues hold an `Arc<Hw>`, never an `Arc<Gpu>`, so that nothing the scheduler
//! owns leads back to it.
//!
//! Both outlive the device: after unbind or a lost device registers read as all ones, stores go
//! nowhere, [`Gpu::alive`] says ENODEV, and memory is only given back to the CPU's side.
//!
//! [`Running`] is the hardware's side: guards whose order is the order of teardown.

use crate::{
    chip::ChipInfo,
    doorbell::Slice,
    driver::PciInfo,
    gmc, ih,
    sched::{self, Scheduler},
    sdma,
    types::GpuId,
    upcall::Upcalls,
};
use kernel::{
    device, pci,
    prelude::*,
    sync::{
        atomic::{Atomic, Relaxed},
        Arc,
    },
};

mod hash;
mod hw;
pub(crate) mod nbio;
mod registry;

pub(crate) use hw::{Hw, Parts, REMAP_OFFSET};
pub(crate) use registry::Gpus;

/// A GPU.
pub(crate) struct Gpu {
    id: GpuId,
    hw: Arc<Hw>,
    scheduler: Arc<dyn Scheduler>,
    /// Bytes by which the programs' buffer objects fall short of [`VRAM_STEP`]s.
    vram_rounding: Atomic<i64>,
}

/// Programs are told what VRAM is left as if every buffer object took whole steps
/// (`VRAM_AVAILABILITY_ALIGN`).
pub(crate) const VRAM_STEP: u64 = 2 << 20;

impl Gpu {
    /// Name in the ABI.
    pub(crate) fn id(&self) -> GpuId {
        self.id
    }

    /// What the chip is.
    pub(crate) fn chip(&self) -> &ChipInfo {
        &self.hw.chip
    }

    /// Ids and place on the bus.
    pub(crate) fn pci(&self) -> &PciInfo {
        &self.hw.pci
    }

    /// The device.
    pub(crate) fn device(&self) -> &device::Device {
        self.hw.device()
    }

    /// ENODEV after unbind, or when the device doesn't answer.
    pub(crate) fn alive(&self) -> Result {
        self.hw.alive()
    }

    /// The clock counter; 0 when the device is gone.
    pub(crate) fn clock(&self) -> u64 {
        self.hw.clock()
    }

    /// Ticks of the clock in a second: the reference clock of both generations.
    pub(crate) fn clock_hz(&self) -> u64 {
        100_000_000
    }

    /// Who runs the queues.
    pub(crate) fn scheduler(&self) -> &dyn Scheduler {
        &*self.scheduler
    }

    /// The lower layer.
    pub(crate) fn hw(&self) -> &Arc<Hw> {
        &self.hw
    }

    /// Bytes of VRAM in use.
    pub(crate) fn vram_used(&self) -> u64 {
        self.hw.vram.usable() - self.hw.vram.free()
    }

    /// Bytes of VRAM that buffer objects can still get.
    pub(crate) fn vram_available(&self) -> u64 {
        self.hw.vram.free()
    }

    /// Bytes of VRAM that programs are told are left.
    pub(crate) fn vram_reported(&self) -> u64 {
        let rounding = u64::try_from(self.vram_rounding.load(Relaxed)).unwrap_or(0);
        self.vram_available().saturating_sub(rounding)
    }

    /// Counts what a buffer object falls short of whole steps; negative takes it back.
    pub(crate) fn round_vram(&self, bytes: i64) {
        self.vram_rounding.fetch_add(bytes, Relaxed);
    }

    /// A slice of doorbells for a process.
    pub(crate) fn doorbell_slice(&self) -> Result<Arc<Slice>> {
        Slice::new(&self.hw)
    }
}

/// The hardware runs. Fields are dropped in this order, each undoing one step of [`start`].
pub(crate) struct Running {
    _listed: Listed,
    _scheduler: sched::Started,
    _sdma: sdma::Enabled,
    _ih: ih::Enabled,
    _gmc: gmc::Enabled,
    _nbio: nbio::Enabled,
    gpu: Arc<Gpu>,
}

impl Running {
    /// The GPU.
    pub(crate) fn gpu(&self) -> &Arc<Gpu> {
        &self.gpu
    }
}

/// Brings a GPU up. Each guard that was made is dropped if a later step fails.
pub(crate) fn start(
    pdev: &pci::Device<device::Bound>,
    hw: Arc<Hw>,
    gpus: &Arc<Gpus>,
    sink: Arc<dyn Upcalls>,
) -> Result<Running> {
    let nbio = nbio::Enabled::new(&hw);
    let gmc = gmc::Enabled::new(&hw)?;
    let scheduler = (hw.chip.family.scheduler)(&hw)?;
    let id = gpus.unique(hash::gpu_id(&hw.pci, &hw.chip));
    let gpu = Arc::new(
        Gpu {
            id,
            hw: hw.clone(),
            scheduler: scheduler.clone(),
            vram_rounding: Atomic::new(0),
        },
        GFP_KERNEL,
    )?;
    let ih = ih::Enabled::new(pdev, &gpu, sink.clone())?;
    let sdma = sdma::Enabled::new(&hw)?;
    let scheduler = sched::Started::new(&gpu, scheduler, sink.clone())?;
    let listed = Listed::new(&gpu, gpus, sink)?;
    Ok(Running {
        _listed: listed,
        _scheduler: scheduler,
        _sdma: sdma,
        _ih: ih,
        _gmc: gmc,
        _nbio: nbio,
        gpu,
    })
}

/// The GPU can be found, and the user half knows it.
struct Listed {
    gpu: Arc<Gpu>,
    gpus: Arc<Gpus>,
    sink: Arc<dyn Upcalls>,
}

impl Listed {
    fn new(gpu: &Arc<Gpu>, gpus: &Arc<Gpus>, sink: Arc<dyn Upcalls>) -> Result<Self> {
        gpus.add(gpu)?;
        sink.gpu_added(gpu).inspect_err(|_| gpus.remove(gpu))?;
        Ok(Self {
            gpu: gpu.clone(),
            gpus: gpus.clone(),
            sink,
        })
    }
}

impl Drop for Listed {
    fn drop(&mut self) {
        self.gpus.remove(&self.gpu);
        // Nothing new from here on: calls fail with ENODEV.
        self.gpu.hw.unbind();
        self.sink.gpu_removed(&self.gpu);
    }
}
