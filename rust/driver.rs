// SPDX-License-Identifier: GPL-2.0

//! The PCI driver: finds a GPU, checks that it can be used, and brings it up.
//!
//! The checks go from cheap to deep, and the message of each has the finding and what to do: does the
//! device answer; did its security processor start; is its discovery table valid; is that chip
//! supported; do its command processors run. Where no firmware runs, as from power-on, or where another
//! driver has halted the engines, its files are loaded and checked here, before the hardware is touched.

use crate::{
    chip,
    device::Handle,
    discovery::Discovery,
    firmware::{
        AnySet,
        SecureOsFile, //
    },
    gfx,
    glue::{
        aperture::Aperture,
        linux::{
            pci_device_table,
            Info, //
        },
        pci as link,
        pci::Master, //
    },
    gmc,
    gpu::{
        self,
        autoload,
        Found,
        Running, //
    },
    ih,
    module,
    nbio,
    psp,
    regs::{
        Mmio,
        Regs, //
    },
    sdma,
    smu::{
        self,
        Smu, //
    },
    types::{
        PciInfo,
        Versions, //
    },
    vbios::Vbios,
    vram::{
        Sizes,
        Vram, //
    }, //
};
use kernel::{
    device::{
        Bound,
        Core, //
    },
    devres::Devres,
    dma::Device as _,
    pci,
    prelude::*,
    sync::Arc, //
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

fn pci_info(pdev: &pci::Device<Core<'_>>) -> PciInfo {
    let (domain, bus, devfn) = link::location(pdev);
    PciInfo {
        domain,
        bus,
        devfn,
        vendor: pdev.vendor_id().as_raw(),
        device: pdev.device_id(),
        subsystem_vendor: pdev.subsystem_vendor_id(),
        subsystem_device: pdev.subsystem_device_id(),
        revision: pdev.revision_id(),
        requests_atomics: link::enable_atomics(pdev),
        completes_atomics: link::completes_atomics(pdev),
        link: link::link(pdev),
    }
}

pci_device_table!(
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

impl pci::Driver for Driver {
    type IdInfo = ();
    type Data<'bound> = Running<'bound>;
    const ID_TABLE: pci::IdTable<Self::IdInfo> = &PCI_TABLE;

    fn probe<'bound>(
        pdev: &'bound pci::Device<Core<'_>>,
        _info: Info<'bound, Self::IdInfo>,
    ) -> impl PinInit<Self::Data<'bound>, Error> + 'bound {
        pin_init::pin_init_scope(move || {
            let module = module::current().ok_or(ENODEV)?;
            pdev.enable_device_mem()?;
            let master = Master::new(pdev);
            let found = find(pdev, &master)?;
            let pdev: &'bound pci::Device<Bound> = pdev;
            Running::new(pdev, master, found, module.gpus(), module.clone())
        })
    }
}

/// Looks at the device, and makes what is made before the hardware is touched.
fn find(pdev: &pci::Device<Core<'_>>, master: &Master) -> Result<Found> {
    let mmio = Mmio::map(pdev).inspect_err(|error| {
        dev_err!(
            pdev,
            "BAR 5, the registers, can't be mapped ({:?})\n",
            error
        )
    })?;
    let (vram_size, is_cold) = check_alive(pdev, &mmio)?;

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
    let versions = discovery.versions().map_err(|block| {
        dev_err!(pdev, "this GPU isn't supported: {}\n", block);
        ENODEV
    })?;
    let family = chip::family(versions.gc);

    // SAFETY: No DMA mapping exists yet.
    unsafe { pdev.dma_set_mask_and_coherent(kernel::dma::DmaMask::try_new(family.dma_bits)?)? };
    // Its page tables map segments of any size (`amdgpu_ttm_init`).
    // SAFETY: No DMA mapping exists yet.
    unsafe { pdev.dma_set_max_seg_size(u32::MAX) };
    let dev: &kernel::device::Device<Bound> = pdev.as_ref();
    let (gfx, nbio) = (gfx::hal(versions.gc), nbio::hal(versions.nbio));
    let sdma_hal = sdma::hal(versions.sdma);
    let (gmc_hal, mmhub) = (gmc::hal(versions.gc), gmc::mmhub(versions.mmhub));
    let (psp, smu) = (psp::hal(versions.gc), smu::hal(versions.gc));
    let tables = [
        gfx.tables(),
        gmc_hal.tables(),
        mmhub.tables(),
        nbio.tables(),
        ih::hal(versions.osssys).tables(),
        sdma_hal.tables(),
        psp.tables(),
        smu.tables(),
    ];
    let used = tables.into_iter().flatten().copied();
    let regs = Regs::new(dev, used, nbio.access(), mmio, discovery)?;
    gfx.check_mode(dev, &regs)?;
    let handle = Handle::new(dev, &regs)?;
    if !is_cold {
        Smu::new(&handle, &regs, smu)?.keep_graphics_on();
    }
    // Before power-on is over there is no graphics core to be asked.
    let is_halted = !is_cold && gfx.is_halted(&regs);
    let firmware = if is_cold {
        Some(load_firmware(dev, &regs, &versions, is_cold)?)
    } else if let Some(files) = reset_first(&handle, &regs, &versions, master, is_halted)? {
        Some(files)
    } else if is_halted {
        Some(load_firmware(dev, &regs, &versions, is_cold)?)
    } else {
        gfx.check_firmware(dev, &regs)?;
        None
    };

    let layout = gmc::read_layout(gmc_hal, mmhub, &regs, vram_size).inspect_err(|_| {
        dev_err!(
            pdev,
            "the memory controller places VRAM where no room is left for the GART\n"
        )
    })?;
    let vbios = Vbios::read(pdev, nbio, &regs)?;
    let vram = Vram::new(
        Devres::new(dev, aperture)?,
        &regs,
        layout,
        nbio.hole(),
        pdev.resource_start(0)?,
        Sizes {
            all: vram_size,
            visible,
            kept: vbios.as_ref().map_or(0, Vbios::kept),
        },
    )?;
    let fw_versions = match &firmware {
        Some(files) => Some(files.versions()?),
        None => None,
    };
    // Before this the graphics core can't be asked for anything.
    let (firmware, starts) = match firmware {
        Some(AnySet::Autoload(files)) => {
            let parts = autoload::Parts {
                dev: &handle,
                regs: &regs,
                vram: &vram,
                versions,
            };
            (None, Some(autoload::start(&parts, &files)?))
        }
        Some(AnySet::Direct(files)) => (Some(files), None),
        None => (None, None),
    };
    let rev_id = nbio.revision(&regs);
    let mut chip = gfx::read_chip(versions, gfx, &regs, rev_id, vram_size, visible)?;
    if let Some(memory) = vbios.as_ref().and_then(Vbios::memory) {
        chip.vram = chip::VramKind {
            kind: memory.kind,
            bits: memory.bits.saturating_mul(chip.memory_dies),
            vendor: nbio.vram_vendor(&regs),
        };
    }
    if let Some(known) = fw_versions {
        (chip.mec_fw_version, chip.sdma_fw_version) = known;
    }
    let pci = pci_info(pdev);
    if !pci.requests_atomics {
        dev_info!(
            pdev,
            "no atomic operations over PCI: a port on the way to memory doesn't complete them\n"
        );
    }
    Ok(Found {
        pci,
        chip,
        vbios,
        dev: handle,
        vram,
        regs,
        firmware,
        starts,
        mmio_phys: pdev.resource_start(5)?,
    })
}

/// Is there a device, and did its security processor start? Returns the size of VRAM, and
/// whether the processor's OS doesn't run: then nobody has loaded firmware since power-on.
fn check_alive(pdev: &pci::Device<Core<'_>>, mmio: &Mmio) -> Result<(u64, bool)> {
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
    if mib == 0 {
        dev_err!(pdev, "the device reports that it has no VRAM\n");
        return Err(ENODEV);
    }
    Ok((u64::from(mib) << 20, os == 0))
}

/// Resets a GPU as a whole whose security processor runs an OS, if that can't stay, and returns the files with which it is
/// started then: they are looked for before.
///
/// # Errors
///
/// As of [`gpu::reset_device`] and [`gpu::load_files`].
fn reset_first(
    dev: &Arc<Handle>,
    regs: &Arc<Regs>,
    versions: &Versions,
    master: &Master,
    is_halted: bool,
) -> Result<Option<AnySet>> {
    let Some(psp) = psp::hal(versions.gc).interface() else {
        return Ok(None);
    };
    let must_go = match psp.autoload {
        true => is_leftover(dev, regs, psp),
        false => is_halted && is_other_os(dev, regs, psp)?,
    };
    if !must_go {
        return Ok(None);
    }
    let files = gpu::load_files(dev.device(), regs, versions, true)?;
    let smu = Smu::new(dev, regs, smu::hal(versions.gc))?;
    gpu::reset_device(dev, regs, master, &smu, psp)?;
    dev_info!(dev.device(), "the GPU is cold: starting it\n");
    Ok(Some(files))
}

/// On a GPU whose engines another driver has halted: whether the OS of its security processor isn't that of the driver's
/// file, since only the boot loader can exchange it (`psp_v13_0_is_reload_needed`, `soc15_need_reset_on_init`).
fn is_other_os(dev: &Handle, regs: &Regs, psp: &psp::Interface) -> Result<bool> {
    let file = SecureOsFile::load(dev.device(), psp.file, (psp.is_earlier)(regs))?;
    let (ours, running) = (
        file.components()?.version(),
        psp::running_version(regs, psp),
    );
    if ours != running {
        dev_info!(
            dev.device(),
            "another version of the security processor's OS runs, {:#x}: resetting the GPU\n",
            running
        );
    }
    Ok(ours != running)
}

/// Where the run list controller has handed firmware out: nobody knows in which state the driver before has left it, so
/// it begins anew (`soc24_need_reset_on_init`). Without files it couldn't, and is taken as it is.
fn is_leftover(dev: &Handle, regs: &Regs, psp: &psp::Interface) -> bool {
    let is_there = SecureOsFile::is_there(dev.device(), psp.file);
    if is_there {
        dev_info!(
            dev.device(),
            "the security processor's OS runs, version {:#x}: resetting the GPU\n",
            psp::running_version(regs, psp)
        );
    } else {
        dev_info!(
            dev.device(),
            "without the file {} the GPU is not reset, but taken as it was left\n",
            psp.file
        );
    }
    is_there
}

/// Loads the files of a GPU that comes from power-on, or whose engines are halted.
///
/// # Errors
///
/// ENODEV when the driver can't start this one, and as of [`gpu::load_files`].
fn load_firmware(
    dev: &kernel::device::Device,
    regs: &Regs,
    versions: &Versions,
    is_cold: bool,
) -> Result<AnySet> {
    if psp::hal(versions.gc).interface().is_none() {
        dev_err!(
            dev,
            "the GPU is cold: its security processor's OS doesn't run (C2PMSG_81 is 0); load the firmware with another driver first\n"
        );
        return Err(ENODEV);
    }
    if is_cold {
        dev_info!(dev, "the GPU is cold: starting it\n");
    } else {
        dev_info!(dev, "the GPU's engines are halted: starting them\n");
    }
    gpu::load_files(dev, regs, versions, is_cold)
}
