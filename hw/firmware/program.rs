// SPDX-License-Identifier: MIT OR Apache-2.0

//! Files of engines that are processors with an address space of their own: code, data, and the address at
//! which the program begins.

use super::super::layout::*;
use super::{head, part, Code, Unusable};

layout! {
    /// An engine's of the command processor.
    pub struct ProgramHeader: [u32; 15] = "struct gfx_firmware_header_v2_0" {
        FEATURE: 8[31:0] = "ucode_feature_version";
        /// In bytes, as the others; offsets are from the start of the file.
        CODE_SIZE: 9[31:0] = "ucode_size_bytes";
        CODE_OFFSET: 10[31:0] = "ucode_offset_bytes";
        DATA_SIZE: 11[31:0] = "data_size_bytes";
        DATA_OFFSET: 12[31:0] = "data_offset_bytes";
        START: 13[63:0] = "ucode_start_addr_lo+ucode_start_addr_hi";
    }

    /// The scheduler's.
    pub struct SchedulerHeader: [u32; 18] = "struct mes_firmware_header_v1_0" {
        /// 0 in AMD's files: see [`Program::of_scheduler`].
        VERSION: 8[31:0] = "mes_ucode_version";
        CODE_SIZE: 9[31:0] = "mes_ucode_size_bytes";
        CODE_OFFSET: 10[31:0] = "mes_ucode_offset_bytes";
        DATA_VERSION: 11[31:0] = "mes_ucode_data_version";
        DATA_SIZE: 12[31:0] = "mes_ucode_data_size_bytes";
        DATA_OFFSET: 13[31:0] = "mes_ucode_data_offset_bytes";
        START: 14[63:0] = "mes_uc_start_addr_lo+mes_uc_start_addr_hi";
        DATA_START: 16[63:0] = "mes_data_start_addr_lo+mes_data_start_addr_hi";
    }

    /// That of the unit that starts the graphics core (IMU).
    pub struct CoreStarterHeader: [u32; 12] = "struct imu_firmware_header_v1_0" {
        CODE_SIZE: 8[31:0] = "imu_iram_ucode_size_bytes";
        CODE_OFFSET: 9[31:0] = "imu_iram_ucode_offset_bytes";
        DATA_SIZE: 10[31:0] = "imu_dram_ucode_size_bytes";
        DATA_OFFSET: 11[31:0] = "imu_dram_ucode_offset_bytes";
    }

    /// The copy engines', from version 3 on.
    pub struct CopyProgramHeader: [u32; 11] = "struct sdma_firmware_header_v3_0" {
        FEATURE: 8[31:0] = "ucode_feature_version";
        CODE_OFFSET: 9[31:0] = "ucode_offset_bytes";
        CODE_SIZE: 10[31:0] = "ucode_size_bytes";
    }
}

/// Bytes of `union amdgpu_firmware_header`.
const UNION: usize = 0x100;
/// Where the scheduler's version is behind that (`ucode_ptr[24]`), and which bits it has (`AMDGPU_MES_VERSION_MASK`).
const SCHEDULER_VERSION: usize = 24 * 4;
const SCHEDULER_VERSION_MASK: u32 = 0xfff;

/// A program with its data, in a file that was checked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Program<'a> {
    /// The firmware's version, as drivers report it.
    pub version: u32,
    /// Whole words.
    pub code: &'a [u8],
    /// Whole words.
    pub data: &'a [u8],
    /// Where it begins, in bytes of the engine's address space; a multiple of 4.
    pub start: u64,
}

impl<'a> Program<'a> {
    /// That of an engine of the command processor: a file with a header of version 2.
    ///
    /// # Errors
    ///
    /// What is wrong with the file.
    pub fn of_engine(file: &'a [u8]) -> Result<Self, Unusable> {
        use ProgramHeader as H;
        let whole = Code::read(file, 2)?;
        let words = head::<{ H::WORDS }>(file).ok_or(Unusable::Short)?;
        let header = H::read(&words).ok_or(Unusable::Short)?;
        let get = |field| header.get(field);
        Self::new(
            whole.version,
            // Linux takes it from behind the header (`amdgpu_ucode_init_single_fw`).
            part(whole.bytes(), 0, get(H::CODE_SIZE)),
            part(file, get(H::DATA_OFFSET), get(H::DATA_SIZE)),
            header.get(H::START),
        )
    }

    /// The scheduler's: a file with a header of version 1. Its version is a word of the code
    /// (`amdgpu_mes_init_microcode`), which begins `UNION` bytes into the file in all that there are.
    ///
    /// # Errors
    ///
    /// What is wrong with the file.
    pub fn of_scheduler(file: &'a [u8]) -> Result<Self, Unusable> {
        use SchedulerHeader as H;
        Code::read(file, 1)?;
        let words = head::<{ H::WORDS }>(file).ok_or(Unusable::Short)?;
        let header = H::read(&words).ok_or(Unusable::Short)?;
        let get = |field| header.get(field);
        let version = file.get(UNION + SCHEDULER_VERSION..).and_then(head::<1>);
        let [version] = version.ok_or(Unusable::Short)?;
        Self::new(
            version & SCHEDULER_VERSION_MASK,
            part(file, get(H::CODE_OFFSET), get(H::CODE_SIZE)),
            part(file, get(H::DATA_OFFSET), get(H::DATA_SIZE)),
            header.get(H::START),
        )
    }

    fn new(
        version: u32,
        code: Option<&'a [u8]>,
        data: Option<&'a [u8]>,
        start: u64,
    ) -> Result<Self, Unusable> {
        if start % 4 != 0 {
            return Err(Unusable::Start);
        }
        Ok(Self {
            version,
            code: code.ok_or(Unusable::Code)?,
            data: data.ok_or(Unusable::Code)?,
            start,
        })
    }

    /// What the registers take in which a pipe finds its start: the address in words, and its upper half.
    pub fn start_registers(&self) -> [u32; 2] {
        let words = self.start >> 2;
        [words as u32, (words >> 32) as u32]
    }
}

/// Code and data of the unit that starts the graphics core, in a file that was checked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CoreStarter<'a> {
    /// The firmware's version.
    pub version: u32,
    /// Whole words.
    pub code: &'a [u8],
    /// Whole words.
    pub data: &'a [u8],
}

impl<'a> CoreStarter<'a> {
    /// That of a file with a header of version 1.
    ///
    /// # Errors
    ///
    /// What is wrong with the file.
    pub fn read(file: &'a [u8]) -> Result<Self, Unusable> {
        use CoreStarterHeader as H;
        let whole = Code::read(file, 1)?;
        let words = head::<{ H::WORDS }>(file).ok_or(Unusable::Short)?;
        let header = H::read(&words).ok_or(Unusable::Short)?;
        // Linux takes both from behind the header, the data behind the code (`amdgpu_ucode_init_single_fw`).
        let code = part(whole.bytes(), 0, header.get(H::CODE_SIZE)).ok_or(Unusable::Code)?;
        let data = whole.bytes().get(code.len()..);
        let data = data.and_then(|data| part(data, 0, header.get(H::DATA_SIZE)));
        Ok(Self {
            version: whole.version,
            code,
            data: data.ok_or(Unusable::Code)?,
        })
    }
}

/// Code of the copy engines, in a file that was checked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CopyProgram<'a> {
    /// The firmware's version.
    pub version: u32,
    /// Whole words.
    pub code: &'a [u8],
}

impl<'a> CopyProgram<'a> {
    /// That of a file with a header of version 3.
    ///
    /// # Errors
    ///
    /// What is wrong with the file.
    pub fn read(file: &'a [u8]) -> Result<Self, Unusable> {
        use CopyProgramHeader as H;
        let whole = Code::read(file, 3)?;
        let words = head::<{ H::WORDS }>(file).ok_or(Unusable::Short)?;
        let header = H::read(&words).ok_or(Unusable::Short)?;
        let code = part(whole.bytes(), 0, header.get(H::CODE_SIZE));
        Ok(Self {
            version: whole.version,
            code: code.ok_or(Unusable::Code)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file whose header has these words behind the common ones and the words of code and data.
    fn file<const N: usize>(major: u32, words: &[u32], body: &[u32], bytes: &mut [u8; N]) {
        let header = 32 + 4 * words.len() as u32;
        let common = [
            N as u32,
            header,
            major,
            0,
            7,
            4 * body.len() as u32,
            header,
            0,
        ];
        let all = common.iter().chain(words).chain(body);
        for (to, word) in bytes.chunks_exact_mut(4).zip(all) {
            to.copy_from_slice(&word.to_le_bytes());
        }
    }

    #[test]
    fn an_engine_s_file_says_where_its_program_begins() {
        let mut bytes = [0; 72];
        let words = [1, 8, 0, 4, 68, 0x0000_3004, 5];
        file(2, &words, &[0x11, 0x22, 0x33], &mut bytes);
        let program = Program::of_engine(&bytes).unwrap();
        assert_eq!((program.version, program.start), (7, 0x5_0000_3004));
        assert_eq!(
            (program.code.len(), program.data),
            (8, &[0x33, 0, 0, 0][..])
        );
        // `gfx_v12_0_config_gfx_rs64`: hi << 30 | lo >> 2, and hi >> 2.
        let wanted = [(5 << 30) | (0x3004 >> 2), 5 >> 2];
        assert_eq!(program.start_registers(), wanted);
        let refused = |word: usize, value: u32| {
            let mut words = words;
            words[word] = value;
            let mut bytes = [0; 72];
            file(2, &words, &[0x11, 0x22, 0x33], &mut bytes);
            Program::of_engine(&bytes).unwrap_err()
        };
        for (word, value) in [(1, 0), (1, 6), (1, 16), (3, 8), (4, 72), (4, u32::MAX)] {
            assert_eq!(refused(word, value), Unusable::Code, "{word} {value}");
        }
        assert_eq!(refused(5, 0x3006), Unusable::Start);
    }

    #[test]
    fn the_scheduler_s_file_has_places_of_its_own() {
        let mut bytes = [0; 0x1a0];
        // As in AMD's files: 0 for a version, and code from 256 bytes on, with the version in its 25th word.
        let words = [0, 0x68, 0x100, 0, 4, 0x168, 0xf000_5000, u32::MAX, 0, 0];
        let mut payload = [0; 86];
        [payload[46], payload[70], payload[72]] = [0x11, 0x6400_1093, 0x22];
        file(1, &words, &payload, &mut bytes);
        let program = Program::of_scheduler(&bytes).unwrap();
        assert_eq!(
            (program.version, program.start),
            (0x93, 0xffff_ffff_f000_5000)
        );
        assert_eq!(program.code[..4], [0x11, 0, 0, 0]);
        assert_eq!(
            (program.code.len(), program.data),
            (0x68, &[0x22, 0, 0, 0][..])
        );
        let version = |major, minor| Unusable::Version { major, minor };
        assert_eq!(Program::of_engine(&bytes), Err(version(1, 0)));
    }

    #[test]
    fn data_of_the_core_s_starter_lies_behind_its_code() {
        let mut bytes = [0; 60];
        file(1, &[4, 0, 8, 0], &[0x11, 0x22, 0x33], &mut bytes);
        let starter = CoreStarter::read(&bytes).unwrap();
        assert_eq!(starter.code, [0x11, 0, 0, 0]);
        assert_eq!(starter.data, [0x22, 0, 0, 0, 0x33, 0, 0, 0]);
        file(1, &[4, 0, 12, 0], &[0x11, 0x22, 0x33], &mut bytes);
        assert_eq!(CoreStarter::read(&bytes), Err(Unusable::Code));
    }

    #[test]
    fn copy_engines_have_as_much_code_as_their_header_says() {
        let mut bytes = [0; 52];
        file(3, &[1, 44, 4], &[0x11, 0x22], &mut bytes);
        assert_eq!(CopyProgram::read(&bytes).unwrap().code, [0x11, 0, 0, 0]);
        file(3, &[1, 44, 12], &[0x11, 0x22], &mut bytes);
        assert_eq!(CopyProgram::read(&bytes), Err(Unusable::Code));
    }
}
