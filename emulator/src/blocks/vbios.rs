// SPDX-License-Identifier: MIT OR Apache-2.0

//! The image in the expansion ROM: tables that drivers read, and no code.
//!
//! Sources: PCI Firmware Specification (ROM header, PCI data structure); Linux,
//! `include/atomfirmware.h` (tables), `amdgpu/atom.h` (fixed places), `amdgpu/atom.c` and
//! `amdgpu/amdgpu_bios.c` (what is looked at). The chip's own firmware initializes it, so the lists of
//! functions are empty, and the image's kind of code is none that a processor executes.

/// Size of the image and of the ROM in bytes: smaller than a card's, which has code in it, too.
pub const SIZE: usize = 4 << 10;

/// Places that are fixed.
mod at {
    pub(super) const SIGNATURE: usize = 0x00;
    pub(super) const PCI_DATA_POINTER: usize = 0x18;
    pub(super) const STRINGS: usize = 0x2f;
    pub(super) const VENDOR_MAGIC: usize = 0x30;
    pub(super) const ROM_HEADER_POINTER: usize = 0x48;
    pub(super) const DATE: usize = 0x50;
    pub(super) const STRINGS_POINTER: usize = 0x6e;
}

/// Places that are this image's own.
mod own {
    pub(super) const STRINGS: usize = 0x100;
    pub(super) const PCI_DATA: usize = 0x1a0;
    pub(super) const CONFIGURATION: usize = 0x1c0;
    pub(super) const ROM_HEADER: usize = 0x200;
    pub(super) const FUNCTIONS: usize = 0x240;
    pub(super) const DATA: usize = 0x400;
    pub(super) const FIRMWARE_INFO: usize = 0x480;
    pub(super) const INDIRECT: usize = 0x500;
    pub(super) const UMC_INFO: usize = 0x540;
}

/// What firmware keeps at the end of VRAM.
const KEPT_KIB: u32 = (super::psp::kept::SIZE >> 10) as u32;

/// Indices in `struct atom_master_list_of_data_tables_v2_1`, and how many there are.
const FIRMWARE_INFO: usize = 4;
const INDIRECT_ACCESS: usize = 23;
const UMC_INFO: usize = 24;
const DATA_TABLES: usize = 35;
/// Functions in `struct atom_master_list_of_command_functions_v2_1`.
const FUNCTIONS: usize = 81;

/// The kind of code that stands for none: 0 is x86, 1 Open Firmware, 3 UEFI.
const NO_CODE: u8 = 0xff;
/// No other image follows.
const LAST: u8 = 0x80;

/// The memory on a card.
#[derive(Clone, Copy)]
pub struct Memory {
    /// What it is (`enum atom_dgpu_vram_type`).
    pub kind: u8,
    /// Its channels: those of each base die.
    pub channels: u8,
    /// A channel has as many bits as this power of two.
    pub channel_width: u8,
    /// Who made it, by AMD's numbers (Linux, `include/atombios.h`).
    pub vendor: u8,
}

/// What of an image is its card's.
pub struct Card {
    /// PCI vendor and device.
    pub id: (u16, u16),
    /// PCI class code.
    pub class: u32,
    /// Name of the product.
    pub name: &'static str,
    /// The word address of `BIOS_SCRATCH_0`.
    pub scratch: u32,
    /// Its memory.
    pub memory: Memory,
}

impl Card {
    /// The image.
    pub fn image(&self) -> Vec<u8> {
        let mut rom = Image(vec![0; SIZE]);
        rom.put(at::SIGNATURE, &[0x55, 0xaa, (SIZE / 512) as u8]);
        rom.word(at::PCI_DATA_POINTER, own::PCI_DATA);
        rom.put(at::VENDOR_MAGIC, b" 761295520");
        rom.word(at::ROM_HEADER_POINTER, own::ROM_HEADER);
        rom.put(at::DATE, b"01/01/25 00:00");
        // Part number, chip, bus, memory; then the name and the version.
        rom.put(at::STRINGS, &[4]);
        rom.word(at::STRINGS_POINTER, own::STRINGS);
        let strings = "113-RKFD-000\0RKFD\0PCI_EXPRESS\0NONE\0\r\n";
        let text = format!(
            "{strings}{}\0ATOMBIOSBK-AMD VER022.040.000.000.000000\0",
            self.name
        );
        rom.put(own::STRINGS, text.as_bytes());
        self.pci_data(&mut rom);
        rom.rom_header();
        rom.table(own::FUNCTIONS, 4 + 2 * FUNCTIONS, (2, 1));
        rom.table(own::DATA, 4 + 2 * DATA_TABLES, (2, 1));
        let entry = |index| own::DATA + 4 + 2 * index;
        rom.word(entry(FIRMWARE_INFO), own::FIRMWARE_INFO);
        rom.word(entry(INDIRECT_ACCESS), own::INDIRECT);
        self.firmware_info(&mut rom);
        rom.word(entry(UMC_INFO), own::UMC_INFO);
        self.umc_info(&mut rom);
        // No method of indirect access.
        rom.table(own::INDIRECT, 8, (1, 1));
        rom.0
    }

    fn pci_data(&self, rom: &mut Image) {
        let (vendor, device) = self.id;
        rom.put(own::PCI_DATA, b"PCIR");
        rom.word(own::PCI_DATA + 4, vendor.into());
        rom.word(own::PCI_DATA + 6, device.into());
        rom.word(own::PCI_DATA + 10, 0x18);
        rom.put(own::PCI_DATA + 13, &self.class.to_le_bytes()[..3]);
        rom.word(own::PCI_DATA + 16, SIZE / 512);
        rom.put(own::PCI_DATA + 20, &[NO_CODE, LAST]);
    }

    /// `struct atom_firmware_info_v3_4`. The clocks are this model's own: nothing depends on them.
    fn firmware_info(&self, rom: &mut Image) {
        rom.table(own::FIRMWARE_INFO, 108, (3, 4));
        let mut long =
            |offset, value: u32| rom.put(own::FIRMWARE_INFO + offset, &value.to_le_bytes());
        // Version, graphics clock, memory clock (in 10 kHz), capabilities.
        long(4, 0x0001_0000);
        long(8, 13_200);
        long(12, 9_000);
        long(24, self.scratch);
        long(84, KEPT_KIB);
    }

    /// `struct atom_umc_info_v4_0`: no error correction by default.
    fn umc_info(&self, rom: &mut Image) {
        let memory = &self.memory;
        rom.table(own::UMC_INFO, 84, (4, 0));
        rom.put(own::UMC_INFO + 26, &[memory.kind]);
        let channels = [memory.channels, memory.channel_width];
        rom.put(own::UMC_INFO + 64, &channels);
    }
}

/// The bytes of an image.
struct Image(Vec<u8>);

impl Image {
    fn put(&mut self, at: usize, bytes: &[u8]) {
        for (to, from) in self.0.iter_mut().skip(at).zip(bytes) {
            *to = *from;
        }
    }

    fn word(&mut self, at: usize, value: usize) {
        self.put(at, &(value as u16).to_le_bytes());
    }

    /// `struct atom_common_table_header`.
    fn table(&mut self, at: usize, size: usize, (format, content): (u8, u8)) {
        self.word(at, size);
        self.put(at + 2, &[format, content]);
    }

    /// `struct atom_rom_header_v2_2`.
    fn rom_header(&mut self) {
        self.table(own::ROM_HEADER, 40, (2, 2));
        self.put(own::ROM_HEADER + 4, b"ATOM");
        // Two strings: how it was built, and from what.
        self.put(own::CONFIGURATION, b"rkfd\0rkfd\0");
        self.word(own::ROM_HEADER + 0xc, own::CONFIGURATION);
        self.word(own::ROM_HEADER + 0x1e, own::FUNCTIONS);
        self.word(own::ROM_HEADER + 0x20, own::DATA);
    }
}
