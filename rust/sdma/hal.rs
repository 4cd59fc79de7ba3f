// SPDX-License-Identifier: GPL-2.0

//! What differs between copy engines.

use crate::{
    chip::Generation,
    regs::Regs, //
};
use kernel::{
    device::Device,
    prelude::*, //
};

mod v4_4;
mod v7_0;

/// The copy engines of a generation.
pub(crate) trait Hal: Sync {
    /// Sees that an engine's firmware runs, and sets what must be before any queue is on it.
    ///
    /// # Errors
    ///
    /// ENODEV when it doesn't run and the driver can't start it.
    fn prepare(&self, dev: &Device, regs: &Regs, engine: u32) -> Result;

    /// Turns on what an engine has as long as the driver has the engine, or off.
    fn enable(&self, regs: &Regs, engine: u32, on: bool);
}

/// The one of a generation.
pub(crate) fn hal(generation: Generation) -> &'static dyn Hal {
    match generation {
        Generation::Gfx942 => &v4_4::Hal,
        Generation::Gfx1201 => &v7_0::Hal,
        #[cfg(rkfd_stub_chip)]
        Generation::Stub => &v7_0::Hal,
    }
}
