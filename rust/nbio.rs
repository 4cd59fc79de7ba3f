// SPDX-License-Identifier: GPL-2.0

//! NBIO: the bus side of the GPU.
//!
//! Two things are set up here (`nbio_v7_9.c`, `nbif_v6_3_1.c`): the HDP flush registers appear on
//! a page of BAR 5 where user programs may have them too, and the doorbell BAR is let through.

use crate::regs::Regs;
use kernel::sync::Arc;

mod hal;

pub(crate) use hal::{
    hal,
    Hal, //
};

/// Doorbells pass; dropped, they don't.
pub(crate) struct Enabled {
    regs: Arc<Regs>,
    hal: &'static dyn Hal,
}

impl Enabled {
    /// Shows the HDP flush registers and lets doorbells pass.
    pub(crate) fn new(regs: &Arc<Regs>, hal: &'static dyn Hal) -> Self {
        let enabled = Self {
            regs: regs.clone(),
            hal,
        };
        enabled.renew();
        enabled
    }

    /// The same again, after the device has lost everything.
    pub(crate) fn renew(&self) {
        self.hal.show_hdp_flush(&self.regs, self.hal.hole());
        self.hal.let_doorbells_pass(&self.regs, true);
    }
}

impl Drop for Enabled {
    fn drop(&mut self) {
        self.hal.let_doorbells_pass(&self.regs, false);
    }
}
