// SPDX-License-Identifier: GPL-2.0

//! Firmware that the driver itself loaded, on a GPU that came from power-on.

use crate::{
    firmware::Set,
    gfx::Gfx,
    gmc::{
        Gart,
        KernelBuf, //
    }, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// The graphics core runs firmware that was loaded; dropped, the engines that read their code from memory
/// are halted before the memory is freed. The next driver finds the GPU as cold as this one did.
pub(super) struct Running {
    gfx: Arc<Gfx>,
    _mec: KernelBuf,
}

impl Running {
    /// Starts the graphics core.
    ///
    /// # Errors
    ///
    /// ENOMEM; ENODEV when the device is gone.
    pub(super) fn start(gfx: &Arc<Gfx>, gart: &Arc<Gart>, files: &Set) -> Result<Self> {
        let words = files.mec.code()?.code.words();
        let mec = KernelBuf::new(gart, 4 * words.len())?;
        for (index, word) in words.enumerate() {
            mec.write(index, word)?;
        }
        let at = mec.gpu_addr();
        let running = Self {
            gfx: gfx.clone(),
            _mec: mec,
        };
        // On an error, engines that run already are halted.
        running.gfx.start_firmware(files, at)?;
        Ok(running)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.gfx.halt_firmware();
    }
}
