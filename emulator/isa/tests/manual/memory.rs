// SPDX-License-Identifier: MIT OR Apache-2.0
//! Memory at its edges, by RDNA4's manual, chapters 8, 9, 11 and 12, and CDNA3's.

use super::*;

/// The wave after `text`, on memory whose dwords are their numbers and on 256 bytes of LDS of the same.
fn ran<const L: usize>(
    target: &Target,
    text: &str,
    memory: &mut Flat,
    lds: &mut [u8],
    set: impl FnOnce(&mut Wave<L>),
) -> Result<Wave<L>, FaultKind> {
    let mut wave = blank::<L>(32);
    wave.set_pair(126, 1);
    set(&mut wave);
    for bytes in assemble_each(target, L, text) {
        step(target, &mut wave, &bytes, memory, lds)?;
    }
    Ok(wave)
}

fn numbered() -> Flat {
    let mut memory = Flat::new(1 << 16);
    memory.put(&(0..1024u32).collect::<Vec<_>>());
    memory
}

/// Loads of LDS beyond its end are zero dword by dword, and of stores the bytes inside are written.
#[test]
fn lds_ends_dword_by_dword_and_byte_by_byte() {
    let names = [
        (
            &GFX942,
            "ds_read_b64 v[4:5], v0",
            "ds_write_b64 v0, v[2:3]",
            "ds_write_b32 v1, v2",
        ),
        (
            &GFX1201,
            "ds_load_b64 v[4:5], v0",
            "ds_store_b64 v0, v[2:3]",
            "ds_store_b32 v1, v2",
        ),
    ];
    for (target, load, store, across) in names {
        let set = |w: &mut Wave<64>| {
            (w.v[0], w.v[1]) = ([252; 64], [254; 64]);
            (w.v[2], w.v[3]) = ([0x4433_2211; 64], [0x8877_6655; 64]);
        };
        let mut memory = Flat::new(4096);
        let mut lds = [0xab; 256];
        let w = ran::<64>(target, load, &mut memory, &mut lds, set).expect(load);
        assert_eq!([w.v[4][0], w.v[5][0]], [0xabab_abab, 0], "{}", target.name);
        ran::<64>(target, store, &mut memory, &mut lds, set).expect(store);
        assert_eq!(lds[248..], [0xab, 0xab, 0xab, 0xab, 0x11, 0x22, 0x33, 0x44]);
        ran::<64>(target, across, &mut memory, &mut lds, set).expect(across);
        assert_eq!(lds[252..], [0x11, 0x22, 0x11, 0x22]);
        // An atomic there is a violation.
        let add = ran::<64>(
            target,
            "ds_add_u32 v0, v2 offset:4",
            &mut memory,
            &mut lds,
            set,
        );
        assert_eq!(add.err(), Some(FaultKind::Lds(256)));
    }
}

/// The aperture is the address's without the instruction's offset, and LDS has 17 bits of the sum.
#[test]
fn flat_apertures_are_those_of_the_address() {
    let shared = (APERTURES.shared >> 32) as u32;
    let mut lds: Vec<u8> = (0..64u32).flat_map(u32::to_le_bytes).collect();
    let set =
        |low: u32, high: u32| move |w: &mut Wave<32>| (w.v[0], w.v[1]) = ([low; 32], [high; 32]);
    let mut memory = numbered();
    let load = "flat_load_b32 v2, v[0:1] offset:8";
    let w = ran(&GFX1201, load, &mut memory, &mut lds, set(0x1_fffc, shared)).expect("wraps");
    assert_eq!(w.v[2][0], 1);
    // Below the aperture it is memory, which is not there.
    let w = ran(
        &GFX1201,
        load,
        &mut memory,
        &mut lds,
        set(u32::MAX - 3, shared - 1),
    );
    assert!(matches!(w.err(), Some(FaultKind::Memory(_))));
    let back = "flat_load_b32 v2, v[0:1] offset:-4";
    let w = ran(&GFX1201, back, &mut memory, &mut lds, set(0, shared));
    assert_eq!(w.err(), Some(FaultKind::Lds(0x1_fffc)));
}

/// Every part of a scalar address has its two lowest bits ignored, or one of them for shorts.
#[test]
fn scalar_addresses_are_aligned_part_by_part() {
    let base = |w: &mut Wave<64>| {
        w.set_pair(2, BASE + 2);
        w.s[4] = 3;
    };
    let mut memory = numbered();
    for (target, text, expected) in [
        (&GFX942, "s_load_dword s6, s[2:3], 0x2", 0),
        (&GFX942, "s_load_dword s6, s[2:3], s4 offset:0x6", 1),
        (&GFX1201, "s_load_b32 s6, s[2:3], 0x2", 0),
        (&GFX1201, "s_load_b32 s6, s[2:3], s4 offset:0x6", 1),
        (&GFX1201, "s_load_u16 s6, s[2:3], 0x3", 1),
        (&GFX1201, "s_load_u8 s6, s[2:3], 0x6", 2),
    ] {
        let w = ran(target, text, &mut memory, &mut [], base).expect(text);
        assert_eq!(w.s[6], expected, "{} {text}", target.name);
    }
}

fn buffer(w: &mut Wave<32>, records: u32, last: u32) {
    w.set_pair(4, BASE);
    (w.s[6], w.s[7]) = (records, last);
}

/// s_buffer_load: in range is what begins inside; a negative offset is a violation of memory.
#[test]
fn scalar_buffers_count_where_a_dword_begins() {
    let mut memory = numbered();
    let set = |w: &mut Wave<32>| buffer(w, 6, 0);
    let w = ran(
        &GFX1201,
        "s_buffer_load_b128 s[8:11], s[4:7], 0",
        &mut memory,
        &mut [],
        set,
    );
    assert_eq!(w.expect("runs").s[8..12], [0, 1, 0, 0]);
    let w = ran(
        &GFX1201,
        "s_buffer_load_b32 s8, s[4:7], 4",
        &mut memory,
        &mut [],
        set,
    );
    assert_eq!(w.expect("runs").s[8], 1);
    // s_buffer_load_b32 s8, s[4:7], -4: llvm-mc refuses the text.
    let mut bytes = assemble(&GFX1201, 32, "s_buffer_load_b32 s8, s[4:7], 4");
    bytes[4..7].copy_from_slice(&[0xfc, 0xff, 0xff]);
    let mut wave = blank::<32>(32);
    set(&mut wave);
    let result = step(&GFX1201, &mut wave, &bytes, &mut memory, &mut []);
    assert_eq!(
        result,
        Err(FaultKind::Violation("a buffer's negative offset"))
    );
}

/// A buffer without a data format is not bound, and what is no buffer is ignored.
#[test]
fn unbound_and_other_descriptors() {
    let mut memory = numbered();
    let text = "buffer_load_b32 v2, off, s[4:7], null offset:8\nbuffer_store_b32 v3, off, s[4:7], null offset:16";
    for (last, loaded, stored) in [
        (0x2_0000, 2, 9),
        (0, 0, 4),
        (0x4002_0000, 77, 4),
        (0xc002_0000, 77, 4),
    ] {
        memory.write(BASE + 16, &4u32.to_le_bytes());
        let w = ran(&GFX1201, text, &mut memory, &mut [], |w| {
            buffer(w, 4096, last);
            (w.v[2], w.v[3]) = ([77; 32], [9; 32]);
        });
        let found = (w.expect("runs").v[2][0], memory.words(BASE + 16, 1)[0]);
        assert_eq!(found, (loaded, stored), "{last:#x}");
    }
}

/// Floating atomics of LDS follow MODE.denorm; of two NaNs the minimum is the data's, quiet.
#[test]
fn floating_atomics_of_lds() {
    let add = "ds_add_rtn_f32 v4, v0, v2";
    let minimum = [
        (&GFX942, "ds_min_rtn_f32 v4, v0, v2"),
        (&GFX1201, "ds_min_num_rtn_f32 v4, v0, v2"),
    ];
    let run = |target: &Target, text: &str, old: u32, data: u32, denorm: u32| {
        let mut lds = old.to_le_bytes();
        let w = ran::<64>(target, text, &mut Flat::new(4096), &mut lds, |w| {
            w.mode = w.mode & !0x30 | (denorm << 4);
            w.v[2] = [data; 64];
        });
        assert_eq!(w.expect("runs").v[4][0], old);
        u32::from_le_bytes(lds)
    };
    for target in TARGETS {
        assert_eq!(run(target, add, 0x100, 0x400, 3), 0x500);
        assert_eq!(run(target, add, 0x100, 0x400, 0), 0);
        assert_eq!(run(target, add, 0x3f80_0000, 0x3f80_0000, 0), 0x4000_0000);
    }
    for (target, text) in minimum {
        assert_eq!(run(target, text, 0x7f80_0001, 0x7f80_0002, 3), 0x7fc0_0002);
        assert_eq!(run(target, text, 0x7f80_0001, 0x4000_0000, 3), 0x4000_0000);
        assert_eq!(run(target, text, 0, 0x8000_0000, 3), 0x8000_0000);
    }
}
