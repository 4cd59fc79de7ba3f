// SPDX-License-Identifier: MIT OR Apache-2.0

//! MES frames: what the driver writes into the rings of the micro engine scheduler (gfx11 on).
//!
//! A frame is 64 words. Its first word is the header ([`header`]); most frames name a completion
//! fence that the firmware writes when it is done (`API_STATUS_*`). One generated table per
//! firmware interface, of which there is one: that of gfx12. The interface of gfx11 has largely the
//! same members, but packs them to 4 bytes instead of 8.
//!
//! Source: Linux, `include/mes_v12_api_def.h`.

pub mod log;
#[rustfmt::skip]
pub mod v12;

use super::layout::*;

layout! {
    /// Where a hung queue sits: what RESET lists of one with HANG_DETECT_ONLY, behind the doorbells.
    ///
    /// Source: Linux, `amdgpu_mes.h`.
    pub struct HungQueue: [u32; 1] = "struct amdgpu_mes_hung_queue_hqd_info" {
        /// `MES_QUEUE_TYPE_*`.
        QUEUE_TYPE: 0[2:0] = "queue_type";
        PIPE_INDEX: 0[6:3] = "pipe_index";
        QUEUE_INDEX: 0[14:7] = "queue_index";
    }
}

/// Words in a frame.
pub const FRAME_WORDS: usize = 64;
/// Frame type: for the scheduler (`MES_API_TYPE_SCHEDULER`).
pub const TYPE_SCHEDULER: u64 = 1;

/// The header of a frame with opcode `opcode`.
pub const fn header(opcode: u8) -> u32 {
    TYPE_SCHEDULER as u32 | ((opcode as u32) << 4) | ((FRAME_WORDS as u32) << 12)
}

/// Opcodes (`MES_SCH_API_*`).
pub mod op {
    /// `MES_SCH_API_SET_HW_RSRC`.
    pub const SET_HW_RSRC: u8 = 0;
    /// `MES_SCH_API_SET_SCHEDULING_CONFIG`.
    pub const SET_SCHEDULING_CONFIG: u8 = 1;
    /// `MES_SCH_API_ADD_QUEUE`.
    pub const ADD_QUEUE: u8 = 2;
    /// `MES_SCH_API_REMOVE_QUEUE`.
    pub const REMOVE_QUEUE: u8 = 3;
    /// `MES_SCH_API_PERFORM_YIELD`.
    pub const PERFORM_YIELD: u8 = 4;
    /// `MES_SCH_API_SET_GANG_PRIORITY_LEVEL`.
    pub const SET_GANG_PRIORITY_LEVEL: u8 = 5;
    /// `MES_SCH_API_SUSPEND`.
    pub const SUSPEND: u8 = 6;
    /// `MES_SCH_API_RESUME`.
    pub const RESUME: u8 = 7;
    /// `MES_SCH_API_RESET`.
    pub const RESET: u8 = 8;
    /// `MES_SCH_API_SET_LOG_BUFFER`.
    pub const SET_LOG_BUFFER: u8 = 9;
    /// `MES_SCH_API_CHANGE_GANG_PRIORITY`.
    pub const CHANGE_GANG_PRIORITY: u8 = 10;
    /// `MES_SCH_API_QUERY_SCHEDULER_STATUS`.
    pub const QUERY_SCHEDULER_STATUS: u8 = 11;
    /// `MES_SCH_API_SET_DEBUG_VMID`.
    pub const SET_DEBUG_VMID: u8 = 13;
    /// `MES_SCH_API_MISC`.
    pub const MISC: u8 = 14;
    /// `MES_SCH_API_UPDATE_ROOT_PAGE_TABLE`.
    pub const UPDATE_ROOT_PAGE_TABLE: u8 = 15;
    /// `MES_SCH_API_SET_HW_RSRC_1`.
    pub const SET_HW_RSRC_1: u8 = 19;
    /// `MES_SCH_API_INV_TLBS`.
    pub const INV_TLBS: u8 = 20;
}

/// The layouts of this file.
pub const LAYOUTS: &[LayoutInfo] = &[LayoutInfo::of::<HungQueue>()];

/// The number constants of this file with their names in Linux (v12), for the ABI test.
pub const CONSTANTS: &[(u64, &str)] = &[
    (FRAME_WORDS as u64, "API_FRAME_SIZE_IN_DWORDS"),
    (log::BYTES, "AMDGPU_MES_LOG_BUFFER_SIZE"),
    (log::HEADER_BYTES, "sizeof(struct MES_LOG_ENTRY_HEADER)"),
    (log::ENTRY_BYTES, "sizeof(struct MES_LOG_ENTRY_DATA)"),
    (
        log::CONTEXT_STATE_CHANGE as u64,
        "MES_LOG_OPERATION_CONTEXT_STATE_CHANGE",
    ),
    (log::IDLE as u64, "MES_LOG_CONTEXT_STATE_IDLE"),
    (log::RUNNING as u64, "MES_LOG_CONTEXT_STATE_RUNNING"),
    (log::READY as u64, "MES_LOG_CONTEXT_STATE_READY"),
    (TYPE_SCHEDULER, "MES_API_TYPE_SCHEDULER"),
    (op::SET_HW_RSRC as u64, "MES_SCH_API_SET_HW_RSRC"),
    (
        op::SET_SCHEDULING_CONFIG as u64,
        "MES_SCH_API_SET_SCHEDULING_CONFIG",
    ),
    (op::ADD_QUEUE as u64, "MES_SCH_API_ADD_QUEUE"),
    (op::REMOVE_QUEUE as u64, "MES_SCH_API_REMOVE_QUEUE"),
    (op::PERFORM_YIELD as u64, "MES_SCH_API_PERFORM_YIELD"),
    (
        op::SET_GANG_PRIORITY_LEVEL as u64,
        "MES_SCH_API_SET_GANG_PRIORITY_LEVEL",
    ),
    (op::SUSPEND as u64, "MES_SCH_API_SUSPEND"),
    (op::RESUME as u64, "MES_SCH_API_RESUME"),
    (op::RESET as u64, "MES_SCH_API_RESET"),
    (op::SET_LOG_BUFFER as u64, "MES_SCH_API_SET_LOG_BUFFER"),
    (
        op::CHANGE_GANG_PRIORITY as u64,
        "MES_SCH_API_CHANGE_GANG_PRORITY",
    ),
    (
        op::QUERY_SCHEDULER_STATUS as u64,
        "MES_SCH_API_QUERY_SCHEDULER_STATUS",
    ),
    (op::SET_DEBUG_VMID as u64, "MES_SCH_API_SET_DEBUG_VMID"),
    (op::MISC as u64, "MES_SCH_API_MISC"),
    (
        op::UPDATE_ROOT_PAGE_TABLE as u64,
        "MES_SCH_API_UPDATE_ROOT_PAGE_TABLE",
    ),
    (op::SET_HW_RSRC_1 as u64, "MES_SCH_API_SET_HW_RSRC_1"),
    (op::INV_TLBS as u64, "MES_SCH_API_INV_TLBS"),
];
