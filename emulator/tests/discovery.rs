// SPDX-License-Identifier: MIT OR Apache-2.0

//! The discovery binary, read back as Linux reads it (`amdgpu/amdgpu_discovery.c`): by byte offsets
//! of `include/discovery.h`, repeated here on purpose.

use rkfd_emulator::chip::mi308x::CPX as CHIP;
use rkfd_emulator::rules::Rules;
use rkfd_emulator_testkit::{Guest, VRAM};
use std::collections::BTreeMap;

fn u16_at(b: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(b[at..at + 2].try_into().unwrap())
}

fn u32_at(b: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(b[at..at + 4].try_into().unwrap())
}

fn sum(b: &[u8]) -> u16 {
    b.iter().fold(0, |sum, &byte| sum.wrapping_add(byte.into()))
}

/// The table of an index: its bytes, after its checksum was compared.
fn table(binary: &[u8], index: usize) -> &[u8] {
    let entry = 12 + 8 * index;
    let (offset, checksum, size) = (
        u16_at(binary, entry),
        u16_at(binary, entry + 2),
        u16_at(binary, entry + 4),
    );
    let bytes = &binary[usize::from(offset)..usize::from(offset) + usize::from(size)];
    assert_eq!(sum(bytes), checksum, "table {index}");
    bytes
}

/// By hardware id and instance: version and base addresses.
type Ips = BTreeMap<(u16, u8), ((u8, u8, u8), Vec<u32>)>;

fn ips(binary: &[u8]) -> Ips {
    let table = table(binary, 0);
    assert_eq!(u32_at(table, 0), 0x5344_5049);
    assert_eq!(u16_at(table, 4), 3);
    assert_eq!(usize::from(u16_at(table, 6)), table.len());
    assert_eq!(u16_at(table, 12), 1, "dies");
    let mut at = usize::from(u16_at(table, 16));
    let count = u16_at(binary, at + 2);
    at += 4;
    let mut all = BTreeMap::new();
    for _ in 0..count {
        let bases = usize::from(binary[at + 3]);
        let version = (binary[at + 4], binary[at + 5], binary[at + 6]);
        let list = (0..bases).map(|i| u32_at(binary, at + 8 + 4 * i)).collect();
        assert!(all
            .insert((u16_at(binary, at), binary[at + 2]), (version, list))
            .is_none());
        at += 8 + 4 * bases;
    }
    assert_eq!(
        at,
        usize::from(u16_at(binary, 12)) + table.len(),
        "the table ends with its last block"
    );
    all
}

#[test]
fn the_binary_in_vram_parses_with_correct_checksums() {
    let guest = Guest::new(&[]);
    let mut binary = vec![0; 10 << 10];
    assert!(guest
        .device
        .soc
        .memory
        .vram
        .part(VRAM - (64 << 10), binary.len())
        .unwrap()
        .read(0, &mut binary));
    assert_eq!(u32_at(&binary, 0), 0x2821_1407);
    let size = usize::from(u16_at(&binary, 10));
    assert!(size <= 10 << 10);
    assert_eq!(sum(&binary[10..size]), u16_at(&binary, 8));
    let ips = ips(&binary);
    let (version, bases) = &ips[&(11, 0)];
    assert_eq!(*version, (9, 4, 3));
    assert_eq!(bases[..2], [0x2000, 0xa000]);
    let want = [
        (42, (4, 4, 2)),
        (34, (1, 8, 0)),
        (35, (1, 8, 0)),
        (40, (4, 4, 2)),
        (41, (4, 4, 2)),
        (108, (7, 9, 0)),
    ];
    for (hw_id, version) in want.into_iter().chain([(255, (13, 0, 6)), (1, (13, 0, 6))]) {
        assert_eq!(ips[&(hw_id, 0)].0, version, "hardware id {hw_id}");
    }
    // The mailbox by which boot firmware reports that it has finished, at the address built into Linux.
    assert_eq!(ips[&(255, 0)].1[0] + 0x61, 0x16061);
    // And the memory size's (mmRCC_CONFIG_MEMSIZE).
    assert_eq!(ips[&(108, 0)].1[2] + 0xc3, 0xde3);
    assert_eq!(guest.findings(), Vec::<String>::new());
}

#[test]
fn the_graphics_core_is_one_xcc_of_an_mi308x() {
    let binary = CHIP.discovery(&Rules::none());
    let gc = table(&binary, 1);
    assert_eq!(
        (u32_at(gc, 0), u16_at(gc, 4), u16_at(gc, 6)),
        (0x4347, 2, 1)
    );
    assert_eq!(u32_at(gc, 8) as usize, gc.len());
    assert_eq!(gc.len(), 108);
    let (engines, cus, arrays) = (u32_at(gc, 12), u32_at(gc, 16), u32_at(gc, 20));
    assert_eq!((engines, cus, arrays), (4, 10, 1));
    assert_eq!(
        (u32_at(gc, 56), u32_at(gc, 60), u32_at(gc, 68)),
        (64, 8, 64),
        "wave, waves, LDS in KiB"
    );
    assert_eq!(CHIP.gc.active_cus(), 20);
    let harvest = table(&binary, 2);
    assert_eq!(u32_at(harvest, 0), 0x5652_4148);
    assert_eq!(harvest.len(), 8 + 32 * 4);
    assert!(harvest[8..].iter().all(|&b| b == 0));
}

#[test]
fn each_rule_breaks_one_thing() {
    let good = CHIP.discovery(&Rules::none());
    let with = |rule: &str| CHIP.discovery(&Rules::of(&[rule]).unwrap());
    let bad = with("at probe: bad signature");
    assert_ne!(u32_at(&bad, 0), 0x2821_1407);
    assert_eq!(bad[4..], good[4..]);
    let bad = with("at probe: bad checksum");
    assert_ne!(sum(&bad[10..]), u16_at(&bad, 8));
    assert_eq!((&bad[..8], &bad[10..]), (&good[..8], &good[10..]));
    let bad = with("at probe: unknown core");
    assert_eq!(ips(&bad)[&(11, 0)].0, (99, 4, 3));
    assert_eq!(sum(&bad[10..]), u16_at(&bad, 8));
    // A sound checksum over a count that nothing has room for.
    let bad = with("at probe: impossible counts");
    assert_ne!(bad, good);
    assert_eq!(bad.len(), good.len());
    assert_eq!(sum(&bad[10..]), u16_at(&bad, 8));
    // Tables: blocks, core, what is fused off; all else is sound.
    let at = |n: usize| u16_at(&good, 12 + n * 8) as usize;
    for (rule, place) in [
        ("bad block table", at(0)),
        ("bad core table", at(1)),
        ("bad harvest table", at(2)),
        ("no dies", at(0) + 12),
    ] {
        let bad = with(&format!("at probe: {rule}"));
        let differ = |&i: &usize| bad[i] != good[i];
        let changed: Vec<usize> = (60..bad.len()).filter(differ).collect();
        assert_eq!(changed, [place], "{rule}");
        assert_eq!(sum(&bad[10..]), u16_at(&bad, 8));
    }
    let bad = with("at probe: bad block checksum");
    assert_eq!(bad[60..], good[60..]);
    assert_ne!(u16_at(&bad, 14), u16_at(&good, 14));
    let bad = with("at probe: no harvest table");
    assert_eq!((bad[60..] == good[60..], u16_at(&bad, 28)), (true, 0));
    for (rule, more, dies) in [("repeated block", 1, 1), ("too many blocks", 140, 16)] {
        let bad = with(&format!("at probe: {rule}"));
        let count = |binary: &[u8]| u16_at(binary, u16_at(binary, at(0) + 16) as usize + 2);
        assert_eq!(count(&bad), count(&good) + more);
        assert_eq!(u16_at(&bad, at(0) + 12), dies);
        let place = |die: usize| u16_at(&bad, at(0) + 16 + die * 4);
        assert!((0..dies.into()).all(|die| place(die) == place(0)));
        assert_eq!(sum(table(&bad, 0)), u16_at(&bad, 14));
        // `DISCOVERY_TMR_SIZE`.
        assert!(bad.len() <= 10 << 10);
    }
}
