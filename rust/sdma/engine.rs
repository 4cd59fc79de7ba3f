// SPDX-License-Identifier: GPL-2.0

//! The engines themselves: what is set before any queue is on them. Their firmware is loaded
//! already.

use super::Hal;
use crate::{
    device::Handle,
    nbio,
    regs::Regs, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// The engines take queues; dropped, they don't.
pub(crate) struct Enabled {
    regs: Arc<Regs>,
    hal: &'static dyn Hal,
    engines: u32,
}

impl Enabled {
    /// Sets that many engines up.
    ///
    /// # Errors
    ///
    /// ENODEV when one doesn't run.
    pub(crate) fn new(
        dev: &Handle,
        regs: &Arc<Regs>,
        hal: &'static dyn Hal,
        nbio: &dyn nbio::Hal,
        engines: u32,
    ) -> Result<Self> {
        let enabled = Self {
            regs: regs.clone(),
            hal,
            engines,
        };
        for engine in 0..engines {
            hal.prepare(dev.device(), regs, engine)?;
            hal.enable(regs, engine, true);
        }
        nbio.route_sdma(regs, engines);
        Ok(enabled)
    }
}

impl Drop for Enabled {
    fn drop(&mut self) {
        for engine in 0..self.engines {
            self.hal.enable(&self.regs, engine, false);
        }
    }
}
