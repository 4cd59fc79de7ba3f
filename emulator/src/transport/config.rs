// SPDX-License-Identifier: MIT OR Apache-2.0

//! PCI configuration space: identity, BARs, power management, PCI Express, MSI.
//!
//! Source: PCI Express Base Specification, chapter 7; offsets by Linux's
//! `include/uapi/linux/pci_regs.h`. QEMU forwards every access here; it keeps its own picture of
//! the BARs and of MSI, and sends interrupt settings in a message of their own.

use crate::chip::{Chip, VENDOR};

/// Size of the space: with PCI Express' extended part, which is empty.
pub const SIZE: usize = 4096;

/// Offsets in the header.
mod at {
    pub(super) const VENDOR: usize = 0x00;
    pub(super) const COMMAND: usize = 0x04;
    pub(super) const STATUS: usize = 0x06;
    pub(super) const REVISION: usize = 0x08;
    pub(super) const CLASS: usize = 0x09;
    pub(super) const BAR0: usize = 0x10;
    pub(super) const BAR2: usize = 0x18;
    pub(super) const BAR5: usize = 0x24;
    pub(super) const SUBSYSTEM: usize = 0x2c;
    pub(super) const ROM: usize = 0x30;
    pub(super) const CAPABILITIES: usize = 0x34;
    pub(super) const INTERRUPT_LINE: usize = 0x3c;
    pub(super) const PM: usize = 0x50;
    pub(super) const EXPRESS: usize = 0x64;
    pub(super) const DEVICE_CONTROL: usize = EXPRESS + 8;
    pub(super) const MSI: usize = 0xa0;
}

/// `PCI_COMMAND_MEMORY`.
const COMMAND_MEMORY: u16 = 1 << 1;
/// `PCI_COMMAND_MASTER`.
const COMMAND_MASTER: u16 = 1 << 2;
/// Bits of the command register that can be set: memory, master, parity, SERR, interrupt disable.
const COMMAND_MASK: u16 = COMMAND_MEMORY | COMMAND_MASTER | (1 << 6) | (1 << 8) | (1 << 10);
/// `PCI_EXP_DEVCTL_BCR_FLR`: start a function-level reset.
const FLR: u16 = 1 << 15;
/// `PCI_ROM_ADDRESS_ENABLE`.
const ROM_ENABLE: u32 = 1;
/// A memory BAR of 64 bits, prefetchable.
const BAR_64_PREFETCH: u32 = 0xc;

/// What a write asks the device to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effect {
    /// Nothing more.
    None,
    /// A function-level reset.
    Reset,
    /// Bus mastering was switched on or off.
    Master(bool),
}

/// The space: its bytes, and which bits of them the guest may change.
pub struct Config {
    bytes: [u8; SIZE],
    writable: [u8; SIZE],
    power_on: [u8; SIZE],
}

impl Config {
    /// The space of a chip with a BAR0 of `vram_bar` bytes, a power of two.
    pub fn new(chip: &Chip, vram_bar: u64) -> Self {
        let mut c = Self {
            bytes: [0; SIZE],
            writable: [0; SIZE],
            power_on: [0; SIZE],
        };
        c.put(at::VENDOR, &VENDOR.to_le_bytes());
        c.put(at::VENDOR + 2, &chip.device_id.to_le_bytes());
        // Capability list.
        c.put(at::STATUS, &(1u16 << 4).to_le_bytes());
        c.put(at::REVISION, &[chip.revision]);
        c.put(at::CLASS, &chip.class.to_le_bytes()[..3]);
        c.put(at::SUBSYSTEM, &VENDOR.to_le_bytes());
        c.put(at::SUBSYSTEM + 2, &chip.subsystem_id.to_le_bytes());
        c.put(at::CAPABILITIES, &[at::PM as u8]);
        c.allow(at::COMMAND, &COMMAND_MASK.to_le_bytes());
        c.allow(at::INTERRUPT_LINE, &[0xff]);
        // A BAR keeps the address bits above its size.
        c.put(at::BAR0, &BAR_64_PREFETCH.to_le_bytes());
        c.allow(at::BAR0, &(!(vram_bar - 1)).to_le_bytes());
        c.put(at::BAR2, &BAR_64_PREFETCH.to_le_bytes());
        c.allow(at::BAR2, &(!(chip.doorbell_size - 1)).to_le_bytes());
        c.allow(at::BAR5, &(!(chip.mmio_size as u32 - 1)).to_le_bytes());
        // Power management, version 3, no PME; states D0 and D3.
        c.put(at::PM, &[0x01, at::EXPRESS as u8, 0x03, 0x00]);
        c.allow(at::PM + 4, &[0x03]);
        // PCI Express, version 2, endpoint. Extended tags, role-based errors, FLR.
        c.put(at::EXPRESS, &[0x10, at::MSI as u8, 0x02, 0x00]);
        c.put(
            at::EXPRESS + 4,
            &((1u32 << 28) | (1 << 15) | (1 << 5) | 1).to_le_bytes(),
        );
        c.put(at::DEVICE_CONTROL, &0x2810u16.to_le_bytes());
        c.allow(at::DEVICE_CONTROL, &0x7fffu16.to_le_bytes());
        // Link: 16 lanes at 32 GT/s (speed 5), both as capability and as state.
        let link = (16u32 << 4) | 5;
        c.put(at::EXPRESS + 12, &link.to_le_bytes());
        c.put(at::EXPRESS + 18, &(link as u16).to_le_bytes());
        c.allow(at::EXPRESS + 16, &0x0fffu16.to_le_bytes());
        // Completion of 64-bit and 32-bit atomics, as an MI300 does (`PCI_EXP_DEVCAP2_ATOMIC_*`).
        c.put(at::EXPRESS + 36, &((1u32 << 8) | (1 << 7)).to_le_bytes());
        // Its own atomic operations are carried out, as guest memory is mapped here, and so the
        // requester is on from the start: by this bit a guest that sees no root port knows that the
        // host allows them (Linux, `pci_enable_atomic_ops_to_root`).
        c.put(at::EXPRESS + 40, &(1u16 << 6).to_le_bytes());
        c.allow(at::EXPRESS + 40, &((1u16 << 6) | 0x1f).to_le_bytes());
        c.put(at::EXPRESS + 44, &0x3eu32.to_le_bytes());
        // MSI: 64-bit address, one message, no masks.
        c.put(at::MSI, &[0x05, 0x00, 0x80, 0x00]);
        c.allow(at::MSI + 2, &[0x01]);
        c.allow(at::MSI + 4, &0xffff_fffcu32.to_le_bytes());
        c.allow(at::MSI + 8, &u32::MAX.to_le_bytes());
        c.allow(at::MSI + 12, &u16::MAX.to_le_bytes());
        c.power_on = c.bytes;
        c
    }

    /// The same with an expansion ROM of `size` bytes, a power of two: its base address keeps the bits
    /// above the size, and the bit that enables it.
    pub fn with_rom(mut self, size: u32) -> Self {
        self.allow(at::ROM, &(!(size - 1) | ROM_ENABLE).to_le_bytes());
        self
    }

    /// Reads bytes; beyond the end they are 0xff.
    pub fn read(&self, offset: u64, out: &mut [u8]) {
        for (n, byte) in out.iter_mut().enumerate() {
            let at = usize::try_from(offset)
                .ok()
                .and_then(|at| at.checked_add(n));
            *byte = at
                .and_then(|at| self.bytes.get(at))
                .copied()
                .unwrap_or(0xff);
        }
    }

    /// Writes bytes, and returns what the device has to do then.
    pub fn write(&mut self, offset: u64, bytes: &[u8]) -> Effect {
        let before = self.command();
        for (n, value) in bytes.iter().enumerate() {
            let Some(at) = usize::try_from(offset)
                .ok()
                .and_then(|at| at.checked_add(n))
            else {
                break;
            };
            // The bit of the reset is not kept: it reads as zero.
            if at == at::DEVICE_CONTROL + 1 && value & (FLR >> 8) as u8 != 0 {
                self.reset();
                return Effect::Reset;
            }
            if let (Some(byte), Some(mask)) = (self.bytes.get_mut(at), self.writable.get(at)) {
                *byte = (*byte & !mask) | (value & mask);
            }
        }
        let master = self.command() & COMMAND_MASTER != 0;
        if (before & COMMAND_MASTER != 0) != master {
            return Effect::Master(master);
        }
        Effect::None
    }

    /// Where the BARs lie, and their sizes; none while the device answers to no address.
    pub fn bars(&self) -> Vec<(u64, u64)> {
        if self.command() & COMMAND_MEMORY == 0 {
            return Vec::new();
        }
        let word = |bytes: &[u8], at: usize| {
            let word = bytes.get(at..at + 4).and_then(|word| word.try_into().ok());
            u64::from(u32::from_le_bytes(word.unwrap_or_default()))
        };
        // The bits that can be written are the address, above the size.
        let long = |bytes: &[u8], at| word(bytes, at) | (word(bytes, at + 4) << 32);
        let of = |address: u64, mask: u64| (address & mask, mask & mask.wrapping_neg());
        vec![
            of(long(&self.bytes, at::BAR0), long(&self.writable, at::BAR0)),
            of(long(&self.bytes, at::BAR2), long(&self.writable, at::BAR2)),
            of(word(&self.bytes, at::BAR5), word(&self.writable, at::BAR5)),
        ]
    }

    /// Start-up state: no BAR, nothing enabled.
    pub fn reset(&mut self) {
        self.bytes = self.power_on;
    }

    fn command(&self) -> u16 {
        let mut bytes = [0; 2];
        self.read(at::COMMAND as u64, &mut bytes);
        u16::from_le_bytes(bytes)
    }

    fn put(&mut self, at: usize, bytes: &[u8]) {
        for (to, from) in self.bytes.iter_mut().skip(at).zip(bytes) {
            *to = *from;
        }
    }

    fn allow(&mut self, at: usize, mask: &[u8]) {
        for (to, from) in self.writable.iter_mut().skip(at).zip(mask) {
            *to = *from;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chip::mi308x::CPX as CHIP;

    fn word(config: &Config, at: u64) -> u32 {
        let mut bytes = [0; 4];
        config.read(at, &mut bytes);
        u32::from_le_bytes(bytes)
    }

    #[test]
    fn identity_and_capabilities_are_an_mi308x() {
        let c = Config::new(&CHIP, 16 << 30);
        assert_eq!(word(&c, 0), 0x74a2_1002);
        assert_eq!(word(&c, 8), 0x1200_0000);
        let mut list = Vec::new();
        let mut at = word(&c, 0x34) & 0xff;
        while at != 0 {
            let head = word(&c, at.into());
            list.push((head & 0xff, at));
            at = (head >> 8) & 0xff;
        }
        assert_eq!(list, [(0x01, 0x50), (0x10, 0x64), (0x05, 0xa0)]);
        assert_eq!(word(&c, 0xa0) >> 16, 0x80);
        assert_ne!(word(&c, 0x64 + 4) & (1 << 28), 0, "FLR");
        assert_eq!(word(&c, 0x100), 0, "no extended capabilities");
        assert_eq!(
            word(&c, 0x64 + 36) & 0x380,
            0x180,
            "completes 32 and 64 bits"
        );
        assert_eq!(word(&c, 0x64 + 40) & (1 << 6), 1 << 6, "makes atomics");
    }

    #[test]
    fn bars_tell_their_sizes() {
        let mut c = Config::new(&CHIP, 16 << 30);
        for at in [0x10, 0x14, 0x18, 0x1c, 0x20, 0x24] {
            c.write(at, &u32::MAX.to_le_bytes());
        }
        let wide = |c: &Config, at| {
            !(u64::from(word(c, at) & !0xf) | (u64::from(word(c, at + 4)) << 32)) + 1
        };
        assert_eq!(wide(&c, 0x10), 16 << 30);
        assert_eq!(wide(&c, 0x18), 2 << 20);
        assert_eq!(word(&c, 0x10) & 0xf, 0xc);
        assert_eq!(word(&c, 0x20), 0, "no BAR4");
        assert_eq!(!word(&c, 0x24) + 1, 512 << 10);
    }

    #[test]
    fn bars_lie_where_the_guest_has_put_them() {
        let mut c = Config::new(&CHIP, 16 << 30);
        for (at, word) in [(0x14, 0x40_u32), (0x1c, 0x44), (0x24, 0xfeb0_0000)] {
            c.write(at, &word.to_le_bytes());
        }
        assert!(c.bars().is_empty(), "memory decoding is off");
        c.write(4, &COMMAND_MEMORY.to_le_bytes());
        let (vram, doorbells) = ((0x40 << 32, 16 << 30), (0x44 << 32, 2 << 20));
        assert_eq!(c.bars(), [vram, doorbells, (0xfeb0_0000, 512 << 10)]);
    }

    #[test]
    fn the_roms_bar_tells_its_size_and_is_there_only_with_one() {
        let mut without = Config::new(&CHIP, 16 << 30);
        without.write(0x30, &u32::MAX.to_le_bytes());
        assert_eq!(word(&without, 0x30), 0);
        let mut with = Config::new(&CHIP, 16 << 30).with_rom(64 << 10);
        assert_eq!(word(&with, 0x30), 0, "no address, not enabled");
        with.write(0x30, &u32::MAX.to_le_bytes());
        assert_eq!(word(&with, 0x30), 0xffff_0001);
    }

    #[test]
    fn read_only_bits_stay_and_flr_resets() {
        let mut c = Config::new(&CHIP, 16 << 30);
        assert_eq!(c.write(0, &[0; 4]), Effect::None);
        assert_eq!(word(&c, 0), 0x74a2_1002);
        assert_eq!(c.write(4, &6u16.to_le_bytes()), Effect::Master(true));
        assert_eq!(c.write(4, &6u16.to_le_bytes()), Effect::None);
        c.write(0x24, &0xfeb0_0000u32.to_le_bytes());
        assert_eq!(word(&c, 0x24), 0xfeb0_0000);
        assert_eq!(c.write(0x64 + 8, &0xa810u16.to_le_bytes()), Effect::Reset);
        assert_eq!(word(&c, 4) & 0xffff, 0);
        assert_eq!(word(&c, 0x24), 0);
        assert_eq!(word(&c, 0x64 + 8) & 0xffff, 0x2810);
        assert_eq!(c.write(4, &4u16.to_le_bytes()), Effect::Master(true));
        assert_eq!(c.write(4, &0u16.to_le_bytes()), Effect::Master(false));
        let mut beyond = [0; 4];
        c.read(u64::MAX - 1, &mut beyond);
        assert_eq!(beyond, [0xff; 4]);
    }
}
