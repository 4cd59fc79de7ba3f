// SPDX-License-Identifier: MIT OR Apache-2.0

//! Address spaces: page tables are built by hand, entry by entry, from Linux's definitions
//! (`amdgpu/amdgpu_vm.h`; the numbers are repeated here on purpose).

mod empty;
mod hdp;
mod reuse;

use rkfd_emulator::memory::host::Mapping;
use rkfd_emulator::memory::{Access, FaultReason, Hub, Memory};
use rkfd_emulator_testkit::{get, kernel_context, memory, put, user_context, RAM, RAM_SIZE, VRAM};

const V: u64 = 1 << 0;
/// System memory, snooped.
const S: u64 = (1 << 1) | SNOOPED;
const SNOOPED: u64 = 1 << 2;
const X: u64 = 1 << 4;
const R: u64 = 1 << 5;
const W: u64 = 1 << 6;
const PDE_PTE: u64 = 1 << 54;
/// MTYPE is bits 58:57: NC 0, RW 1, CC 2, UC 3.
const MTYPE: u64 = 1 << 57;
const UC: u64 = 3 * MTYPE;
const TF: u64 = 1 << 56;
const BFS_9: u64 = 9 << 59;
/// What `amdgpu_vm_pt_clear` leaves in PDB2 and PDB1, PDB0, and PTB.
const EMPTY: [u64; 3] = [PDE_PTE, 1 << 12, X];

/// Tables of VMID 8 in VRAM: PDB2, PDB1, PDB0, PTB.
const PDB2: u64 = 0x10_0000;
const PDB1: u64 = 0x10_1000;
const PDB0: u64 = 0x10_2000;
const PTB: u64 = 0x10_3000;
const VMID: u8 = 8;

/// An address with another index at every level: PDB2 3, PDB1 5, PDB0 7, PTB 9.
const VA: u64 = (3 << 39) | (5 << 30) | (7 << 21) | (9 << 12);

/// Writes an entry as the host does, and flushes HDP.
fn put_entry(memory: &Memory, at: u64, entry: u64) {
    put(memory.vram, at, entry);
    memory.flush_hdp();
}

/// Tables that map VA's page by `pte`.
fn map(memory: &Memory, pte: u64) {
    user_context(memory, Hub::Gfx(0), VMID, PDB2);
    let [directory, block, last] = EMPTY;
    for (table, entry) in [
        (PDB2, directory),
        (PDB1, directory),
        (PDB0, block),
        (PTB, last),
    ] {
        for n in 0..512 {
            put(memory.vram, table + n * 8, entry);
        }
    }
    put(memory.vram, PDB2 + 3 * 8, PDB1 | V);
    put(memory.vram, PDB1 + 5 * 8, PDB0 | V | BFS_9);
    put(memory.vram, PDB0 + 7 * 8, PTB | V | TF);
    put(memory.vram, PTB + 9 * 8, pte);
    memory.flush_hdp();
}

fn read(memory: &Memory, va: u64) -> Result<u64, FaultReason> {
    memory
        .space(Hub::Gfx(0), VMID)
        .load_u64(va)
        .map_err(|fault| fault.reason)
}

fn mark(mapping: Mapping, at: u64) {
    put(mapping, at, 0xfeed_0000_0000_0000 | at);
}

#[test]
fn four_levels_reach_vram_and_system_memory() {
    let (memory, ram, report) = memory(&[]);
    map(&memory, 0x80_0000 | V | R | W);
    mark(memory.vram, 0x80_0ff8);
    assert_eq!(read(&memory, VA + 0xff8), Ok(0xfeed_0000_0080_0ff8));
    memory
        .space(Hub::Gfx(0), VMID)
        .store_u32(VA + 4, 77)
        .unwrap();
    assert_eq!(get(memory.vram, 0x80_0000), 77 << 32);
    // The next page is not mapped, and system memory is by bus address.
    assert_eq!(read(&memory, VA + 0x1000), Err(FaultReason::Invalid(0)));
    put_entry(&memory, PTB + 10 * 8, (RAM + 0x5000) | V | S | UC | R);
    mark(ram, 0x5008);
    assert_eq!(read(&memory, VA + 0x1008), Ok(0xfeed_0000_0000_5008));
    assert_eq!(report.findings(), []);
}

#[test]
fn a_copy_crosses_pages_that_are_not_neighbours() {
    let (memory, ram, report) = memory(&[]);
    map(&memory, 0x80_0000 | V | R | W);
    put_entry(&memory, PTB + 10 * 8, (RAM + 0x5000) | V | S | UC | R | W);
    let bytes: Vec<u8> = (0..64).collect();
    let space = memory.space(Hub::Gfx(0), VMID);
    space.write(VA + 0xfe0, &bytes).unwrap();
    let mut back = [0; 64];
    space.read(VA + 0xfe0, &mut back).unwrap();
    assert_eq!(back[..], bytes[..]);
    assert_eq!(
        get(memory.vram, 0x80_0fe0),
        u64::from_le_bytes([0, 1, 2, 3, 4, 5, 6, 7])
    );
    assert_eq!(
        get(ram, 0x5000),
        u64::from_le_bytes([32, 33, 34, 35, 36, 37, 38, 39])
    );
    // A copy that ends in a hole names the first byte that failed.
    let fault = space.write(VA + 0x1ff0, &bytes).unwrap_err();
    assert_eq!(
        (fault.va, fault.access, fault.vmid),
        (VA + 0x2000, Access::Write, VMID)
    );
    assert_eq!(report.findings(), []);
}

#[test]
fn every_level_can_be_invalid() {
    let (memory, _, report) = memory(&[]);
    let [directory, block, last] = EMPTY;
    for (at, empty, level) in [
        (PDB2 + 3 * 8, directory, 2),
        (PDB1 + 5 * 8, directory, 1),
        (PDB0 + 7 * 8, block, 0),
        (PTB + 9 * 8, last, 0),
    ] {
        map(&memory, 0x80_0000 | V | R);
        put_entry(&memory, at, empty);
        assert_eq!(
            read(&memory, VA),
            Err(FaultReason::Invalid(level)),
            "entry at {at:#x}"
        );
        // An invalid entry is not kept: no invalidation is needed once it is valid.
        map(&memory, 0x80_0000 | V | R);
        assert!(read(&memory, VA).is_ok());
        memory.hub(Hub::Gfx(0)).invalidate(1 << VMID);
    }
    // A base without VALID, and a context that is not enabled.
    memory.hub(Hub::Gfx(0)).registers().base[8][0] &= !1;
    assert_eq!(read(&memory, VA), Err(FaultReason::Invalid(3)));
    memory.hub(Hub::Gfx(0)).registers().cntl[8] &= !1;
    assert_eq!(read(&memory, VA), Err(FaultReason::Disabled));
    assert_eq!(report.findings(), []);
}

#[test]
fn large_pages_at_every_directory() {
    let (memory, _, report) = memory(&[]);
    // 2 MiB: PDB0's entry without TF.
    map(&memory, 0);
    put_entry(&memory, PDB0 + 7 * 8, 0x80_0000 | V | R | (9 << 7));
    mark(memory.vram, 0x80_0000 + 0x12_3450);
    assert_eq!(
        read(&memory, (3 << 39) | (5 << 30) | (7 << 21) | 0x12_3450),
        Ok(0xfeed_0000_0092_3450)
    );
    // 1 GiB: PDB1's entry with PDE_PTE. VRAM is smaller than that: its end is recorded.
    memory.hub(Hub::Gfx(0)).invalidate(1 << VMID);
    put_entry(&memory, PDB1 + 5 * 8, PDE_PTE | V | R | (18 << 7));
    mark(memory.vram, VRAM - 8);
    assert_eq!(
        read(&memory, (3 << 39) | (5 << 30) | (VRAM - 8)),
        Ok(0xfeed_0000_0000_0000 | (VRAM - 8))
    );
    assert_eq!(report.findings(), []);
    assert_eq!(
        read(&memory, (3 << 39) | (5 << 30) | VRAM),
        Err(FaultReason::NoMemory)
    );
    assert_eq!(report.violations(), 1);
}

#[test]
fn rights_are_kept_apart() {
    let (memory, _, report) = memory(&[]);
    let all = [Access::Read, Access::Write, Access::Atomic, Access::Execute];
    let cases = [
        (R, [true, false, false, false]),
        (W, [false, true, false, false]),
    ];
    let more = [
        (R | W, [true, true, true, false]),
        (X, [false, false, false, true]),
        (0, [false; 4]),
    ];
    for (rights, want) in cases.into_iter().chain(more) {
        map(&memory, 0x80_0000 | V | rights);
        memory.hub(Hub::Gfx(0)).invalidate(1 << VMID);
        for (access, want) in all.into_iter().zip(want) {
            let got = memory.page(Hub::Gfx(0), VMID, VA, access);
            assert_eq!(got.is_ok(), want, "{rights:#x} {access:?}");
            if let Err(fault) = got {
                assert_eq!(fault.reason, FaultReason::Permission);
            }
        }
    }
    assert_eq!(report.findings(), []);
}

#[test]
fn malformed_entries_are_recorded() {
    let bad = [
        (PTB + 9 * 8, 0x80_0000 | V | R | (1 << 49), 0),
        (PTB + 9 * 8, 0x80_0000 | V | R | (1 << 62), 0),
        (PTB + 9 * 8, 0x80_0000 | V | R | (1 << 3), 0),
        (PDB0 + 7 * 8, 0x80_1000 | V | R, 0),
        (PDB0 + 7 * 8, PTB | V | TF | R, 0),
        (PDB1 + 5 * 8, PDB0 | V | R | BFS_9, 1),
        (PDB2 + 3 * 8, PDB1 | V | (1 << 52), 2),
        (PDB1 + 5 * 8, 0x80_0000 | V | R | PDE_PTE, 1),
    ];
    for (at, entry, level) in bad {
        let (memory, _, report) = memory(&[]);
        map(&memory, 0x80_0000 | V | R);
        put_entry(&memory, at, entry);
        assert_eq!(
            read(&memory, VA),
            Err(FaultReason::Malformed(level)),
            "entry {entry:#x}"
        );
        assert_eq!(report.violations(), 1, "entry {entry:#x}");
    }
    // The combination for faults without retry is no violation (AMDGPU_VM_NORETRY_FLAGS_TF).
    let (memory, _, report) = memory(&[]);
    map(&memory, V | S | (1 << 51));
    assert_eq!(read(&memory, VA), Err(FaultReason::Invalid(0)));
    assert_eq!(report.findings(), []);
}

#[test]
fn addresses_outside_the_range_fault() {
    let (memory, _, report) = memory(&[]);
    map(&memory, 0x80_0000 | V | R);
    for va in [1 << 47, VA | (1 << 48), VA | (1 << 63)] {
        // Bit 47 must be repeated above; these are no addresses.
        assert_eq!(read(&memory, va), Err(FaultReason::Range), "{va:#x}");
    }
    memory.hub(Hub::Gfx(0)).registers().end[8] = [(VA >> 12) as u32 - 1, (VA >> 44) as u32];
    assert_eq!(read(&memory, VA), Err(FaultReason::Range));
    assert_eq!(report.findings(), []);
}

#[test]
fn translations_stay_until_they_are_invalidated() {
    let (memory, _, report) = memory(&[]);
    map(&memory, 0x80_0000 | V | R);
    mark(memory.vram, 0x80_0000);
    mark(memory.vram, 0x90_0000);
    assert_eq!(read(&memory, VA), Ok(0xfeed_0000_0080_0000));
    let epoch = memory.space(Hub::Gfx(0), VMID).epoch();
    map(&memory, 0x90_0000 | V | R);
    assert_eq!(read(&memory, VA), Ok(0xfeed_0000_0080_0000), "stale");
    map(&memory, X);
    assert_eq!(
        read(&memory, VA),
        Ok(0xfeed_0000_0080_0000),
        "stale, though not mapped any more"
    );
    // Another VMID's invalidation, and another hub's, do not help.
    memory.hub(Hub::Gfx(0)).invalidate(!(1 << VMID));
    memory.hub(Hub::Mm(0)).invalidate(u16::MAX);
    assert_eq!(read(&memory, VA), Ok(0xfeed_0000_0080_0000));
    assert_eq!(memory.space(Hub::Gfx(0), VMID).epoch(), epoch);
    memory.hub(Hub::Gfx(0)).invalidate(1 << VMID);
    assert_ne!(memory.space(Hub::Gfx(0), VMID).epoch(), epoch);
    assert_eq!(read(&memory, VA), Err(FaultReason::Invalid(0)));
    map(&memory, 0x90_0000 | V | R);
    assert_eq!(read(&memory, VA), Ok(0xfeed_0000_0090_0000));
    // The scheduler's firmware gives the VMID to another process: nothing of the old one is left.
    put(memory.vram, 0x20_0000 + 3 * 8, PDE_PTE);
    memory.hub(Hub::Gfx(0)).bind(VMID, 0x20_0000 | V);
    assert_eq!(read(&memory, VA), Err(FaultReason::Invalid(2)));
    assert_eq!(report.findings(), []);
}

#[test]
fn a_fragment_is_kept_as_a_whole() {
    let (memory, _, report) = memory(&[]);
    // Four pages with fragment 2 from an aligned address: PTB 8 to 11.
    map(&memory, 0);
    for i in 0..4 {
        put(
            memory.vram,
            PTB + (8 + i) * 8,
            (0x80_1000 + i * 0x1000) | V | R | (2 << 7),
        );
        mark(memory.vram, 0x80_1000 + i * 0x1000);
    }
    let first = VA - 0x1000;
    assert_eq!(read(&memory, first + 0x2000), Ok(0xfeed_0000_0080_3000));
    assert_eq!(memory.hub(Hub::Gfx(0)).tlb(VMID).len(), 1);
    // The entry of its neighbour changes, but the fragment promised that it would not.
    put_entry(&memory, PTB + 8 * 8, 0);
    assert_eq!(read(&memory, first), Ok(0xfeed_0000_0080_1000));
    assert_eq!(memory.hub(Hub::Gfx(0)).tlb(VMID).len(), 1);
    assert_eq!(report.findings(), []);
}

#[test]
fn vmid_0_has_frame_buffer_and_gart() {
    let (memory, ram, report) = memory(&[]);
    let table = 0x20_0000;
    kernel_context(&memory, Hub::Mm(0), table, 512);
    let space = memory.space(Hub::Mm(0), 0);
    mark(memory.vram, 0x1234_0000 & (VRAM - 1));
    let fb = 0x80_0000_0000u64;
    assert_eq!(
        space.load_u64(fb + (0x1234_0000 & (VRAM - 1))),
        Ok(0xfeed_0000_0000_0000 | (0x1234_0000 & (VRAM - 1)))
    );
    assert!(space.load_u64(fb + VRAM - 8).is_ok());
    assert_eq!(
        space.load_u64(fb + VRAM).unwrap_err().reason,
        FaultReason::Range
    );
    // GART: page 3 of a flat table is a page of RAM.
    put(
        memory.vram,
        table + 3 * 8,
        (RAM + 0x7000) | V | S | UC | R | W | X,
    );
    mark(ram, 0x7010);
    assert_eq!(space.load_u64(0x3010), Ok(0xfeed_0000_0000_7010));
    assert_eq!(
        space.load_u64(0x4000).unwrap_err().reason,
        FaultReason::Invalid(0)
    );
    assert_eq!(
        space.load_u64(512 << 12).unwrap_err().reason,
        FaultReason::Range
    );
    // The frame buffer needs no table and is not kept; GART is, until it is invalidated.
    put_entry(&memory, table + 3 * 8, 0);
    assert!(space.load_u64(0x3010).is_ok());
    memory.hub(Hub::Mm(0)).invalidate(1);
    assert!(space.load_u64(0x3010).is_err());
    assert_eq!(report.findings(), []);
    // Before the driver has programmed the mode, VMID 0 reaches nothing.
    assert_eq!(
        memory
            .space(Hub::Gfx(0), 0)
            .load_u64(fb)
            .unwrap_err()
            .reason,
        FaultReason::Mode
    );
}

#[test]
fn gart_can_start_above_zero() {
    let (memory, ram, _) = memory(&[]);
    kernel_context(&memory, Hub::Gfx(0), 0x20_0000, 512);
    memory.hub(Hub::Gfx(0)).registers().start[0] = [0x10_0000, 0];
    memory.hub(Hub::Gfx(0)).registers().end[0] = [0x10_01ff, 0];
    put_entry(&memory, 0x20_0000 + 8, (RAM + 0x7000) | V | S | UC | R);
    mark(ram, 0x7000);
    assert_eq!(
        memory.space(Hub::Gfx(0), 0).load_u64(0x1_0000_1000),
        Ok(0xfeed_0000_0000_7000)
    );
    assert_eq!(
        memory
            .space(Hub::Gfx(0), 0)
            .load_u64(0x1000)
            .unwrap_err()
            .reason,
        FaultReason::Range
    );
}

#[test]
fn dma_reaches_guest_ram_only() {
    let (memory, ram, report) = memory(&[]);
    map(&memory, (RAM + RAM_SIZE) | V | S | UC | R);
    assert_eq!(read(&memory, VA), Err(FaultReason::NoMemory));
    assert!(report.findings()[0].text.contains("outside guest RAM"));
    // A piece is taken back out of the middle; the rest stays.
    let before = memory.bus.epoch();
    memory.bus.unmap(RAM + 0x4000, 0x2000);
    assert_ne!(memory.bus.epoch(), before);
    mark(ram, 0x3000);
    mark(ram, 0x6000);
    for (at, there) in [
        (0x3000, true),
        (0x4000, false),
        (0x5000, false),
        (0x6000, true),
    ] {
        assert_eq!(memory.bus.peek(RAM + at).is_some(), there, "{at:#x}");
    }
    let page = memory.bus.peek(RAM + 0x6000).unwrap();
    assert_eq!(
        page.u64(0)
            .unwrap()
            .load(std::sync::atomic::Ordering::Relaxed),
        0xfeed_0000_0000_6000
    );
    // QEMU's odd ranges: never announced, empty, beyond the end of the address space.
    memory
        .bus
        .unmap(0xffff_ffff_0110_0000, 0xffff_ffff_0110_0000);
    memory.bus.unmap(0, 0);
    memory.bus.map(
        u64::MAX - 4095,
        8192,
        0,
        Some(ram.fd().unwrap().try_clone().unwrap()),
    );
    memory.bus.map(0x9000_0000, 0x1000, 0, None);
    assert!(memory.bus.peek(0x9000_0000).is_none());
    // A range that promises more than its file has is not there.
    memory.bus.map(
        0x9000_0000,
        RAM_SIZE + 0x1000,
        0,
        Some(ram.fd().unwrap().try_clone().unwrap()),
    );
    assert!(memory.bus.peek(0x9000_0000).is_none());
    // A page that was handed out stays readable after its range has gone.
    memory.bus.clear();
    assert!(memory.bus.peek(RAM).is_none());
    assert_eq!(
        page.u64(0)
            .unwrap()
            .load(std::sync::atomic::Ordering::Relaxed),
        0xfeed_0000_0000_6000
    );
}

#[test]
fn a_devices_memory_is_what_programs_have_mapped() {
    let (memory, _, report) = memory(&[]);
    memory.bus.map(0xfe00_0000, 0x8_0000, 0, None);
    map(&memory, 0xfe01_a000 | V | S | UC | R);
    assert_eq!(read(&memory, VA), Err(FaultReason::NoMemory));
    assert_eq!((report.violations(), report.faults()), (0, 1));
    // Behind it is nothing that anybody may have mapped, until a BAR of the device itself lies there.
    for (own, expected) in [(Vec::new(), (1, 1)), (vec![(0xfe08_0000, 0x1000)], (1, 2))] {
        memory.bus.set_own(own);
        map(&memory, 0xfe08_0000 | V | S | UC | R);
        memory.hub(Hub::Gfx(0)).invalidate(1 << VMID);
        assert_eq!(read(&memory, VA), Err(FaultReason::NoMemory));
        assert_eq!((report.violations(), report.faults()), expected);
    }
}

#[test]
fn one_file_is_mapped_once() {
    let (memory, ram, _) = memory(&[]);
    let page = memory.bus.peek(RAM + 0x8000).unwrap();
    memory.bus.unmap(RAM, RAM_SIZE);
    memory.bus.map(
        0x2000_0000,
        0x1000,
        0x8000,
        Some(ram.fd().unwrap().try_clone().unwrap()),
    );
    assert!(memory.bus.peek(0x2000_0000).unwrap().same(&page));
}

#[test]
fn a_rules_stale_pte_hits_once() {
    let (memory, _, _) = memory(&["at the 1st page walk: stale page"]);
    map(&memory, 0x80_0000 | V | R | W);
    mark(memory.vram, 0x80_0000);
    mark(memory.vram, 0x80_1000);
    let invalidate = || memory.hub(Hub::Gfx(0)).invalidate(1 << VMID);
    assert_eq!(read(&memory, VA), Ok(0xfeed_0000_0080_0000), "a read");
    invalidate();
    let space = memory.space(Hub::Gfx(0), VMID);
    space.store_u64(VA, 7).unwrap();
    assert_eq!(read(&memory, VA), Ok(7), "in the wrong page");
    invalidate();
    assert_eq!(read(&memory, VA), Ok(0xfeed_0000_0080_0000));
    space.store_u64(VA, 8).unwrap();
    invalidate();
    assert_eq!(read(&memory, VA), Ok(8), "once only");
}

#[test]
fn atomics_and_alignment() {
    let (memory, _, report) = memory(&[]);
    map(&memory, 0x80_0000 | V | R | W);
    let space = memory.space(Hub::Gfx(0), VMID);
    space.store_u64(VA + 8, 5).unwrap();
    assert_eq!(space.update_u64(VA + 8, |v| v - 1), Ok(5));
    assert_eq!(space.load_u64(VA + 8), Ok(4));
    assert_eq!(
        space.load_u32(VA + 2).unwrap_err().reason,
        FaultReason::Range
    );
    assert_eq!(
        space.load_u64(VA + 4).unwrap_err().reason,
        FaultReason::Range
    );
    let page = space.page(VA, Access::Read).unwrap();
    assert_eq!(page.len(), 4096);
    assert!(page.u64(4096).is_none() && page.u32(4094).is_none());
    assert!(!page.write(4090, &[0; 8]));
    assert_eq!(report.findings(), []);
}

#[test]
fn system_memory_that_processors_cache_is_reached_with_snooping() {
    // A directory entry, whose table is in system memory; a page; a page of 2 MiB.
    let cases = [
        (PDB0 + 7 * 8, (RAM + 0x1000) | V | S | TF, 0),
        (PTB + 9 * 8, (RAM + 0x5000) | V | S | UC | R, 0),
        (PDB0 + 7 * 8, RAM | V | S | UC | R | (9 << 7), 0),
        (PDB1 + 5 * 8, (RAM + 0x2000) | V | S | BFS_9, 1),
    ];
    for (at, entry, level) in cases {
        for (entry, cached, wrong) in [
            (entry, true, false),
            (entry & !SNOOPED, true, true),
            (entry & !SNOOPED, false, false),
        ] {
            let (memory, ram, report) = memory(&[]);
            map(&memory, 0x80_0000 | V | R);
            put_entry(&memory, at, entry);
            // The tables in RAM lead to VRAM.
            put(ram, 0x1000 + 9 * 8, 0x80_0000 | V | R);
            put(ram, 0x2000 + 7 * 8, PTB | V | TF);
            memory.bus.set_cached(cached);
            assert!(read(&memory, VA).is_ok(), "{entry:#x}");
            let all: Vec<String> = report.findings().iter().map(|f| f.to_string()).collect();
            assert_eq!(all.len(), usize::from(wrong), "{entry:#x}: {all:?}");
            let told = format!(
                "VMID 8: walk for {VA:#x}: entry {entry:#018x} at level {level} leads to system memory \
                 without SNOOPED"
            );
            assert!(
                all.iter().all(|one| one.contains(&told)),
                "{all:?}, not {told}"
            );
        }
    }
}

#[test]
fn system_memory_of_a_process_is_uncached() {
    for (mtype, name) in [(0, "NC"), (1, "RW"), (2, "CC"), (3, "UC")] {
        // A page of 4 KiB and one of 2 MiB.
        let cases = [
            (PTB + 9 * 8, (RAM + 0x5000) | V | S | R | (mtype * MTYPE)),
            (PDB0 + 7 * 8, RAM | V | S | R | (9 << 7) | (mtype * MTYPE)),
        ];
        for (at, entry) in cases {
            let (memory, _ram, report) = memory(&[]);
            map(&memory, 0x80_0000 | V | R);
            put_entry(&memory, at, entry);
            assert!(read(&memory, VA).is_ok(), "{entry:#x}");
            let all: Vec<String> = report.findings().iter().map(|f| f.to_string()).collect();
            let told = format!(
                "VMID 8: walk for {VA:#x}: entry {entry:#018x} at level 0 leads to system memory with \
                 MTYPE {name}, not UC"
            );
            assert_eq!(all.len(), usize::from(name != "UC"), "{name}: {all:?}");
            assert!(all.iter().all(|one| one.contains(&told)), "{all:?}");
        }
        // VRAM has any, and so has what is beyond the second-level cache: the multimedia hub's.
        let (memory, _ram, report) = memory(&[]);
        map(&memory, 0x80_0000 | V | R | (mtype * MTYPE));
        assert!(read(&memory, VA).is_ok());
        user_context(&memory, Hub::Mm(0), VMID, PDB2);
        put_entry(
            &memory,
            PTB + 9 * 8,
            (RAM + 0x5000) | V | S | R | (mtype * MTYPE),
        );
        let copied = memory.space(Hub::Mm(0), VMID).load_u64(VA);
        assert!(copied.is_ok(), "{copied:?}");
        assert_eq!(report.findings(), []);
    }
}
