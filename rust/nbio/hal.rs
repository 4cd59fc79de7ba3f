// SPDX-License-Identifier: GPL-2.0

//! What differs between bus sides.

use crate::{
    hw::value::Bounded,
    regs::{
        Access,
        Regs,
        Tables, //
    },
    types::{
        BusAddr,
        NbioVersion, //
    }, //
};

mod v6_3;
mod v7_9;

/// The bus side of a version.
pub(crate) trait Hal: Sync {
    /// The tables of the registers that it uses.
    fn tables(&self) -> Tables;

    /// What accesses to registers need of this block.
    fn access(&self) -> Access;

    /// Revision of the device.
    fn revision(&self, regs: &Regs) -> u32;

    /// Who made the memory on the card, as the card's own software leaves it for drivers (bits 3:0 of
    /// BIOS_SCRATCH_4); 0 where it doesn't.
    fn vram_vendor(&self, regs: &Regs) -> u32;

    /// Has the registers that show the card's expansion ROM begin with its image (`amdgpu_soc15_read_bios_from_rom`); false
    /// where the chip has none.
    fn rewind_rom(&self, _: &Regs) -> bool {
        false
    }

    /// The next word of the ROM.
    fn next_rom_word(&self, _: &Regs) -> u32 {
        u32::MAX
    }

    /// Byte offset of the page of BAR 5 in which no register lies (`MMIO_REG_HOLE_OFFSET`): where flushes of HDP
    /// are made visible, and where user programs map them.
    fn hole(&self) -> u32;

    /// Makes the two registers that flush HDP visible from byte `offset` of BAR 5 on
    /// (`KFD_MMIO_REMAP_HDP_MEM_FLUSH_CNTL` and `..._REG_FLUSH_CNTL`).
    fn show_hdp_flush(&self, regs: &Regs, offset: u32);

    /// Lets doorbells through to the engines, or not.
    fn let_doorbells_pass(&self, regs: &Regs, on: bool);

    /// Takes what the GPU itself stores to doorbells, which lie at a physical address, for doorbells; or not
    /// (`enable_doorbell_selfring_aperture`).
    fn let_gpu_ring(&self, regs: &Regs, doorbells: Option<u64>);

    /// Routes the doorbells of that many copy engines to them.
    fn route_sdma(&self, regs: &Regs, engines: u32);

    /// Sets up the bus side of interrupts, whose dummy loads go to the page `dummy` (`ih_control`).
    fn prepare_interrupts(&self, regs: &Regs, dummy: BusAddr);

    /// Routes the doorbell of the interrupt ring, a word of the BAR, to the interrupt handler.
    fn route_interrupts(&self, regs: &Regs, doorbell: Bounded<10>);
}

/// The one of a version (`adev->nbio.funcs`).
pub(crate) fn hal(nbio: NbioVersion) -> &'static dyn Hal {
    match nbio {
        NbioVersion::V7_9_0 => &v7_9::Hal,
        NbioVersion::V6_3_1 => &v6_3::Hal,
        #[cfg(rkfd_stub_chip)]
        NbioVersion::Stub => &v6_3::Hal,
    }
}
