// SPDX-License-Identifier: GPL-2.0

//! Discovery tables, byte by byte as `discovery.h` has them: a good one, cut ones, wrong ones.

use super::{
    check,
    parse,
    Discovery,
    GcInfo,
    Ip,
    Reason,
    SEGMENTS, //
};
use crate::{
    hw::regs::Block,
    kunit::Random,
    types::{
        GcVersion,
        IpVersion,
        MmhubVersion,
        NbioVersion,
        OsssysVersion,
        SdmaVersion,
        UnknownBlock,
        Versions, //
    }, //
};
use kernel::prelude::*;

const SIZE: usize = 0x200;
/// Places of the tables and of the first die.
const IP: usize = 0x40;
const IP_SIZE: usize = 0xa0;
const DIE: usize = IP + 80;
const GC: usize = 0xe0;
const GC_SIZE: usize = 108;
const HARVEST: usize = 0x150;
const HARVEST_SIZE: usize = 8 + 32 * 4;

/// Numbers (`soc15_hw_ip.h`), names and versions of an MI308X's blocks.
const MI308X: [(u16, &str, [u8; 3]); 5] = [
    (11, "GC", [9, 4, 3]),
    (34, "MMHUB", [1, 8, 0]),
    (40, "OSSSYS", [4, 4, 2]),
    (108, "NBIO", [7, 9, 0]),
    (42, "SDMA", [4, 4, 2]),
];

/// `GC_HWID`, and of another block that is there twice.
const GC_ID: u16 = 11;
const OTHER_ID: u16 = 42;

type Image = [u8; SIZE];

fn put16(image: &mut Image, at: usize, value: usize) {
    if let Some(bytes) = image.get_mut(at..at + 2) {
        bytes.copy_from_slice(&(value as u16).to_le_bytes());
    }
}

fn put32(image: &mut Image, at: usize, value: u32) {
    if let Some(bytes) = image.get_mut(at..at + 4) {
        bytes.copy_from_slice(&value.to_le_bytes());
    }
}

fn sum(image: &Image, from: usize, len: usize) -> usize {
    let bytes = image.iter().skip(from).take(len);
    bytes
        .fold(0u16, |sum, byte| sum.wrapping_add((*byte).into()))
        .into()
}

/// Puts the sums right: of the tables first, which lie in the binary.
fn seal(image: &mut Image) {
    for (table, at, size) in [
        (0, IP, IP_SIZE),
        (1, GC, GC_SIZE),
        (2, HARVEST, HARVEST_SIZE),
    ] {
        let sum = sum(image, at, size);
        put16(image, 12 + table * 8 + 2, sum);
    }
    let sum = sum(image, 10, SIZE - 10);
    put16(image, 8, sum);
}

/// Two graphics cores, of which the second is fused off, and another block with two bases.
fn image() -> Image {
    let mut image = [0; SIZE];
    put32(&mut image, 0, 0x2821_1407);
    put16(&mut image, 4, 1);
    put16(&mut image, 10, SIZE);
    for (table, at, size) in [
        (0, IP, IP_SIZE),
        (1, GC, GC_SIZE),
        (2, HARVEST, HARVEST_SIZE),
    ] {
        put16(&mut image, 12 + table * 8, at);
        put16(&mut image, 12 + table * 8 + 4, size);
    }
    put32(&mut image, IP, 0x5344_5049);
    put16(&mut image, IP + 4, 3);
    put16(&mut image, IP + 6, IP_SIZE);
    put16(&mut image, IP + 12, 1);
    put16(&mut image, IP + 16, DIE);
    put16(&mut image, DIE + 2, 3);
    let mut at = DIE + 4;
    for (id, instance, version, bases) in [
        (GC_ID, 0, [9, 4, 3], [0x2000, 0xa000].as_slice()),
        (GC_ID, 1, [9, 4, 3], [0x3000].as_slice()),
        (OTHER_ID, 0, [4, 4, 2], [0x1260, 0x1234_5678].as_slice()),
    ] {
        put16(&mut image, at, id.into());
        put32(&mut image, at + 2, instance | (bases.len() as u32) << 8);
        if let Some(bytes) = image.get_mut(at + 4..at + 7) {
            bytes.copy_from_slice(&version);
        }
        at += 8;
        for base in bases {
            put32(&mut image, at, *base);
            at += 4;
        }
    }
    put32(&mut image, GC, 0x4347);
    put16(&mut image, GC + 4, 2);
    put16(&mut image, GC + 6, 1);
    put32(&mut image, GC + 8, GC_SIZE as u32);
    // `gc_num_se`, `_cu_per_sh`, `_sh_per_se`; `gc_wave_size` is the 12th.
    for (word, value) in [(0, 4), (1, 10), (2, 1), (11, 64)] {
        put32(&mut image, GC + 12 + word * 4, value);
    }
    put32(&mut image, HARVEST, 0x5652_4148);
    put16(&mut image, HARVEST + 8, GC_ID.into());
    put16(&mut image, HARVEST + 10, 1);
    seal(&mut image);
    image
}

fn read(bytes: &[u8]) -> Result<Result<Discovery, Reason>> {
    let mut ips = KVec::new();
    let binary = KVVec::new();
    Ok(parse(bytes, &mut ips)?.map(|gc| Discovery { ips, gc, binary }))
}

/// A device with these blocks.
fn made_of(blocks: impl Iterator<Item = (u16, [u8; 3])>) -> Result<Discovery> {
    let mut found = read(&image())?.map_err(|_| EINVAL)?;
    found.ips = KVec::new();
    for (hw_id, [major, minor, revision]) in blocks {
        let ip = Ip {
            hw_id,
            instance: 0,
            version: IpVersion::new(major, minor, revision),
            bases: [None; SEGMENTS],
        };
        found.ips.push(ip, GFP_KERNEL)?;
    }
    Ok(found)
}

fn is_sane(gc: &GcInfo) -> bool {
    gc.shader_engines <= 8
        && gc.shader_arrays_per_engine <= 4
        && gc.cu_per_array <= 32
        && gc.wave_size <= 64
}

#[kunit_tests(rkfd_discovery)]
mod tests {
    use super::*;

    #[test]
    fn a_good_table_is_understood() -> Result {
        let Ok(found) = read(&image())? else {
            return Err(EINVAL);
        };
        assert_eq!(found.version(GC_ID), Some(IpVersion::new(9, 4, 3)));
        assert_eq!(found.version(OTHER_ID), Some(IpVersion::new(4, 4, 2)));
        assert_eq!(found.version(1), None);
        assert!(found.instances(GC_ID).eq([0]));
        assert_eq!(found.base(Block::Gc, 0, 0), Some(0x2000));
        assert_eq!(found.base(Block::Gc, 0, 1), Some(0xa000));
        assert_eq!(found.base(Block::Gc, 0, 2), None);
        assert_eq!(found.base(Block::Gc, 0, 255), None);
        assert_eq!(found.base(Block::Gc, 1, 0), None);
        let gc = found.gc();
        let shape = (
            gc.shader_engines,
            gc.shader_arrays_per_engine,
            gc.cu_per_array,
            gc.wave_size,
        );
        assert_eq!(shape, (4, 1, 10, 64));
        Ok(())
    }

    #[test]
    fn a_table_that_is_cut_anywhere_is_refused() -> Result {
        let image = image();
        for len in 0..SIZE {
            assert!(read(image.get(..len).ok_or(EINVAL)?)?.is_err());
        }
        Ok(())
    }

    /// From the sum on, which covers all that follows it.
    #[test]
    fn one_wrong_byte_anywhere_is_refused() -> Result {
        for at in Iterator::chain(0..4, 8..SIZE) {
            let mut image = image();
            *image.get_mut(at).ok_or(EINVAL)? ^= 0x20;
            assert!(read(&image)?.is_err());
        }
        Ok(())
    }

    #[test]
    fn impossible_tables_are_refused() -> Result {
        let changes: [fn(&mut Image); 14] = [
            |i| put16(i, 4, 3),
            // No IP table, none that fits, one with another signature.
            |i| put16(i, 12, 0),
            |i| put16(i, 12, 0xffff),
            |i| put32(i, IP, 0),
            |i| put16(i, IP + 6, 0xffff),
            // Dies: none, too many, one that lies outside.
            |i| put16(i, IP + 12, 0),
            |i| put16(i, IP + 12, 17),
            |i| put16(i, IP + 16, 0xfffe),
            // More entries, more bases than there is room for.
            |i| put16(i, DIE + 2, 0xffff),
            |i| put16(i, DIE + 4 + 2, 0xff00),
            // A graphics core of no engines, of too many units, of an unknown version.
            |i| put32(i, GC + 12, 0),
            |i| put32(i, GC + 16, 33),
            |i| put16(i, GC + 4, 3),
            |i| put32(i, HARVEST, 1),
        ];
        for change in changes {
            let mut image = image();
            change(&mut image);
            seal(&mut image);
            // The checksums are right: the table is refused for its contents.
            assert!(check(&image).is_ok() || sum(&image, 4, 2) == 3);
            assert!(read(&image)?.is_err());
        }
        Ok(())
    }

    #[test]
    fn each_block_has_a_version_of_its_own() -> Result {
        let known = Versions {
            gc: GcVersion::V9_4_3,
            mmhub: MmhubVersion::V1_8_0,
            osssys: OsssysVersion::V4_4_2,
            nbio: NbioVersion::V7_9_0,
            sdma: SdmaVersion::V4_4_2,
        };
        let blocks = || MI308X.into_iter().map(|(id, _, version)| (id, version));
        assert_eq!(made_of(blocks())?.versions(), Ok(known));
        // Navi 48's copy engines beside the other blocks of an MI308X.
        let other = blocks().map(|(id, version)| (id, if id == 42 { [7, 0, 1] } else { version }));
        let sdma = SdmaVersion::V7_0_1;
        assert_eq!(made_of(other)?.versions(), Ok(Versions { sdma, ..known }));
        Ok(())
    }

    #[test]
    fn an_unknown_block_is_named() -> Result {
        for (id, name, [major, minor, revision]) in MI308X {
            let others = || MI308X.into_iter().filter(|block| block.0 != id);
            let others = || others().map(|(id, _, version)| (id, version));
            let missing = UnknownBlock { name, found: None };
            assert_eq!(made_of(others())?.versions(), Err(missing));
            for version in [
                [major + 1, minor, revision],
                [major, minor + 1, revision],
                [major, minor, revision + 1],
            ] {
                let found = made_of(Iterator::chain(others(), [(id, version)]))?.versions();
                let [major, minor, revision] = version;
                let unknown = UnknownBlock {
                    name,
                    found: Some(IpVersion::new(major, minor, revision)),
                };
                assert_eq!(found, Err(unknown));
            }
        }
        Ok(())
    }

    /// Whatever a table contains, reading it ends, and gives nothing absurd.
    #[test]
    fn wild_tables_do_no_harm() -> Result {
        let (mut random, mut accepted) = (Random::new(), 0);
        for _ in 0..600 {
            let mut image = image();
            for _ in 0..=random.below(4) {
                let at = 10 + random.below(SIZE as u64 - 10) as usize;
                *image.get_mut(at).ok_or(EINVAL)? = random.below(256) as u8;
            }
            seal(&mut image);
            if let Ok(found) = read(&image)? {
                accepted += 1;
                assert!(is_sane(found.gc()));
                assert!(found.instances(GC_ID).all(|instance| instance < 16));
            }
        }
        // The case is of no use if none gets through.
        assert!(accepted > 50);
        Ok(())
    }
}
