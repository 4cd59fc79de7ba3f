// SPDX-License-Identifier: MIT OR Apache-2.0

//! A guest without a virtual machine: RAM, registers by name, page tables by hand.

pub mod cache_counters;
pub mod code;
pub mod counters;
pub mod fairness;
#[path = "../../../rust/chip/handlers.rs"]
mod handlers;
pub mod packets;
pub mod saved;

/// The trap handlers of gfx942 and gfx1201 that rkfd gives its processes. They save and load waves, and call a handler
/// of the program's if their memory names one: its address, and that of its own memory.
pub static TRAP_HANDLERS: [&[u32]; 2] = [&handlers::GFX942, &handlers::GFX1201];

/// The cleaner shader of gfx942 that rkfd has.
pub static CLEANER: &[u32] = &handlers::CLEANER;

use rkfd_emulator::chip::device::{Checks, Config, Device};
use rkfd_emulator::chip::mi308x::CPX as CHIP;
use rkfd_emulator::chip::router::Router;
use rkfd_emulator::chip::Chip;
use rkfd_emulator::memory::host::Mapping;
use rkfd_emulator::memory::hub::Registers;
use rkfd_emulator::memory::{Hub, Memory};
use rkfd_emulator::report::Report;
use rkfd_emulator::rules::Rules;
use rkfd_emulator::trace::Trace;
use rkfd_hw::regs::Block;
use std::sync::Arc;

pub const VRAM: u64 = 256 << 20;
/// The chip's serial number.
pub const SERIAL: u64 = 0x1eed_0123_4567_89ab;
/// Bus address and size of guest RAM.
pub const RAM: u64 = 0x1_0000_0000;
pub const RAM_SIZE: u64 = 16 << 20;

/// A device with guest RAM, and the guest's way to its registers.
pub struct Guest {
    pub device: Arc<Device>,
    pub ram: Mapping,
    router: Router,
}

impl Guest {
    pub fn new(rules: &[&str]) -> Self {
        Self::of(&CHIP, rules)
    }

    pub fn of(chip: &'static Chip, rules: &[&str]) -> Self {
        Self::traced(chip, rules, Trace::off())
    }

    pub fn traced(chip: &'static Chip, rules: &[&str], trace: Arc<Trace>) -> Self {
        let device = Device::new(Config {
            chip,
            vram_size: VRAM,
            serial: SERIAL,
            rules: Rules::of(rules).unwrap(),
            report: Report::new(None),
            trace,
            checks: Checks::default(),
        })
        .unwrap();
        let ram = ram(&device.soc.memory);
        Self {
            device,
            ram,
            router: Router::new(chip),
        }
    }

    /// Sets HDP 4 up as Linux does (`hdp_v4_0_init_registers`), for VRAM that begins at this address: its
    /// flushes have an effect from now on.
    pub fn set_up_hdp(&self, vram_start: u64) {
        self.write(Block::Hdp, "HDP_MISC_CNTL", 1);
        self.write(Block::Hdp, "HDP_NONSURFACE_BASE", (vram_start >> 8) as u32);
        self.write(
            Block::Hdp,
            "HDP_NONSURFACE_BASE_HI",
            (vram_start >> 40) as u32,
        );
    }

    pub fn address(&self, block: Block, name: &str) -> u64 {
        self.find(block, name)
            .unwrap_or_else(|| panic!("no register {name}"))
    }

    /// `None` for a name whose register is known by another one.
    pub fn find(&self, block: Block, name: &str) -> Option<u64> {
        self.router.address_of(block, name)
    }

    pub fn read(&self, block: Block, name: &str) -> u32 {
        self.device.read(self.address(block, name))
    }

    pub fn write(&self, block: Block, name: &str, value: u32) {
        self.device.write(self.address(block, name), value);
    }

    /// Enables the doorbell aperture as Linux does (`nbio_v7_9_init_registers`, of one XCC; and
    /// `nbif_v6_3_1_gc_doorbell_init`), with ways to the graphics core.
    pub fn open_doorbells(&self) {
        for (name, value) in [
            ("XCC_DOORBELL_FENCE", 0xfe),
            ("BIFC_GFX_INT_MONITOR_MASK", 0x7ff),
            ("BIFC_DOORBELL_ACCESS_EN_PF", 0xf_ffff),
            ("GDC_S2A0_S2A_DOORBELL_ENTRY_0_CTRL", 0x3000_0007),
            ("GDC_S2A0_S2A_DOORBELL_ENTRY_3_CTRL", 0x3000_000d),
        ] {
            match self.find(Block::Nbio, name) {
                Some(at) if at >= 512 << 10 => self.write_indirect(Block::Nbio, name, value),
                Some(_) => self.write(Block::Nbio, name, value),
                None => {}
            }
        }
        self.write(Block::Nbio, "RCC_DEV0_EPF0_RCC_DOORBELL_APER_EN", 1);
    }

    /// Through PCIE_INDEX2 and PCIE_DATA2, as for registers beyond BAR5.
    pub fn write_indirect(&self, block: Block, name: &str, value: u32) {
        self.write(
            Block::Nbio,
            "BIF_BX0_PCIE_INDEX2",
            self.address(block, name) as u32,
        );
        self.write(Block::Nbio, "BIF_BX0_PCIE_DATA2", value);
    }

    pub fn read_indirect(&self, block: Block, name: &str) -> u32 {
        self.write(
            Block::Nbio,
            "BIF_BX0_PCIE_INDEX2",
            self.address(block, name) as u32,
        );
        self.read(Block::Nbio, "BIF_BX0_PCIE_DATA2")
    }

    /// What was recorded so far: `violation: ...` for the driver's, `fault: ...` for programs'.
    pub fn findings(&self) -> Vec<String> {
        let all = self.device.soc.report.findings();
        all.iter().map(ToString::to_string).collect()
    }

    /// A violation of the driver contains `text`.
    pub fn expect_violation(&self, text: &str) {
        self.expect("violation: ", text);
    }

    /// A fault of a program contains `text`.
    pub fn expect_fault(&self, text: &str) {
        self.expect("fault: ", text);
    }

    fn expect(&self, kind: &str, text: &str) {
        let all = self.findings();
        let mut found = all.iter().filter_map(|line| line.strip_prefix(kind));
        assert!(
            found.any(|line| line.contains(text)),
            "no {kind}'{text}' in {all:?}"
        );
    }
}

/// Gives a device RAM.
pub fn ram(memory: &Memory) -> Mapping {
    let ram = Mapping::anonymous("ram", RAM_SIZE).unwrap();
    memory.bus.map(
        RAM,
        RAM_SIZE,
        0,
        Some(ram.fd().unwrap().try_clone().unwrap()),
    );
    ram
}

/// Memory alone, with guest RAM at [`RAM`].
pub fn memory(rules: &[&str]) -> (Arc<Memory>, Mapping, Arc<Report>) {
    memory_of(&CHIP, rules)
}

pub fn memory_of(chip: &'static Chip, rules: &[&str]) -> (Arc<Memory>, Mapping, Arc<Report>) {
    let report = Report::new(None);
    let rules = Rules::of(rules).unwrap();
    let memory = Memory::new(&chip.layout(VRAM, &rules), rules, report.clone()).unwrap();
    let ram = ram(&memory);
    (memory, ram, report)
}

pub fn put(mapping: Mapping, at: u64, value: u64) {
    assert!(mapping.part(at, 8).unwrap().write(0, &value.to_le_bytes()));
}

pub fn get(mapping: Mapping, at: u64) -> u64 {
    let mut bytes = [0; 8];
    assert!(mapping.part(at, 8).unwrap().read(0, &mut bytes));
    u64::from_le_bytes(bytes)
}

pub fn get_words<const N: usize>(mapping: Mapping, at: u64) -> [u32; N] {
    std::array::from_fn(|i| {
        let mut bytes = [0; 4];
        assert!(mapping
            .part(at + 4 * i as u64, 4)
            .unwrap()
            .read(0, &mut bytes));
        u32::from_le_bytes(bytes)
    })
}

/// Sets a hub up as Linux does before it enables a context: caches on and empty, no identity
/// aperture, default pages for accesses that lead nowhere (page 1 of VRAM, and of guest RAM).
pub fn hub_set_up(r: &mut Registers) {
    // ENABLE_L1_TLB, SYSTEM_ACCESS_MODE 3, ENABLE_ADVANCED_DRIVER_MODEL, MTYPE UC.
    r.l1_cntl = 1 | (3 << 3) | (1 << 6) | (3 << 11);
    r.l2_cntl = 1;
    // BANK_SELECT 12, L2_CACHE_BIGK_FRAGMENT_SIZE 9.
    r.l2_cntl3 = [0x8014_800c, 1];
    r.caches_valid = true;
    r.aperture_default = [1, 0];
    r.fault_default = [(RAM >> 12) as u32 + 1, 0];
    r.identity = [[u32::MAX, 0xf], [0, 0]];
    // All bits of *_PROTECTION_FAULT_ENABLE_DEFAULT.
    r.fault_cntl |= 0x1ffc;
}

/// The bits of `VM_CONTEXTn_CNTL` of gfx9 that send faulting accesses to the default page.
pub const FAULT_DEFAULTS: u32 = 0x0055_5400;

/// Programs a user VMID as Linux does with `translate_further`: two directories, then blocks of
/// 2^18 pages.
pub fn user_context(memory: &Memory, hub: Hub, vmid: u8, root: u64) {
    let mut r = memory.hub(hub).registers();
    let n = usize::from(vmid);
    hub_set_up(&mut r);
    // ENABLE_CONTEXT, PAGE_TABLE_DEPTH 2, PAGE_TABLE_BLOCK_SIZE 9.
    r.cntl[n] = 1 | (2 << 1) | (9 << 3) | FAULT_DEFAULTS;
    r.base[n] = [root as u32 | 1, (root >> 32) as u32];
    r.start[n] = [0, 0];
    r.end[n] = [0xffff_ffff, 0xf];
}

/// Programs context 0 and the apertures as Linux does: frame buffer in the system aperture, a flat
/// GART table at `table` (VRAM) for `pages` pages from address 0.
pub fn kernel_context(memory: &Memory, hub: Hub, table: u64, pages: u32) {
    let mut r = memory.hub(hub).registers();
    hub_set_up(&mut r);
    let [fb_base, fb_top, _] = r.fb;
    r.agp = [0, 0xff_ffff, 0];
    r.system = [fb_base << 6, (fb_top << 6) | 0x3f];
    r.cntl[0] = 1;
    r.base[0] = [table as u32 | 1, (table >> 32) as u32];
    r.start[0] = [0, 0];
    r.end[0] = [pages - 1, 0];
}
