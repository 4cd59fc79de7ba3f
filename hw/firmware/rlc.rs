// SPDX-License-Identifier: MIT OR Apache-2.0

//! The run list controller's file: its code, and lists of the registers that it saves and restores.

use super::super::layout::*;
use super::{head, part, Code, Unusable};

layout! {
    /// The header from version 2.1 on: lists, of each of which the size is 0 if there is none.
    pub struct RlcHeader: [u32; 39] = "struct rlc_firmware_header_v2_1" {
        /// In bytes; where, from the start of the file.
        CNTL_SIZE: 29[31:0] = "save_restore_list_cntl_size_bytes";
        CNTL_OFFSET: 30[31:0] = "save_restore_list_cntl_offset_bytes";
        GPM_SIZE: 33[31:0] = "save_restore_list_gpm_size_bytes";
        GPM_OFFSET: 34[31:0] = "save_restore_list_gpm_offset_bytes";
        SRM_SIZE: 37[31:0] = "save_restore_list_srm_size_bytes";
        SRM_OFFSET: 38[31:0] = "save_restore_list_srm_offset_bytes";
    }

    /// What the header has more from version 2.2 on: code and data of the controller's second core.
    pub struct RlcCoreHeader: [u32; 43] = "struct rlc_firmware_header_v2_2" {
        CODE_SIZE: 39[31:0] = "rlc_iram_ucode_size_bytes";
        CODE_OFFSET: 40[31:0] = "rlc_iram_ucode_offset_bytes";
        DATA_SIZE: 41[31:0] = "rlc_dram_ucode_size_bytes";
        DATA_OFFSET: 42[31:0] = "rlc_dram_ucode_offset_bytes";
    }
}

/// The code of a run list controller, in a file that was checked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RlcCode<'a> {
    /// The code.
    pub code: Code<'a>,
    /// Which registers, as the processor takes them: control, memory of the controller, memory of the save
    /// and restore machine. One that is not there is empty.
    pub control_list: &'a [u8],
    /// As above.
    pub gpm_list: &'a [u8],
    /// As above.
    pub srm_list: &'a [u8],
    /// Code and data of its second core; empty where it has none.
    pub core_code: &'a [u8],
    /// As above.
    pub core_data: &'a [u8],
}

impl<'a> RlcCode<'a> {
    /// The code of a file with a header of version 2.
    ///
    /// # Errors
    ///
    /// What is wrong with the file.
    pub fn read(file: &'a [u8]) -> Result<Self, Unusable> {
        let code = Code::read(file, 2)?;
        let minor = super::Header::read(&head::<8>(file).ok_or(Unusable::Short)?);
        let minor = minor.map_or(0, |header| header.get(super::Header::MINOR));
        let mut rlc = Self {
            code,
            control_list: &[],
            gpm_list: &[],
            srm_list: &[],
            core_code: &[],
            core_data: &[],
        };
        // What isn't there has no size.
        let list = |size: u64, at: u64| match size {
            0 => Ok(&[][..]),
            _ => part(file, at, size).ok_or(Unusable::List),
        };
        if minor >= 1 {
            use RlcHeader as H;
            let header = H::read(&head::<{ H::WORDS }>(file).ok_or(Unusable::Short)?);
            let header = header.ok_or(Unusable::Short)?;
            rlc.control_list = list(header.get(H::CNTL_SIZE), header.get(H::CNTL_OFFSET))?;
            rlc.gpm_list = list(header.get(H::GPM_SIZE), header.get(H::GPM_OFFSET))?;
            rlc.srm_list = list(header.get(H::SRM_SIZE), header.get(H::SRM_OFFSET))?;
        }
        if minor >= 2 {
            use RlcCoreHeader as H;
            let header = H::read(&head::<{ H::WORDS }>(file).ok_or(Unusable::Short)?);
            let header = header.ok_or(Unusable::Short)?;
            rlc.core_code = list(header.get(H::CODE_SIZE), header.get(H::CODE_OFFSET))?;
            rlc.core_data = list(header.get(H::DATA_SIZE), header.get(H::DATA_OFFSET))?;
        }
        Ok(rlc)
    }
}
