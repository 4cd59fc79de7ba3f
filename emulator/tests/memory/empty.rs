// SPDX-License-Identifier: MIT OR Apache-2.0

//! Entries that map nothing: `amdgpu_vm_pt_clear`, `amdgpu_vm_pte_update_flags`, `gmc_v9_0_get_vm_pde`,
//! `gmc_v12_0_get_vm_pte`.

use super::{get, map, put, put_entry, read, PDB0, PDB1, PDB2, PDE_PTE, PTB, R, V, VA, VMID, W, X};
use rkfd_emulator::chip::navi48;
use rkfd_emulator::memory::{FaultReason, Hub};
use rkfd_emulator_testkit::{hub_set_up, memory, memory_of};

/// What a read of an address finds by an entry, and the marks that are missed there.
type Case = (u64, u64, Result<u64, FaultReason>, u64);

#[test]
fn what_maps_nothing_is_marked() {
    const PRT: u64 = 1 << 51;
    let invalid = |level| Err(FaultReason::Invalid(level));
    let cases: [Case; 12] = [
        (PTB + 9 * 8, X, invalid(0), 0),
        (PTB + 9 * 8, 0, invalid(0), X),
        (PTB + 9 * 8, R, invalid(0), X),
        (PTB + 9 * 8, PRT, Ok(0), 0),
        (PDB0 + 7 * 8, 1 << 12, invalid(0), 0),
        (PDB0 + 7 * 8, 0, invalid(0), 1 << 12),
        (PDB0 + 7 * 8, PRT, Ok(0), 1 << 12),
        (PDB1 + 5 * 8, PDE_PTE, invalid(1), 0),
        (PDB1 + 5 * 8, 0, invalid(1), PDE_PTE),
        (PDB1 + 5 * 8, PRT | PDE_PTE, Ok(0), 0),
        (PDB2 + 3 * 8, PDE_PTE, invalid(2), 0),
        (PDB2 + 3 * 8, X, invalid(2), PDE_PTE),
    ];
    for (at, entry, expected, lacks) in cases {
        let (memory, _, report) = memory(&[]);
        map(&memory, 0x80_0000 | V | R);
        put_entry(&memory, at, entry);
        assert_eq!(read(&memory, VA), expected, "{entry:#x} at {at:#x}");
        let told = format!("entry {entry:#018x} at level ");
        let missed = format!("isn't valid and lacks {lacks:#x}, ");
        let found = report.findings();
        match (&found[..], lacks) {
            ([], 0) => {}
            ([one], 1..) => assert!(
                one.text.contains(&told) && one.text.contains(&missed),
                "{one}"
            ),
            _ => panic!("{entry:#x} at {at:#x}: {found:?}"),
        }
        assert_eq!(report.violations(), u64::from(lacks != 0));
    }
}

/// Pages that aren't resident are snooped system memory there, and marked as pages.
#[test]
fn what_maps_nothing_is_marked_on_gfx12() {
    const LEAF: u64 = 1 << 63;
    const PRT: u64 = 1 << 56;
    const NOTHING: u64 = PRT | LEAF | (1 << 1) | (1 << 2);
    let invalid = |level| Err(FaultReason::Invalid(level));
    let cases: [Case; 9] = [
        (PTB + 9 * 8, X, invalid(0), 0),
        // From GC 12.1 on Linux marks these, too (`init_pte_flags`).
        (PTB + 9 * 8, X | LEAF, invalid(0), 0),
        (PTB + 9 * 8, 0, invalid(0), X),
        (PTB + 9 * 8, NOTHING, Ok(0), 0),
        (PTB + 9 * 8, PRT, Ok(0), NOTHING & !PRT),
        (PDB0 + 7 * 8, LEAF, invalid(1), 0),
        (PDB0 + 7 * 8, 0, invalid(1), LEAF),
        (PDB0 + 7 * 8, NOTHING, Ok(0), 0),
        (PDB0 + 7 * 8, NOTHING & !LEAF, invalid(1), LEAF),
    ];
    for (at, entry, expected, lacks) in cases {
        let (memory, _, report) = memory_of(&navi48::CHIP, &[]);
        {
            let mut r = memory.hub(Hub::Gfx(0)).registers();
            hub_set_up(&mut r);
            // ENABLE_CONTEXT, PAGE_TABLE_DEPTH 3.
            r.cntl[usize::from(VMID)] = 1 | (3 << 1);
            r.base[usize::from(VMID)] = [PDB2 as u32 | 1, 0];
            r.end[usize::from(VMID)] = [u32::MAX, 0xf];
        }
        put(memory.vram, PDB2 + 3 * 8, PDB1 | V);
        put(memory.vram, PDB1 + 5 * 8, PDB0 | V);
        put(memory.vram, PDB0 + 7 * 8, PTB | V);
        put_entry(&memory, at, entry);
        assert_eq!(read(&memory, VA), expected, "{entry:#x} at {at:#x}");
        let found = report.findings();
        let missed = format!("isn't valid and lacks {lacks:#x}, ");
        assert_eq!(found.len(), usize::from(lacks != 0), "{found:?}");
        assert!(
            found.iter().all(|one| one.text.contains(&missed)),
            "{found:?}"
        );
    }
}

/// Nobody has such marks in the kernel's own table (`amdgpu_gart_unbind`).
#[test]
fn the_kernel_s_table_has_no_such_marks() {
    let (memory, _, report) = memory(&[]);
    rkfd_emulator_testkit::kernel_context(&memory, Hub::Mm(0), 0x20_0000, 512);
    assert!(memory.space(Hub::Mm(0), 0).load_u64(0x3000).is_err());
    assert_eq!(report.findings(), []);
}

/// `gmc_v9_0_get_vm_pte` for AMDGPU_VM_PAGE_PRT: bit 51 without VALID; in a directory with PDE_PTE, too.
#[test]
fn what_is_not_resident_is_zero_and_takes_stores() {
    const PRT: u64 = 1 << 51;
    let cases = [
        (PTB + 9 * 8, PRT),
        (PDB0 + 7 * 8, PRT | (1 << 12)),
        (PDB1 + 5 * 8, PRT | PDE_PTE),
    ];
    for (at, entry) in cases {
        let (memory, _, report) = memory(&[]);
        map(&memory, 0x80_0000 | V | R | W);
        put(memory.vram, 0x80_0000, 7);
        put_entry(&memory, at, entry);
        let space = memory.space(Hub::Gfx(0), VMID);
        assert_eq!(space.load_u64(VA), Ok(0), "entry {entry:#x} at {at:#x}");
        space.store_u64(VA, 5).expect("a store is lost");
        assert_eq!(space.load_u64(VA), Ok(0), "entry {entry:#x} at {at:#x}");
        assert_eq!(get(memory.vram, 0x80_0000), 7);
        assert_eq!(report.findings(), []);
    }
    // In a directory the mark alone is no such entry.
    let (memory, _, _) = memory(&[]);
    map(&memory, 0x80_0000 | V | R);
    put_entry(&memory, PDB1 + 5 * 8, PRT);
    assert_eq!(read(&memory, VA), Err(FaultReason::Invalid(1)));
}
