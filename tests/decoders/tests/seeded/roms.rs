// SPDX-License-Identifier: MIT OR Apache-2.0

//! Images of expansion ROMs: that of a device, whole and damaged.

use super::run;
use proptest::collection::vec;
use proptest::prelude::*;
use rkfd_emulator::chip::{mi308x, navi48, Chip};
use rkfd_hw::vbios::Image;

/// Bytes at which pointers, counts and texts are.
const READ: usize = 0x600;

fn chips() -> [&'static Chip; 2] {
    [&mi308x::SPX, &navi48::CHIP]
}

/// What the device puts into its ROM is what is read of it.
#[test]
fn who_the_card_is() {
    for chip in chips() {
        let rom = chip.rom();
        let image = Image::new(&rom).expect("a device has a valid image");
        assert_eq!(image.name(), chip.name.as_bytes());
        assert_eq!(image.part_number(), b"113-RKFD-000");
        assert_eq!(image.version_text(), b"022.040.000.000.000000");
        assert_eq!(image.version(), 0x0001_0000);
        assert_eq!(image.date().as_ref(), Some(b"2025/01/01 00:00"));
        assert_eq!(image.build(), b"");
    }
}

/// Bytes of it that are others, and an end that comes too early.
#[test]
fn damaged() {
    let rom = mi308x::SPX.rom();
    let change = (0..READ, prop_oneof![Just(0u8), Just(0xff), any::<u8>()]);
    let cut = prop_oneof![3 => Just(rom.len()), 1 => 0..READ];
    let damaged = (vec(change, 0..6), cut).prop_map(move |(changes, cut)| {
        let mut rom = rom.clone();
        changes.into_iter().for_each(|(at, byte)| rom[at] = byte);
        rom.truncate(cut);
        rom
    });
    run(rkfd_decoders::vbios, 20_000, damaged);
}
