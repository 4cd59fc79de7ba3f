// SPDX-License-Identifier: MIT OR Apache-2.0

//! The run list controller's file: its code, and lists of the registers that it saves and restores.

use super::super::layout::*;
use super::{head, Code, Unusable};

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
        if minor == 0 {
            return Ok(Self {
                code,
                control_list: &[],
                gpm_list: &[],
                srm_list: &[],
            });
        }
        let header = RlcHeader::read(&head::<39>(file).ok_or(Unusable::Short)?);
        let header = header.ok_or(Unusable::Short)?;
        let list = |size, at| {
            let place = |field| usize::try_from(header.get(field)).ok();
            let (size, at) = (place(size)?, place(at)?);
            if size == 0 {
                return Some(&[][..]);
            }
            let bytes = file.get(at..)?.get(..size)?;
            (size % 4 == 0).then_some(bytes)
        };
        Ok(Self {
            code,
            control_list: list(RlcHeader::CNTL_SIZE, RlcHeader::CNTL_OFFSET)
                .ok_or(Unusable::List)?,
            gpm_list: list(RlcHeader::GPM_SIZE, RlcHeader::GPM_OFFSET).ok_or(Unusable::List)?,
            srm_list: list(RlcHeader::SRM_SIZE, RlcHeader::SRM_OFFSET).ok_or(Unusable::List)?,
        })
    }
}
