// SPDX-License-Identifier: MIT OR Apache-2.0

//! A device from power-on, as Linux's stock driver meets it: what it reads before it knows anything, the
//! image in the ROM, and the security processor.
//!
//! Expected values are those of Linux's source (`amdgpu/amdgpu_device.c`, `amdgpu/amdgpu_discovery.c`,
//! `amdgpu/atom.c`, `amdgpu/psp_v13_0.c`, `amdgpu/psp_gfx_if.h`), repeated here on purpose.

mod smu;

use rkfd_emulator::chip::mi308x::CPX;
use rkfd_emulator::chip::navi48;
use rkfd_emulator::device::firmware::Firmware;
use rkfd_emulator::device::Services as _;
use rkfd_emulator::memory::Hub;
use rkfd_emulator_testkit::{get_words, kernel_context, put, Guest, VRAM};
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
    // ATOM_DGPU_VRAM_TYPE_HBM3 and _GDDR6.
    for (chip, device, wanted) in [
        (&CPX, 0x74a2, (0x80, 8192)),
        (&navi48::CHIP, 0x7550, (0x70, 256)),
    ] {
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
        assert_eq!(
            present,
            [4, 23, 24],
            "firmwareinfo, indirectioaccess and umc_info alone"
        );
        let info = &rom[table(4)..];
        assert_eq!((u16_at(info, 0), &info[2..4]), (108, &[3, 4][..]));
        // `amdgpu_atomfirmware_get_fw_reserved_fb_size`: KiB at the end, which discovery's last 64 are part of.
        assert!((64..=1 << 20).contains(&u32_at(info, 84)));
        // `struct atom_umc_info_v4_0`: channels, each with 2 to that power bits; and the maker's number in the fifth scratch
        // register (`amdgpu_atomfirmware_get_umc_info`).
        let memory = &rom[table(24)..];
        assert_eq!((u16_at(memory, 0), &memory[2..4]), (84, &[4, 0][..]));
        let bits = u32::from(memory[64]) << memory[65];
        assert_eq!((memory[26], bits), wanted);
        // bios_scratch_reg_startaddr, and bit 9 of the eighth (ATOM_S7_ASIC_INIT_COMPLETE_MASK).
        let scratch = u64::from(u32_at(info, 24));
        let guest = Guest::of(chip, COLD);
        assert_eq!(guest.device.read((scratch + 7) * 4), 0x200);
        assert!((1..=9).contains(&guest.device.read((scratch + 4) * 4)));
        // `atom_get_vbios_name`: behind so many strings and a line's end.
        let mut strings = rom[u16_at(&rom, 0x6e)..].split(|&b| b == 0);
        assert_eq!(strings.next(), Some(&b"113-RKFD-000"[..]));
        let name = strings.nth(usize::from(rom[0x2f]) - 1).unwrap();
        assert_eq!(name, [b"\r\n", chip.name.as_bytes()].concat());
    }
}

/// Where the driver's buffers lie in video memory, behind the table of the kernel's address space.
const BUFFER: u64 = 1 << 20;
const RING: u64 = 2 << 20;
const COMMAND: u64 = RING + 0x1000;
const FENCE: u64 = RING + 0x2000;
/// Where the ring's memory begins as the kernel's address space has it: that of mi308x.
const BASE: u64 = 0x80_0000_0000;

/// A device whose kernel address space is set up, with something in the buffer.
fn set_up(rules: &[&str]) -> Guest {
    let guest = Guest::new(rules);
    guest.set_up_hdp(BASE);
    kernel_context(guest.device.soc.memory(), Hub::Mm(0), 0x1000, 1);
    fill(&guest, 0x36_0260);
    guest
}

fn vram(guest: &Guest) -> rkfd_emulator::memory::host::Mapping {
    guest.device.soc.memory.vram
}

/// Writes into video memory.
fn bytes(guest: &Guest, at: u64, bytes: &[u8]) {
    let part = vram(guest).part(at, bytes.len()).unwrap();
    assert!(part.write(0, bytes));
}

/// Bytes of the image in the buffer.
const IMAGE: u32 = 0x1800;

/// An image: a mark and the body's size, without the 0x300 bytes of header and signature that AMD's own files have; its version
/// is at 0x60.
fn fill(guest: &Guest, version: u64) {
    put(vram(guest), BUFFER, 0x1122_3344_5566_7788);
    let body = u64::from(IMAGE - 0x300);
    let mark = u64::from(u32::from_le_bytes(*b"$PS1"));
    put(vram(guest), BUFFER + 0x10, mark | (body << 32));
    put(vram(guest), BUFFER + 0x60, version);
}

fn mp0(guest: &Guest, n: u32) -> u32 {
    guest.read(Block::Mp0, &format!("MP0_SMN_C2PMSG_{n}"))
}

fn set_mp0(guest: &Guest, n: u32, value: u32) {
    guest.write(Block::Mp0, &format!("MP0_SMN_C2PMSG_{n}"), value);
}

/// `psp_v13_0_bootloader_load_component`, behind `psp_copy_fw`, which flushes HDP.
fn load(guest: &Guest, command: u32) -> u32 {
    guest.device.soc.memory.flush_hdp();
    mp0(guest, 35);
    set_mp0(guest, 36, ((BASE + BUFFER) >> 20) as u32);
    set_mp0(guest, 35, command);
    mp0(guest, 35)
}

/// The boot loader's commands as `psp_hw_start` gives them on MI300.
const ORDER: [u32; 8] = [
    0x80000,
    0x1000_0000,
    0x10000,
    0xb0000,
    0xd0000,
    0xc0000,
    0xe0000,
    0x20000,
];

fn load_components(guest: &Guest) {
    for command in ORDER {
        assert_eq!(load(guest, command), 0x8000_0000, "{command:#x}");
    }
}

/// Loads all, and waits for the secure OS.
fn boot(guest: &Guest) {
    load_components(guest);
    while mp0(guest, 81) == 0 {}
}

/// `psp_v13_0_ring_create` of a ring of a page.
fn make_ring(guest: &Guest) {
    assert_eq!(mp0(guest, 64), 0x8000_0000);
    set_mp0(guest, 69, (BASE + RING) as u32);
    set_mp0(guest, 70, ((BASE + RING) >> 32) as u32);
    set_mp0(guest, 71, 0x1000);
    set_mp0(guest, 64, 2 << 16);
    assert_eq!(mp0(guest, 64), 0x8000_0000);
}

/// `psp_ring_cmd_submit` with a command of these words behind its number; the status, once the fence is
/// there.
fn submit(guest: &Guest, fence: u32, id: u32, words: &[u32]) -> u32 {
    let (found, status) = answer(guest, fence, id, words);
    assert_eq!(found, fence);
    status
}

/// The same, whatever the answer: the fence's word and the status.
fn answer(guest: &Guest, fence: u32, id: u32, words: &[u32]) -> (u32, u32) {
    bytes(guest, COMMAND, &[0xee; 1024]);
    bytes(guest, COMMAND + 8, &id.to_le_bytes());
    for (n, word) in words.iter().enumerate() {
        bytes(guest, COMMAND + 28 + 4 * n as u64, &word.to_le_bytes());
    }
    let wptr = mp0(guest, 67);
    let frame = RING + 4 * u64::from(wptr);
    bytes(guest, frame, &(BASE + COMMAND).to_le_bytes());
    bytes(guest, frame + 12, &(BASE + FENCE).to_le_bytes());
    bytes(guest, frame + 20, &fence.to_le_bytes());
    guest.device.soc.memory.flush_hdp();
    set_mp0(guest, 67, (wptr + 16) % 0x400);
    let word = |at| get_words::<1>(vram(guest), at)[0];
    (word(FENCE), word(COMMAND + 864))
}

/// LOAD_IP_FW of so many bytes at the buffer.
fn load_ip(guest: &Guest, fence: u32, kind: u32, size: u32) -> u32 {
    let at = BASE + BUFFER;
    submit(guest, fence, 6, &[at as u32, (at >> 32) as u32, size, kind])
}

#[test]
fn the_boot_loader_takes_components_in_order_and_starts_the_secure_os() {
    let guest = set_up(COLD);
    assert_eq!(
        (mp0(&guest, 33), mp0(&guest, 35)),
        (0x8000_0000, 0x8000_0000)
    );
    assert_eq!((mp0(&guest, 81), mp0(&guest, 64)), (0, 0));
    load_components(&guest);
    assert_eq!(
        mp0(&guest, 81),
        0,
        "not yet: Linux waits until this changes"
    );
    assert_eq!((mp0(&guest, 81), mp0(&guest, 58)), (0x36_0260, 0x36_0260));
    assert_eq!(mp0(&guest, 64), 0x8000_0000, "ready for a ring");
    assert_eq!(guest.findings(), Vec::<String>::new());
    load(&guest, 0x20000);
    guest.expect_violation("the boot loader has gone");
    guest.device.reset();
    assert_eq!(mp0(&guest, 81), 0, "cold again");
}

#[test]
fn the_boot_loader_refuses_with_an_error_in_the_low_byte() {
    let guest = set_up(COLD);
    let refused = |command: u32, text: &str| {
        assert_ne!(load(&guest, command) & 0xff, 0, "{text}");
        guest.expect_violation(text);
        assert_eq!(mp0(&guest, 81), 0);
    };
    refused(0x12345, "the boot loader has no command 0x12345");
    refused(0x20000, "the secure OS comes before component 0x80000");
    assert_eq!(load(&guest, 0x10000), 0x8000_0000);
    refused(0x80000, "component 0x80000 comes too late");
    refused(0x10000, "component 0x10000 comes too late");
    bytes(&guest, BUFFER, &[0; 0x1000]);
    refused(0xb0000, "is no image");
    set_mp0(&guest, 36, 0x123);
    set_mp0(&guest, 35, 0xb0000);
    guest.expect_violation("component 0xb0000:");
    set_mp0(&guest, 35, 0xb0000);
    guest.expect_violation("component 0xb0000 comes before anybody has waited");
}

#[test]
fn firmware_comes_through_the_ring() {
    let guest = set_up(COLD);
    let held = || {
        let all = [
            Firmware::Mec(0),
            Firmware::MecJumpTable(0),
            Firmware::Rlc(0),
            Firmware::Sdma(0),
            Firmware::Sdma(3),
        ];
        all.map(|firmware| guest.device.soc.firmware().has(firmware))
    };
    set_mp0(&guest, 64, 2 << 16);
    guest.expect_violation("no secure OS runs");
    boot(&guest);
    set_mp0(&guest, 67, 16);
    guest.expect_violation("there is no ring");
    set_mp0(&guest, 64, 2 << 16);
    guest.expect_violation("nobody has waited until it is ready");
    make_ring(&guest);
    assert_eq!(held(), [false; 5]);
    // GFX_CMD_ID_SETUP_TMR: of a boot-time region the driver gives no address.
    assert_ne!(load_ip(&guest, 1, 4, 0x1800), 0);
    guest.expect_violation("before there is a trusted memory region");
    assert_ne!(submit(&guest, 2, 5, &[0x1000, 0, 0x1000]), 0);
    guest.expect_violation("SETUP_TMR names a region");
    assert_ne!(submit(&guest, 3, 5, &[0; 4]), 0);
    guest.expect_violation("SETUP_TMR without its flag");
    assert_eq!(submit(&guest, 4, 5, &[0, 0, 0, 2]), 0);
    assert_eq!(answer(&guest, 4, 5, &[0, 0, 0, 2]), (4, 0xeeee_eeee));
    guest.expect_violation("the fence has its value, 0x4, before the command is done");
    let before = guest.findings().len();
    for (n, kind) in [4, 5, 8, 9, 10, 52, 53, 20, 21, 22, 67, 129]
        .into_iter()
        .enumerate()
    {
        assert_eq!(load_ip(&guest, 10 + n as u32, kind, 0x1800), 0, "{kind}");
    }
    assert_eq!(held(), [true; 5]);
    // The processor lets copy engines run, which their driver then doesn't.
    assert_eq!(guest.read(Block::Sdma, "SDMA_F32_CNTL"), 0);
    // GFX_CMD_ID_LOAD_TA is refused by TEE_ERROR_NOT_SUPPORTED, and that is no fault.
    assert_eq!(submit(&guest, 30, 1, &[]), 0xffff_000a);
    assert_eq!(guest.findings().len(), before);
    // GFX_FW_TYPE_CP_MES is no firmware of this chip.
    assert_ne!(load_ip(&guest, 31, 33, 0x1800), 0);
    guest.expect_violation("type 0x21 is not of this chip");
    assert_ne!(load_ip(&guest, 32, 8, 0), 0);
    guest.expect_violation("0x0 bytes at");
    // Cut short, followed by something else, and with the shorter signature of another chip's.
    for (fence, size) in [(33, IMAGE - 4), (34, IMAGE + 4)] {
        assert_ne!(load_ip(&guest, fence, 8, size), 0);
        guest.expect_violation("bytes aren't the image's, or it is for another chip");
    }
    bytes(&guest, BUFFER + 0x14, &(IMAGE - 0x200).to_le_bytes());
    assert_ne!(load_ip(&guest, 35, 8, IMAGE), 0);
    guest.expect_violation("bytes aren't the image's, or it is for another chip");
    // What a driver's file begins with is no image.
    bytes(&guest, BUFFER + 0x10, &[0; 4]);
    assert_ne!(load_ip(&guest, 36, 8, IMAGE), 0);
    guest.expect_violation("is no image");
    guest.device.reset();
    assert_eq!(held(), [false; 5]);
}

/// Linux looks for a secure OS in a guest, whose GPU was reset by a function-level reset (`soc15_need_reset_on_init`).
#[test]
fn a_function_level_reset_leaves_the_secure_os_alive() {
    let guest = set_up(COLD);
    guest.device.reset_function();
    assert_eq!(mp0(&guest, 81), 0, "there was none");
    guest.set_up_hdp(BASE);
    kernel_context(guest.device.soc.memory(), Hub::Mm(0), 0x1000, 1);
    boot(&guest);
    make_ring(&guest);
    assert_eq!(submit(&guest, 1, 5, &[0, 0, 0, 2]), 0);
    assert_eq!(load_ip(&guest, 2, 4, 0x1800), 0);
    guest.device.reset_function();
    assert_eq!((mp0(&guest, 81), mp0(&guest, 58)), (0x36_0260, 0x36_0260));
    assert_eq!(mp0(&guest, 64), 0x8000_0000, "ready for a ring");
    assert!(!guest.device.soc.firmware().has(Firmware::Mec(0)));
    assert_eq!(guest.findings(), Vec::<String>::new());
    set_mp0(&guest, 67, 16);
    guest.expect_violation("there is no ring");
    // It takes a ring and firmware again, and its boot loader has gone.
    guest.set_up_hdp(BASE);
    kernel_context(guest.device.soc.memory(), Hub::Mm(0), 0x1000, 1);
    make_ring(&guest);
    assert_eq!(load_ip(&guest, 3, 4, 0x1800), 0);
    load(&guest, 0x80000);
    guest.expect_violation("the boot loader has gone");
    // A warm device stays warm; without power it is as rules say.
    let warm = Guest::new(&[]);
    warm.device.reset_function();
    assert!(warm.device.soc.firmware().has(Firmware::Mec(0)) && mp0(&warm, 81) != 0);
    warm.device.soc.rules.add(COLD[0]).unwrap();
    warm.device.reset_function();
    assert_ne!(mp0(&warm, 81), 0);
    assert!(warm.device.soc.rules.power_cycle());
    assert_eq!(mp0(&warm, 81), 0);
}

#[test]
fn commands_misbehave_by_rules() {
    let guest = set_up(&[
        "at power-on: cold",
        "on LOAD_IP_FW of type 8: fail 16",
        "on LOAD_IP_FW of type 4: no answer",
        "on LOAD_IP_FW of type 9: drop",
        "at the 2nd SETUP_TMR: wrong sequence",
        "on SPATIAL_PART: hang",
    ]);
    let has = |firmware| guest.device.soc.firmware().has(firmware);
    let load = |fence, kind| {
        let at = BASE + BUFFER;
        let words = [at as u32, (at >> 32) as u32, 0x1800, kind];
        answer(&guest, fence, 6, &words)
    };
    const UNTOUCHED: u32 = 0xeeee_eeee;
    boot(&guest);
    make_ring(&guest);
    assert_eq!(submit(&guest, 1, 5, &[0, 0, 0, 2]), 0);
    assert_eq!(load(2, 8), (2, 16));
    assert!(!has(Firmware::Rlc(0)), "refused");
    assert_eq!(load(3, 4), (2, 0));
    assert!(has(Firmware::Mec(0)), "loaded, and nobody learns it");
    assert_eq!(load(4, 9), (2, UNTOUCHED));
    assert!(!has(Firmware::Sdma(0)), "passed over");
    assert_eq!(load(5, 10), (5, 0));
    assert_eq!(answer(&guest, 6, 5, &[0, 0, 0, 2]), (7, 0));
    // GFX_CMD_ID_SRIOV_SPATIAL_PART: from here on it takes nothing.
    assert_eq!(answer(&guest, 8, 0x27, &[1]), (7, UNTOUCHED));
    assert_eq!(load(9, 52), (7, UNTOUCHED));
    set_mp0(&guest, 64, 0x3_0000);
    assert_eq!(mp0(&guest, 64), 0);
    guest.device.soc.memory.rules().remove(None);
    assert_eq!(mp0(&guest, 64), 0x8000_0000);
    make_ring(&guest);
    assert_eq!(load_ip(&guest, 10, 52, 0x1800), 0);
    assert_eq!(guest.findings(), Vec::<String>::new());
}

#[test]
fn the_ring_wraps_and_ends() {
    let guest = set_up(&[]);
    make_ring(&guest);
    // A warm device has its region, and its engines their firmware.
    for n in 0..130 {
        assert_eq!(load_ip(&guest, n + 1, 8, IMAGE), 0);
    }
    assert_eq!(mp0(&guest, 67), 130 % 64 * 16);
    assert_eq!(guest.findings(), Vec::<String>::new());
    set_mp0(&guest, 67, 0x401);
    guest.expect_violation("the write pointer 0x401 is at no frame of the ring");
    set_mp0(&guest, 64, 0x3_0000);
    assert_eq!(mp0(&guest, 64), 0x8000_0000);
    set_mp0(&guest, 67, 0);
    guest.expect_violation("there is no ring");
    set_mp0(&guest, 71, 100);
    set_mp0(&guest, 64, 2 << 16);
    guest.expect_violation("a ring of 100 bytes");
}

/// Registers of the graphics core of an XCC and of an SDMA engine, beyond what BAR5 shows as well.
fn gc(guest: &Guest, name: &str, value: u32) {
    guest.write_indirect(Block::Gc, name, value);
}

fn sdma(guest: &Guest, name: &str, value: u32) {
    guest.write_indirect(Block::Sdma, name, value);
}

/// What `gfx_v9_4_3_xcc_cp_compute_enable` stores in CP_MEC_CNTL before its engines start.
const RESET: u32 = {
    use rkfd_hw::regs::gc_9_4_3::CP_MEC_CNTL as mec;
    mec::MEC_INVALIDATE_ICACHE.mask()
        | mec::MEC_ME1_PIPE0_RESET.mask()
        | mec::MEC_ME1_PIPE1_RESET.mask()
        | mec::MEC_ME1_PIPE2_RESET.mask()
        | mec::MEC_ME1_PIPE3_RESET.mask()
        | mec::MEC_ME2_PIPE0_RESET.mask()
        | mec::MEC_ME2_PIPE1_RESET.mask()
        | mec::MEC_ME1_HALT.mask()
        | mec::MEC_ME2_HALT.mask()
};

/// Stores it, and waits as long.
fn reset_mec(guest: &Guest) {
    gc(guest, "CP_MEC_CNTL", RESET);
    std::thread::sleep(std::time::Duration::from_micros(50));
}

/// Values after a reset: `mmCP_MEC_CNTL_DEFAULT` of `gc_9_0_default.h`, `mmSDMA0_F32_CNTL_DEFAULT` of
/// `sdma0_4_0_default.h`.
#[test]
fn engines_are_halted_and_start_only_with_firmware() {
    let guest = set_up(COLD);
    assert_eq!(guest.read_indirect(Block::Gc, "CP_MEC_CNTL"), 0x5000_0000);
    assert_eq!(guest.read(Block::Sdma, "SDMA_F32_CNTL"), 1);
    gc(&guest, "CP_MEC_CNTL", 0);
    guest.expect_violation("CP_MEC_CNTL = 0x0: the micro engine starts without firmware");
    assert_eq!(guest.read_indirect(Block::Gc, "CP_MEC_CNTL"), 0x5000_0000);
    sdma(&guest, "SDMA_F32_CNTL", 0);
    guest.expect_violation("SDMA_F32_CNTL = 0x0: the engine starts without firmware");
    assert_eq!(guest.read(Block::Sdma, "SDMA_F32_CNTL"), 1);
    gc(&guest, "RLC_CNTL", 1);
    guest.expect_violation("the run list controller starts without firmware");
    assert_eq!(guest.read_indirect(Block::Gc, "RLC_CNTL"), 0);
    gc(&guest, "RLC_SAFE_MODE", 3);
    guest.expect_violation("no run list controller runs that could answer");
}

/// `gfx_v9_4_3_xcc_rlc_load_microcode`, `gfx_v9_4_3_xcc_cp_compute_load_microcode`,
/// `sdma_v4_4_2_inst_load_microcode`.
#[test]
fn firmware_comes_through_the_engines_ports() {
    let guest = set_up(COLD);
    kernel_context(guest.device.soc.memory(), Hub::Gfx(0), 0x1000, 1);
    guest.device.soc.memory.flush_hdp();
    gc(&guest, "RLC_CNTL", 0);
    gc(&guest, "RLC_GPM_UCODE_ADDR", 0x2000);
    (0..3).for_each(|word| gc(&guest, "RLC_GPM_UCODE_DATA", word));
    assert_eq!(guest.read_indirect(Block::Gc, "RLC_GPM_UCODE_ADDR"), 0x2003);
    gc(&guest, "RLC_GPM_UCODE_ADDR", 77);
    gc(&guest, "RLC_CNTL", 1);
    assert_eq!(guest.read_indirect(Block::Gc, "RLC_CNTL"), 1);
    gc(&guest, "RLC_SAFE_MODE", 3);
    let code = BASE + BUFFER;
    gc(&guest, "CP_CPC_IC_BASE_LO", code as u32);
    gc(&guest, "CP_CPC_IC_BASE_HI", (code >> 32) as u32);
    gc(&guest, "CP_MEC_ME1_UCODE_ADDR", 0x1000);
    reset_mec(&guest);
    let before = guest.findings().len();
    gc(&guest, "CP_MEC_CNTL", 0);
    assert_eq!(guest.findings().len(), before + 1, "no jump table");
    gc(&guest, "CP_MEC_ME1_UCODE_DATA", 1);
    gc(&guest, "CP_MEC_CNTL", 0);
    assert_eq!(guest.read_indirect(Block::Gc, "CP_MEC_CNTL"), 0);
    sdma(&guest, "SDMA_UCODE_ADDR", 0);
    sdma(&guest, "SDMA_UCODE_DATA", 1);
    sdma(&guest, "SDMA_UCODE_ADDR", 77);
    sdma(&guest, "SDMA_F32_CNTL", 0);
    assert_eq!(guest.read(Block::Sdma, "SDMA_F32_CNTL"), 0);
    assert_eq!(guest.findings().len(), before + 1);
    // Nobody exchanges the firmware of what runs.
    for (block, name) in [
        (Block::Gc, "RLC_GPM_UCODE_DATA"),
        (Block::Gc, "CP_MEC_ME1_UCODE_DATA"),
        (Block::Gc, "CP_CPC_IC_BASE_LO"),
        (Block::Sdma, "SDMA_UCODE_DATA"),
    ] {
        guest.write_indirect(block, name, 1);
        guest.expect_violation(&format!("{name} = 0x1: the"));
    }
}

#[test]
fn the_security_processors_firmware_starts_the_engines() {
    let guest = set_up(COLD);
    boot(&guest);
    make_ring(&guest);
    assert_eq!(submit(&guest, 1, 5, &[0, 0, 0, 2]), 0);
    for (n, kind) in [4, 5, 8, 9].into_iter().enumerate() {
        assert_eq!(load_ip(&guest, 2 + n as u32, kind, 0x1800), 0);
    }
    // Its RLC runs: the driver only asks for the safe mode.
    gc(&guest, "RLC_SAFE_MODE", 3);
    // Without one of all that the engines need first.
    for missing in (0..32).map(|bit| 1 << bit).filter(|bit| RESET & bit != 0) {
        gc(&guest, "CP_MEC_CNTL", RESET & !missing);
        gc(&guest, "CP_MEC_CNTL", 0);
        guest.expect_violation("without a reset of their pipes and an invalidation of");
    }
    let findings = guest.findings();
    reset_mec(&guest);
    gc(&guest, "CP_MEC_CNTL", 0);
    sdma(&guest, "SDMA_F32_CNTL", 0);
    assert_eq!(guest.findings(), findings);
    assert_eq!(guest.read_indirect(Block::Gc, "CP_MEC_CNTL"), 0);
    assert_eq!(guest.read(Block::Sdma, "SDMA_F32_CNTL"), 0);
}
