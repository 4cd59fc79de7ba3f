// SPDX-License-Identifier: GPL-2.0

//! The id of a GPU: a checksum over what makes it this GPU (`kfd_generate_gpu_id`), so that it
//! is the same after every boot.

use crate::{
    chip::ChipInfo,
    types::PciInfo, //
};

/// CRC-16 with polynomial 0xa001, as the kernel's `crc16`.
fn crc16(words: &[u32]) -> u16 {
    words
        .iter()
        .flat_map(|word| word.to_le_bytes())
        .fold(0u16, |crc, byte| {
            (0..8).fold(crc ^ u16::from(byte), |crc, _| {
                if crc & 1 == 1 {
                    crc >> 1 ^ 0xa001
                } else {
                    crc >> 1
                }
            })
        })
}

/// The id before it is made unique; may be 0.
pub(super) fn gpu_id(pci: &PciInfo, chip: &ChipInfo) -> u16 {
    crc16(&[
        u32::from(pci.devfn),
        u32::from(pci.subsystem_vendor) | u32::from(pci.subsystem_device) << 16,
        pci.domain,
        u32::from(pci.device),
        u32::from(pci.bus),
        chip.vram_size as u32,
        (chip.vram_size >> 32) as u32,
        // The first XCC is number 0.
        chip.num_xcc << 16,
    ])
}
