// SPDX-License-Identifier: GPL-2.0

//! Gates the clocks of what is idle, which saves power.

use crate::{
    gfx::Gfx,
    gmc::Hubs, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// The clocks of what is idle are gated; dropped, they run.
pub(super) struct Gates {
    gfx: Arc<Gfx>,
    hubs: Hubs,
}

impl Gates {
    /// Gates them. The firmware runs.
    ///
    /// # Errors
    ///
    /// ENODEV when the device is gone.
    pub(super) fn new(gfx: &Arc<Gfx>, hubs: &Hubs) -> Result<Self> {
        let gates = Self {
            gfx: gfx.clone(),
            hubs: hubs.clone(),
        };
        gates.renew()?;
        Ok(gates)
    }

    /// Gates them again, after a reset has the clocks run.
    ///
    /// # Errors
    ///
    /// As of [`Self::new`].
    pub(super) fn renew(&self) -> Result {
        self.hubs.gate_clocks(true);
        self.gfx.gate_clocks(true)
    }
}

impl Drop for Gates {
    fn drop(&mut self) {
        let _ = self.gfx.gate_clocks(false);
        self.hubs.gate_clocks(false);
    }
}
