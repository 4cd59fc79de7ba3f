// SPDX-License-Identifier: MIT OR Apache-2.0
//! Placeholders of the files of gfx1201.
//!
//! Names and headers: Linux, `amdgpu/amdgpu_ucode.h`, `amdgpu/gfx_v12_0.c`, `amdgpu/imu_v12_0.c`,
//! `amdgpu/amdgpu_mes.c`, `amdgpu/sdma_v7_0.c`, `amdgpu/psp_v14_0.c`, `pm/swsmu/smu14/smu_v14_0.c`.

use super::{applications, file, image, Blob, OF_GFX1201, PAYLOAD, VERSION};

/// The secure OS': from 0x3a0e14 on Linux asks it for the reserved part of VRAM (`psp_update_fw_reservation`).
const SECURE_OS_VERSION: u32 = 0x003a_1214;
/// The scheduler's, which the emulated device reports by CP_MES_GP3_LO, too.
const MES_VERSION: u32 = 0x8d;
/// Where the scheduler's code begins in its file: Linux looks for its version at a fixed place
/// (`amdgpu_mes_init_microcode`: behind `union amdgpu_firmware_header`).
const MES_CODE: usize = 0x100;

/// Where the engines' programs begin, in bytes of their own address space. Each is another one, and has bits
/// in both halves of the registers that take it.
pub mod start {
    /// Of the prefetch parser.
    pub const PFP: u64 = 0x1_0000_1000;
    /// Of the micro engine.
    pub const ME: u64 = 0x2_0000_2000;
    /// Of the compute micro engine.
    pub const MEC: u64 = 0x5_0000_3000;
    /// Of the scheduler.
    pub const MES: u64 = 0x6_0000_4000;
}

/// The files.
pub fn files() -> Vec<Blob> {
    vec![
        ("gc_12_0_1_pfp.bin", engine(start::PFP)),
        ("gc_12_0_1_me.bin", engine(start::ME)),
        ("gc_12_0_1_mec.bin", engine(start::MEC)),
        ("gc_12_0_1_rlc.bin", rlc()),
        ("gc_12_0_1_imu.bin", imu()),
        ("gc_12_0_1_uni_mes.bin", mes()),
        ("sdma_7_0_1.bin", sdma()),
        ("psp_14_0_3_sos.bin", secure_os()),
        ("psp_14_0_3_ta.bin", applications()),
        ("smu_14_0_3.bin", management_unit()),
    ]
}

fn halves(address: u64) -> [u32; 2] {
    [address as u32, (address >> 32) as u32]
}

/// An image for this chip.
fn payload(version: u32) -> Vec<u8> {
    image(version, OF_GFX1201)
}

/// Two of them, one behind the other.
fn two(version: u32) -> Vec<u8> {
    [payload(version), payload(version)].concat()
}

/// `struct gfx_firmware_header_v2_0`: code, data, and where the program begins.
fn engine(start: u64) -> Vec<u8> {
    const HEADER: usize = 32 + 4 * 7;
    let (code, data) = (HEADER as u32, (HEADER + PAYLOAD) as u32);
    let [low, high] = halves(start);
    let words = [1, PAYLOAD as u32, code, PAYLOAD as u32, data, low, high];
    file((2, 0), VERSION, &words, &two(VERSION))
}

/// `struct rlc_firmware_header_v2_2`: no lists, but code and data of its second core.
fn rlc() -> Vec<u8> {
    /// Words of version 2.1 behind the common ones.
    const LISTS: usize = 31;
    const HEADER: usize = 32 + 4 * (LISTS + 4);
    let mut words = vec![0; LISTS];
    for part in 1..=2 {
        words.extend([PAYLOAD as u32, (HEADER + part * PAYLOAD) as u32]);
    }
    let mut bytes = file((2, 2), VERSION, &words, &payload(VERSION));
    bytes.extend(two(VERSION));
    let size = bytes.len() as u32;
    bytes[..4].copy_from_slice(&size.to_le_bytes());
    bytes
}

/// `struct imu_firmware_header_v1_0`.
fn imu() -> Vec<u8> {
    const HEADER: usize = 32 + 4 * 4;
    let size = PAYLOAD as u32;
    let words = [size, HEADER as u32, size, (HEADER + PAYLOAD) as u32];
    file((1, 0), VERSION, &words, &two(VERSION))
}

/// `struct mes_firmware_header_v1_0`.
fn mes() -> Vec<u8> {
    const HEADER: usize = 32 + 4 * 10;
    let size = PAYLOAD as u32;
    let (code, data) = (MES_CODE as u32, (MES_CODE + PAYLOAD) as u32);
    let [low, high] = halves(start::MES);
    let words = [
        MES_VERSION,
        size,
        code,
        MES_VERSION,
        size,
        data,
        low,
        high,
        0,
        0,
    ];
    let gap = vec![0; MES_CODE - HEADER];
    file(
        (1, 0),
        MES_VERSION,
        &words,
        &[gap, two(MES_VERSION)].concat(),
    )
}

/// `struct sdma_firmware_header_v3_0`.
fn sdma() -> Vec<u8> {
    const HEADER: usize = 32 + 4 * 3;
    let words = [1, HEADER as u32, PAYLOAD as u32];
    file((3, 0), VERSION, &words, &payload(VERSION))
}

/// `struct psp_firmware_header_v2_0`, and `enum psp_fw_type`.
fn secure_os() -> Vec<u8> {
    const COMPONENTS: [u32; 11] = [3, 2, 1, 7, 8, 9, 4, 11, 5, 10, 6];
    let mut words = vec![COMPONENTS.len() as u32];
    for (n, kind) in COMPONENTS.iter().enumerate() {
        let at = n * PAYLOAD;
        words.extend([*kind, SECURE_OS_VERSION, at as u32, PAYLOAD as u32]);
    }
    let payload = COMPONENTS.map(|_| payload(SECURE_OS_VERSION)).concat();
    file((2, 0), SECURE_OS_VERSION, &words, &payload)
}

/// `struct smc_firmware_header_v2_0`: a start address, and no table.
fn management_unit() -> Vec<u8> {
    file((2, 0), VERSION, &[0, 0, 0], &payload(VERSION))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(bytes: &[u8], at: usize) -> usize {
        u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize
    }

    /// Each pair of size and offset, by the place of its first word: offsets are from the start of the file.
    #[test]
    fn parts_lie_inside_their_files() {
        let sizes_first = [
            ("rlc", rlc(), vec![156, 164]),
            ("imu", imu(), vec![32, 40]),
            ("mes", mes(), vec![36, 48]),
            ("engine", engine(0), vec![36, 44]),
        ];
        for (name, bytes, places) in sizes_first {
            for at in places {
                assert_eq!(word(&bytes, at), PAYLOAD, "{name}: word at {at}");
                let from = word(&bytes, at + 4);
                let part = &bytes[from..from + PAYLOAD];
                assert!(part.starts_with(b"rkfd placeholder"), "{name}: {from}");
            }
        }
        // `struct rlc_firmware_header_v2_2` has 172 bytes.
        assert_eq!(word(&rlc(), 4), 172);
        let os = secure_os();
        for component in 0..11 {
            let at = 36 + 16 * component;
            let from = word(&os, 24) + word(&os, at + 8);
            assert!(os[from..from + word(&os, at + 12)].starts_with(b"rkfd"));
        }
    }
}
