// SPDX-License-Identifier: MIT OR Apache-2.0

//! The image in a card's expansion ROM, of which the driver reads who the card is.
//!
//! Sources: Linux, `include/atomfirmware.h` (`enum atom_string_def`, `struct atom_rom_header_v2_2`),
//! `include/atombios.h` (`ATOM_FIRMWARE_INFO`), `amdgpu/atom.h` (fixed places), `amdgpu/amdgpu_bios.c` (what makes an
//! image one), `amdgpu/atom.c` (how its texts are found).
//!
//! An image is somebody else's bytes: each place in it is looked up with [`slice::get`], and what isn't there is `None`
//! or empty.

use super::discovery::{u16_at, u32_at};
use super::layout::*;

/// Places that are the same in all images.
mod at {
    /// How many texts of the card there are before its name.
    pub(super) const TEXTS: usize = 0x2f;
    pub(super) const VENDOR: usize = 0x30;
    pub(super) const HEADER_POINTER: usize = 0x48;
    pub(super) const DATE: usize = 0x50;
    pub(super) const TEXTS_POINTER: usize = 0x6e;
    /// The part number, where texts aren't counted.
    pub(super) const PART_NUMBER: usize = 0x80;
}

/// Places in the header.
mod header {
    pub(super) const MAGIC: usize = 0x04;
    pub(super) const CONFIGURATION_POINTER: usize = 0x0c;
    pub(super) const DATA_POINTER: usize = 0x20;
}

/// The first two bytes of an expansion ROM.
const ROM: [u8; 2] = [0x55, 0xaa];
const VENDOR: &[u8] = b" 761295520";
const MAGIC: &[u8] = b"ATOM";
/// Indices of tables in the list of them (`struct atom_master_list_of_data_tables_v2_1`).
const FIRMWARE_INFO: usize = 4;
const UMC_INFO: usize = 24;
/// What is before the version's text: this, and ` VER`.
const VERSION_PREFIX: &[u8] = b"ATOMBIOSBK-AMD";
const VERSION_SKIPPED: usize = 18;
/// Part numbers begin so where nothing points to one.
const PREFIX: &[u8] = b"ATOMBIOS";
/// Bytes of a part number at most.
const PART_NUMBER_SIZE: usize = 43;
/// Bytes of a name, and of the other texts, with the zero at their end.
const LONG: usize = 64;
const NORMAL: usize = 32;

layout! {
    /// The table of the card's firmware. Versions 3.4 and 3.5 have the last field at this place; others don't have it.
    pub struct FirmwareInfo: [u32; 27] = "struct atom_firmware_info_v3_4" {
        FIRMWARE_SIZE: 0[15:0] = "table_header.structuresize";
        FIRMWARE_FORMAT: 0[23:16] = "table_header.format_revision";
        FIRMWARE_CONTENT: 0[31:24] = "table_header.content_revision";
        REVISION: 1[31:0] = "firmware_revision";
        /// What firmware keeps at the end of VRAM, in KiB.
        KEPT_KIB: 21[31:0] = "fw_reserved_size_in_kb";
    }

    /// The table of memory controllers. Version 4.0, that of the chips here, is the one that is read.
    pub struct UmcInfo: [u32; 21] = "struct atom_umc_info_v4_0" {
        SIZE: 0[15:0] = "table_header.structuresize";
        FORMAT: 0[23:16] = "table_header.format_revision";
        CONTENT: 0[31:24] = "table_header.content_revision";
        /// One of [`memory`].
        VRAM_TYPE: 6[23:16] = "vram_type";
        /// Channels of one die.
        CHANNEL_NUM: 16[7:0] = "channel_num";
        /// A channel has as many bits as this power of two.
        CHANNEL_WIDTH: 16[15:8] = "channel_width";
    }
}

/// The layouts of this file.
pub const LAYOUTS: &[LayoutInfo] = &[
    LayoutInfo::of::<FirmwareInfo>(),
    LayoutInfo::of::<UmcInfo>(),
];

/// Kinds of memory on a card (`enum atom_dgpu_vram_type`).
pub mod memory {
    /// `ATOM_DGPU_VRAM_TYPE_GDDR5`.
    pub const GDDR5: u8 = 0x50;
    /// `ATOM_DGPU_VRAM_TYPE_HBM2`.
    pub const HBM2: u8 = 0x60;
    /// `ATOM_DGPU_VRAM_TYPE_HBM2E`.
    pub const HBM2E: u8 = 0x61;
    /// `ATOM_DGPU_VRAM_TYPE_GDDR6`.
    pub const GDDR6: u8 = 0x70;
    /// `ATOM_DGPU_VRAM_TYPE_HBM3`.
    pub const HBM3: u8 = 0x80;
    /// `ATOM_DGPU_VRAM_TYPE_HBM3E`.
    pub const HBM3E: u8 = 0x81;
}

/// The memory of one die.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Memory {
    /// One of [`memory`], or another.
    pub kind: u8,
    /// Bits of its bus.
    pub bits: u32,
}

/// A valid image.
#[derive(Clone, Copy)]
pub struct Image<'a> {
    bytes: &'a [u8],
    header: usize,
}

impl<'a> Image<'a> {
    /// None for what isn't an image that Linux' amdgpu would take.
    pub fn new(bytes: &'a [u8]) -> Option<Self> {
        let header = u16_at(bytes, at::HEADER_POINTER)? as usize;
        let is =
            |at: usize, text: &[u8]| bytes.get(at..).is_some_and(|rest| rest.starts_with(text));
        let valid = header != 0
            && is(0, &ROM)
            && is(at::VENDOR, VENDOR)
            && is(header.wrapping_add(header::MAGIC), MAGIC);
        valid.then_some(Self { bytes, header })
    }

    fn from(&self, at: usize) -> &'a [u8] {
        self.bytes.get(at..).unwrap_or_default()
    }

    fn pointer(&self, at: usize) -> Option<usize> {
        u16_at(self.bytes, at).map(usize::from)
    }

    /// How many texts there are, and where they begin.
    fn texts(&self) -> Option<(u8, usize)> {
        let count = *self.bytes.get(at::TEXTS)?;
        Some((count, self.pointer(at::TEXTS_POINTER)?)).filter(|_| count != 0)
    }

    /// The part number, which `vbios_version` shows.
    pub fn part_number(&self) -> &'a [u8] {
        let at = self.texts().map_or(at::PART_NUMBER, |(_, at)| at);
        let mut text = self.from(at);
        if text.first() == Some(&0) {
            text = find(self.from(0), PREFIX, 3, 1024).unwrap_or_default();
        }
        let is_shown = |byte: &&u8| (b' '..=b'z').contains(*byte);
        let size = text.iter().take(PART_NUMBER_SIZE).take_while(is_shown);
        text.get(..size.count()).unwrap_or_default()
    }

    /// The card's name.
    pub fn name(&self) -> &'a [u8] {
        const NONE: &[u8] = b"--N/A--";
        let Some((count, at)) = self.texts() else {
            return NONE;
        };
        let mut rest = self.from(at);
        for _ in 0..count {
            rest = behind_zero(rest);
        }
        // Behind the end of a line.
        match rest.get(2..) {
            Some(name) if !name.is_empty() => until_zero(name, LONG).trim_ascii_end(),
            _ => NONE,
        }
    }

    /// The version, as text; empty where there is none.
    pub fn version_text(&self) -> &'a [u8] {
        let start = self.pointer(at::TEXTS_POINTER).unwrap_or(0);
        let (start, end) = match self.header <= start {
            true => (3, 1024),
            false => (start, self.header),
        };
        let found = find(self.bytes, VERSION_PREFIX, start, end);
        let version = found.and_then(|text| text.get(VERSION_SKIPPED..));
        until_zero(version.unwrap_or_default(), NORMAL)
    }

    /// Revision of the firmware, 0 where the image has none.
    pub fn version(&self) -> u32 {
        self.firmware_info(FirmwareInfo::REVISION.word())
            .unwrap_or(0)
    }

    /// Bytes at the end of VRAM that firmware keeps for itself; 0 where the image doesn't tell.
    pub fn kept(&self) -> u64 {
        let kept = self.firmware_info(0).and_then(|head| {
            let mut info = FirmwareInfo::zeroed();
            info.0[0] = head;
            let version = (
                info.get(FirmwareInfo::FIRMWARE_FORMAT),
                info.get(FirmwareInfo::FIRMWARE_CONTENT),
            );
            let kib = self.firmware_info(FirmwareInfo::KEPT_KIB.word());
            kib.filter(|_| matches!(version, (3, 4 | 5)))
        });
        u64::from(kept.unwrap_or(0)) << 10
    }

    /// A word of the table of the card's firmware.
    fn firmware_info(&self, word: usize) -> Option<u32> {
        let at = self.table(FIRMWARE_INFO)?;
        u32_at(self.bytes, at.wrapping_add(word.wrapping_mul(4)))
    }

    /// What each die's memory is. None where the image doesn't tell, or in another way.
    pub fn memory(&self) -> Option<Memory> {
        let at = self.table(UMC_INFO)?;
        let mut info = UmcInfo::zeroed();
        for (place, word) in (at..).step_by(4).zip(&mut info.0) {
            *word = u32_at(self.bytes, place)?;
        }
        let version = (info.get(UmcInfo::FORMAT), info.get(UmcInfo::CONTENT));
        let channels = info.get(UmcInfo::CHANNEL_NUM) as u32;
        let width = 1u32.checked_shl(info.get(UmcInfo::CHANNEL_WIDTH) as u32)?;
        (version == (4, 0)).then_some(Memory {
            kind: info.get(UmcInfo::VRAM_TYPE) as u8,
            bits: channels.checked_mul(width)?,
        })
    }

    /// Where a table begins, by its index.
    fn table(&self, index: usize) -> Option<usize> {
        let list = self.pointer(self.header.wrapping_add(header::DATA_POINTER))?;
        let is_there = |at: &usize| *at != 0;
        let entry = Some(list)
            .filter(is_there)?
            .wrapping_add(index.wrapping_mul(2).wrapping_add(4));
        self.pointer(entry).filter(is_there)
    }

    /// Year, month and day, hours and minutes: `20YY/MM/DD HH:MM`. None where the image ends before.
    pub fn date(&self) -> Option<[u8; 16]> {
        let d: &[u8] = self.bytes.get(at::DATE..at::DATE + 14)?;
        let [m0, m1, _, d0, d1, _, y0, y1, _, h0, h1, colon, n0, n1] = *d else {
            return None;
        };
        Some([
            b'2', b'0', y0, y1, b'/', m0, m1, b'/', d0, d1, b' ', h0, h1, colon, n0, n1,
        ])
    }

    /// The number of its build, which is the third text from the header's; empty where there is none.
    pub fn build(&self) -> &'a [u8] {
        let at = self.pointer(self.header.wrapping_add(header::CONFIGURATION_POINTER));
        let texts = at.and_then(|at| self.bytes.get(at..self.header));
        let mut rest = texts.unwrap_or_default();
        for _ in 0..2 {
            rest = behind_zero(rest);
        }
        until_zero(rest, NORMAL.min(rest.len()))
    }
}

/// What follows the first zero; nothing where there is none.
fn behind_zero(bytes: &[u8]) -> &[u8] {
    let mut parts = bytes.splitn(2, |&byte| byte == 0);
    parts.nth(1).unwrap_or_default()
}

/// A text, without the zero at its end, which has room in `size` bytes.
fn until_zero(text: &[u8], size: usize) -> &[u8] {
    let text = text.get(..size.saturating_sub(1)).unwrap_or(text);
    text.split(|&byte| byte == 0).next().unwrap_or_default()
}

/// What begins with a text at one of these places, to the end of the image.
fn find<'a>(bytes: &'a [u8], text: &[u8], first: usize, last: usize) -> Option<&'a [u8]> {
    (first..=last)
        .filter_map(|at| bytes.get(at..))
        .find(|rest| rest.starts_with(text))
}
