// SPDX-License-Identifier: MIT OR Apache-2.0

//! The interface of the system management unit (SMU): messages, and the tables that it writes into memory.
//!
//! Each generation of its firmware has an interface of its own.
//!
//! Source: Linux, `pm/swsmu/smu_cmn.c` (answers).

pub mod v13_0_6;
pub mod v14_0;

/// Answers (`PPSMC_Result_*`), the same of all generations.
pub mod answer {
    /// `PPSMC_Result_OK`.
    pub const OK: u32 = 0x1;
    /// `PPSMC_Result_CmdRejectedBusy`.
    pub const BUSY: u32 = 0xfc;
    /// `PPSMC_Result_CmdRejectedPrereq`.
    pub const BAD_PREREQUISITE: u32 = 0xfd;
    /// `PPSMC_Result_UnknownCmd`.
    pub const UNKNOWN: u32 = 0xfe;
    /// `PPSMC_Result_Failed`.
    pub const FAILED: u32 = 0xff;
}
