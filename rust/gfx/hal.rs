// SPDX-License-Identifier: GPL-2.0

//! What differs between graphics cores.

use crate::{
    chip::Generation,
    hw::regs::Reg,
    regs::Regs, //
};
use kernel::{
    device::Device,
    prelude::*, //
};

mod v12_0;
mod v9_4_3;

/// The graphics core of a generation.
pub(crate) trait Hal: Sync {
    /// Checks that the command processors run; logs what doesn't.
    ///
    /// # Errors
    ///
    /// ENODEV when one doesn't, or when the device is set up in a way that isn't supported.
    fn check_firmware(&self, dev: &Device, regs: &Regs) -> Result;

    /// The register that chooses which HQD's registers are seen.
    fn grbm_cntl(&self) -> Reg;

    /// The compute units of a shader array that are not fused off. Points GRBM_GFX_INDEX at the
    /// array until [`Hal::see_all_arrays`].
    fn active_cus(&self, regs: &Regs, xcc: u8, engine: u32, array: u32) -> u32;

    /// Points GRBM_GFX_INDEX at all arrays of an XCC, as usual.
    fn see_all_arrays(&self, regs: &Regs, xcc: u8);

    /// The register with the layout of addresses in memory.
    fn gb_addr_config(&self) -> Reg;

    /// Reads the clock counter. All ones when the device is gone.
    fn clock(&self, regs: &Regs) -> u64;

    /// Turns the interrupts of the selected compute pipe on or off: end of pipe and bad opcodes.
    fn pipe_interrupts(&self, regs: &Regs, xcc: u8, on: bool);

    /// Version of the compute firmware, or 0.
    fn mec_fw_version(&self, regs: &Regs) -> u32;
}

/// The one of a generation.
pub(crate) fn hal(generation: Generation) -> &'static dyn Hal {
    match generation {
        Generation::Gfx942 => &v9_4_3::Hal,
        Generation::Gfx1201 => &v12_0::Hal,
        #[cfg(rkfd_stub_chip)]
        Generation::Stub => &v12_0::Hal,
    }
}
