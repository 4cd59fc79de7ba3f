// SPDX-License-Identifier: MIT OR Apache-2.0

//! A device from power-on, as Linux's stock driver meets it: what it reads before it knows anything, the
//! image in the ROM, and the security processor.
//!
//! Expected values are those of Linux's source (`amdgpu/amdgpu_device.c`, `amdgpu/amdgpu_discovery.c`,
//! `amdgpu/atom.c`, `amdgpu/psp_v13_0.c`, `amdgpu/psp_gfx_if.h`), repeated here on purpose.

use rkfd_emulator::chip::mi308x::CPX;
use rkfd_emulator::chip::navi48;
use rkfd_emulator_testkit::{Guest, VRAM};
use rkfd_hw::regs::Block;

const COLD: &[&str] = &["at power-on: cold"];

/// A word of video memory as `amdgpu_device_mm_access` reads it: by word addresses that are built in.
fn mm_read(guest: &Guest, at: u64) -> u32 {
    guest.device.write(0, at as u32 | 0x8000_0000);
    guest.device.write(6 * 4, (at >> 31) as u32);
    guest.device.read(4)
}

#[test]
fn the_discovery_table_is_read_before_any_memory_is_mapped() {
    for guest in [Guest::new(COLD), Guest::of(&navi48::CHIP, COLD)] {
        let table = VRAM - (64 << 10);
        assert_eq!(mm_read(&guest, table), 0x2821_1407);
        guest.device.write(0, table as u32 | 0x8000_0000);
        guest.device.write(4, 0x1234_5678);
        assert_eq!(mm_read(&guest, table), 0x1234_5678);
        assert_eq!(guest.findings(), Vec::<String>::new());
        // Bits from 31 on are in MM_INDEX_HI: there is no such memory.
        mm_read(&guest, table | (1 << 31));
        guest.expect_violation("read through MM_DATA of Memory(8fff0000)");
        guest.device.write(0, 0x1234);
        guest.device.write(4, 1);
        guest.expect_violation("write through MM_DATA of Register(1234)");
        guest.device.reset();
        assert_eq!(guest.device.read(0), 0);
    }
}

#[test]
fn what_the_stock_driver_asks_of_the_bus_is_there() {
    let guest = Guest::new(COLD);
    // SMUIO_MCM_CONFIG: PKG_TYPE (bits 5:2) 1 is AMDGPU_PKG_TYPE_OAM.
    assert_eq!(guest.device.read(0x16a23 * 4), 1 << 2);
    // DRIVER_SCRATCH_2: the table is where it is by default (`mmDRIVER_SCRATCH_2`).
    assert_eq!(guest.device.read(0x96 * 4), 0);
    // BIF_BX_PF0_PARTITION_MEM_CAP: NPS1_SUPPORT.
    assert_eq!(guest.read(Block::Nbio, "BIF_BX_PF0_PARTITION_MEM_CAP"), 1);
    assert_eq!(guest.findings(), Vec::<String>::new());
}

fn u16_at(b: &[u8], at: usize) -> usize {
    u16::from_le_bytes(b[at..at + 2].try_into().unwrap()).into()
}

fn u32_at(b: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(b[at..at + 4].try_into().unwrap())
}

/// What `amdgpu_get_bios`, `amdgpu_atom_parse` and `amdgpu_atomfirmware_get_clock_info` look at.
#[test]
fn the_rom_has_what_the_stock_driver_reads() {
    for (chip, device) in [(&CPX, 0x74a2), (&navi48::CHIP, 0x7550)] {
        let rom = chip.rom();
        assert_eq!(rom[..2], [0x55, 0xaa]);
        // PCI data structure (`pci_get_rom_size`): signature, ids, length, last image, and no x86 code.
        let data = &rom[u16_at(&rom, 0x18)..];
        assert_eq!(&data[..4], b"PCIR");
        assert_eq!((u16_at(data, 4), u16_at(data, 6)), (0x1002, device));
        assert_eq!(u16_at(data, 16) * 512, rom.len());
        assert!(data[20] != 0 && data[21] & 0x80 != 0);
        // ATOM_ATI_MAGIC_PTR, ATOM_ROM_TABLE_PTR, ATOM_ROM_MAGIC_PTR, ATOM_ROM_DATA_PTR.
        assert_eq!(&rom[0x30..0x3a], b" 761295520");
        let header = u16_at(&rom, 0x48);
        assert_eq!(&rom[header + 4..header + 8], b"ATOM");
        let tables = u16_at(&rom, header + 0x20);
        let table = |index: usize| u16_at(&rom, tables + 4 + 2 * index);
        let present: Vec<_> = (0..35).filter(|&index| table(index) != 0).collect();
        assert_eq!(present, [4, 23], "firmwareinfo and indirectioaccess alone");
        let info = &rom[table(4)..];
        assert_eq!((u16_at(info, 0), &info[2..4]), (68, &[3, 1][..]));
        // bios_scratch_reg_startaddr, and bit 9 of the eighth (ATOM_S7_ASIC_INIT_COMPLETE_MASK).
        let scratch = u64::from(u32_at(info, 24));
        let guest = Guest::of(chip, COLD);
        assert_eq!(guest.device.read((scratch + 7) * 4), 0x200);
        // `atom_get_vbios_name`: behind so many strings and a line's end.
        let mut strings = rom[u16_at(&rom, 0x6e)..].split(|&b| b == 0);
        assert_eq!(strings.next(), Some(&b"113-RKFD-000"[..]));
        let name = strings.nth(usize::from(rom[0x2f]) - 1).unwrap();
        assert_eq!(name, [b"\r\n", chip.name.as_bytes()].concat());
    }
}
