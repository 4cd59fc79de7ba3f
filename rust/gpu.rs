// SPDX-License-Identifier: GPL-2.0

//! A GPU that is up: it owns all parts of the hardware half, and puts them together.
//!
//! [`Gpu`] is what the user half holds. It outlives the device: after unbind or a lost device
//! registers read as all ones, stores go nowhere, [`Gpu::alive`] gives ENODEV, and memory is only
//! given back to the CPU's side. Buffer objects, address spaces and queues hold the parts that they
//! use, never the `Gpu`, so that nothing the scheduler owns leads back to it.
//!
//! [`Running`] is the hardware's side, and lives as long as the device is bound: guards, each of which
//! undoes one step of bring-up.

use crate::{
    bo::Memory,
    chip::ChipInfo,
    counts::Work,
    device::Handle,
    discovery::{
        Discovery,
        GcInfo, //
    },
    doorbell::{
        Doorbells,
        Slice, //
    },
    firmware::{
        Direct,
        Set,
        Starts, //
    },
    gfx::{
        Gfx,
        PipeInterrupts,
        WatchPoint, //
    },
    glue::{
        devcgroup::{
            self,
            DeviceNumber, //
        },
        pci::Master,
        sleep::SleepWatch, //
    },
    gmc::{
        self,
        FaultInterrupts,
        FlushCounts,
        Gart,
        Hubs,
        Tlb, //
    },
    hangs::Hangs,
    ih,
    isolation,
    kept::Kept,
    mqd,
    nbio,
    regs::Regs,
    sched::{
        self,
        Scheduler, //
    },
    sdma::{
        self,
        Copier, //
    },
    smu::{
        self,
        Smu, //
    },
    types::{
        GpuId,
        PciInfo, //
    },
    vbios::Vbios,
    vm::{
        self,
        Spaces,
        Vm, //
    },
    vram::Vram, //
};
use kernel::{
    device::{
        self,
        Bound, //
    },
    pci,
    prelude::*,
    sync::{
        atomic::{
            Atomic,
            Relaxed, //
        },
        Arc,
        SetOnce, //
    }, //
};

pub(crate) mod autoload;
mod awake;
mod clocks;
mod counters;
mod events;
mod hal;
mod hang;
mod hash;
mod listed;
mod microcode;
mod registry;
mod reset;
mod steps;
mod upcalls;

use listed::Listed;
pub(crate) use microcode::load_files;
pub(crate) use registry::Gpus;
pub(crate) use reset::reset_device;
pub(crate) use upcalls::Upcalls;

use clocks::Gates;
use counters::Counters;
use steps::Steps;

/// A GPU.
pub(crate) struct Gpu {
    id: GpuId,
    pci: PciInfo,
    chip: Arc<ChipInfo>,
    vbios: Option<Vbios>,
    dev: Arc<Handle>,
    regs: Arc<Regs>,
    gfx: Arc<Gfx>,
    hubs: Hubs,
    doorbells: Arc<Doorbells>,
    sdma: Arc<sdma::Queues>,
    copier: Arc<Copier>,
    spaces: Arc<Spaces>,
    scheduler: Arc<dyn Scheduler>,
    counters: Counters,
    /// Its render node: who may use that may use the GPU.
    node: SetOnce<DeviceNumber>,
    /// Bytes by which the programs' buffer objects fall short of [`VRAM_STEP`]s.
    vram_rounding: Atomic<i64>,
}

/// Programs read what VRAM is left as if every buffer object took whole steps
/// (`VRAM_AVAILABILITY_ALIGN`).
pub(crate) const VRAM_STEP: u64 = 2 << 20;

impl Gpu {
    /// Name in the ABI.
    pub(crate) fn id(&self) -> GpuId {
        self.id
    }

    /// What the chip is.
    pub(crate) fn chip(&self) -> &ChipInfo {
        &self.chip
    }

    /// What its VBIOS tells; none where it has none.
    pub(crate) fn vbios(&self) -> Option<&Vbios> {
        self.vbios.as_ref()
    }

    /// Ids and place on the bus.
    pub(crate) fn pci(&self) -> &PciInfo {
        &self.pci
    }

    /// The device.
    pub(crate) fn device(&self) -> &device::Device {
        self.dev.device()
    }

    /// ENODEV after unbind, or when the device doesn't answer.
    pub(crate) fn alive(&self) -> Result {
        self.dev.alive()
    }

    /// ENODEV after unbind, or when the device was found not to answer. Looks at no register.
    pub(crate) fn check_open(&self) -> Result {
        self.dev.check_open()
    }

    /// The number of its render node, once it has one.
    pub(crate) fn set_node(&self, number: DeviceNumber) {
        self.node.populate(number);
    }

    /// Whether it has its render node: programs can use it.
    pub(crate) fn has_node(&self) -> bool {
        self.node.copy().is_some()
    }

    /// Whether the caller's cgroup lets it use the GPU; nobody may before it has a node.
    pub(crate) fn is_permitted(&self) -> bool {
        self.node.copy().is_some_and(devcgroup::may_use)
    }

    /// The clock counter; 0 when the device is gone, or being reset as a whole.
    pub(crate) fn clock(&self) -> u64 {
        self.gfx.clock()
    }

    /// A register for a watched address.
    ///
    /// # Errors
    ///
    /// ENOMEM when all are taken.
    pub(crate) fn watch_point(&self) -> Result<WatchPoint> {
        WatchPoint::new(&self.gfx)
    }

    /// The graphics core.
    pub(crate) fn gfx(&self) -> &Gfx {
        &self.gfx
    }

    /// Ticks of the clock in a second: the reference clock of both generations.
    pub(crate) fn clock_hz(&self) -> u64 {
        100_000_000
    }

    /// Who runs the queues.
    pub(crate) fn scheduler(&self) -> &dyn Scheduler {
        &*self.scheduler
    }

    /// Who has its performance counters.
    pub(crate) fn counters(&self) -> &Counters {
        &self.counters
    }

    /// What buffer objects are made from.
    pub(crate) fn memory(&self) -> &Arc<Memory> {
        &self.spaces.memory
    }

    /// An empty address space.
    pub(crate) fn new_vm(&self) -> Result<Arc<Vm>> {
        Vm::new(&self.spaces)
    }

    /// The number of the process that has an address space now.
    pub(crate) fn pasid_of(&self, vmid: u32) -> Option<u32> {
        self.hubs.pasid_of(vmid)
    }

    /// What is done to it, counted.
    pub(crate) fn work(&self) -> &Work {
        self.dev.work()
    }

    /// How often its TLBs were flushed.
    pub(crate) fn flush_counts(&self) -> &FlushCounts {
        self.spaces.tlb.counts()
    }

    /// The queues of the copy engines.
    pub(crate) fn sdma_queues(&self) -> &Arc<sdma::Queues> {
        &self.sdma
    }

    /// Who clears VRAM.
    pub(crate) fn copier(&self) -> &Arc<Copier> {
        &self.copier
    }

    /// What the device lists of itself.
    pub(crate) fn discovery(&self) -> &Discovery {
        self.regs.discovery()
    }

    /// What the device lists of its graphics core.
    pub(crate) fn gc_info(&self) -> &GcInfo {
        self.regs.discovery().gc()
    }

    /// Word on BAR 5 of the register with the layout of addresses in memory.
    pub(crate) fn gb_addr_config_word(&self) -> Option<u32> {
        self.gfx.gb_addr_config_word()
    }

    fn vram(&self) -> &Vram {
        &self.spaces.memory.vram
    }

    /// Bytes of VRAM that can be given out in all.
    pub(crate) fn vram_usable(&self) -> u64 {
        self.vram().usable()
    }

    /// Bytes of VRAM in use.
    pub(crate) fn vram_used(&self) -> u64 {
        self.vram().usable().saturating_sub(self.vram().free())
    }

    /// Bytes of VRAM that buffer objects of KFD's can still get: what is free, and what others give way with.
    pub(crate) fn vram_available(&self) -> u64 {
        let yielding = self.memory().yielding.bytes();
        self.vram().free().saturating_add(yielding)
    }

    /// Keeps what the GPU may still reach until it was stopped.
    pub(crate) fn keep<T: Send + Sync + 'static>(&self, what: T) {
        self.spaces.kept.keep(what);
    }

    /// Bytes of VRAM that programs read are left.
    pub(crate) fn vram_reported(&self) -> u64 {
        let rounding = u64::try_from(self.vram_rounding.load(Relaxed)).unwrap_or(0);
        self.vram_available().saturating_sub(rounding)
    }

    /// Counts what a buffer object falls short of whole steps; negative takes it back.
    pub(crate) fn round_vram(&self, bytes: i64) {
        self.vram_rounding.fetch_add(bytes, Relaxed);
    }

    /// What its management unit measures ([`Smu::measure`]).
    pub(crate) fn measure(&self) -> Result<smu::Reading> {
        self.copier.smu().measure()
    }

    /// Which of a reading's values there are ([`Smu::kinds`]).
    pub(crate) fn kinds(&self) -> Option<smu::Kinds> {
        self.copier.smu().kinds()
    }

    /// Version of its management unit's firmware ([`Smu::version`]).
    pub(crate) fn smu_version(&self) -> u32 {
        self.copier.smu().version()
    }

    /// By which it is told from others, also in another machine ([`Smu::serial`]); 0 where nothing is known.
    pub(crate) fn unique_id(&self) -> u64 {
        self.copier.smu().serial()
    }

    /// All that its management unit measures ([`Smu::metrics`]).
    pub(crate) fn metrics(&self, put: &mut dyn FnMut(&[u8]) -> Result) -> Result {
        self.copier.smu().metrics(put)
    }

    /// The most MHz of compute units and of memory; none where the driver can't ask for them.
    pub(crate) fn most_mhz(&self) -> Option<(u32, u32)> {
        let reading = self.measure().ok()?;
        Some((reading.gfx_levels.most()?, reading.memory_levels.most()?))
    }

    /// Makes a thing that belongs to the device while it is bound; as of [`Handle::while_bound`].
    pub(crate) fn while_bound<R>(
        &self,
        f: impl FnOnce(&device::Device<Bound>) -> Result<R>,
    ) -> Result<R> {
        self.dev.while_bound(f)
    }

    /// How often VRAM has lost what was in it.
    pub(crate) fn vram_losses(&self) -> u32 {
        self.dev.losses()
    }

    /// How often it, or queues of it, were reset.
    pub(crate) fn resets(&self) -> u32 {
        self.dev.resets()
    }

    /// Whether it is being reset.
    pub(crate) fn is_resetting(&self) -> bool {
        self.dev.is_resetting()
    }

    /// A slice of doorbells for a process.
    pub(crate) fn doorbell_slice(&self) -> Result<Arc<Slice>> {
        Slice::new(&self.doorbells)
    }
}

/// What probe found and made before the hardware is touched, in order of bring-up.
pub(crate) struct Found {
    pub(crate) pci: PciInfo,
    pub(crate) chip: ChipInfo,
    pub(crate) vbios: Option<Vbios>,
    pub(crate) dev: Arc<Handle>,
    pub(crate) regs: Arc<Regs>,
    pub(crate) vram: Arc<Vram>,
    /// What its engines are to be started with, if they are halted.
    pub(crate) firmware: Option<Set<Direct>>,
    /// Where programs begin, if the driver has loaded them.
    pub(crate) starts: Option<Starts>,
    /// Physical address of BAR 5.
    pub(crate) mmio_phys: u64,
}

/// The hardware runs. Fields are dropped in this order, each undoing one step of
/// [`Running::new`], which makes them in the reverse order.
#[pin_data]
pub(crate) struct Running<'bound> {
    _awake: SleepWatch<awake::Awake>,
    _listed: Listed,
    // Before the scheduler stops, so that no reset starts it again.
    _watch: hang::Watch,
    _scheduler: sched::Started,
    _gates: Arc<Gates>,
    _sdma: Arc<sdma::Enabled>,
    _pipe_interrupts: Arc<PipeInterrupts>,
    _fault_interrupts: Arc<FaultInterrupts>,
    _smu: Arc<smu::Enabled>,
    _microcode: Arc<microcode::Microcode>,
    #[pin]
    _ih: ih::Enabled<'bound>,
    _acting: events::Acting,
    // If this is the last reference, its parts take their memory from the GART and flush TLBs, which
    // needs the hubs. The guards below hold what they undo, and need nothing of it.
    gpu: Arc<Gpu>,
    _gmc: Arc<gmc::Enabled>,
    _nbio: Arc<nbio::Enabled>,
    _master: Arc<Master>,
}

impl<'bound> Running<'bound> {
    /// Brings a GPU up. Each guard that was made is dropped if a later step fails.
    pub(crate) fn new(
        pdev: &'bound pci::Device<Bound>,
        master: Master,
        found: Found,
        gpus: &Arc<Gpus>,
        sink: Arc<dyn Upcalls>,
    ) -> Result<impl PinInit<Self, Error> + 'bound> {
        let Found {
            pci,
            chip,
            vbios,
            dev,
            regs,
            vram,
            firmware,
            starts,
            mmio_phys,
        } = found;
        let gpus = gpus.clone();
        let chip = Arc::new(chip, GFP_KERNEL)?;
        let versions = chip.versions;
        let gmc_hal = gmc::hal(versions.gc);
        let nbio_hal = nbio::hal(versions.nbio);
        let hubs = Hubs::new(&regs, gmc_hal, gmc::mmhub(versions.mmhub));
        let tlb = Tlb::new(&dev, &vram, hubs.clone())?;
        let gart = Gart::new(&dev, &vram, &tlb, gmc_hal.gart_flags())?;
        let gfx = Gfx::new(&regs, crate::gfx::hal(versions.gc), starts)?;
        let doorbells = Doorbells::new(pdev, &dev, chip.family.non_cp_doorbells)?;
        let kept = Kept::new(dev.device())?;
        let hangs = Hangs::new()?;
        let memory = Memory::new(&dev, &vram, mmio_phys)?;
        let smu = Smu::new(&dev, &regs, smu::hal(versions.gc))?;
        let copier = Copier::new(sdma::Parts {
            dev: dev.clone(),
            regs: regs.clone(),
            vram: vram.clone(),
            gart: gart.clone(),
            doorbells: doorbells.clone(),
            kept: kept.clone(),
            hangs: hangs.clone(),
            smu: smu.clone(),
            hal: sdma::hal(versions.sdma),
        })?;
        let spaces = Spaces {
            memory,
            tlb: tlb.clone(),
            hal: vm::hal(versions.gc),
            kept: kept.clone(),
        };
        let spaces = Arc::new(spaces, GFP_KERNEL)?;
        let scheduler = sched::new(
            versions.gc,
            sched::Parts {
                dev: dev.clone(),
                chip: chip.clone(),
                gfx: gfx.clone(),
                hubs: hubs.clone(),
                vram: vram.clone(),
                gart: gart.clone(),
                tlb: tlb.clone(),
                doorbells: doorbells.clone(),
                mqd: mqd::hal(versions.gc),
                kept: kept.clone(),
                hangs: hangs.clone(),
                copier: copier.clone(),
                atomics: pci.requests_atomics,
                isolates: isolation::is_on(dev.device(), &chip),
            },
        )?;
        let gpu = Gpu {
            id: gpus.unique(hash::gpu_id(&pci, &chip)),
            pci,
            sdma: sdma::Queues::new(&chip)?,
            copier,
            chip,
            vbios,
            dev,
            regs,
            gfx,
            hubs,
            doorbells,
            spaces,
            scheduler,
            counters: Counters::new(),
            node: SetOnce::new(),
            vram_rounding: Atomic::new(0),
        };
        let gpu = Arc::new(gpu, GFP_KERNEL)?;
        let mut steps = Steps::new();
        Ok(try_pin_init!(Self {
            // First, so that it is the last to go.
            _master: steps.made(master)?,
            _nbio: {
                let doorbells = Some(gpu.doorbells.phys());
                steps.made(nbio::Enabled::new(&gpu.regs, nbio_hal, doorbells))?
            },
            _gmc: {
                let vram = &gpu.memory().vram;
                steps.made(gmc::Enabled::new(
                    &gpu.dev, &gpu.hubs, vram, &tlb, &gart, &kept,
                )?)?
            },
            _acting: events::Acting::new(&gpu, &sink)?,
            _ih <- ih::Enabled::new(
                pdev,
                ih::Parts {
                    dev: &gpu.dev,
                    regs: &gpu.regs,
                    gart: &gart,
                    doorbells: &gpu.doorbells,
                    hal: ih::hal(versions.osssys),
                    clients: ih::clients(versions.gc),
                    nbio: nbio_hal,
                    stray_page: _gmc.stray_page(),
                },
                _acting.sink(),
            )?,
            _: {
                steps.add(_ih.handler().clone())?;
            },
            _microcode: {
                let microcode = microcode::Microcode::new(&gpu, &gart, _gmc, firmware.as_ref())?;
                steps.add(microcode.clone())?;
                microcode
            },
            _smu: steps.made(smu::Enabled::new(&smu, &gart)?)?,
            _fault_interrupts: steps.made(FaultInterrupts::new(&gpu.hubs))?,
            _pipe_interrupts: steps.made(PipeInterrupts::new(&gpu.gfx, &gpu.chip))?,
            _sdma: steps.made(sdma::Enabled::new(
                &gpu.copier,
                nbio_hal,
                gpu.chip.sdma_counts.engines(),
            )?)?,
            _gates: steps.made(Gates::new(&gpu.gfx, &gpu.hubs)?)?,
            _scheduler: sched::Started::new(&gpu.dev, &gpu.scheduler)?,
            _watch: hang::Watch::new(
                &hangs,
                reset::Engines {
                    methods: hal::reset_methods(versions.gc),
                    gpu: gpu.clone(),
                    user: sink.clone(),
                    smu,
                    master: _master.clone(),
                    steps,
                    sdma: _sdma.clone(),
                    pipe_interrupts: _pipe_interrupts.clone(),
                    tlb: tlb.clone(),
                    kept: kept.clone(),
                },
            )?,
            _listed: Listed::new(&gpu, &gpus, sink)?,
            _awake: awake::Awake::new(&gpu.dev)?,
            _: {
                dev_info!(
                    pdev,
                    "{}: {} compute units, {} MiB VRAM, GPU id {}\n",
                    gpu.chip.family.name,
                    gpu.chip.cu_count,
                    gpu.chip.vram_size >> 20,
                    gpu.id
                );
            },
            gpu,
        }))
    }
}
