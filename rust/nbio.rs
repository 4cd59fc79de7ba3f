// SPDX-License-Identifier: GPL-2.0

//! NBIO: the bus side of the GPU.
//!
//! Three things are set up here (`nbio_v7_9.c`, `nbif_v6_3_1.c`): the HDP flush registers appear on
//! a page of BAR 5 where user programs may have them too, the doorbell BAR is let through, and so is what the GPU's own
//! programs store there.

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
    /// Physical address of the doorbells.
    doorbells: Option<u64>,
}

impl Enabled {
    /// Shows the HDP flush registers and lets doorbells pass, and those that the GPU rings if it is said where they lie.
    pub(crate) fn new(regs: &Arc<Regs>, hal: &'static dyn Hal, doorbells: Option<u64>) -> Self {
        let enabled = Self {
            regs: regs.clone(),
            hal,
            doorbells,
        };
        enabled.renew();
        enabled
    }

    /// The same again, after the device has lost everything.
    pub(crate) fn renew(&self) {
        self.hal.show_hdp_flush(&self.regs, self.hal.hole());
        self.hal.let_doorbells_pass(&self.regs, true);
        if self.doorbells.is_some() {
            self.hal.let_gpu_ring(&self.regs, self.doorbells);
        }
    }
}

impl Drop for Enabled {
    fn drop(&mut self) {
        if self.doorbells.is_some() {
            self.hal.let_gpu_ring(&self.regs, None);
        }
        self.hal.let_doorbells_pass(&self.regs, false);
    }
}
