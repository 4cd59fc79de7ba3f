// SPDX-License-Identifier: GPL-2.0

//! Firmware that the driver itself had loaded, on a GPU whose engines were halted.

use crate::{
    device::Handle,
    firmware::Set,
    gfx::Gfx,
    gmc::Gart,
    hw::psp::firmware as kind,
    psp::{
        self,
        Psp, //
    },
    regs::Regs, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// Copy engines of a base die: the processor gives the firmware of one to those of the other dies
/// (`amdgpu_sdma_init_microcode`).
const SDMA: [u32; 4] = [kind::SDMA0, kind::SDMA1, kind::SDMA2, kind::SDMA3];

/// The graphics core runs firmware that the security processor has loaded; dropped, the micro engines are
/// halted before it gives up the memory with their code. The next driver finds them as this one did.
pub(super) struct Running {
    gfx: Arc<Gfx>,
    _psp: Psp,
}

impl Running {
    /// Loads the firmware of the engines, and starts the graphics core. Copy engines are started where they are
    /// set up.
    ///
    /// # Errors
    ///
    /// As of [`Psp::start`].
    pub(super) fn start(
        dev: &Arc<Handle>,
        regs: &Arc<Regs>,
        gfx: &Arc<Gfx>,
        gart: &Arc<Gart>,
        interface: &'static psp::Interface,
        files: &Set,
    ) -> Result<Self> {
        let os = match &files.secure_os {
            Some(file) => Some(file.components()?),
            None => None,
        };
        let parts = psp::Parts {
            dev,
            regs,
            gart,
            interface,
        };
        let mut psp = Psp::start(&parts, os.as_ref())?;
        // In the order of `enum AMDGPU_UCODE_ID`.
        let sdma = files.sdma.code()?;
        for engine in SDMA {
            psp.load(engine, sdma.bytes())?;
        }
        let mec = files.mec.code()?;
        psp.load(kind::MEC, mec.bytes_without_jump_table())?;
        psp.load(kind::MEC_JUMP_TABLE, mec.jump_table_bytes())?;
        let rlc = files.rlc.code()?;
        psp.load(kind::RLC_LIST_CNTL, rlc.control_list)?;
        psp.load(kind::RLC_LIST_GPM, rlc.gpm_list)?;
        psp.load(kind::RLC_LIST_SRM, rlc.srm_list)?;
        psp.load(kind::RLC, rlc.code.bytes())?;
        let running = Self {
            gfx: gfx.clone(),
            _psp: psp,
        };
        // On an error, engines that run already are halted.
        running.gfx.start_firmware()?;
        Ok(running)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.gfx.halt_firmware();
    }
}
