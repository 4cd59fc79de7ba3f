// SPDX-License-Identifier: MIT OR Apache-2.0

//! MP1 14.0.2 and 14.0.3, of Navi 48.
//!
//! Source: Linux, `pm/swsmu/inc/pmfw_if/smu_v14_0_2_ppsmc.h` (messages),
//! `pm/swsmu/smu14/smu_v14_0_2_ppt.c` (debug message).

/// Messages (`PPSMC_MSG_*`).
pub mod message {
    /// `PPSMC_MSG_TestMessage`.
    pub const TEST: u32 = 0x1;
    /// `PPSMC_MSG_GetSmuVersion`.
    pub const GET_VERSION: u32 = 0x2;
    /// `PPSMC_MSG_GetDriverIfVersion`.
    pub const GET_INTERFACE_VERSION: u32 = 0x3;
    /// `PPSMC_MSG_SetAllowedFeaturesMaskLow`.
    pub const ALLOW_FEATURES_LOW: u32 = 0x4;
    /// `PPSMC_MSG_SetAllowedFeaturesMaskHigh`.
    pub const ALLOW_FEATURES_HIGH: u32 = 0x5;
    /// `PPSMC_MSG_EnableAllSmuFeatures`.
    pub const ENABLE_ALL_FEATURES: u32 = 0x6;
    /// `PPSMC_MSG_DisableAllSmuFeatures`.
    pub const DISABLE_ALL_FEATURES: u32 = 0x7;
    /// `PPSMC_MSG_GetRunningSmuFeaturesLow`.
    pub const GET_FEATURES_LOW: u32 = 0xc;
    /// `PPSMC_MSG_GetRunningSmuFeaturesHigh`.
    pub const GET_FEATURES_HIGH: u32 = 0xd;
    /// `PPSMC_MSG_SetDriverDramAddrHigh`.
    pub const SET_DRIVER_ADDRESS_HIGH: u32 = 0xe;
    /// `PPSMC_MSG_SetDriverDramAddrLow`.
    pub const SET_DRIVER_ADDRESS_LOW: u32 = 0xf;
    /// `PPSMC_MSG_SetToolsDramAddrHigh`.
    pub const SET_TOOLS_ADDRESS_HIGH: u32 = 0x10;
    /// `PPSMC_MSG_SetToolsDramAddrLow`.
    pub const SET_TOOLS_ADDRESS_LOW: u32 = 0x11;
    /// `PPSMC_MSG_TransferTableSmu2Dram`: the table's number.
    pub const GET_TABLE: u32 = 0x12;
    /// `PPSMC_MSG_TransferTableDram2Smu`: the table's number.
    pub const SET_TABLE: u32 = 0x13;
    /// `PPSMC_MSG_OverridePcieParameters`.
    pub const SET_PCIE: u32 = 0x20;
    /// `PPSMC_MSG_DramLogSetDramAddrHigh`.
    pub const SET_LOG_ADDRESS_HIGH: u32 = 0x21;
    /// `PPSMC_MSG_DramLogSetDramAddrLow`.
    pub const SET_LOG_ADDRESS_LOW: u32 = 0x22;
    /// `PPSMC_MSG_DramLogSetDramSize`.
    pub const SET_LOG_SIZE: u32 = 0x23;
    /// `PPSMC_MSG_PrepareMp1ForUnload`.
    pub const PREPARE_FOR_UNLOAD: u32 = 0x2e;
    /// `PPSMC_MSG_RunDcBtc`.
    pub const CALIBRATE: u32 = 0x36;
    /// `PPSMC_MSG_AllowIHHostInterrupt`.
    pub const ALLOW_INTERRUPT: u32 = 0x4d;
}

/// `DEBUGSMC_MSG_Mode1Reset`, of the mailbox for debugging: resets the whole chip.
pub const DEBUG_MODE_1: u32 = 2;
