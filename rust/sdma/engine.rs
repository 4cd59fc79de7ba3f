// SPDX-License-Identifier: GPL-2.0

//! The engines themselves: what is set before any queue is on them, and the driver's own queue of one.
//! Their firmware runs: the security processor lets them run as soon as it has loaded it.

use super::Copier;
use crate::nbio;
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// The engines take queues, and the driver has its own; dropped, they don't.
pub(crate) struct Enabled {
    copier: Arc<Copier>,
    nbio: &'static dyn nbio::Hal,
    engines: u32,
}

impl Enabled {
    /// Sets that many engines up.
    ///
    /// # Errors
    ///
    /// ENODEV when one doesn't run or the device is gone, EIO when the one of the driver's queue doesn't
    /// answer, ENOMEM.
    pub(crate) fn new(
        copier: &Arc<Copier>,
        nbio: &'static dyn nbio::Hal,
        engines: u32,
    ) -> Result<Self> {
        let enabled = Self {
            copier: copier.clone(),
            nbio,
            engines,
        };
        enabled.renew()?;
        Ok(enabled)
    }

    /// Sets them up again, after the device has lost everything. [`Self::stop`] comes before that.
    ///
    /// # Errors
    ///
    /// As of [`Self::new`].
    pub(crate) fn renew(&self) -> Result {
        self.set_up()?;
        self.nbio.route_sdma(&self.copier.parts.regs, self.engines);
        self.copier.start()
    }

    /// The device is about to lose everything: what was submitted to the driver's own queue is lost.
    pub(crate) fn stop(&self) {
        self.copier.stop();
    }

    fn set_up(&self) -> Result {
        let parts = &self.copier.parts;
        for engine in 0..self.engines {
            parts.hal.prepare(parts.dev.device(), &parts.regs, engine)?;
            parts.hal.enable(&parts.regs, engine, true);
        }
        Ok(())
    }

    /// Resets the engines: no queue of before is on them afterwards. What was submitted to the driver's
    /// own queue is lost, and the queue begins anew; who has VRAM cleared waits, and has it cleared again.
    ///
    /// # Errors
    ///
    /// ETIME when an engine goes on with a queue, EIO when the one of the driver's queue doesn't answer,
    /// ENODEV, ENOMEM.
    pub(crate) fn reset(&self) -> Result {
        self.copier.suspend();
        self.reset_all()
            .and_then(|()| self.copier.start())
            .inspect_err(|_| self.copier.stop())
    }

    fn reset_all(&self) -> Result {
        let parts = &self.copier.parts;
        for engine in 0..self.engines {
            parts.hal.reset(&parts.regs, &parts.smu, engine)?;
        }
        self.set_up()
    }
}

impl Drop for Enabled {
    fn drop(&mut self) {
        let parts = &self.copier.parts;
        self.copier.stop();
        for engine in 0..self.engines {
            parts.hal.enable(&parts.regs, engine, false);
        }
    }
}
