// SPDX-License-Identifier: MIT OR Apache-2.0

//! Navi 48 from power-on: its security processor takes firmware part by part, the run list controller hands
//! it out, and each engine runs only with its firmware and where it was told to begin.
//!
//! Numbers are Linux's (`amdgpu/psp_v14_0.c`, `amdgpu/psp_gfx_if.h`, `amdgpu/gfx_v12_0.c`,
//! `amdgpu/mes_v12_0.c`, `amdgpu/sdma_v7_0.c`, `gc_12_0_0_sh_mask.h`), repeated here on purpose.

use rkfd_emulator::chip::navi48::CHIP;
use rkfd_emulator::device::Services as _;
use rkfd_emulator::memory::Hub;
use rkfd_emulator_testkit::{get_words, kernel_context, put, Guest};
use rkfd_hw::regs::Block;

const COLD: &[&str] = &["at power-on: cold"];
const BASE: u64 = 0x80_0000_0000;
const BUFFER: u64 = 1 << 20;
const RING: u64 = 2 << 20;
const COMMAND: u64 = RING + 0x1000;
const FENCE: u64 = RING + 0x2000;

/// PSP_BL__*, in the order of `psp_hw_start`, with what psp_v14_0 has.
const COMPONENTS: [u32; 9] = [
    0x80000,
    0x1000_0000,
    0x10000,
    0xb0000,
    0xd0000,
    0xc0000,
    0xe0000,
    0xf0000,
    0x20000,
];
/// GFX_FW_TYPE_*, in the order of `enum AMDGPU_UCODE_ID`: SMU, SDMA_UCODE_TH0, RS64_PFP, RS64_ME, RS64_MEC,
/// their stacks (P0, P0, P0 and P1), CP_MES, MES_STACK, CP_MES_KIQ, MES_KIQ_STACK, IMU_I, IMU_D, RLC_IRAM,
/// RLC_DRAM_BOOT, RLC_G.
const PARTS: [u32; 18] = [
    18, 71, 87, 88, 89, 90, 92, 94, 95, 33, 34, 81, 82, 68, 69, 26, 48, 8,
];
/// Bytes of the image in the buffer.
const IMAGE: u32 = 0x1800;
/// GFX_CMD_ID_*.
const LOAD_IP_FW: u32 = 6;
const LOAD_TOC: u32 = 0x20;
const AUTOLOAD_RLC: u32 = 0x21;

struct Cold {
    guest: Guest,
    fence: u32,
}

impl Cold {
    /// A device whose kernel address space is set up, with something in the buffer.
    fn new() -> Self {
        let guest = Guest::of(&CHIP, COLD);
        kernel_context(guest.device.soc.memory(), Hub::Mm(0), 0x1000, 1);
        let it = Self { guest, fence: 0 };
        it.fill();
        it
    }

    /// An image in the buffer, of [`IMAGE`] bytes: a mark and the body's size, without the 0x200 bytes of header and signature
    /// that AMD's own files have, and a version.
    fn fill(&self) {
        put(self.vram(), BUFFER, 0x1122_3344_5566_7788);
        let mark = u64::from(u32::from_le_bytes(*b"$PS1"));
        let body = u64::from(IMAGE - 0x200);
        put(self.vram(), BUFFER + 0x10, mark | (body << 32));
        put(self.vram(), BUFFER + 0x60, 0x3a_1214);
    }

    fn vram(&self) -> rkfd_emulator::memory::host::Mapping {
        self.guest.device.soc.memory.vram
    }

    fn mp0(&self, n: u32) -> u32 {
        self.guest
            .read(Block::Mp0, &format!("MPASP_SMN_C2PMSG_{n}"))
    }

    fn set_mp0(&self, n: u32, value: u32) {
        self.guest
            .write(Block::Mp0, &format!("MPASP_SMN_C2PMSG_{n}"), value);
    }

    /// `psp_hw_start` up to the ring.
    fn boot(&self) {
        assert_eq!(self.mp0(35), 1 << 31);
        for command in COMPONENTS {
            self.set_mp0(36, ((BASE + BUFFER) >> 20) as u32);
            self.set_mp0(35, command);
            assert_eq!(self.mp0(35), 1 << 31, "{command:#x}");
        }
        assert_eq!((self.mp0(81), self.mp0(81)), (0, 0x3a_1214));
        assert_eq!(self.mp0(64), 1 << 31);
        self.set_mp0(69, (BASE + RING) as u32);
        self.set_mp0(70, ((BASE + RING) >> 32) as u32);
        self.set_mp0(71, 0x1000);
        self.set_mp0(64, 2 << 16);
        assert_eq!(self.mp0(64), 1 << 31);
    }

    /// `psp_ring_cmd_submit`: the status, and the words of the answer behind it.
    fn submit(&mut self, id: u32, words: &[u32]) -> (u32, [u32; 24]) {
        self.fence += 1;
        put(self.vram(), COMMAND + 8, id.into());
        for (n, word) in words.iter().enumerate() {
            let at = COMMAND + 28 + 4 * n as u64;
            let part = self.vram().part(at, 4).unwrap();
            assert!(part.write(0, &word.to_le_bytes()));
        }
        let wptr = self.mp0(67);
        let frame = RING + 4 * u64::from(wptr);
        let at = |frame: u64, address: u64| {
            let part = self.vram().part(frame, 8).unwrap();
            assert!(part.write(0, &address.to_le_bytes()));
        };
        at(frame, BASE + COMMAND);
        at(frame + 12, BASE + FENCE);
        at(frame + 20, self.fence.into());
        self.guest.device.soc.memory.flush_hdp();
        self.set_mp0(67, (wptr + 16) % 0x400);
        assert_eq!(get_words::<1>(self.vram(), FENCE), [self.fence]);
        let answer = get_words::<24>(self.vram(), COMMAND + 864);
        (answer[0], answer)
    }

    fn load(&mut self, id: u32, kind: u32) -> u32 {
        let at = BASE + BUFFER;
        let words = [at as u32, (at >> 32) as u32, IMAGE, kind];
        self.submit(id, &words).0
    }

    fn load_all(&mut self) {
        for part in PARTS {
            assert_eq!(self.load(LOAD_IP_FW, part), 0, "{part}");
        }
    }

    fn gc(&self, name: &str) -> u32 {
        self.guest.read(Block::Gc, name)
    }

    fn set_gc(&self, name: &str, value: u32) {
        self.guest.write(Block::Gc, name, value);
    }

    /// `soc24_grbm_select`: PIPEID 1:0, MEID 3:2.
    fn select(&self, me: u32, pipe: u32) {
        self.set_gc("GRBM_GFX_CNTL", pipe | (me << 2));
    }

    /// BOOTLOAD_COMPLETE of RLC_RLCS_BOOTLOAD_STATUS, and CP_STAT.
    fn is_loaded(&self) -> bool {
        assert_eq!(self.gc("CP_STAT"), 0);
        self.gc("RLC_RLCS_BOOTLOAD_STATUS") >> 31 == 1
    }
}

/// A device that is loaded.
fn loaded() -> Cold {
    let mut cold = Cold::new();
    cold.boot();
    cold.load_all();
    assert_eq!(cold.submit(AUTOLOAD_RLC, &[]).0, 0);
    assert!(cold.is_loaded());
    assert_eq!(cold.guest.findings(), Vec::<String>::new());
    cold
}

#[test]
fn the_run_list_controller_hands_firmware_out_when_all_of_it_is_there() {
    let mut cold = Cold::new();
    cold.boot();
    assert!(!cold.is_loaded());
    // `psp_load_toc`: the answer's fifth word is the region's size, and nobody has to ask for the region.
    let (status, answer) = {
        let at = BASE + BUFFER;
        cold.submit(LOAD_TOC, &[at as u32, (at >> 32) as u32, IMAGE])
    };
    assert_eq!(status, 0);
    assert_ne!(answer[4], 0);
    // In any order but the last, and without one of them.
    for part in PARTS.into_iter().filter(|&part| part != 88) {
        assert_eq!(cold.load(LOAD_IP_FW, part), 0);
    }
    assert_eq!(cold.guest.findings(), Vec::<String>::new());
    assert_ne!(cold.submit(AUTOLOAD_RLC, &[]).0, 0);
    cold.guest
        .expect_violation("AUTOLOAD_RLC without a part of type 0x58");
    assert!(!cold.is_loaded());
    assert_eq!(cold.load(LOAD_IP_FW, 88), 0);
    assert_eq!(cold.submit(AUTOLOAD_RLC, &[]).0, 0);
    assert!(cold.is_loaded());
    // MI300's, and nobody's.
    for kind in [4, 5, 9, 129, 200] {
        assert_ne!(cold.load(LOAD_IP_FW, kind), 0);
        cold.guest.expect_violation("is not of this chip");
    }
    cold.guest.device.reset();
    assert!(!cold.is_loaded());
}

/// `psp_get_fw_reservation_info`: the answer behind 64 bytes, high word first. `psp_update_fw_reservation`: the first
/// part has to end with VRAM.
#[test]
fn firmware_keeps_parts_of_vram_and_tells_which() {
    let mut cold = Cold::new();
    cold.boot();
    let mut part = |id| {
        let (status, answer) = cold.submit(id, &[]);
        assert_eq!(status, 0);
        let start = (u64::from(answer[16]) << 32) | u64::from(answer[17]);
        start..start + u64::from(answer[18])
    };
    let [last, further] = [part(0x50), part(0x51)];
    assert_eq!(last.end, cold.vram().size());
    assert!(!further.is_empty() && further.end <= last.start);
    assert_eq!(cold.guest.findings(), Vec::<String>::new());
    for touched in [last.start, further.end - 4096] {
        let mut cold = Cold::new();
        cold.boot();
        put(cold.vram(), touched, 0);
        assert_eq!(cold.submit(0x50, &[]).0, 0);
        cold.guest.expect_violation(&format!(
            "written to the part of VRAM that it keeps, at {touched:#x}"
        ));
    }
}

/// Of the graphics core there is only what says that it has firmware.
#[test]
fn without_firmware_there_is_no_graphics_core() {
    let cold = Cold::new();
    assert!(!cold.is_loaded());
    assert_eq!(cold.guest.findings(), Vec::<String>::new());
    for name in [
        "GRBM_GFX_CNTL",
        "CP_MES_CNTL",
        "GCVM_CONTEXT0_CNTL",
        "SDMA0_MCU_CNTL",
        "GB_ADDR_CONFIG",
    ] {
        let before = cold.guest.findings().len();
        cold.set_gc(name, 0);
        assert_eq!(cold.gc(name), 0);
        assert_eq!(cold.guest.findings().len(), before + 2, "{name}");
    }
    cold.guest
        .expect_violation("the graphics core isn't there before its firmware");
    let cold = loaded();
    // As the engines are found: HALT of each.
    assert_eq!((cold.gc("CP_MEC_RS64_CNTL") >> 30) & 1, 1);
    assert_eq!(cold.gc("CP_ME_CNTL"), (1 << 26) | (1 << 28));
    assert_eq!((cold.gc("CP_MES_CNTL") >> 30) & 1, 1);
    assert_eq!(cold.gc("SDMA0_MCU_CNTL") & 1, 1);
    assert_ne!(cold.gc("GB_ADDR_CONFIG"), 0);
}

/// `gfx_v12_0_config_gfx_rs64` and `mes_v12_0_enable`, with steps left out.
#[test]
fn engines_begin_where_a_reset_has_found_an_address() {
    let cold = loaded();
    let active = 0xf << 26;
    cold.set_gc("CP_MEC_RS64_CNTL", active);
    cold.guest
        .expect_violation("pipe 0 of MEC starts at no address");
    for pipe in 0..4 {
        cold.select(1, pipe);
        cold.set_gc("CP_MEC_RS64_PRGRM_CNTR_START", 0x4000_0c00 + pipe);
        cold.set_gc("CP_MEC_RS64_PRGRM_CNTR_START_HI", 1);
    }
    // Written, but no reset has ended since.
    cold.set_gc("CP_MEC_RS64_CNTL", active);
    cold.guest
        .expect_violation("pipe 0 of MEC starts at no address");
    // MEC_PIPE0_RESET to MEC_PIPE3_RESET: that of the last one goes on.
    let halt = cold.gc("CP_MEC_RS64_CNTL");
    cold.set_gc("CP_MEC_RS64_CNTL", halt | (0xf << 16));
    cold.set_gc("CP_MEC_RS64_CNTL", halt | (0x8 << 16));
    cold.set_gc("CP_MEC_RS64_CNTL", active | (0x8 << 16));
    cold.guest
        .expect_violation("pipe 3 of MEC starts at no address");
    let before = cold.guest.findings().len();
    cold.set_gc("CP_MEC_RS64_CNTL", halt);
    cold.set_gc("CP_MEC_RS64_CNTL", active);
    cold.select(1, 2);
    assert_eq!(cold.gc("CP_MEC_RS64_PRGRM_CNTR_START"), 0x4000_0c02);
    // The graphics pipe's engines: PFP_PIPE0_RESET to ME_PIPE1_RESET.
    for pipe in 0..2 {
        cold.select(0, pipe);
        for name in ["CP_PFP_PRGRM_CNTR_START", "CP_ME_PRGRM_CNTR_START"] {
            cold.set_gc(name, 0x4000_0400);
        }
    }
    cold.set_gc("CP_ME_CNTL", (0xf << 18) | (1 << 26) | (1 << 28));
    cold.set_gc("CP_ME_CNTL", (1 << 26) | (1 << 28));
    cold.set_gc("CP_ME_CNTL", 0);
    // MES: MES_PIPE0_RESET, the address, MES_PIPE0_ACTIVE.
    cold.select(3, 0);
    cold.set_gc("CP_MES_CNTL", (1 << 30) | (1 << 16));
    cold.set_gc("CP_MES_PRGRM_CNTR_START", 0x8000_1000);
    cold.set_gc("CP_MES_PRGRM_CNTR_START_HI", 1);
    cold.set_gc("CP_MES_CNTL", 1 << 26);
    // CP_MES_GP3_LO: the program has left its version.
    assert_eq!(cold.gc("CP_MES_GP3_LO") & 0xfff, 0x8d);
    for engine in ["SDMA0_MCU_CNTL", "SDMA1_MCU_CNTL"] {
        cold.set_gc(engine, 0);
    }
    assert_eq!(cold.guest.findings().len(), before);
    // The second pipe was told nothing.
    cold.set_gc("CP_MES_CNTL", (1 << 26) | (1 << 27));
    cold.guest
        .expect_violation("pipe 1 of MES starts at no address");
    // Pipes have registers of their own engine alone.
    cold.select(1, 0);
    cold.set_gc("CP_MES_PRGRM_CNTR_START", 1);
    cold.guest
        .expect_violation("GRBM_GFX_CNTL selects no pipe of the engine");
}

/// `smu_msg_v1_send_debug_msg` with DEBUGSMC_MSG_Mode1Reset, by the numbers of `smu_v14_0_2_init_msg_ctl`.
fn ask_for_mode_1(guest: &Guest) {
    for (n, value) in [(53, 0), (75, 2), (54, 0)] {
        guest.write(Block::Mp1, &format!("MP1_SMN_C2PMSG_{n}"), value);
    }
}

/// `amdgpu_device_mode1_reset`: after a second (`smu_v14_0_2_mode1_reset`) until RCC_CONFIG_MEMSIZE isn't
/// ffffffff.
fn wait_until_back(guest: &Guest) {
    std::thread::sleep(std::time::Duration::from_secs(1));
    for _ in 0..10_000 {
        if guest.device.read(0xde3 * 4) != u32::MAX {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    panic!("the chip stays away");
}

/// The management unit is asked through its mailbox for debugging. Its own firmware goes with the rest, and the chip
/// starts again as from power-on.
#[test]
fn a_reset_of_the_whole_chip_loses_all_firmware() {
    let warm = || Cold {
        guest: Guest::of(&CHIP, &[]),
        fence: 0,
    };
    for mut cold in [loaded(), warm()] {
        assert!(cold.is_loaded());
        let answer = |cold: &Cold| cold.guest.read(Block::Mp1, "MP1_SMN_C2PMSG_90");
        assert_eq!(answer(&cold), 1, "its last answer");
        put(cold.vram(), BUFFER, 0x1122_3344_5566_7788);
        let boot = cold.guest.address(Block::Mp0, "MPASP_SMN_C2PMSG_35");
        ask_for_mode_1(&cold.guest);
        assert_eq!(cold.guest.findings(), Vec::<String>::new());
        assert_eq!(cold.guest.device.read(boot), u32::MAX);
        let early = "C2PMSG_35 while the whole chip is being reset";
        cold.guest.expect_violation(early);
        wait_until_back(&cold.guest);
        // `psp_v14_0_wait_for_bootloader`, and nothing is left of the secure OS.
        assert_eq!((cold.mp0(35), cold.mp0(81)), (1 << 31, 0));
        assert_eq!(answer(&cold), 0, "nobody is there");
        assert!(!cold.is_loaded());
        assert_ne!(
            get_words::<2>(cold.vram(), BUFFER),
            [0x5566_7788, 0x1122_3344]
        );
        assert_eq!(cold.guest.findings().len(), 1);
        ask_for_mode_1(&cold.guest);
        cold.guest
            .expect_violation("the management unit has no firmware");
        let before = cold.guest.findings().len();
        kernel_context(cold.guest.device.soc.memory(), Hub::Mm(0), 0x1000, 1);
        cold.fill();
        cold.boot();
        cold.load_all();
        assert_eq!(cold.submit(AUTOLOAD_RLC, &[]).0, 0);
        assert!(cold.is_loaded());
        assert_eq!(answer(&cold), 1);
        assert_eq!(cold.guest.findings().len(), before);
    }
}

/// `smu_cmn_send_debug_smc_msg` has 0 for an argument, whatever another driver has left there.
#[test]
fn a_reset_of_the_whole_chip_has_no_argument() {
    let guest = Guest::of(&CHIP, &["at power-on: used"]);
    let is_gone = || guest.device.read(0xde3 * 4) == u32::MAX;
    guest.write(Block::Mp1, "MP1_SMN_C2PMSG_75", 2);
    guest.expect_violation("the argument of a debug message is 0x");
    assert!(!is_gone());
    ask_for_mode_1(&guest);
    assert!(is_gone());
    assert_eq!(guest.findings().len(), 2, "a look at it too early");
}

/// What Linux stores after the message is the answer, for which the reset doesn't wait for ever.
#[test]
fn a_reset_of_the_whole_chip_waits_for_no_answer_to_be_cleared() {
    let guest = Guest::of(&CHIP, &[]);
    for (n, value) in [(53, 0), (75, 2)] {
        guest.write(Block::Mp1, &format!("MP1_SMN_C2PMSG_{n}"), value);
    }
    let gone = (0..10_000).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(1));
        guest.device.read(0xde3 * 4) == u32::MAX
    });
    assert!(gone);
    wait_until_back(&guest);
}
