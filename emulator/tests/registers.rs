// SPDX-License-Identifier: MIT OR Apache-2.0

//! The way of a register access, and what the blocks do with it.

use rkfd_emulator::blocks::vmhub::owns;
use rkfd_emulator::chip::mi308x::CPX as CHIP;
use rkfd_emulator::device::doorbell::NOT_RUNG;
use rkfd_emulator::device::Env as _;
use rkfd_emulator::memory::{Access, FaultReason, Hub, VmFault};
use rkfd_emulator_testkit::{hub_set_up, kernel_context, put, Guest, FAULT_DEFAULTS, VRAM};
use rkfd_hw::regs::Block;

/// Known by the tables and not modelled: a driver that needs one fails its run.
const SILENT: &[&str] = &[
    "VM_L2_BANK_SELECT_RESERVED_CID",
    "VM_L2_CACHE_PARITY_CNTL",
    "VM_L2_CGTT_BUSY_CTRL",
    "VM_L2_MM_GROUP_RT_CLASSES",
];

#[test]
fn addresses_are_the_chips_own() {
    let guest = Guest::new(&[]);
    // Word addresses that Linux has built in or that its headers give with the base of the block.
    let want = [
        (Block::Mp0, "MP0_SMN_C2PMSG_33", 0x16061),
        (Block::Nbio, "RCC_DEV0_EPF0_RCC_CONFIG_MEMSIZE", 0xde3),
        (Block::Gc, "VM_CONTEXT0_CNTL", 0x2860),
        (Block::Gc, "GRBM_GFX_CNTL", 0x2022),
        (Block::Mmhub, "VM_CONTEXT0_CNTL", 0x14ba0),
        (Block::Osssys, "IH_RB_CNTL", 0x1120),
    ];
    for (block, name, word) in want {
        assert_eq!(guest.address(block, name), word * 4, "{name}");
    }
    assert_eq!(guest.device.read(0x16061 * 4), 1 << 31);
    assert_eq!(guest.device.read(0xde3 * 4), (VRAM >> 20) as u32);
    assert_eq!(guest.findings(), Vec::<String>::new());
}

#[test]
fn what_the_tables_do_not_know_is_named_by_address() {
    let guest = Guest::new(&[]);
    assert_eq!(guest.device.read(0x7fff0), 0);
    guest.device.write(0x7fff0, 1);
    guest.device.read(0x80000);
    guest.device.read(0x16061 * 4 + 2);
    let all = guest.findings();
    assert_eq!(all.len(), 4, "{all:?}");
    assert!(
        all[0].contains("read of unknown register at 0x7fff0 (word 0x1fffc)"),
        "{all:?}"
    );
    assert!(all[1].contains("write of unknown register at 0x7fff0"));
    // Known by the table, but not modelled: named.
    guest.read(Block::Gc, "VM_L2_CACHE_PARITY_CNTL");
    guest.expect_violation("Gc: read of VM_L2_CACHE_PARITY_CNTL: not modelled");
}

/// `nbio_v7_9_enable_doorbell_selfring_aperture`.
#[test]
fn the_gpu_rings_its_own_doorbells() {
    const BAR: u64 = 0x44_0000_0000;
    let guest = Guest::new(&[]);
    let bus = &guest.device.soc.memory.bus;
    bus.set_own(vec![(BAR, 2 << 20)]);
    guest.open_doorbells();
    let ring = |value: u64| {
        let page = bus.page(BAR + 0x2000);
        page.is_some_and(|page| page.write(8, &value.to_le_bytes()))
    };
    let set = |name: &str, value| {
        let name = format!("BIF_BX_PF0_DOORBELL_SELFRING_GPA_APER_{name}");
        guest.write(Block::Nbio, &name, value);
    };
    assert!(!ring(7), "not before the driver has said where they are");
    assert_eq!(guest.device.soc.report.violations(), 0, "a program's fault");
    set("BASE_LOW", 0);
    set("BASE_HIGH", 0x44);
    assert!(!ring(7), "it isn't on");
    // Linux always sets MODE with EN.
    set("CNTL", 1);
    guest.expect_violation("is on in mode 0");
    assert!(!ring(7));
    set("CNTL", 3);
    assert!(ring(7));
    assert_eq!(guest.device.soc.doorbells.load(0x2008 / 4), 7);
    // Elsewhere: the store goes to the bus, and nobody is there.
    set("BASE_HIGH", 0x45);
    assert!(!ring(8));
    set("BASE_HIGH", 0x44);
    guest.device.reset();
    assert!(!ring(8));
    assert_eq!(guest.device.soc.doorbells.load(0x2008 / 4), 0);
}

#[test]
fn read_only_registers_refuse_writes() {
    let guest = Guest::new(&[]);
    let names = [
        (Block::Nbio, "RCC_DEV0_EPF0_RCC_CONFIG_MEMSIZE"),
        (Block::Mp0, "MP0_SMN_C2PMSG_81"),
        (Block::Mmhub, "MC_VM_FB_LOCATION_BASE"),
        (Block::Gc, "VM_L2_PROTECTION_FAULT_STATUS"),
    ];
    for (n, (block, name)) in names.into_iter().enumerate() {
        let before = guest.read(block, name);
        guest.write(block, name, !before);
        assert_eq!(guest.read(block, name), before, "{name}");
        assert_eq!(guest.findings().len(), n + 1);
        guest.expect_violation(&format!("{name} = {:#x}: read-only", !before));
    }
}

#[test]
fn a_register_beyond_the_bar_is_reached_indirectly() {
    let guest = Guest::new(&[]);
    let name = "DOORBELL0_CTRL_ENTRY_0";
    assert!(guest.address(Block::Nbio, name) >= 512 << 10);
    guest.write_indirect(Block::Nbio, name, 0x2340);
    assert_eq!(guest.read_indirect(Block::Nbio, name), 0x2340);
    guest.write_indirect(Block::Mp0, "MP0_SMN_C2PMSG_33", 0);
    guest.expect_violation("MP0_SMN_C2PMSG_33 = 0x0: read-only");
    guest.write(Block::Nbio, "BIF_BX0_PCIE_INDEX2", 0x123_4560);
    guest.read(Block::Nbio, "BIF_BX0_PCIE_DATA2");
    guest.expect_violation("indirect read of unknown register at 0x1234560");
    // Another die's: there is none.
    guest.write(
        Block::Nbio,
        "BIF_BX0_PCIE_INDEX2",
        guest.address(Block::Nbio, name) as u32,
    );
    guest.write(Block::Nbio, "BIF_BX0_PCIE_INDEX2_HI", 1);
    guest.write(Block::Nbio, "BIF_BX0_PCIE_DATA2", 1);
    assert_eq!(guest.findings().len(), 3);
}

#[test]
fn hdp_flushes_go_where_the_driver_put_them() {
    let guest = Guest::new(&[]);
    guest.write(Block::Nbio, "BIF_BX0_REMAP_HDP_MEM_FLUSH_CNTL", 0x1a000);
    guest.write(Block::Nbio, "BIF_BX0_REMAP_HDP_REG_FLUSH_CNTL", 0x1a004);
    guest.device.write(0x1a000, 0);
    assert_eq!(guest.device.read(0x1a004), 0);
    assert_eq!(guest.findings(), Vec::<String>::new());
    guest.device.write(0x1a008, 0);
    // Elsewhere registers may lie; the other chip has its hole there (Linux, `MMIO_REG_HOLE_OFFSET`).
    guest.write(Block::Nbio, "BIF_BX0_REMAP_HDP_MEM_FLUSH_CNTL", 0x7f000);
    guest.write(Block::Nbio, "BIF_BX0_REMAP_HDP_MEM_FLUSH_CNTL", 0x80000);
    assert_eq!(guest.findings().len(), 3);
}

/// A program keeps the page mapped while the device is reset, which hides the flushes until the driver shows them again.
#[test]
fn flushes_that_are_not_shown_are_no_registers_and_nobodys_fault() {
    let guest = Guest::new(&[]);
    guest.device.write(0x1a000, 0);
    assert_eq!(guest.device.read(0x1a004), 0);
    guest.write(Block::Nbio, "BIF_BX0_REMAP_HDP_MEM_FLUSH_CNTL", 0x1a000);
    guest.device.reset_function();
    guest.device.write(0x1a000, 0);
    assert_eq!(guest.findings(), Vec::<String>::new());
}

/// Linux, `hdp_v4_0_init_registers`.
#[test]
fn hdp_4_flushes_only_when_it_is_set_up() {
    let guest = Guest::new(&[]);
    let memory = &guest.device.soc.memory;
    kernel_context(memory, Hub::Gfx(0), 0x20_0000, 512);
    guest.write(Block::Nbio, "BIF_BX0_REMAP_HDP_MEM_FLUSH_CNTL", 0x1a000);
    let space = memory.space(Hub::Gfx(0), 0);
    let fb = 0x80_0000_0000u64;
    assert_eq!(space.load_u64(fb + 0x30_0000), Ok(0));
    put(memory.vram, 0x30_0000, 1);
    let seen_after_a_flush = || {
        guest.device.write(0x1a000, 0);
        space.load_u64(fb + 0x30_0000).unwrap()
    };
    assert_eq!(seen_after_a_flush(), 0);
    guest.write(Block::Hdp, "HDP_MISC_CNTL", 1);
    assert_eq!(seen_after_a_flush(), 0);
    // The frame buffer begins at 0x80_0000_0000 here.
    guest.write(Block::Hdp, "HDP_NONSURFACE_BASE", 0x8000_0000);
    assert_eq!(seen_after_a_flush(), 1);
    guest.write(Block::Hdp, "HDP_NONSURFACE_BASE_HI", 1);
    put(memory.vram, 0x30_0000, 2);
    assert_eq!(seen_after_a_flush(), 1);
    assert_eq!(guest.findings(), Vec::<String>::new());
}

#[test]
fn doorbells_work_only_while_the_aperture_is_enabled() {
    let guest = Guest::new(&[]);
    let doorbells = &guest.device.soc.doorbells;
    let bar = doorbells.file();
    put(bar, 0x40 * 4, 9);
    assert_eq!(doorbells.load(0x40), 0);
    guest.open_doorbells();
    guest.expect_violation("doorbell 0x40 rung while the aperture was disabled");
    assert_eq!(doorbells.load(0x40), 0, "it was dropped");
    // Pages behind the first may be a program's.
    guest.write(Block::Nbio, "RCC_DEV0_EPF0_RCC_DOORBELL_APER_EN", 0);
    put(bar, 0x800 * 4, 9);
    guest.open_doorbells();
    guest.expect_fault("doorbell 0x800 rung while the aperture was disabled");
    assert_eq!(doorbells.load(0x800), 0, "it was dropped");
    put(bar, 0x40 * 4, 10);
    assert_eq!(doorbells.load(0x40), 10);
    assert_eq!(guest.findings().len(), 2);
    // A queue's is noticed at once.
    guest.write(Block::Nbio, "RCC_DEV0_EPF0_RCC_DOORBELL_APER_EN", 0);
    doorbells.store(0x42, NOT_RUNG);
    assert!(!doorbells.lets_through(0x42));
    assert_eq!(guest.findings().len(), 2);
    put(bar, 0x42 * 4, 11);
    assert!(!doorbells.lets_through(0x42));
    guest.open_doorbells();
    assert!(doorbells.lets_through(0x42));
    assert_eq!(doorbells.load(0x42), NOT_RUNG, "it was dropped");
    assert_eq!(guest.findings().len(), 3);
    assert_eq!(doorbells.load(0x41), 0);
    assert_eq!(doorbells.load((2 << 20) / 4), 0);
    assert_eq!(guest.findings().len(), 5);
    guest.device.reset();
    assert!(!doorbells.is_enabled());
    assert_eq!(rkfd_emulator_testkit::get(bar, 0x40 * 4), 0);
}

#[test]
fn both_hubs_keep_their_own_contexts() {
    let guest = Guest::new(&[]);
    for (block, hub, base) in [
        (Block::Gc, Hub::Gfx(0), 0x1234_5001),
        (Block::Mmhub, Hub::Mm(0), 0x5678_9001),
    ] {
        guest.write(block, "VM_CONTEXT3_PAGE_TABLE_BASE_ADDR_LO32", base);
        guest.write(block, "VM_CONTEXT3_PAGE_TABLE_BASE_ADDR_HI32", 0x12);
        guest.write(block, "VM_CONTEXT3_PAGE_TABLE_END_ADDR_LO32", 0xffff_ffff);
        guest.write(block, "VM_CONTEXT3_PAGE_TABLE_END_ADDR_HI32", 0xf);
        hub_set_up(&mut guest.device.soc.memory.hub(hub).registers());
        for n in (0..5).filter(|_| block == Block::Mmhub) {
            for value in ["", "_VALUE"] {
                let name = format!("DAGB{n}_WRCLI_GPU_SNOOP_OVERRIDE{value}");
                guest.write(block, &name, 1 << 15);
            }
        }
        // ACTIVE_PAGE_MIGRATION_PTE_READ_RETRY.
        guest.write(block, "VM_L2_PROTECTION_FAULT_CNTL2", 1 << 18);
        guest.write(block, "VM_CONTEXT3_CNTL", 1 | (2 << 1) | (9 << 3));
        let context = guest.device.soc.memory.hub(hub).context(3);
        assert_eq!(
            (context.enabled, context.depth, context.block_size),
            (true, 2, 9)
        );
        assert_eq!(context.base, 0x12_0000_0000 | u64::from(base));
        assert_eq!((context.start, context.end), (0, 0xf_ffff_ffff));
        assert_eq!(
            guest.read(block, "VM_CONTEXT3_PAGE_TABLE_BASE_ADDR_HI32"),
            0x12
        );
    }
    assert_eq!(
        guest.device.soc.memory.hub(Hub::Gfx(0)).context(3).base,
        0x12_1234_5001
    );
    assert_eq!(guest.findings(), Vec::<String>::new());
    guest.write(Block::Gc, "VM_CONTEXT3_CNTL", 1 << 30);
    guest.expect_violation("VM_CONTEXT3_CNTL = 0x40000000: reserved bits");
    guest.device.reset();
    assert!(!guest.device.soc.memory.hub(Hub::Gfx(0)).context(3).enabled);
    assert_eq!(guest.read(Block::Gc, "MC_VM_FB_LOCATION_BASE"), 0x8000);
    assert_eq!(guest.read(Block::Gc, "MC_VM_FB_LOCATION_TOP"), 0x800f);
}

/// amdgpu asks for one before it has set the engine's range or enabled a context
/// (`amdgpu_device_mem_scratch_init`), and is answered.
#[test]
fn an_invalidation_of_nothing_is_acknowledged() {
    let guest = Guest::new(&[]);
    for block in [Block::Gc, Block::Mmhub] {
        guest.write(block, "VM_INVALIDATE_ENG17_REQ", 1 | (0x1f << 18));
        assert_eq!(guest.read(block, "VM_INVALIDATE_ENG17_ACK"), 1);
    }
    assert_eq!(guest.findings(), Vec::<String>::new());
}

#[test]
fn an_invalidation_is_acknowledged_and_works() {
    let guest = Guest::new(&[]);
    guest.set_up_hdp(0x80_0000_0000);
    let memory = &guest.device.soc.memory;
    rkfd_emulator_testkit::user_context(memory, Hub::Gfx(0), 2, 0x10_0000);
    put(memory.vram, 0x10_0000, 0x10_1001);
    put(memory.vram, 0x10_1000, 0x10_2001 | (9 << 59));
    // A page of 2 MiB at address 0.
    put(memory.vram, 0x10_2000, 0x20_0061);
    let space = memory.space(Hub::Gfx(0), 2);
    assert!(space.load_u32(0).is_ok());
    // An empty entry (`gmc_v9_0_get_vm_pde`).
    put(memory.vram, 0x10_2000, 1 << 12);
    memory.flush_hdp();
    // Per VMID, L2 PTEs, L2 PDE0-2, L1 PTEs.
    let request = (1 << 2) | (0x1f << 18);
    guest.write(Block::Gc, "VM_INVALIDATE_ENG17_REQ", request);
    guest.expect_violation("address range is not the whole one");
    assert!(space.load_u32(0).is_ok());
    guest.write(
        Block::Gc,
        "VM_INVALIDATE_ENG17_ADDR_RANGE_LO32",
        0xffff_ffff,
    );
    guest.write(Block::Gc, "VM_INVALIDATE_ENG17_ADDR_RANGE_HI32", 0x1f);
    // One that leaves the first cache alone does not make the translation go.
    guest.write(Block::Gc, "VM_INVALIDATE_ENG17_REQ", request & !(1 << 22));
    assert!(space.load_u32(0).is_ok());
    guest.write(Block::Gc, "VM_INVALIDATE_ENG17_REQ", request);
    assert!(space.load_u32(0).is_ok(), "the entry was in L2");
    // FLUSH_TYPE 2 makes L2 drop it; what went on meanwhile has put it back into the TLB.
    guest.write(Block::Gc, "VM_INVALIDATE_ENG17_REQ", request | (2 << 16));
    assert!(space.load_u32(0).is_ok());
    guest.write(Block::Gc, "VM_INVALIDATE_ENG17_REQ", request);
    assert_eq!(guest.read(Block::Gc, "VM_INVALIDATE_ENG17_ACK"), 1 << 2);
    assert_eq!(
        space.load_u32(0).unwrap_err().reason,
        FaultReason::Invalid(0)
    );
    // The semaphore is taken by reading.
    assert_eq!(guest.read(Block::Mmhub, "VM_INVALIDATE_ENG17_SEM"), 1);
    assert_eq!(guest.read(Block::Mmhub, "VM_INVALIDATE_ENG17_SEM"), 0);
    guest.write(Block::Mmhub, "VM_INVALIDATE_ENG17_SEM", 0);
    assert_eq!(guest.read(Block::Mmhub, "VM_INVALIDATE_ENG17_SEM"), 1);
    assert_eq!(guest.findings().len(), 1);
}

#[test]
fn the_first_fault_is_captured_until_it_is_cleared() {
    let guest = Guest::new(&[]);
    let hub = guest.device.soc.memory.hub(Hub::Gfx(0));
    hub_set_up(&mut hub.registers());
    guest.write(Block::Gc, "VM_CONTEXT9_CNTL", FAULT_DEFAULTS);
    let va = 0x7fff_1234_5000;
    let fault = |va, access, reason| VmFault {
        hub: Hub::Gfx(0),
        vmid: 9,
        va,
        access,
        reason,
    };
    guest
        .device
        .soc
        .vm_fault(&fault(va, Access::Write, FaultReason::Permission));
    let status = guest.read(Block::Gc, "VM_L2_PROTECTION_FAULT_STATUS");
    assert_eq!((status >> 20) & 0xf, 9, "VMID");
    assert_eq!((status >> 18) & 1, 1, "RW");
    assert_eq!((status >> 4) & 0xf, 1 << 2, "PERMISSION_FAULTS: write");
    assert_eq!(status & 1, 0);
    assert_eq!(
        guest.read(Block::Gc, "VM_L2_PROTECTION_FAULT_ADDR_LO32"),
        (va >> 12) as u32
    );
    assert_eq!(
        guest.read(Block::Gc, "VM_L2_PROTECTION_FAULT_ADDR_HI32"),
        (va >> 44) as u32
    );
    assert_eq!(guest.read(Block::Mmhub, "VM_L2_PROTECTION_FAULT_STATUS"), 0);
    guest
        .device
        .soc
        .vm_fault(&fault(0x1000, Access::Read, FaultReason::Invalid(2)));
    assert_eq!(
        guest.read(Block::Gc, "VM_L2_PROTECTION_FAULT_STATUS"),
        status | 1
    );
    assert_eq!(
        guest.read(Block::Gc, "VM_L2_PROTECTION_FAULT_ADDR_LO32"),
        (va >> 12) as u32
    );
    guest.write(Block::Gc, "VM_L2_PROTECTION_FAULT_CNTL", 1 | 0x1ffc);
    assert_eq!(guest.read(Block::Gc, "VM_L2_PROTECTION_FAULT_STATUS"), 0);
    guest
        .device
        .soc
        .vm_fault(&fault(0x1000, Access::Read, FaultReason::Invalid(2)));
    assert_eq!(
        (guest.read(Block::Gc, "VM_L2_PROTECTION_FAULT_STATUS") >> 1) & 7,
        3,
        "WALKER_ERROR: PDE1"
    );
    // A process' fault is its own affair; the kernel's is the driver's bug.
    assert_eq!(guest.findings(), Vec::<String>::new());
    let kernel = VmFault {
        vmid: 0,
        ..fault(0x1000, Access::Read, FaultReason::Range)
    };
    guest.device.soc.vm_fault(&kernel);
    guest.expect_violation("Gfx hub VMID 0: Read of 0x1000: Range");
}

#[test]
fn pasids_bind_vmids() {
    let guest = Guest::new(&[]);
    guest.write(Block::Athub, "ATC_VMID8_PASID_MAPPING", (1 << 31) | 0x8001);
    assert_eq!(
        guest.read(Block::Athub, "ATC_VMID_PASID_MAPPING_UPDATE_STATUS"),
        1 << 8
    );
    guest.write(Block::Athub, "ATC_VMID_PASID_MAPPING_UPDATE_STATUS", 1 << 8);
    assert_eq!(
        guest.read(Block::Athub, "ATC_VMID_PASID_MAPPING_UPDATE_STATUS"),
        0
    );
    let pasids = &guest.device.soc.pasids;
    assert_eq!((pasids.get(8), pasids.get(9)), (Some(0x8001), None));
    pasids.bind(9, Some(0x8001));
    assert_eq!(pasids.vmids_of(0x8001), (1 << 8) | (1 << 9));
    assert_eq!(
        guest.read(Block::Athub, "ATC_VMID9_PASID_MAPPING"),
        (1 << 31) | 0x8001
    );
    assert_eq!(guest.read(Block::Osssys, "IH_VMID_9_LUT"), 0x8001);
    assert_eq!(guest.read(Block::Osssys, "IH_VMID_9_LUT_MM"), 0x8001);
    assert_eq!(
        guest.read(Block::Osssys, "IH_VMID_8_LUT"),
        0,
        "written by whoever binds it"
    );
    assert_eq!(guest.findings(), Vec::<String>::new());
}

#[test]
fn a_cold_device_has_no_firmware() {
    let cold = Guest::new(&["at power-on: cold"]);
    assert_eq!(cold.read(Block::Mp0, "MP0_SMN_C2PMSG_81"), 0);
    assert_eq!(cold.read(Block::Mp0, "MP0_SMN_C2PMSG_33"), 1 << 31);
    let warm = Guest::new(&[]);
    assert_ne!(warm.read(Block::Mp0, "MP0_SMN_C2PMSG_81"), 0);
    assert_eq!(
        (warm.read(Block::Nbio, "RCC_STRAP0_RCC_DEV0_EPF0_STRAP0") >> 24) & 0xf,
        1
    );
}

#[test]
fn a_dead_device_reads_all_ones() {
    let guest = Guest::new(&["at the 2000th any register access: surprise removal"]);
    let mut last = 0;
    for _ in 0..3000 {
        last = guest.read(Block::Mp0, "MP0_SMN_C2PMSG_33");
    }
    assert_eq!(last, u32::MAX);
    assert_eq!(guest.device.read(0x7fff0), u32::MAX);
    assert_eq!(guest.findings(), Vec::<String>::new());
}

#[test]
fn every_known_register_answers_but_these() {
    let guest = Guest::new(&[]);
    let mut silent = Vec::new();
    let mut counts = Vec::new();
    for table in CHIP.blocks {
        let mut answered = 0;
        for reg in table.table.regs {
            let name = reg.reg.name;
            let window = ["BIF_BX0_PCIE_", "BIF_BX_PF0_MM_"];
            if window.iter().any(|start| name.starts_with(start))
                || guest.find(table.block, name).is_none()
            {
                continue;
            }
            let before = guest.findings().len();
            guest.read_indirect(table.block, name);
            if guest.findings().len() == before {
                answered += 1;
            } else if table.block != Block::Gc || owns(&guest.device.soc.memory, reg) {
                silent.push(name);
            }
        }
        counts.push((table.block, answered, table.table.regs.len()));
    }
    println!("{counts:?}\n{silent:?}");
    silent.sort_unstable();
    silent.dedup();
    assert_eq!(silent, SILENT);
}

/// What is not let through to the graphics core is lost, and no aperture opens before the XCCs that
/// the chip lacks are fenced (`nbio_v7_9_init_registers`).
#[test]
fn doorbells_reach_the_graphics_core_only_by_its_ways() {
    let guest = Guest::new(&[]);
    let nbio = |name, value| guest.write_indirect(Block::Nbio, name, value);
    let aperture = "RCC_DEV0_EPF0_RCC_DOORBELL_APER_EN";
    let doorbells = &guest.device.soc.doorbells;
    for (name, value) in [
        ("XCC_DOORBELL_FENCE", 0xfe),
        ("BIFC_GFX_INT_MONITOR_MASK", 0x7ff),
    ] {
        nbio(aperture, 1);
        guest.expect_violation(&format!("the aperture is enabled before {name} has"));
        assert!(!doorbells.is_enabled());
        nbio(name, value);
    }
    nbio(aperture, 1);
    assert!(doorbells.is_enabled());
    assert!(!doorbells.reaches_graphics());
    nbio("BIFC_DOORBELL_ACCESS_EN_PF", 0x7_ffff);
    assert!(!doorbells.reaches_graphics());
    nbio("BIFC_DOORBELL_ACCESS_EN_PF", 0xf_ffff);
    assert!(doorbells.reaches_graphics());
    guest.device.reset();
    assert!(!doorbells.reaches_graphics());

    let guest = Guest::of(&rkfd_emulator::chip::navi48::CHIP, &[]);
    let entry = |n| format!("GDC_S2A0_S2A_DOORBELL_ENTRY_{n}_CTRL");
    let reaches = || guest.device.soc.doorbells.reaches_graphics();
    guest.write(Block::Nbio, &entry(0), 0x3000_0007);
    assert!(!reaches());
    guest.write(Block::Nbio, &entry(3), 0x3000_000d);
    assert!(reaches());
    // The port's enable.
    guest.write(Block::Nbio, &entry(3), 0x3000_000c);
    assert!(!reaches());
}

/// `nbio_v7_9_ih_control` sets the page before the rest.
#[test]
fn interrupts_need_a_page_for_their_dummy_reads() {
    let guest = Guest::new(&[]);
    guest.write(Block::Nbio, "BIF_BX0_INTERRUPT_CNTL", 0);
    guest.expect_violation("INTERRUPT_CNTL2 has no page");
    guest.write(Block::Nbio, "BIF_BX0_INTERRUPT_CNTL2", 0x1234);
    guest.write(Block::Nbio, "BIF_BX0_INTERRUPT_CNTL", 0);
    assert_eq!(guest.findings().len(), 1);
}

/// `nbio_v7_9_sdma_doorbell_range` of the engine with number 6, the third of the second base die: its range is among the
/// first die's, and its port is the third's, on its own die (`amdgpu_reg_smn_v1_0_get_base`: bit 34, and the die in bits 33:32).
#[test]
fn doorbells_of_another_base_die_leave_by_its_own_port() {
    let guest = Guest::of(&rkfd_emulator::chip::mi308x::SPX, &[]);
    let doorbells = &guest.device.soc.doorbells;
    let on_die = |die: u32, name: &str, value: u32| {
        let at = guest.address(Block::Nbio, name) as u32;
        guest.write(Block::Nbio, "BIF_BX0_PCIE_INDEX2", at);
        guest.write(Block::Nbio, "BIF_BX0_PCIE_INDEX2_HI", die | 4);
        guest.write(Block::Nbio, "BIF_BX0_PCIE_DATA2", value);
        guest.write(Block::Nbio, "BIF_BX0_PCIE_INDEX2_HI", 0);
    };
    let first = (0x100 + 6 * 10) * 2;
    guest.write_indirect(Block::Nbio, "DOORBELL0_CTRL_ENTRY_7", first | (20 << 10));
    // ENABLE, AWID, RANGE_OFFSET, RANGE_SIZE, AWADDR_31_28.
    let port = |id: u32, address: u32| 1 | (id << 1) | (id << 7) | (20 << 17) | (address << 28);
    // The first die's leads to its own engine.
    guest.write_indirect(Block::Nbio, "S2A_DOORBELL_ENTRY_5_CTRL", port(9, 8));
    assert!(!doorbells.reaches_sdma(6, first));
    on_die(2, "S2A_DOORBELL_ENTRY_5_CTRL", port(9, 8));
    assert!(!doorbells.reaches_sdma(6, first));
    on_die(1, "S2A_DOORBELL_ENTRY_5_CTRL", port(8, 2));
    assert!(!doorbells.reaches_sdma(6, first));
    on_die(1, "S2A_DOORBELL_ENTRY_5_CTRL", port(9, 8));
    assert!(doorbells.reaches_sdma(6, first));
    assert!(!doorbells.reaches_sdma(2, first) && !doorbells.reaches_sdma(10, first));

    // `nbio_v7_9_init_registers`: what isn't the first die's passes nothing on (SHUB_SLV_MODE).
    for (name, value) in [
        ("XCC_DOORBELL_FENCE", 0xf0),
        ("BIFC_GFX_INT_MONITOR_MASK", 0x7ff),
    ] {
        guest.write_indirect(Block::Nbio, name, value);
    }
    for die in 1..4 {
        guest.write_indirect(Block::Nbio, "RCC_DEV0_EPF0_RCC_DOORBELL_APER_EN", 1);
        guest.expect_violation(&format!("XCC_DOORBELL_FENCE of base die {die} has 0x10000"));
        on_die(die, "XCC_DOORBELL_FENCE", 1 << 16);
    }
    guest.write_indirect(Block::Nbio, "RCC_DEV0_EPF0_RCC_DOORBELL_APER_EN", 1);
    assert!(doorbells.is_enabled());
    guest.device.reset();
    assert!(!doorbells.reaches_sdma(6, first));
}
