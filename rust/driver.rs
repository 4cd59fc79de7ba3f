// SPDX-License-Identifier: GPL-2.0

//! The PCI driver: finds a GPU, checks that it can be used, and brings it up.
//!
//! The checks go from cheap to deep, and each says what was found and what to do: does the device
//! answer; did its security processor start; what does its discovery table say; is that chip
//! supported; do its command processors run. The firmware is expected to run already, as after
//! another driver loaded it: this driver doesn't load any.

use crate::{
    bo::{kernel_mem::Words, vram::Vram},
    chip::{self, ChipInfo},
    discovery::Discovery,
    doorbell::Doorbells,
    glue::{self, aperture::Aperture},
    gmc::{gart::Gart, Layout},
    gpu::{self, Hw, Parts, Running},
    module,
    regs::{Mmio, Regs},
};
use kernel::{
    device::{Bound, Core},
    devres::Devres,
    dma::Device as _,
    new_mutex, pci,
    prelude::*,
    sync::Mutex,
};

/// Words of registers at fixed places, read before the discovery table is (`amdgpu_discovery.c`).
mod fixed {
    /// RCC_CONFIG_MEMSIZE, in MiB.
    pub(super) const MEMSIZE: u32 = 0xde3;
    /// MP0_SMN_C2PMSG_33: bit 31 when the boot loader has finished.
    pub(super) const C2PMSG_33: u32 = 0x16061;
    /// MP0_SMN_C2PMSG_81: not 0 when the security processor's OS runs.
    pub(super) const C2PMSG_81: u32 = 0x16091;
}

/// Ids and place of a PCI device.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PciInfo {
    pub(crate) domain: u32,
    pub(crate) bus: u8,
    pub(crate) devfn: u8,
    pub(crate) vendor: u16,
    pub(crate) device: u16,
    pub(crate) subsystem_vendor: u16,
    pub(crate) subsystem_device: u16,
    pub(crate) revision: u8,
    /// It makes atomic operations on memory.
    pub(crate) requests_atomics: bool,
    /// It carries out those of others.
    pub(crate) completes_atomics: bool,
    pub(crate) link: glue::pci::Link,
}

impl PciInfo {
    fn read(pdev: &pci::Device<Core<'_>>) -> Self {
        let (domain, bus, devfn) = glue::pci::location(pdev);
        Self {
            domain,
            bus,
            devfn,
            vendor: pdev.vendor_id().as_raw(),
            device: pdev.device_id(),
            subsystem_vendor: pdev.subsystem_vendor_id(),
            subsystem_device: pdev.subsystem_device_id(),
            revision: pdev.revision_id(),
            requests_atomics: glue::pci::enable_atomics(pdev),
            completes_atomics: glue::pci::completes_atomics(pdev),
            link: glue::pci::link(pdev),
        }
    }

    /// `location_id` of the topology: bus and device function.
    pub(crate) fn location_id(&self) -> u32 {
        u32::from(self.bus) << 8 | u32::from(self.devfn)
    }
}

kernel::pci_device_table!(
    PCI_TABLE,
    <Driver as pci::Driver>::IdInfo,
    [
        // MI300A, MI300X, MI308X, MI300X HF, MI308X HF.
        (pci::DeviceId::from_id(pci::Vendor::ATI, 0x74a0), ()),
        (pci::DeviceId::from_id(pci::Vendor::ATI, 0x74a1), ()),
        (pci::DeviceId::from_id(pci::Vendor::ATI, 0x74a2), ()),
        (pci::DeviceId::from_id(pci::Vendor::ATI, 0x74a8), ()),
        (pci::DeviceId::from_id(pci::Vendor::ATI, 0x74a9), ()),
        // Navi 48.
        (pci::DeviceId::from_id(pci::Vendor::ATI, 0x7550), ()),
        (pci::DeviceId::from_id(pci::Vendor::ATI, 0x7551), ()),
    ]
);

/// The driver.
pub(crate) struct Driver;

/// What the driver keeps of a device.
#[pin_data]
pub(crate) struct Data {
    #[pin]
    running: Mutex<Option<Running>>,
    _master: glue::pci::Master,
}

impl pci::Driver for Driver {
    type IdInfo = ();
    type Data<'bound> = Data;
    const ID_TABLE: pci::IdTable<Self::IdInfo> = &PCI_TABLE;

    fn probe<'bound>(
        pdev: &'bound pci::Device<Core<'_>>,
        _info: Option<&'bound Self::IdInfo>,
    ) -> impl PinInit<Self::Data<'bound>, Error> + 'bound {
        pin_init::pin_init_scope(move || {
            pdev.enable_device_mem()?;
            let master = glue::pci::Master::new(pdev);
            let running = probe(pdev)?;
            let chip = running.gpu().chip();
            dev_info!(
                pdev,
                "{}: {} compute units, {} MiB VRAM, GPU id {}\n",
                chip.family.name,
                chip.cu_count,
                chip.vram_size >> 20,
                running.gpu().id()
            );
            Ok(try_pin_init!(Data {
                running <- new_mutex!(Some(running), "rkfd running"),
                _master: master,
            }))
        })
    }

    fn unbind<'bound>(_: &'bound pci::Device<Core<'_>>, this: Pin<&Self::Data<'bound>>) {
        let running = this.running.lock().take();
        // Stops the hardware in order; after that nothing reaches the memory it was given.
        drop(running);
    }
}

fn probe(pdev: &pci::Device<Core<'_>>) -> Result<Running> {
    let module = module::current().ok_or(ENODEV)?;
    let mmio = Mmio::map(pdev).inspect_err(|error| {
        dev_err!(
            pdev,
            "BAR 5, the registers, can't be mapped ({:?})\n",
            error
        )
    })?;
    let vram_size = check_alive(pdev, &mmio)?;

    let visible = pdev.resource_len(0)?.min(vram_size);
    if visible < vram_size {
        dev_err!(
            pdev,
            "BAR 0 shows {} of {} MiB VRAM, and the discovery table is at the end: enable Resizable BAR\n",
            visible >> 20,
            vram_size >> 20
        );
        return Err(ENODEV);
    }
    let aperture = Aperture::map(pdev, 0, visible, c"rkfd VRAM")?;
    let discovery = Discovery::read(pdev.as_ref(), &aperture, vram_size)?;
    let Some(gc_version) = discovery.gc_version() else {
        dev_err!(pdev, "the discovery table lists no graphics core\n");
        return Err(ENODEV);
    };
    let Some(family) = chip::family(gc_version) else {
        dev_err!(pdev, "unsupported chip gfx {}\n", gc_version);
        return Err(ENODEV);
    };

    // SAFETY: No DMA mapping exists yet.
    unsafe { pdev.dma_set_mask_and_coherent(kernel::dma::DmaMask::try_new(family.dma_bits)?)? };
    // Its page tables map segments of any size (`amdgpu_ttm_init`).
    // SAFETY: No DMA mapping exists yet.
    unsafe { pdev.dma_set_max_seg_size(u32::MAX) };
    let dev: &kernel::device::Device<Bound> = pdev.as_ref();
    let regs = Regs::new(dev, family, mmio, discovery)?;
    (family.core.check_firmware)(dev, &regs)?;

    let vram = Vram::new(
        Devres::new(dev, aperture)?,
        pdev.resource_start(0)?,
        vram_size,
        visible,
    )?;
    let layout = Layout::read(family.gmc, &regs, vram_size).inspect_err(|_| {
        dev_err!(
            pdev,
            "the memory controller places VRAM where no room is left for the GART\n"
        )
    })?;
    let chip = ChipInfo::read(family, gc_version, &regs, vram_size, visible)?;
    let pci = PciInfo::read(pdev);
    if !pci.requests_atomics {
        dev_info!(
            pdev,
            "no atomic operations over PCI: a port on the way to memory doesn't complete them\n"
        );
    }
    let plain: &kernel::device::Device = dev;
    let hw = Hw::new(Parts {
        dev: plain.into(),
        gart: Gart::new(&vram)?,
        doorbells: Doorbells::new(pdev)?,
        scratch_page: vram.alloc_forever(4096)?,
        dummy_page: Words::of(dev, 1024)?,
        mmio_phys: pdev.resource_start(5)?,
        regs,
        vram,
        layout,
        chip,
        pci,
    })?;
    gpu::start(pdev, hw, module.gpus(), module.clone())
}

/// Is there a device, and did its security processor start? Returns the size of VRAM.
fn check_alive(pdev: &pci::Device<Core<'_>>, mmio: &Mmio) -> Result<u64> {
    let mib = mmio.read(fixed::MEMSIZE);
    if mib == u32::MAX {
        dev_err!(
            pdev,
            "the device doesn't answer (all registers read ffffffff)\n"
        );
        return Err(ENODEV);
    }
    let (boot, os) = (mmio.read(fixed::C2PMSG_33), mmio.read(fixed::C2PMSG_81));
    if boot & 1 << 31 == 0 {
        dev_err!(
            pdev,
            "the GPU is cold: its boot loader has not finished (C2PMSG_33 is {:#x}); reset it, or wait\n",
            boot
        );
        return Err(ENODEV);
    }
    if os == 0 {
        dev_err!(
            pdev,
            "the GPU is cold: its security processor's OS doesn't run (C2PMSG_81 is 0); load the firmware with another driver first\n"
        );
        return Err(ENODEV);
    }
    if mib == 0 {
        dev_err!(pdev, "the device says that it has no VRAM\n");
        return Err(ENODEV);
    }
    Ok(u64::from(mib) << 20)
}
