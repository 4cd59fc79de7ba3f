// SPDX-License-Identifier: GPL-2.0

//! The card's VBIOS, for those who ask who the card is. Nothing in it is needed to run the GPU, so a card
//! without one, or with one that isn't valid, does all the same.
//!
//! Source: Linux, `amdgpu_bios.c`. Of the places that upstream looks at, this driver reads those that are the card's own:
//! its expansion ROM through PCI, or, where the kernel takes a copy for it that something else has left, through registers.

use crate::{
    glue::pci as raw,
    hw::vbios::{
        memory as kinds,
        Image, //
    },
    nbio::Hal,
    regs::Regs,
    uapi::amdgpu as abi, //
};
use kernel::{
    device::Core,
    pci,
    prelude::*, //
};

/// The memory of a die.
pub(crate) struct Memory {
    /// One of amdgpu's `AMDGPU_VRAM_TYPE_` (`convert_atom_mem_type_to_vram_type`).
    pub(crate) kind: u32,
    /// Bits of its bus.
    pub(crate) bits: u32,
}

/// An image that is valid.
pub(crate) struct Vbios(KVVec<u8>);

impl Vbios {
    /// Reads that of a card.
    ///
    /// # Errors
    ///
    /// ENOMEM.
    pub(crate) fn read(
        pdev: &pci::Device<Core<'_>>,
        nbio: &dyn Hal,
        regs: &Regs,
    ) -> Result<Option<Self>> {
        let valid = |rom: &KVVec<u8>| Image::new(rom).is_some();
        let rom = match raw::read_rom(pdev)?.filter(valid) {
            None => by_registers(nbio, regs)?.filter(valid),
            rom => rom,
        };
        if rom.is_none() {
            dev_info!(pdev, "the card has no VBIOS of AMD's\n");
        }
        Ok(rom.map(Self))
    }

    /// All of it, as it was read.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Bytes at the end of VRAM that firmware keeps for itself, as the image states.
    pub(crate) fn kept(&self) -> u64 {
        self.image().map_or(0, |image| image.kept())
    }

    /// The memory of one of the card's dies.
    pub(crate) fn memory(&self) -> Option<Memory> {
        let found = self.image()?.memory()?;
        Some(Memory {
            kind: match found.kind {
                kinds::GDDR5 => abi::VRAM_TYPE_GDDR5,
                kinds::HBM2 | kinds::HBM2E | kinds::HBM3 => abi::VRAM_TYPE_HBM,
                kinds::GDDR6 => abi::VRAM_TYPE_GDDR6,
                kinds::HBM3E => abi::VRAM_TYPE_HBM3E,
                _ => abi::VRAM_TYPE_UNKNOWN,
            },
            bits: found.bits,
        })
    }

    /// What it tells.
    pub(crate) fn image(&self) -> Option<Image<'_>> {
        Image::new(&self.0)
    }
}

/// The ROM as registers show it, of the size that it states; none where there are no such registers, or no ROM behind them.
fn by_registers(nbio: &dyn Hal, regs: &Regs) -> Result<Option<KVVec<u8>>> {
    if !nbio.rewind_rom(regs) {
        return Ok(None);
    }
    let mut rom = KVVec::new();
    let mut size = 4;
    while rom.len() < size {
        rom.extend_from_slice(&nbio.next_rom_word(regs).to_le_bytes(), GFP_KERNEL)?;
        if let [0x55, 0xaa, blocks, _] = rom[..] {
            size = usize::from(blocks) << 9;
        }
    }
    Ok(Some(rom))
}
