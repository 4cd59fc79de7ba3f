// SPDX-License-Identifier: GPL-2.0

//! Resetting the whole device through its management unit (mode 1).
//!
//! The device leaves the bus for half a second or more and comes back as from power-on. Then the steps of bring-up
//! are made again in their order ([`super::super::steps`]). Everything that VRAM had is lost: address spaces that
//! were made before serve nobody any more ([`crate::vm::Vm::is_lost`]), and of buffer objects only the content is gone, as
//! upstream.
//!
//! Sources: `amdgpu_device_mode1_reset`, `amdgpu_device_reinit_after_reset`, `amdgpu_device_check_vram_lost`.

use super::{
    Engines,
    Method, //
};
use crate::{
    device::Handle,
    glue::{
        linux::{
            EOPNOTSUPP,
            ETIME, //
        },
        pci::Master, //
    },
    gpu::microcode,
    psp,
    regs::Regs,
    smu::Smu, //
};
use kernel::{
    prelude::*,
    time::{
        delay::fsleep,
        Delta,
        Instant,
        Monotonic, //
    }, //
};

/// TIMEOUT: until the device is on the bus again. Linux waits up to five minutes for its boot loader
/// (`PSP_VMBX_POLLING_LIMIT`), since it may have memory to train.
const BACK: Delta = Delta::from_secs(30);
/// Between two looks.
const LOOK: Delta = Delta::from_millis(10);

/// The reset of the whole device.
pub(crate) struct Whole;

impl Method for Whole {
    fn name(&self) -> &'static str {
        "mode 1 reset"
    }

    fn reset(&self, engines: &Engines) -> Result {
        let Engines {
            gpu,
            smu,
            master,
            sdma,
            steps,
            ..
        } = engines;
        // Without its firmware the device would be of no use afterwards: so that is looked for before.
        let versions = &gpu.chip.versions;
        let files = microcode::load_files(gpu.device(), &gpu.regs, versions, true)?;
        let processor = psp::hal(versions.gc).interface().ok_or(EOPNOTSUPP)?;
        sdma.stop();
        reset_device(&gpu.dev, &gpu.regs, master, smu, processor)
            .inspect_err(|_| steps.give_up())?;
        steps.again(&files)
    }
}

/// Resets the device as a whole, and waits until it is there again, as from power-on.
///
/// # Errors
///
/// As of [`Smu::reset_chip`], and what keeps configuration space from being saved: then nothing was reset. EIO when the
/// unit didn't reset it, ETIME when the device or its boot loader doesn't come back. Logged. Whatever the error, the
/// device reads and writes no memory any more, as upstream: its engines may go on, and what was given up while it was
/// away was not flushed.
pub(crate) fn reset_device(
    dev: &Handle,
    regs: &Regs,
    master: &Master,
    smu: &Smu,
    processor: &psp::Interface,
) -> Result {
    let _away = regs.away();
    reset_away(dev, regs, master, smu, processor).inspect_err(|_| master.stop())
}

/// The same while nobody else uses the device.
fn reset_away(
    dev: &Handle,
    regs: &Regs,
    master: &Master,
    smu: &Smu,
    processor: &psp::Interface,
) -> Result {
    let saved = master.suspend()?;
    smu.reset_chip()?;
    if processor.autoload {
        // Until its firmware is handed out again.
        regs.put_graphics_away();
    }
    drop(saved);
    let back = wait(dev, regs).and_then(|()| started(dev, regs, processor));
    if back == Err(EIO) {
        regs.bring_graphics_back();
    }
    // Also if it doesn't come back: nobody shall rely on what was there.
    dev.note_loss();
    back?;
    dev_info!(
        dev.device(),
        "the GPU was reset; what was in its VRAM is lost\n"
    );
    Ok(())
}

/// Waits until the security processor takes its firmware again.
fn started(dev: &Handle, regs: &Regs, processor: &psp::Interface) -> Result {
    psp::wait_for_boot_loader(regs, processor).inspect_err(|&error| {
        let what = match error {
            EIO => "the GPU wasn't reset: its security processor goes on",
            _ => "the GPU's boot loader doesn't come back from the reset",
        };
        dev_err!(dev.device(), "{} ({:?})\n", what, error);
    })
}

/// Waits until registers can be read again.
fn wait(dev: &Handle, regs: &Regs) -> Result {
    let start = Instant::<Monotonic>::now();
    while regs.gone() {
        dev.check_lost()?;
        if start.elapsed() > BACK {
            dev_err!(dev.device(), "the GPU doesn't come back from its reset\n");
            return Err(ETIME);
        }
        fsleep(LOOK);
    }
    Ok(())
}
