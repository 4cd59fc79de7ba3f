// SPDX-License-Identifier: GPL-2.0

//! Firmware that the run list controller hands out, on a GPU from power-on. Before that the graphics core
//! isn't there, so all of this comes before anything else: a GART of its own behind the multimedia hub, the
//! secure OS, each part of the firmware. Then everything goes but the firmware, and the GPU is as one that another
//! driver has started. After a reset of the whole device the GART that is there does.
//!
//! Sources: `gmc_v12_0_hw_init` (which leaves the graphics hub to `gfx_v12_0_hw_init`), `psp_load_fw`.

use crate::{
    device::Handle,
    firmware::{
        Autoload,
        Set,
        Starts, //
    },
    gfx,
    gmc::{
        self,
        Gart,
        Hubs,
        Tlb, //
    },
    hw::{
        firmware::RlcCode,
        psp::firmware as kind, //
    },
    kept::Kept,
    nbio,
    psp::{
        self,
        Psp, //
    },
    regs::Regs,
    types::Versions,
    vram::Vram, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// A GPU of which nothing is set up yet.
pub(crate) struct Parts<'a> {
    pub(crate) dev: &'a Arc<Handle>,
    pub(crate) regs: &'a Arc<Regs>,
    pub(crate) vram: &'a Arc<Vram>,
    pub(crate) versions: Versions,
}

/// Loads the firmware of all engines, and says where programs begin. The table of the GART stays allocated as long
/// as the device is bound, 1 MiB of VRAM.
///
/// # Errors
///
/// As of [`Psp::start`], and of [`gfx::Hal::start_firmware`].
pub(crate) fn start(parts: &Parts<'_>, files: &Set<Autoload>) -> Result<Starts> {
    let Parts {
        dev,
        regs,
        vram,
        versions,
    } = *parts;
    regs.put_graphics_away();
    let gmc_hal = gmc::hal(versions.gc);
    let hubs = Hubs::new(regs, gmc_hal, gmc::mmhub(versions.mmhub));
    let tlb = Tlb::new(dev, vram, hubs.clone())?;
    let gart = Gart::new(dev, vram, &tlb, gmc_hal.gart_flags())?;
    let kept = Kept::new(dev.device())?;
    // By it what the host has stored is flushed.
    let _nbio = nbio::Enabled::new(regs, nbio::hal(versions.nbio), None);
    let enabled = gmc::Enabled::new(dev, &hubs, vram, &tlb, &gart, &kept)?;
    let processor = psp::Parts {
        dev,
        regs,
        gart: &gart,
        vram,
        interface: psp::hal(versions.gc).interface().ok_or(ENODEV)?,
    };
    hand_out(&processor, &enabled, files, |starts| {
        gfx::hal(versions.gc).start_firmware(dev.device(), regs, Some(&starts))
    })
}

/// Has the firmware of all engines loaded and handed out, has the graphics core started with where programs begin,
/// and sets its hub up. Before that nobody has looked at the core ([`Regs::put_graphics_away`]).
///
/// # Errors
///
/// As of [`start`]: then nobody can look at it either.
pub(super) fn hand_out(
    processor: &psp::Parts<'_>,
    gmc: &gmc::Enabled,
    files: &Set<Autoload>,
    start: impl FnOnce(Starts) -> Result,
) -> Result<Starts> {
    let starts = files.engines.starts()?;
    let os = match &files.secure_os {
        Some(file) => Some(file.components()?),
        None => None,
    };
    let mut psp = Psp::start(processor, os.as_ref())?;
    load(&mut psp, &files.engines)?;
    if let Some(os) = &os {
        psp.load_register_list(os)?;
    }
    processor.regs.bring_graphics_back();
    start(starts).inspect_err(|_| processor.regs.put_graphics_away())?;
    // Before the processor's memory goes, which flushes both hubs.
    gmc.add_graphics()?;
    Ok(starts)
}

/// What the run list controller hands out, in the order of `enum AMDGPU_UCODE_ID`: the management unit first, without which the
/// controller can't start, and the controller's own last (`psp_load_non_psp_fw`).
fn load(psp: &mut Psp, files: &Autoload) -> Result {
    psp.load(kind::SMU, files.smu.code()?.bytes())?;
    psp.load(kind::SDMA, files.sdma.content()?.code)?;
    let (pfp, me) = (files.pfp.content()?, files.me.content()?);
    let mec = files.mec.content()?;
    psp.load(kind::RS64_PFP, pfp.code)?;
    psp.load(kind::RS64_ME, me.code)?;
    psp.load(kind::RS64_MEC, mec.code)?;
    psp.load(kind::RS64_PFP_DATA, pfp.data)?;
    psp.load(kind::RS64_ME_DATA, me.data)?;
    for pipe in [kind::RS64_MEC_DATA0, kind::RS64_MEC_DATA1] {
        psp.load(pipe, mec.data)?;
    }
    // One program for both pipes.
    let mes = files.mes.content()?;
    for (code, data) in [
        (kind::MES, kind::MES_DATA),
        (kind::MES_KERNEL, kind::MES_KERNEL_DATA),
    ] {
        psp.load(code, mes.code)?;
        psp.load(data, mes.data)?;
    }
    let imu = files.imu.content()?;
    psp.load(kind::IMU_CODE, imu.code)?;
    psp.load(kind::IMU_DATA, imu.data)?;
    let rlc = files.rlc.content()?;
    load_lists(psp, &rlc)?;
    psp.load(kind::RLC_CODE, rlc.core_code)?;
    psp.load(kind::RLC_DATA, rlc.core_data)?;
    psp.load(kind::RLC, rlc.code.bytes())?;
    psp.autoload()
}

/// Registers that the run list controller saves and restores.
pub(super) fn load_lists(psp: &mut Psp, rlc: &RlcCode<'_>) -> Result {
    psp.load(kind::RLC_LIST_CNTL, rlc.control_list)?;
    psp.load(kind::RLC_LIST_GPM, rlc.gpm_list)?;
    psp.load(kind::RLC_LIST_SRM, rlc.srm_list)
}
