// SPDX-License-Identifier: MIT OR Apache-2.0

//! What Navi 48 has of its own: discovery, hubs, page tables of gfx12, doorbell routing, IH 7.0.
//! Numbers are Linux's, repeated here on purpose.

use rkfd_emulator::chip::navi48::CHIP;
use rkfd_emulator::device::interrupt::Interrupt;
use rkfd_emulator::device::Env as _;
use rkfd_emulator::memory::hub::Registers;
use rkfd_emulator::memory::walk::{walk, Path, Place, Translation};
use rkfd_emulator::memory::{Access, FaultReason, Hub, Memory, VmFault};
use rkfd_emulator::rules::Rules;
use rkfd_emulator_testkit::{get_words, hub_set_up, memory_of, put, Guest, RAM, VRAM};
use rkfd_hw::regs::Block;

fn u32_at(b: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(b[at..at + 4].try_into().unwrap())
}

#[test]
fn discovery_tells_gfx1201_and_64_compute_units() {
    let binary = CHIP.discovery(&Rules::none());
    // The IP table: 12 bytes of header, then table_list[0].offset.
    let ip = usize::from(u16::from_le_bytes([binary[12], binary[13]]));
    let mut at = usize::from(u16::from_le_bytes([binary[ip + 16], binary[ip + 17]]));
    let count = u16::from_le_bytes([binary[at + 2], binary[at + 3]]);
    at += 4;
    let mut found = Vec::new();
    for _ in 0..count {
        let id = u16::from_le_bytes([binary[at], binary[at + 1]]);
        let version = (binary[at + 4], binary[at + 5], binary[at + 6]);
        found.push((id, version));
        at += 8 + 4 * usize::from(binary[at + 3]);
    }
    // Ids of `include/soc15_hw_ip.h`.
    for expected in [
        (11, (12, 0, 1)),
        (42, (7, 0, 1)),
        (43, (7, 0, 1)),
        (34, (4, 1, 0)),
        (35, (4, 1, 0)),
        (40, (7, 0, 0)),
        (41, (7, 0, 0)),
        (108, (6, 3, 1)),
        (255, (14, 0, 3)),
    ] {
        assert!(found.contains(&expected), "{expected:?} in {found:?}");
    }
    // gc_info_v1_3: engines at byte 12, wgp0 per array 16, wgp1 20, wave size 56, arrays 76.
    let gc = usize::from(u16::from_le_bytes([binary[20], binary[21]]));
    let table = &binary[gc..];
    assert_eq!(u32_at(table, 0), 0x4347, "table id");
    assert_eq!(u32_at(table, 4), 1 | (3 << 16));
    assert_eq!(u32_at(table, 8), 164);
    let (se, wgp0, wgp1, sa) = (
        u32_at(table, 12),
        u32_at(table, 16),
        u32_at(table, 20),
        u32_at(table, 76),
    );
    assert_eq!((se, wgp0, wgp1, sa), (4, 4, 0, 2));
    assert_eq!(se * sa * (wgp0 + wgp1) * 2, 64);
    assert_eq!(u32_at(table, 56), 32, "wave size");
    assert_eq!(CHIP.gc.active_cus(), 64);
}

#[test]
fn registers_lie_where_linux_reads_them_before_discovery() {
    let guest = Guest::of(&CHIP, &[]);
    // mmRCC_CONFIG_MEMSIZE and mmMP0_SMN_C2PMSG_33 of amdgpu_discovery.c.
    assert_eq!(guest.device.read(0xde3 * 4), (VRAM >> 20) as u32);
    assert_eq!(guest.device.read(0x16061 * 4), 1 << 31);
    assert_eq!(guest.findings(), [""; 0]);
}

#[test]
fn a_cold_chip_has_no_firmware() {
    for (rules, alive) in [(&[][..], true), (&["at power-on: cold"][..], false)] {
        let guest = Guest::of(&CHIP, rules);
        assert_eq!(guest.read(Block::Mp0, "MPASP_SMN_C2PMSG_81") != 0, alive);
        let status = guest.read(Block::Gc, "RLC_RLCS_BOOTLOAD_STATUS");
        assert_eq!(status >> 31 == 1, alive);
    }
}

#[test]
fn hubs_keep_their_contexts_and_invalidate() {
    let guest = Guest::of(&CHIP, &[]);
    for (block, prefix) in [(Block::Gc, "GC"), (Block::Mmhub, "MM")] {
        let name = |rest: &str| format!("{prefix}{rest}");
        let hub = match block {
            Block::Gc => Hub::Gfx(0),
            _ => Hub::Mm(0),
        };
        plain_levels(&mut guest.device.soc.memory.hub(hub).registers());
        // ENABLE_CONTEXT, PAGE_TABLE_DEPTH 3, block size 9 - 9.
        let cntl = 1 | (3 << 1);
        stored(&guest, block, prefix);
        guest.write(block, &name("VM_CONTEXT1_CNTL"), cntl);
        guest.write(
            block,
            &name("VM_CONTEXT1_PAGE_TABLE_BASE_ADDR_LO32"),
            0x5001,
        );
        let context = guest.device.soc.memory.hub(hub).context(1);
        assert!(context.enabled);
        assert_eq!((context.depth, context.block_size), (3, 0));
        assert_eq!(context.base, 0x5001);
        guest.write(
            block,
            &name("VM_INVALIDATE_ENG17_ADDR_RANGE_LO32"),
            u32::MAX,
        );
        guest.write(block, &name("VM_INVALIDATE_ENG17_ADDR_RANGE_HI32"), 0x1f);
        // gfxhub_v12_0_get_invalidate_req: L2 PTEs and PDEs, L1 PTEs; the bits are one higher
        // than on gfx9, since the flush type has three.
        guest.write(block, &name("VM_INVALIDATE_ENG17_REQ"), 0x00f8_0002);
        assert_eq!(guest.read(block, &name("VM_INVALIDATE_ENG17_ACK")), 2);
        assert_eq!(
            guest.read(block, &name("VM_L2_PROTECTION_FAULT_STATUS_LO32")),
            0
        );
        assert_eq!(
            guest.read(block, &name("VM_L2_PROTECTION_FAULT_STATUS_HI32")),
            0
        );
    }
    assert_eq!(guest.findings(), [""; 0]);
    guest.write(Block::Gc, "GCVM_CONTEXT1_CNTL", 1 << 31);
    guest.expect_violation("reserved bits");
    guest.write(Block::Gc, "GCVM_INVALIDATE_ENG17_REQ", 1 << 27);
    guest.expect_violation("GCVM_INVALIDATE_ENG17_REQ = 0x8000000: reserved bits or flush type");
    guest.write(Block::Gc, "GCMC_VM_FB_LOCATION_BASE", 0);
    guest.expect_violation("GCMC_VM_FB_LOCATION_BASE = 0x0: read-only");
}

/// A hub set up for page tables that do not translate further: BANK_SELECT 9,
/// L2_CACHE_BIGK_FRAGMENT_SIZE 6.
/// What Linux stores in registers of a hub whose effects aren't modelled: ACTIVE_PAGE_MIGRATION_PTE_READ_RETRY, and
/// `regGCVM_L2_CNTL5_DEFAULT`.
fn stored(guest: &Guest, block: Block, prefix: &str) {
    for (name, value) in [
        ("VM_L2_PROTECTION_FAULT_CNTL2", 1 << 18),
        ("VM_L2_CNTL5", 0x3fe0),
    ] {
        guest.write(block, &format!("{prefix}{name}"), value);
    }
}

fn plain_levels(r: &mut Registers) {
    hub_set_up(r);
    r.l2_cntl3[0] = 0x8013_0009;
}

const ROOT: u64 = 0x10_0000;
const VA: u64 = 0x1234_5678_9000;

/// A context as `gfxhub_v12_0_setup_vmid_config` makes it, and four levels for `VA`: PDB2, PDB1,
/// PDB0, PTB, in VRAM from `ROOT` on.
fn four_levels(memory: &Memory, leaf: u64) {
    let mut r = memory.hub(Hub::Gfx(0)).registers();
    r.cntl[3] = 1 | (3 << 1);
    r.base[3] = [ROOT as u32 | 1, 0];
    r.end[3] = [u32::MAX, 0xf];
    drop(r);
    for (level, shift) in [39, 30, 21, 12].into_iter().enumerate() {
        let table = ROOT + level as u64 * 0x1000;
        let entry = match level {
            3 => leaf,
            _ => (table + 0x1000) | 1,
        };
        put(memory.vram, table + ((VA >> shift) & 0x1ff) * 8, entry);
    }
    memory.flush_hdp();
}

fn translate(memory: &Memory, va: u64) -> Result<Translation, FaultReason> {
    let context = memory.hub(Hub::Gfx(0)).context(3);
    let mut path = Path::default();
    let found = walk(memory, Hub::Gfx(0), 3, &context, va, &mut path);
    // The walk tells each entry that it reads, and the last is the page's.
    assert_eq!(path.at.len(), path.entries.len());
    found
}

fn fault(memory: &Memory, access: Access) -> VmFault {
    let page = memory.page(Hub::Gfx(0), 3, VA, access);
    page.err().expect("the access fails")
}

// AMDGPU_PTE_VALID, READABLE, WRITEABLE; AMDGPU_PTE_MTYPE_GFX12(UC).
const RW: u64 = 1 | (1 << 5) | (1 << 6);
const UC: u64 = 3 << 54;

#[test]
fn four_levels_translate() {
    // Entries of processes lack AMDGPU_PTE_IS_PTE, those of the GART have it: both are defined.
    for mark in [0, 1 << 63] {
        let (memory, _ram, report) = memory_of(&CHIP, &[]);
        four_levels(&memory, 0x20_0000 | RW | UC | mark);
        let found = translate(&memory, VA + 0x123).unwrap();
        assert_eq!(found.place, Place::Vram(0x20_0000));
        assert_eq!((found.start, found.len), (VA, 0x1000));
        let fault = fault(&memory, Access::Execute);
        assert_eq!(fault.reason, FaultReason::Permission);
        assert_eq!(report.violations(), 0);
    }
}

#[test]
fn a_directory_entry_maps_its_range_by_bit_63() {
    let (memory, _ram, report) = memory_of(&CHIP, &[]);
    four_levels(&memory, 0);
    // PDB0 is the third table: 2 MiB of guest RAM by AMDGPU_PDE_PTE_GFX12, SYSTEM, SNOOPED.
    let at = ROOT + 0x2000 + ((VA >> 21) & 0x1ff) * 8;
    put(memory.vram, at, RAM | RW | (1 << 63) | 2 | 4);
    memory.flush_hdp();
    let found = translate(&memory, VA).unwrap();
    assert_eq!(found.len, 2 << 20);
    assert_eq!(found.start, VA & !0x1f_ffff);
    assert_eq!(found.place, Place::Bus(RAM));
    assert_eq!(report.violations(), 0);
}

#[test]
fn entries_of_gfx9_are_not_those_of_gfx12() {
    // gfx9's PDE_PTE (54) in a directory is a reserved bit of gfx12's; so is its MTYPE (58:57).
    for (level, entry, expected) in [
        (2, 0x20_0000 | RW | (1 << 54), FaultReason::Malformed(1)),
        (3, 0x20_0000 | RW | (1 << 57), FaultReason::Malformed(0)),
        // PRT is bit 56; compressed memory (58) is not modelled.
        (3, 0x20_0000 | RW | (1 << 56), FaultReason::Malformed(0)),
        (3, 0x20_0000 | RW | (1 << 58), FaultReason::Malformed(0)),
        // AMDGPU_PTE_EXECUTABLE alone (`amdgpu_vm_pt_clear`).
        (3, 1 << 4, FaultReason::Invalid(0)),
    ] {
        let (memory, _ram, report) = memory_of(&CHIP, &[]);
        four_levels(&memory, 0x20_0000 | RW);
        let shift = if level == 2 { 21 } else { 12 };
        let at = ROOT + level * 0x1000 + ((VA >> shift) & 0x1ff) * 8;
        put(memory.vram, at, entry);
        memory.flush_hdp();
        let reason = translate(&memory, VA).unwrap_err();
        assert_eq!(reason, expected, "{entry:#x}");
        assert_eq!(
            report.violations() == 1,
            expected != FaultReason::Invalid(0)
        );
    }
}

/// `ih_v7_0_irq_init` sends faults of the graphics hub to ring 1, and no unload takes that back.
#[test]
fn a_route_that_another_driver_left_loses_interrupts() {
    for (rules, left) in [(&[][..], 0x1_000a), (&["at power-on: cold"][..], 0)] {
        let guest = Guest::of(&CHIP, rules);
        let read = || guest.read(Block::Osssys, "IH_RING1_CLIENT_CFG_DATA");
        assert_eq!(read(), left);
        guest.write(Block::Osssys, "IH_RING1_CLIENT_CFG_INDEX", 3);
        assert_eq!(read(), 0);
        // Client 0x14, any source.
        guest.write(Block::Osssys, "IH_RING1_CLIENT_CFG_DATA", 0x14);
        guest.write(Block::Osssys, "IH_RING1_CLIENT_CFG_INDEX", 0);
        assert_eq!(read(), left);
        ih_ring(&guest);
        let raise = |client, source| {
            guest.device.soc.interrupt(&Interrupt {
                client,
                source,
                ring_id: 0,
                vmid: 0,
                hub: Hub::Gfx(0),
                data: [7; 4],
            });
            get_words::<1>(guest.ram, 0x1000)[0] & 0xffff
        };
        assert_eq!(raise(0x14, 181), 0, "routed");
        guest.expect_violation("client 0x14, source 0xb5 is routed to ring 1, which is off");
        let faults = raise(0x0a, 0);
        assert_eq!(faults == 0, left != 0);
        assert_eq!(guest.findings().len(), 1 + usize::from(left != 0));
        if left != 0 {
            assert_eq!(raise(0x0a, 1), 0x010a, "another source");
        }
        guest.device.reset();
        assert_eq!(read(), left);
    }
    let guest = Guest::of(&CHIP, &[]);
    guest.write(Block::Osssys, "IH_RING1_CLIENT_CFG_DATA", 1 << 17);
    guest.expect_violation("reserved bits");
}

#[test]
fn a_fault_of_the_graphics_hub_is_the_gfx_client_s() {
    let guest = Guest::of(&CHIP, &[]);
    ih_ring(&guest);
    guest.write(Block::Osssys, "IH_RING1_CLIENT_CFG_DATA", 0);
    // No page: AMDGPU_PTE_EXECUTABLE alone.
    four_levels(&guest.device.soc.memory, 1 << 4);
    plain_levels(&mut guest.device.soc.memory.hub(Hub::Gfx(0)).registers());
    // VMID 3: faults to the default page; VALID_PROTECTION_FAULT_ENABLE_INTERRUPT is bit 16.
    let control = 1 | (3 << 1) | (1 << 16) | 0x00aa_a800;
    stored(&guest, Block::Gc, "GC");
    guest.write(Block::Gc, "GCVM_CONTEXT3_CNTL", control);
    let fault = fault(&guest.device.soc.memory, Access::Write);
    guest.device.soc.vm_fault(&fault);
    let entry: [u32; 8] = get_words(guest.ram, 0x1000);
    // SOC21_IH_CLIENTID_GFX 0xa, UTCL2_1_0__SRCID__FAULT 0, VMID 3; the page in the data.
    assert_eq!(entry[0] & 0xffff, 0x0a);
    assert_eq!((entry[0] >> 24) & 0xf, 3);
    assert_eq!(entry[4], (VA >> 12) as u32);
    assert_eq!(entry[5] & 0xf, (VA >> 44) as u32 & 0xf);
    let status = guest.read(Block::Gc, "GCVM_L2_PROTECTION_FAULT_STATUS_LO32");
    // RW (18) and VMID (23:20).
    assert_eq!(((status >> 18) & 1, (status >> 20) & 0xf), (1, 3));
    assert_eq!(guest.findings(), [""; 0]);
}

/// A ring of 4 KiB at 0x1000 of RAM by bus address, as `ih_v7_0_enable_ring` makes one.
fn ih_ring(guest: &Guest) {
    let w = |name, value| guest.write(Block::Osssys, name, value);
    w("IH_CHICKEN", 1 << 4);
    // CLIENT18_IS_STORM_CLIENT, FLOOD_CNTL_ENABLE, DELAY 3.
    w("IH_STORM_CLIENT_LIST_CNTL", 1 << 18);
    w("IH_INT_FLOOD_CNTL", 1 << 3);
    w("IH_MSI_STORM_CTRL", 3);
    w("IH_RB_BASE", ((RAM + 0x1000) >> 8) as u32);
    w("IH_RB_BASE_HI", ((RAM + 0x1000) >> 40) as u32);
    w("IH_RB_WPTR_ADDR_LO", RAM as u32);
    w("IH_RB_WPTR_ADDR_HI", (RAM >> 32) as u32);
    // RB_ENABLE, RB_SIZE 2^10 words, WPTR_WRITEBACK, ENABLE_INTR, MC_SNOOP, MC_SPACE 1.
    let cntl = 1 | (10 << 1) | (1 << 8) | (1 << 17) | (1 << 20) | (1 << 28);
    w("IH_RB_CNTL", cntl);
}

/// A second ring of 256 bytes at 0x2000 of RAM, as `ih_v7_0_enable_ring` makes it.
fn ih_ring_1(guest: &Guest) {
    let w = |name, value| guest.write(Block::Osssys, name, value);
    w("IH_RB_BASE_RING1", ((RAM + 0x2000) >> 8) as u32);
    w("IH_RB_BASE_HI_RING1", ((RAM + 0x2000) >> 40) as u32);
    // RB_ENABLE, RB_SIZE 2^6 words, WPTR_WRITEBACK (which Linux sets), RB_FULL_DRAIN_ENABLE, MC_SNOOP, MC_SPACE 1.
    let cntl = 1 | (6 << 1) | (1 << 8) | (1 << 9) | (1 << 20) | (1 << 28);
    w("IH_RB_CNTL_RING1", cntl);
    // SELF_IV_FORCE_WPTR_UPDATE_ENABLE, _TIMEOUT 8 (`force_update_wptr_for_self_int`).
    w("IH_CNTL2", (1 << 8) | 8);
}

/// Raises a fault of the graphics hub.
fn raise_fault(guest: &Guest, n: u32) {
    guest.device.soc.interrupt(&Interrupt {
        client: 0x0a,
        source: 0,
        ring_id: 0,
        vmid: 8,
        hub: Hub::Gfx(0),
        data: [n, 0, 0, 0],
    });
}

/// How many entries ring 0 has, and what the last says of ring 1: client, source and ring, write pointer.
fn told(guest: &Guest) -> (u32, u32, u32) {
    let wptr = guest.read(Block::Osssys, "IH_RB_WPTR");
    let last = u64::from(wptr.saturating_sub(32));
    let entry: [u32; 8] = get_words(guest.ram, 0x1000 + last);
    (wptr / 32, entry[0], entry[4])
}

/// `ih_v7_0_self_irq`: client 0 (IH), source 0, ring id 1, the write pointer in the data.
#[test]
fn an_entry_in_ring_0_tells_of_those_in_ring_1() {
    const SELF: u32 = 1 << 16;
    let guest = Guest::of(&CHIP, &[]);
    ih_ring(&guest);
    ih_ring_1(&guest);
    raise_fault(&guest, 1);
    let entry: [u32; 8] = get_words(guest.ram, 0x2000);
    assert_eq!((entry[0], entry[4]), (0x0800_000a, 1));
    assert_eq!(told(&guest), (1, SELF, 32));
    // Told once until the driver has moved the read pointer.
    raise_fault(&guest, 2);
    assert_eq!(told(&guest), (1, SELF, 32));
    assert_eq!(guest.read(Block::Osssys, "IH_RB_WPTR_RING1"), 64);
    guest.write(Block::Osssys, "IH_RB_RPTR_RING1", 32);
    assert_eq!(told(&guest), (2, SELF, 64));
    guest.write(Block::Osssys, "IH_RB_RPTR_RING1", 64);
    assert_eq!(told(&guest).0, 2, "nothing is left");
    // By doorbell, as Linux does it: the next behind ring 0's.
    guest.open_doorbells();
    guest.write(Block::Osssys, "IH_DOORBELL_RPTR_RING1", 0x2f2 | (1 << 28));
    raise_fault(&guest, 3);
    guest.device.soc.doorbells.store_u32(0x2f2, 96);
    guest.device.soc.interrupts.poll();
    assert_eq!(guest.read(Block::Osssys, "IH_RB_RPTR_RING1"), 96);
    // What doesn't fit is dropped: ring 1 doesn't overflow.
    for n in 0..9 {
        raise_fault(&guest, n);
    }
    assert_eq!(guest.read(Block::Osssys, "IH_RB_WPTR_RING1"), 64);
    assert_eq!(
        get_words::<5>(guest.ram, 0x2020)[4],
        6,
        "the last that fitted"
    );
    assert_eq!(guest.findings(), [""; 0]);
    // Without the forced update the entry has the pointer of the time before.
    guest.write(Block::Osssys, "IH_CNTL2", 8);
    guest.write(Block::Osssys, "IH_RB_RPTR_RING1", 96);
    let present = guest.read(Block::Osssys, "IH_RB_WPTR_RING1");
    assert_eq!((told(&guest).2, present), (128, 64));
    // ENABLE_INTR is ring 0's alone.
    guest.write(Block::Osssys, "IH_RB_CNTL_RING1", (6 << 1) | (1 << 17));
    guest.expect_violation("bits 0x20000 are reserved");
}

#[test]
fn ih_7_0_fills_its_ring_and_takes_the_read_pointer_by_doorbell() {
    let guest = Guest::of(&CHIP, &[]);
    ih_ring(&guest);
    guest.open_doorbells();
    // AMDGPU_NAVI10_DOORBELL_IH 0x178, doubled; nbif_v6_3_1_ih_doorbell_range: enable, offset, 2.
    let port = 1 | (0x2f0 << 7) | (2 << 17);
    guest.write(Block::Nbio, "GDC_S2A0_S2A_DOORBELL_ENTRY_1_CTRL", port);
    guest.write(Block::Osssys, "IH_DOORBELL_RPTR", 0x2f0 | (1 << 28));
    guest.device.soc.interrupt(&Interrupt {
        client: 0x14,
        source: 181,
        ring_id: 0x4,
        vmid: 8,
        hub: Hub::Gfx(0),
        data: [7, 0, 0, 0],
    });
    let entry: [u32; 8] = get_words(guest.ram, 0x1000);
    assert_eq!((entry[0], entry[4]), (0x0804_b514, 7));
    assert_eq!(
        get_words::<1>(guest.ram, 0),
        [32],
        "write pointer in memory"
    );
    guest.device.soc.doorbells.store_u32(0x2f0, 32);
    guest.device.soc.interrupts.poll();
    assert_eq!(guest.read(Block::Osssys, "IH_RB_RPTR"), 32);
    assert_eq!(guest.findings(), [""; 0]);
    // RB_GPU_TS_ENABLE (bit 7) of 4.4.2 is gone.
    guest.write(Block::Osssys, "IH_RB_CNTL", 1 | (10 << 1) | (1 << 7));
    guest.expect_violation("bits 0x80 are reserved or not modelled");
}

#[test]
fn a_doorbell_outside_the_port_s_range_does_not_reach_ih() {
    let guest = Guest::of(&CHIP, &[]);
    ih_ring(&guest);
    guest.open_doorbells();
    guest.write(
        Block::Nbio,
        "GDC_S2A0_S2A_DOORBELL_ENTRY_1_CTRL",
        1 | (0x2f0 << 7),
    );
    guest.write(Block::Osssys, "IH_DOORBELL_RPTR", 0x2f0 | (1 << 28));
    guest.device.soc.doorbells.store_u32(0x2f0, 32);
    guest.device.soc.interrupts.poll();
    guest.expect_violation("not routed");
}

/// Page faults in a row are a storm that the handler holds back, if its driver says so (`ih_v7_0_irq_init`).
#[test]
fn interrupts_are_enabled_after_what_holds_storms_back() {
    for (name, value) in [
        ("IH_STORM_CLIENT_LIST_CNTL", 1 << 18),
        ("IH_INT_FLOOD_CNTL", 1 << 3),
        ("IH_MSI_STORM_CTRL", 3),
    ] {
        let guest = Guest::of(&CHIP, &[]);
        ih_ring(&guest);
        assert_eq!(guest.findings(), [""; 0]);
        let cntl = guest.read(Block::Osssys, "IH_RB_CNTL");
        guest.write(Block::Osssys, "IH_RB_CNTL", cntl & !1);
        guest.write(Block::Osssys, name, 0);
        guest.write(Block::Osssys, "IH_RB_CNTL", cntl);
        guest.expect_violation("page faults would come as a storm");
        assert_eq!(guest.findings().len(), 1, "without {value:#x} in {name}");
    }
}

/// `hdp_v7_0_update_clock_gating`: ATOMIC_MEM_POWER_CTRL_EN is bit 0, its LS, DS and SD follow, RC's begin at bit 16.
#[test]
fn memories_of_hdp_sleep_by_rules() {
    let guest = Guest::of(&CHIP, &[]);
    let power = |value| guest.write(Block::Hdp, "HDP_MEM_POWER_CTRL", value);
    power(0);
    guest.expect_violation("clock isn't forced to run");
    guest.write(Block::Hdp, "HDP_CLK_CNTL", 1 << 27);
    // What Linux does: shut-down on, off, light sleep on.
    for value in [0x9_0009, 0, 0x3_0003, 0] {
        power(value);
    }
    for (value, why) in [
        (0xd_0009, "one of light sleep, deep sleep and shut-down"),
        (0x8_0000, "needs its power controlled"),
        (0x0_0001, "needs its power controlled"),
    ] {
        power(value);
        guest.expect_violation(why);
        power(0);
    }
    power(0x9_0009);
    power(0x3_0003);
    guest.expect_violation("isn't turned off first");
    // Another driver may have chosen otherwise.
    for (rules, left) in [
        (&[][..], 0x5_0003),
        (&["at power-on: used"], 0x3_0005),
        (&["at power-on: cold"], 0),
    ] {
        let guest = Guest::of(&CHIP, rules);
        assert_eq!(guest.read(Block::Hdp, "HDP_MEM_POWER_CTRL"), left);
    }
}

/// `athub_v4_1_0_set_clockgating` sets CG_ENABLE and CG_MEM_LS_ENABLE.
#[test]
fn what_is_not_gated_takes_power() {
    let guest = Guest::of(&CHIP, &["at power-on: cold"]);
    let awake = || guest.device.soc.load.awake();
    assert_eq!(awake(), 2, "nothing is gated yet");
    for (block, name, value, left) in [
        (Block::Athub, "ATHUB_MISC_CNTL", 1 << 6, 2),
        (Block::Athub, "ATHUB_MISC_CNTL", 3 << 6, 1),
        (Block::Hdp, "HDP_CLK_CNTL", 1 << 27, 1),
        (Block::Hdp, "HDP_MEM_POWER_CTRL", 0x9_0009, 1),
        (Block::Hdp, "HDP_CLK_CNTL", 0, 0),
    ] {
        guest.write(block, name, value);
        assert_eq!(awake(), left, "{value:#x} in {name}");
    }
    guest.device.reset();
    assert_eq!(awake(), 2);
}
