// SPDX-License-Identifier: MIT OR Apache-2.0

//! What a VM hub wants before a context is enabled and before an access faults: each step of
//! `gart_enable` (Linux, `gfxhub_v1_2.c`, `mmhub_v1_8.c`, `gfxhub_v12_0.c`, `mmhub_v4_1_0.c`) is
//! taken away once.

use rkfd_emulator::chip::{mi308x, navi48, Chip};
use rkfd_emulator::device::Env as _;
use rkfd_emulator::memory::{Access, FaultReason, Hub, VmFault};
use rkfd_emulator_testkit::{kernel_context, put, user_context, Guest, VRAM};
use rkfd_hw::regs::Block;

/// A hub of a chip: its block, what stands before its registers' names, the context's control, and
/// the registers with the values that Linux gives them.
struct Case {
    chip: &'static Chip,
    block: Block,
    prefix: &'static str,
    control: u32,
    steps: Vec<(String, u32)>,
}

/// `CNTL3` is VM_L2_CNTL3, which says whether entries translate further.
fn case(chip: &'static Chip, block: Block, prefix: &'static str, cntl3: u32, control: u32) -> Case {
    let steps = [
        ("MC_VM_SYSTEM_APERTURE_DEFAULT_ADDR_LSB", 0x123),
        ("VM_L2_PROTECTION_FAULT_DEFAULT_ADDR_LO32", 0x456),
        ("MC_VM_MX_L1_TLB_CNTL", 1 | (3 << 3) | (1 << 6) | (3 << 11)),
        // CONTEXT1_IDENTITY_ACCESS_MODE 1.
        ("VM_L2_CNTL", 1 | (1 << 19)),
        // INVALIDATE_ALL_L1_TLBS, INVALIDATE_L2_CACHE.
        ("VM_L2_CNTL2", 3),
        ("VM_L2_CNTL3", cntl3),
        // 0xc1 without VMC_TAP_{PDE,PTE}_REQUEST_PHYSICAL.
        ("VM_L2_CNTL4", 1),
        ("VM_L2_CONTEXT1_IDENTITY_APERTURE_LOW_ADDR_HI32", 0xf),
        // ACTIVE_PAGE_MIGRATION_PTE_READ_RETRY.
        ("VM_L2_PROTECTION_FAULT_CNTL2", 1 << 18),
    ];
    let mut steps: Vec<_> = steps.map(|(name, value)| (name.to_string(), value)).into();
    if block == Block::Mmhub && prefix.is_empty() {
        for n in 0..5 {
            for value in ["", "_VALUE"] {
                let name = format!("DAGB{n}_WRCLI_GPU_SNOOP_OVERRIDE{value}");
                steps.push((name, 1 << 15));
            }
        }
    }
    if !prefix.is_empty() {
        steps.push(("VM_L2_CNTL5".into(), 0x3fe0));
    }
    Case {
        chip,
        block,
        prefix,
        control,
        steps,
    }
}

fn cases() -> [Case; 4] {
    let further = 1 | (2 << 1) | (9 << 3);
    let plain = 1 | (3 << 1);
    [
        case(&mi308x::CPX, Block::Gc, "", 0x8014_800c, further),
        case(&mi308x::CPX, Block::Mmhub, "", 0x8014_800c, further),
        case(&navi48::CHIP, Block::Gc, "GC", 0x8013_0009, plain),
        case(&navi48::CHIP, Block::Mmhub, "MM", 0x8013_0009, plain),
    ]
}

/// Sets a hub up but for one step, and enables a process' context.
fn enable(case: &Case, without: Option<usize>) -> Guest {
    let guest = Guest::of(case.chip, &[]);
    for (n, (name, value)) in case.steps.iter().enumerate() {
        if without != Some(n) {
            let name = match name.starts_with("DAGB") {
                true => name.clone(),
                false => format!("{}{name}", case.prefix),
            };
            guest.write(case.block, &name, *value);
        }
    }
    let name = format!("{}VM_CONTEXT5_CNTL", case.prefix);
    guest.write(case.block, &name, case.control);
    guest
}

#[test]
fn a_context_is_enabled_only_in_a_hub_that_is_set_up() {
    for case in cases() {
        let hub = match case.block {
            Block::Gc => Hub::Gfx(0),
            _ => Hub::Mm(0),
        };
        let guest = enable(&case, None);
        assert_eq!(guest.findings(), [""; 0]);
        assert!(guest.device.soc.memory.hub(hub).context(5).enabled);
        for (n, (name, _)) in case.steps.iter().enumerate() {
            let guest = enable(&case, Some(n));
            let all = guest.findings();
            assert!(
                matches!(&all[..], [one] if one.contains("the context is enabled ")),
                "without {name}: {all:?}"
            );
            assert!(!guest.device.soc.memory.hub(hub).context(5).enabled);
        }
    }
}

#[test]
fn caches_are_invalidated_after_they_are_turned_on() {
    let [case, ..] = cases();
    let guest = enable(&case, None);
    guest.write(case.block, "VM_CONTEXT5_CNTL", 0);
    for cache in ["MC_VM_MX_L1_TLB_CNTL", "VM_L2_CNTL"] {
        let on = guest.read(case.block, cache);
        guest.write(case.block, cache, on & !1);
        // While a cache is off there is nothing in it to invalidate.
        guest.write(case.block, "VM_L2_CNTL2", 3);
        guest.write(case.block, cache, on);
        guest.write(case.block, "VM_CONTEXT5_CNTL", case.control);
        guest.expect_violation("before the caches that were turned on are invalidated");
        guest.write(case.block, "VM_L2_CNTL2", 3);
    }
    let report = &guest.device.soc.report;
    assert_eq!(report.violations(), 2);
    guest.write(case.block, "VM_CONTEXT5_CNTL", case.control);
    assert_eq!(report.violations(), 2);
}

#[test]
fn an_identity_aperture_is_not_translated() {
    let guest = Guest::new(&[]);
    let memory = &guest.device.soc.memory;
    user_context(memory, Hub::Gfx(0), 2, 0x10_0000);
    put(memory.vram, 0x10_0000, 0x10_1001);
    put(memory.vram, 0x10_1000, 0x10_2001 | (9 << 59));
    // A page of 2 MiB at address 0.
    put(memory.vram, 0x10_2000, 0x20_0061);
    let space = memory.space(Hub::Gfx(0), 2);
    let name = |rest| format!("VM_L2_CONTEXT1_IDENTITY_APERTURE_{rest}");
    assert!(space.load_u32(0x3000).is_ok());
    guest.write(Block::Gc, &name("LOW_ADDR_LO32"), 4);
    guest.write(Block::Gc, &name("LOW_ADDR_HI32"), 0);
    guest.write(Block::Gc, &name("HIGH_ADDR_LO32"), 5);
    memory.hub(Hub::Gfx(0)).invalidate(1 << 2);
    assert!(space.load_u32(0x3000).is_ok());
    memory.hub(Hub::Gfx(0)).invalidate(1 << 2);
    let inside = space.load_u32(0x5000).map_err(|fault| fault.reason);
    assert_eq!(inside, Err(FaultReason::Mode));
}

/// What is not redirected to the default page stops who made the access.
#[test]
fn a_fault_of_a_process_needs_a_default_page() {
    let fault = VmFault {
        hub: Hub::Gfx(0),
        vmid: 2,
        va: 0x1000,
        access: Access::Write,
        reason: FaultReason::Permission,
    };
    let all = [
        ("VM_CONTEXT2_CNTL", 1 << 20, "the context's"),
        ("VM_L2_PROTECTION_FAULT_CNTL", 1 << 11, "the hub's"),
    ];
    for (name, bit, text) in all {
        let guest = Guest::new(&[]);
        user_context(&guest.device.soc.memory, Hub::Gfx(0), 2, 0x10_0000);
        guest.device.soc.vm_fault(&fault);
        assert_eq!(guest.findings(), [""; 0]);
        let old = guest.read(Block::Gc, name);
        guest.write(Block::Gc, name, old & !bit);
        guest.device.soc.vm_fault(&fault);
        guest.expect_violation(&format!("the access goes nowhere: {text}"));
        // Another kind of fault has a bit of its own.
        let read = VmFault {
            access: Access::Read,
            ..fault
        };
        guest.device.soc.vm_fault(&read);
        assert_eq!(guest.findings().len(), 1);
    }
    let guest = Guest::new(&[]);
    user_context(&guest.device.soc.memory, Hub::Gfx(0), 2, 0x10_0000);
    guest.write(Block::Gc, "VM_L2_PROTECTION_FAULT_DEFAULT_ADDR_LO32", 0);
    guest.write(Block::Gc, "VM_L2_PROTECTION_FAULT_DEFAULT_ADDR_HI32", 0);
    guest.device.soc.vm_fault(&fault);
    guest.expect_violation("the access goes nowhere: the default address is 0");
    guest.write(Block::Gc, "VM_L2_PROTECTION_FAULT_DEFAULT_ADDR_LO32", 1);
    // CRASH_ON_NO_RETRY_FAULT.
    let old = guest.read(Block::Gc, "VM_L2_PROTECTION_FAULT_CNTL");
    guest.write(Block::Gc, "VM_L2_PROTECTION_FAULT_CNTL", old | (1 << 30));
    guest.device.soc.vm_fault(&fault);
    guest.expect_violation("the access goes nowhere: the hub stops at faults");
}

/// Node 3 of a hive of eight, in each of which a node has 192 GiB: the frame buffer is the hive's,
/// and this device's memory is the fourth part of it (`gfxhub_v1_2_get_xgmi_info`).
#[test]
fn a_node_of_a_hive_has_its_own_part_of_the_frame_buffer() {
    const SEGMENT: u64 = 192 << 30;
    let guest = Guest::new(&["at power-on: node 3"]);
    let memory = &guest.device.soc.memory;
    assert_eq!(guest.read(Block::Gc, "MC_VM_XGMI_LFB_CNTL"), 3 | (7 << 4));
    let segment = guest.read(Block::Gc, "MC_VM_XGMI_LFB_SIZE");
    assert_eq!(u64::from(segment) << 24, SEGMENT);
    let base = u64::from(guest.read(Block::Mmhub, "MC_VM_FB_LOCATION_BASE")) << 24;
    let top = u64::from(guest.read(Block::Mmhub, "MC_VM_FB_LOCATION_TOP")) << 24;
    assert_eq!(top + (1 << 24) - base, 8 * SEGMENT);

    // Address space 0, without translation: the others' memory is not this device's.
    kernel_context(memory, Hub::Mm(0), 3 * SEGMENT + 0x30_0000, 512);
    let kernel = memory.space(Hub::Mm(0), 0);
    put(memory.vram, 0x50_0000, 0x77);
    let own = base + 3 * SEGMENT;
    guest.set_up_hdp(own);
    assert_eq!(kernel.load_u64(own + 0x50_0000), Ok(0x77));
    for other in [base, own - 0x1000, own + VRAM, own + SEGMENT] {
        let what = kernel.load_u64(other).map_err(|fault| fault.reason);
        assert_eq!(what, Err(FaultReason::NoMemory), "{other:#x}");
    }
    // By page tables, which lie in VRAM themselves: GART's first entry is valid, writable, readable.
    put(memory.vram, 0x30_0000, (3 * SEGMENT + 0x50_0000) | 0x61);
    assert_eq!(kernel.load_u64(0), Ok(0x77));
    put(memory.vram, 0x30_0008, 0x50_0061);
    memory.flush_hdp();
    assert!(kernel.load_u64(0x1000).is_err());
    guest.expect_violation("access beyond VRAM");
    let alone = Guest::new(&[]);
    assert_eq!(alone.read(Block::Gc, "MC_VM_XGMI_LFB_CNTL"), 0);
}
