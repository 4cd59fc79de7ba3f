// SPDX-License-Identifier: MIT OR Apache-2.0

//! Files of firmware as `linux-firmware` has them: their headers, and where in a file the code lies.
//!
//! A header has the common words first and then those of its kind. Numbers in it say where the code is,
//! and are trusted with nothing: what lies outside of the file is refused.
//!
//! Source: Linux, `amdgpu/amdgpu_ucode.h`; what Linux compares, `amdgpu_ucode_validate`.

pub mod program;
mod rlc;
mod secure_os;
pub mod tables;

pub use rlc::{RlcCode, RlcCoreHeader, RlcHeader};
pub use secure_os::{Component, ComponentEntry, SecureOs, SecureOsHeader};

use super::layout::*;
use program::{CopyProgramHeader, CoreStarterHeader, ProgramHeader, SchedulerHeader};
use tables::{TableEntry, TablesHeader};

layout! {
    /// What every file begins with.
    pub struct Header: [u32; 8] = "struct common_firmware_header" {
        /// Of the whole file, in bytes.
        SIZE: 0[31:0] = "size_bytes";
        /// Of the header with the words of its kind, in bytes.
        HEADER_SIZE: 1[31:0] = "header_size_bytes";
        MAJOR: 2[15:0] = "header_version_major";
        MINOR: 2[31:16] = "header_version_minor";
        IP_MAJOR: 3[15:0] = "ip_version_major";
        IP_MINOR: 3[31:16] = "ip_version_minor";
        VERSION: 4[31:0] = "ucode_version";
        /// Of the code, in bytes.
        CODE_SIZE: 5[31:0] = "ucode_size_bytes";
        /// From the start of the file, in bytes.
        CODE_OFFSET: 6[31:0] = "ucode_array_offset_bytes";
        CRC: 7[31:0] = "crc32";
    }

    /// A micro engine's of the command processor.
    pub struct EngineHeader: [u32; 11] = "struct gfx_firmware_header_v1_0" {
        FEATURE: 8[31:0] = "ucode_feature_version";
        /// From the start of the code, in words.
        JUMP_TABLE: 9[31:0] = "jt_offset";
        /// In words.
        JUMP_TABLE_SIZE: 10[31:0] = "jt_size";
    }
}

/// The layouts, for the test against Linux's header.
pub const LAYOUTS: &[LayoutInfo] = &[
    LayoutInfo::of::<Header>(),
    LayoutInfo::of::<EngineHeader>(),
    LayoutInfo::of::<ProgramHeader>(),
    LayoutInfo::of::<SchedulerHeader>(),
    LayoutInfo::of::<CoreStarterHeader>(),
    LayoutInfo::of::<CopyProgramHeader>(),
    LayoutInfo::of::<RlcHeader>(),
    LayoutInfo::of::<RlcCoreHeader>(),
    LayoutInfo::of::<SecureOsHeader>(),
    LayoutInfo::of::<ComponentEntry>(),
    LayoutInfo::of::<TablesHeader>(),
    LayoutInfo::of::<TableEntry>(),
];

/// Why a file can't be used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unusable {
    /// It ends before its header does.
    Short,
    /// It has not as many bytes as its header says.
    Size {
        /// What the header says.
        stated: u32,
    },
    /// Its header is of a kind or a version that isn't known.
    Version {
        /// The header's major version.
        major: u16,
        /// The header's minor version.
        minor: u16,
    },
    /// It has no code, or its code isn't whole words inside the file.
    Code,
    /// The jump table is empty, or isn't inside the code.
    JumpTable,
    /// A list of the run list controller isn't whole words inside the file.
    List,
    /// The address at which the program begins isn't that of a word.
    Start,
    /// A component of the secure OS isn't inside the file, or one is missing without which it can't start.
    Component,
}

impl core::fmt::Display for Unusable {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Short => f.write_str("it ends before its header does"),
            Self::Size { stated } => write!(f, "its header says that it has {stated} bytes"),
            Self::Version { major, minor } => {
                write!(f, "its header has the unknown version {major}.{minor}")
            }
            Self::Code => f.write_str("its code doesn't lie inside the file"),
            Self::JumpTable => f.write_str("its jump table doesn't lie inside the code"),
            Self::List => f.write_str("a list of registers doesn't lie inside the file"),
            Self::Start => f.write_str("the address at which its program begins is odd"),
            Self::Component => f.write_str("a component is missing or doesn't lie inside the file"),
        }
    }
}

/// The code of an engine, in a file that was checked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Code<'a> {
    /// The firmware's version, as drivers report it.
    pub version: u32,
    bytes: &'a [u8],
}

impl<'a> Code<'a> {
    /// The code of a file whose header has the version `major`, and any minor one.
    ///
    /// # Errors
    ///
    /// What is wrong with the file.
    pub fn read(file: &'a [u8], major: u16) -> Result<Self, Unusable> {
        let header = header(file)?;
        let version = header.get(Header::MAJOR) as u16;
        if version != major {
            let minor = header.get(Header::MINOR) as u16;
            return Err(Unusable::Version {
                major: version,
                minor,
            });
        }
        let place = |field| usize::try_from(header.get(field)).map_err(|_| Unusable::Code);
        let (at, size) = (place(Header::CODE_OFFSET)?, place(Header::CODE_SIZE)?);
        let bytes = file.get(at..).and_then(|rest| rest.get(..size));
        let bytes = bytes.ok_or(Unusable::Code)?;
        if bytes.is_empty() || bytes.len() % 4 != 0 {
            return Err(Unusable::Code);
        }
        let version = header.get(Header::VERSION) as u32;
        Ok(Self { version, bytes })
    }

    /// Its words, in order.
    pub fn words(&self) -> impl ExactSizeIterator<Item = u32> + 'a {
        self.bytes.chunks_exact(4).map(word)
    }

    /// Its bytes: whole words, the lowest byte of each first.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }
}

/// The code of a micro engine of the command processor, in a file that was checked: the engine takes the
/// code from memory, and the jump table through a port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EngineCode<'a> {
    /// All of the code.
    pub code: Code<'a>,
    /// Where in the code the jump table begins, in words.
    pub jump_table_at: u32,
    jump_table: &'a [u8],
}

impl<'a> EngineCode<'a> {
    /// The code of a file with a header of version 1 (`struct gfx_firmware_header_v1_0`).
    ///
    /// # Errors
    ///
    /// What is wrong with the file.
    pub fn read(file: &'a [u8]) -> Result<Self, Unusable> {
        let code = Code::read(file, 1)?;
        let header = EngineHeader::read(&head::<11>(file).ok_or(Unusable::Short)?);
        let header = header.ok_or(Unusable::Short)?;
        let bytes = |field| {
            let words = usize::try_from(header.get(field)).ok()?;
            words.checked_mul(4)
        };
        let at = bytes(EngineHeader::JUMP_TABLE).ok_or(Unusable::JumpTable)?;
        let size = bytes(EngineHeader::JUMP_TABLE_SIZE).ok_or(Unusable::JumpTable)?;
        let table = code.bytes.get(at..).and_then(|rest| rest.get(..size));
        let jump_table = table.ok_or(Unusable::JumpTable)?;
        if jump_table.is_empty() {
            return Err(Unusable::JumpTable);
        }
        Ok(Self {
            code,
            jump_table_at: header.get(EngineHeader::JUMP_TABLE) as u32,
            jump_table,
        })
    }

    /// The jump table's words, in order.
    pub fn jump_table(&self) -> impl ExactSizeIterator<Item = u32> + 'a {
        self.jump_table.chunks_exact(4).map(word)
    }

    /// The jump table's bytes.
    pub fn jump_table_bytes(&self) -> &'a [u8] {
        self.jump_table
    }

    /// The code's bytes as the security processor takes them: as many as are left without the jump table
    /// (`amdgpu_ucode_init_single_fw`).
    pub fn bytes_without_jump_table(&self) -> &'a [u8] {
        let count = self.code.bytes.len().saturating_sub(self.jump_table.len());
        self.code.bytes.get(..count).unwrap_or_default()
    }
}

/// The common words of a file that is as long as they say.
fn header(file: &[u8]) -> Result<Header, Unusable> {
    let header = Header::read(&head::<8>(file).ok_or(Unusable::Short)?);
    let header = header.ok_or(Unusable::Short)?;
    let stated = header.get(Header::SIZE) as u32;
    match usize::try_from(stated) == Ok(file.len()) {
        true => Ok(header),
        false => Err(Unusable::Size { stated }),
    }
}

/// Where something lies in a file: `size` bytes, whole words, `at` so many from its start. It is neither
/// empty nor outside.
fn part(file: &[u8], at: u64, size: u64) -> Option<&[u8]> {
    let (at, size) = (usize::try_from(at).ok()?, usize::try_from(size).ok()?);
    let bytes = file.get(at..)?.get(..size)?;
    (!bytes.is_empty() && size % 4 == 0).then_some(bytes)
}

/// The first words of a file.
fn head<const N: usize>(file: &[u8]) -> Option<[u32; N]> {
    let bytes = file.get(..const { 4 * N })?;
    let mut words = [0; N];
    for (to, from) in words.iter_mut().zip(bytes.chunks_exact(4)) {
        *to = word(from);
    }
    Some(words)
}

/// A word of four bytes, the lowest first.
fn word(bytes: &[u8]) -> u32 {
    let all = bytes.iter().rev();
    all.fold(0, |word, &byte| (word << 8) | u32::from(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file with 44 bytes of header, four words of code and two of them its jump table; words by place.
    const FILE: [u32; 15] = [
        60,
        44,
        1,
        0x0004_0009,
        185,
        16,
        44,
        0, // the common words
        1,
        1,
        2, // feature, jump table
        0x11,
        0x22,
        0x33,
        0x44, // code
    ];

    /// The file as bytes, with words changed.
    fn file(changed: &[(usize, u32)]) -> [u8; 60] {
        let mut words = FILE;
        for &(at, value) in changed {
            words[at] = value;
        }
        let mut bytes = [0; 60];
        for (to, word) in bytes.chunks_exact_mut(4).zip(words) {
            to.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    #[test]
    fn a_file_says_where_its_code_and_its_jump_table_are() {
        let file = file(&[]);
        let engine = EngineCode::read(&file).unwrap();
        assert_eq!(engine.code.version, 185);
        assert!(engine.code.words().eq([0x11, 0x22, 0x33, 0x44]));
        assert_eq!(engine.jump_table_at, 1);
        assert!(engine.jump_table().eq([0x22, 0x33]));
    }

    #[test]
    fn what_a_header_says_is_compared_with_the_file() {
        let refused = |changed: &[(usize, u32)]| EngineCode::read(&file(changed)).unwrap_err();
        assert_eq!(refused(&[(0, 61)]), Unusable::Size { stated: 61 });
        let version = |major, minor| Unusable::Version { major, minor };
        assert_eq!(refused(&[(2, 0x0003_0002)]), version(2, 3));
        let code = [
            [(5, 0), (6, 44)],
            [(5, 15), (6, 44)],
            [(5, 20), (6, 44)],
            [(5, 16), (6, 45)],
            [(5, 16), (6, u32::MAX)],
            [(5, u32::MAX - 3), (6, 44)],
        ];
        for changed in code {
            assert_eq!(refused(&changed), Unusable::Code, "{changed:?}");
        }
        for (at, size) in [(1, 4), (4, 1), (0, 0), (u32::MAX, 1), (1, u32::MAX)] {
            let changed = [(9, at), (10, size)];
            assert_eq!(refused(&changed), Unusable::JumpTable, "{changed:?}");
        }
    }

    #[test]
    fn a_file_that_ends_early_is_refused_at_each_length() {
        let whole = file(&[]);
        for end in 0..whole.len() {
            let short = whole.get(..end).unwrap();
            let wanted = match end {
                0..32 => Unusable::Short,
                _ => Unusable::Size { stated: 60 },
            };
            assert_eq!(EngineCode::read(short), Err(wanted), "{end} bytes");
        }
        // The header of its kind is longer than the file.
        let mut short = file(&[(0, 40), (5, 4), (6, 32)]);
        let (short, _) = short.split_at_mut(40);
        assert!(Code::read(short, 1).is_ok());
        assert_eq!(EngineCode::read(short), Err(Unusable::Short));
    }
}
