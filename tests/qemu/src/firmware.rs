// SPDX-License-Identifier: MIT OR Apache-2.0
//! Placeholders of the firmware files that Linux's amdgpu loads: valid headers, and payloads that nobody
//! executes.
//!
//! The emulated GPU stands in for what firmware does, so that a driver is tested from power-on without
//! the vendor's files. Names and headers: Linux, `amdgpu/amdgpu_ucode.h`, `amdgpu/gfx_v9_4_3.c`,
//! `amdgpu/sdma_v4_4_2.c`, `amdgpu/psp_v13_0.c`, `pm/swsmu/smu13/smu_v13_0_6_ppt.c`.

use crate::shown::shown;
use anyhow::{Context, Result};
use std::fs;
use std::path::Path;

pub mod gfx1201;

/// A file's name in `/lib/firmware/amdgpu`, and its bytes.
pub type Blob = (&'static str, Vec<u8>);

/// The files of all chips: placeholders, or those of the same names in a folder.
///
/// # Errors
/// The folder lacks one of them.
pub fn files(own: Option<&Path>) -> Result<Vec<Blob>> {
    let mut files = gfx942();
    files.extend(gfx1201::files());
    if let Some(folder) = own {
        for (name, bytes) in &mut files {
            let path = folder.join(*name);
            *bytes =
                fs::read(&path).with_context(|| format!("AMD's own firmware: {}", shown(&path)))?;
        }
    }
    Ok(files)
}

/// The files of gfx942.
pub fn gfx942() -> Vec<Blob> {
    vec![
        ("gc_9_4_3_mec.bin", mec()),
        ("gc_9_4_3_rlc.bin", rlc()),
        ("sdma_4_4_2.bin", sdma()),
        ("psp_13_0_6_sos.bin", secure_os()),
        ("psp_13_0_6_ta.bin", applications()),
        ("smu_13_0_6.bin", tables()),
    ]
}

/// Payloads are this large: small, since words go through ports of the device one by one.
const PAYLOAD: usize = 0x400;
/// The version of a payload that has none of its own meaning.
const VERSION: u32 = 0x11;
/// The compute micro engine's, below what has more than the device: from 177 on ROCr expects that it gives
/// scratch memory back when it is asked to (`AMD_QUEUE_CAPS_CP_ASYNC_RECLAIM`).
const MEC_VERSION: u32 = 176;
/// Words of a jump table: of the compute micro engine it is an image of its own, of a copy engine the end of one.
const TABLE_OF_MEC: u32 = PAYLOAD as u32 / 4;
const JUMP_TABLE: u32 = 16;
/// The secure OS', and its place in the image.
const SECURE_OS_VERSION: u32 = 0x0036_0260;
const VERSION_AT: usize = 0x60;
/// `P2S_TABLE_ID_X`.
const P2S_TABLE: u32 = 0x5032_5358;

/// Bytes that header and signature of an image take on gfx942, and on gfx1201.
const OF_GFX942: usize = 0x300;
const OF_GFX1201: usize = 0x200;

/// An image that is not empty, as the security processor of a chip wants it, with a version. No source of Linux names the
/// header; all of AMD's own files have it (`emulator/src/blocks/psp/image.rs`).
fn image(version: u32, overhead: usize) -> Vec<u8> {
    let placeholder = b"rkfd placeholder".iter().copied().cycle();
    let mut bytes: Vec<u8> = placeholder.take(PAYLOAD).collect();
    let mut put = |at: usize, part: [u8; 4]| bytes[at..at + 4].copy_from_slice(&part);
    put(0x10, *b"$PS1");
    put(0x14, ((PAYLOAD - overhead) as u32).to_le_bytes());
    put(VERSION_AT, version.to_le_bytes());
    bytes
}

/// One for gfx942.
fn payload(version: u32) -> Vec<u8> {
    image(version, OF_GFX942)
}

/// `struct common_firmware_header` with the words that follow it in the header, and the payload.
fn file(format: (u16, u16), version: u32, words: &[u32], payload: &[u8]) -> Vec<u8> {
    let header = 32 + 4 * words.len();
    let size = header + payload.len();
    let half = |(major, minor): (u16, u16)| u32::from(major) | (u32::from(minor) << 16);
    let common = [
        size as u32,
        header as u32,
        half(format),
        half((9, 4)),
        version,
        payload.len() as u32,
        header as u32,
        0,
    ];
    let words = common
        .iter()
        .chain(words)
        .flat_map(|word| word.to_le_bytes());
    words.chain(payload.iter().copied()).collect()
}

/// `struct gfx_firmware_header_v1_0`; the jump table is behind the code.
fn mec() -> Vec<u8> {
    let both = [payload(MEC_VERSION), payload(MEC_VERSION)].concat();
    let at = PAYLOAD as u32 / 4;
    file((1, 0), MEC_VERSION, &[1, at, TABLE_OF_MEC], &both)
}

/// `struct rlc_firmware_header_v2_1`: no lists but those of saving and restoring.
fn rlc() -> Vec<u8> {
    const FIRST_LISTS: usize = 18;
    let mut words = vec![0; FIRST_LISTS];
    let end = 32 + 4 * (FIRST_LISTS + 13);
    words.push(0);
    for list in 0..3 {
        let at = end + PAYLOAD * (1 + list);
        words.extend([VERSION, 1, PAYLOAD as u32, at as u32]);
    }
    let mut bytes = file((2, 1), VERSION, &words, &payload(VERSION));
    (0..3).for_each(|_| bytes.extend(payload(VERSION)));
    let size = bytes.len() as u32;
    bytes[..4].copy_from_slice(&size.to_le_bytes());
    bytes
}

/// `struct sdma_firmware_header_v1_0`.
fn sdma() -> Vec<u8> {
    let at = PAYLOAD as u32 / 4 - JUMP_TABLE;
    file((1, 0), VERSION, &[1, 1, at, JUMP_TABLE], &payload(VERSION))
}

/// `struct psp_firmware_header_v2_1`, and `enum psp_fw_type`: the components of a secure OS, and the same
/// once more for boards with an earlier management unit.
fn secure_os() -> Vec<u8> {
    const COMPONENTS: [u32; 9] = [3, 5, 2, 7, 8, 9, 10, 1, 6];
    let count = COMPONENTS.len() as u32;
    let mut words = vec![2 * count, count];
    for (n, kind) in COMPONENTS.iter().chain(&COMPONENTS).enumerate() {
        let at = n % COMPONENTS.len() * PAYLOAD;
        words.extend([*kind, SECURE_OS_VERSION, at as u32, PAYLOAD as u32]);
    }
    let payload = COMPONENTS.map(|_| payload(SECURE_OS_VERSION)).concat();
    file((2, 1), SECURE_OS_VERSION, &words, &payload)
}

/// `struct ta_firmware_header_v2_0` with `TA_FW_TYPE_PSP_ASD` alone.
fn applications() -> Vec<u8> {
    let words = [1, 1, VERSION, 0, PAYLOAD as u32];
    file((2, 0), VERSION, &words, &payload(VERSION))
}

/// `struct smc_firmware_header_v2_1`: the management unit's firmware is in the chip; the file brings a
/// table for the security processor.
fn tables() -> Vec<u8> {
    // Start address, count, offset of the entries; one entry: id, offset, size.
    const HEADER: usize = 32 + 4 * 6;
    let words = [
        0,
        1,
        HEADER as u32 - 12,
        P2S_TABLE,
        HEADER as u32,
        PAYLOAD as u32,
    ];
    file((2, 1), VERSION, &words, &payload(VERSION))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(bytes: &[u8], at: usize) -> usize {
        u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize
    }

    /// What `amdgpu_ucode_validate` compares, and what lies where headers say.
    #[test]
    fn sizes_and_offsets_are_those_of_the_files() {
        for (name, bytes) in gfx942().into_iter().chain(gfx1201::files()) {
            assert_eq!(word(&bytes, 0), bytes.len(), "{name}: size_bytes");
            let (size, at) = (word(&bytes, 20), word(&bytes, 24));
            assert_eq!(
                at,
                word(&bytes, 4),
                "{name}: the payload follows the header"
            );
            assert!(at + size <= bytes.len(), "{name}: ucode_size_bytes");
        }
    }

    #[test]
    fn tables_lie_inside_their_files() {
        let mec = mec();
        // jt_offset and jt_size, in words of the payload.
        assert_eq!(word(&mec, 36) + word(&mec, 40), 2 * PAYLOAD / 4);
        let rlc = rlc();
        // `struct rlc_firmware_header_v2_1` has 156 bytes; cntl, gpm, srm: size and offset.
        assert_eq!(word(&rlc, 4), 156);
        for list in [116, 132, 148] {
            assert_eq!(word(&rlc, list), PAYLOAD);
            assert!(word(&rlc, list + 4) + PAYLOAD <= rlc.len());
        }
        let os = secure_os();
        for component in 0..18 {
            let at = 40 + 16 * component;
            let end = word(&os, 24) + word(&os, at + 8) + word(&os, at + 12);
            assert!(end <= os.len(), "component {component}");
        }
        let smu = tables();
        let entry = word(&smu, 40);
        assert_eq!(word(&smu, entry), P2S_TABLE as usize);
        assert_eq!(word(&smu, entry + 4) + word(&smu, entry + 8), smu.len());
    }
}
