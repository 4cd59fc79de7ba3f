// SPDX-License-Identifier: MIT OR Apache-2.0

//! MP1 13.0.6, of MI300.
//!
//! Source: Linux, `pm/swsmu/inc/pmfw_if/smu_v13_0_6_ppsmc.h` (messages),
//! `pm/swsmu/inc/pmfw_if/smu_v13_0_6_pmfw.h` (table, features, clocks), `pm/swsmu/smu13/smu_v13_0_6_ppt.c` (units).

use super::super::layout::*;

/// Messages (`PPSMC_MSG_*`).
pub mod message {
    /// `PPSMC_MSG_TestMessage`.
    pub const TEST: u32 = 0x1;
    /// `PPSMC_MSG_GetSmuVersion`.
    pub const GET_VERSION: u32 = 0x2;
    /// `PPSMC_MSG_GfxDriverReset`.
    pub const DRIVER_RESET: u32 = 0x3;
    /// `PPSMC_MSG_GetDriverIfVersion`.
    pub const GET_INTERFACE_VERSION: u32 = 0x4;
    /// `PPSMC_MSG_EnableAllSmuFeatures`.
    pub const ENABLE_ALL_FEATURES: u32 = 0x5;
    /// `PPSMC_MSG_DisableAllSmuFeatures`.
    pub const DISABLE_ALL_FEATURES: u32 = 0x6;
    /// `PPSMC_MSG_GetMetricsVersion`.
    pub const GET_METRICS_VERSION: u32 = 0x8;
    /// `PPSMC_MSG_GetMetricsTable`.
    pub const GET_METRICS_TABLE: u32 = 0x9;
    /// `PPSMC_MSG_GetEnabledSmuFeaturesLow`.
    pub const GET_FEATURES_LOW: u32 = 0xb;
    /// `PPSMC_MSG_GetEnabledSmuFeaturesHigh`.
    pub const GET_FEATURES_HIGH: u32 = 0xc;
    /// `PPSMC_MSG_SetDriverDramAddrHigh`.
    pub const SET_DRIVER_ADDRESS_HIGH: u32 = 0xd;
    /// `PPSMC_MSG_SetDriverDramAddrLow`.
    pub const SET_DRIVER_ADDRESS_LOW: u32 = 0xe;
    /// `PPSMC_MSG_SetToolsDramAddrHigh`.
    pub const SET_TOOLS_ADDRESS_HIGH: u32 = 0xf;
    /// `PPSMC_MSG_SetToolsDramAddrLow`.
    pub const SET_TOOLS_ADDRESS_LOW: u32 = 0x10;
    /// `PPSMC_MSG_SetSoftMaxByFreq`: clock in bits 31:16, MHz in 15:0.
    pub const SET_SOFT_MAX: u32 = 0x14;
    /// `PPSMC_MSG_GetMinDpmFreq`: clock in bits 31:16.
    pub const GET_MIN_FREQUENCY: u32 = 0x15;
    /// `PPSMC_MSG_GetMaxDpmFreq`.
    pub const GET_MAX_FREQUENCY: u32 = 0x16;
    /// `PPSMC_MSG_GetDpmFreqByIndex`: clock in bits 31:16, level in 15:0.
    pub const GET_FREQUENCY: u32 = 0x17;
    /// `PPSMC_MSG_SetPptLimit`, in watts.
    pub const SET_POWER_LIMIT: u32 = 0x18;
    /// `PPSMC_MSG_GetPptLimit`.
    pub const GET_POWER_LIMIT: u32 = 0x19;
    /// `PPSMC_MSG_SetSoftMinGfxClk`, in MHz.
    pub const SET_SOFT_MIN_GFX: u32 = 0x30;
    /// `PPSMC_MSG_SetSoftMaxGfxClk`.
    pub const SET_SOFT_MAX_GFX: u32 = 0x31;
    /// `PPSMC_MSG_GetMinGfxDpmFreq`.
    pub const GET_MIN_GFX: u32 = 0x32;
    /// `PPSMC_MSG_GetMaxGfxDpmFreq`.
    pub const GET_MAX_GFX: u32 = 0x33;
    /// `PPSMC_MSG_PrepareForDriverUnload`.
    pub const PREPARE_FOR_UNLOAD: u32 = 0x34;
    /// `PPSMC_MSG_ReadThrottlerLimit`: one of [`super::limit`].
    pub const GET_THERMAL_LIMIT: u32 = 0x35;
    /// `PPSMC_MSG_GetCTFLimit`: one of [`super::sensor`].
    pub const GET_CRITICAL: u32 = 0x38;
    /// `PPSMC_MSG_SelectPLPDMode`.
    pub const SELECT_LINK_POWER: u32 = 0x40;
    /// `PPSMC_MSG_SetThrottlingPolicy`.
    pub const SET_THROTTLING_POLICY: u32 = 0x44;
    /// `PPSMC_MSG_ResetSDMA`: a bit for each engine.
    pub const RESET_SDMA: u32 = 0x4d;
}

/// `PPSMC_RESET_TYPE_DRIVER_MODE_1_RESET`, in bits 15:0 of [`message::DRIVER_RESET`]; those above say why.
pub const RESET_MODE_1: u32 = 1;

/// Whose temperature limits the clocks (`PPSMC_THROTTLING_LIMIT_TYPE_*`).
pub mod limit {
    /// `PPSMC_THROTTLING_LIMIT_TYPE_SOCKET`.
    pub const SOCKET: u32 = 1;
    /// `PPSMC_THROTTLING_LIMIT_TYPE_HBM`.
    pub const HBM: u32 = 2;
}

/// Sensors whose limit switches the chip off (`PPSMC_*_THM_TYPE`).
pub mod sensor {
    /// `PPSMC_AID_THM_TYPE`.
    pub const AID: u32 = 1;
    /// `PPSMC_XCD_THM_TYPE`.
    pub const XCD: u32 = 3;
    /// `PPSMC_HBM_THM_TYPE`.
    pub const HBM: u32 = 4;
}

/// Clocks in messages (`PPCLK_e` of `smu13_driver_if_v13_0_6.h`).
pub mod clock {
    /// `PPCLK_VCLK`.
    pub const VCLK: u32 = 0;
    /// `PPCLK_DCLK`.
    pub const DCLK: u32 = 1;
    /// `PPCLK_SOCCLK`.
    pub const SOCCLK: u32 = 2;
    /// `PPCLK_UCLK`.
    pub const UCLK: u32 = 3;
    /// `PPCLK_FCLK`.
    pub const FCLK: u32 = 4;
    /// `PPCLK_LCLK`.
    pub const LCLK: u32 = 5;
}

/// `SMU13_0_6_DRIVER_IF_VERSION`.
pub const INTERFACE: u32 = 0x0804_2024;
/// `SMU_METRICS_TABLE_VERSION`.
pub const METRICS: u32 = 0x11;
/// `NUM_FEATURES`.
pub const FEATURES: u32 = 46;
/// Bits of a fraction in [`Metrics`]' values (`SMUQ10_TO_UINT`): watts, degrees, MHz and percent.
pub const FRACTION: u32 = 10;

layout! {
    /// What the unit measures. Those in the names of which is `ACC` only grow.
    pub struct Metrics: [u32; 567] = "MetricsTableV0_t" {
        /// 0 until something was measured.
        ACCUMULATION_COUNTER: 0[31:0] = "AccumulationCounter";
        MAX_SOCKET_TEMPERATURE: 1[31:0] = "MaxSocketTemperature";
        MAX_VR_TEMPERATURE: 2[31:0] = "MaxVrTemperature";
        MAX_HBM_TEMPERATURE: 3[31:0] = "MaxHbmTemperature";
        SOCKET_POWER_LIMIT: 10[31:0] = "SocketPowerLimit";
        MAX_SOCKET_POWER_LIMIT: 11[31:0] = "MaxSocketPowerLimit";
        SOCKET_POWER: 12[31:0] = "SocketPower";
        /// In units of 10 ns.
        TIMESTAMP: 13[63:0] = "Timestamp";
        /// In units of 15.259 microjoules.
        SOCKET_ENERGY_ACC: 15[63:0] = "SocketEnergyAcc";
        GFXCLK_LIMIT: 26[31:0] = "GfxclkFrequencyLimit";
        FCLK: 27[31:0] = "FclkFrequency";
        UCLK: 28[31:0] = "UclkFrequency";
        /// Of each base die; the first.
        SOCCLK: 29[31:0] = "SocclkFrequency[0]";
        VCLK: 33[31:0] = "VclkFrequency[0]";
        DCLK: 37[31:0] = "DclkFrequency[0]";
        LCLK: 41[31:0] = "LclkFrequency[0]";
        MAX_GFXCLK: 255[31:0] = "MaxGfxclkFrequency";
        MIN_GFXCLK: 256[31:0] = "MinGfxclkFrequency";
        /// Levels of clocks; the first of four.
        FCLK_TABLE: 257[31:0] = "FclkFrequencyTable[0]";
        UCLK_TABLE: 261[31:0] = "UclkFrequencyTable[0]";
        SOCCLK_TABLE: 265[31:0] = "SocclkFrequencyTable[0]";
        VCLK_TABLE: 269[31:0] = "VclkFrequencyTable[0]";
        DCLK_TABLE: 273[31:0] = "DclkFrequencyTable[0]";
        LCLK_TABLE: 277[31:0] = "LclkFrequencyTable[0]";
        XGMI_WIDTH: 283[31:0] = "XgmiWidth";
        XGMI_BITRATE: 284[31:0] = "XgmiBitrate";
        SOCKET_GFX_BUSY: 318[31:0] = "SocketGfxBusy";
        DRAM_UTILIZATION: 319[31:0] = "DramBandwidthUtilization";
        SOCKET_GFX_BUSY_ACC: 322[63:0] = "SocketGfxBusyAcc";
        MAX_DRAM_BANDWIDTH: 326[31:0] = "MaxDramBandwidth";
        DRAM_UTILIZATION_ACC: 327[63:0] = "DramBandwidthUtilizationAcc";
        PCIE_BANDWIDTH_ACC: 329[63:0] = "PcieBandwidthAcc[0]";
        /// How often each limit held clocks back.
        PROCHOT_RESIDENCY_ACC: 337[31:0] = "ProchotResidencyAcc";
        PPT_RESIDENCY_ACC: 338[31:0] = "PptResidencyAcc";
        SOCKET_THM_RESIDENCY_ACC: 339[31:0] = "SocketThmResidencyAcc";
        VR_THM_RESIDENCY_ACC: 340[31:0] = "VrThmResidencyAcc";
        HBM_THM_RESIDENCY_ACC: 341[31:0] = "HbmThmResidencyAcc";
        /// A bit for each XCC.
        GFXCLK_LOCK: 342[31:0] = "GfxLockXCDMak";
        /// Of each XCC; the first of eight.
        GFXCLK: 343[31:0] = "GfxclkFrequency[0]";
        /// Serial number of the first base die, by which the chip is known.
        SERIAL: 351[63:0] = "PublicSerialNumber_AID[0]";
        AID_SERIAL: 351[63:0] = "PublicSerialNumber_AID[0]";
        PCIE_BANDWIDTH: 431[31:0] = "PcieBandwidth[0]";
        PCIE_L0_TO_RECOVERY_ACC: 435[31:0] = "PCIeL0ToRecoveryCountAcc";
        PCIE_REPLAY_ACC: 436[31:0] = "PCIenReplayAAcc";
        PCIE_REPLAY_ROLLOVER_ACC: 437[31:0] = "PCIenReplayARolloverCountAcc";
        PCIE_NAK_SENT_ACC: 438[31:0] = "PCIeNAKSentCountAcc";
        PCIE_NAK_RECEIVED_ACC: 439[31:0] = "PCIeNAKReceivedCountAcc";
        PCIE_SPEED: 476[31:0] = "PCIeLinkSpeed";
        PCIE_WIDTH: 477[31:0] = "PCIeLinkWidth";
        GFX_BUSY: 478[31:0] = "GfxBusy[0]";
        GFX_BUSY_ACC: 486[63:0] = "GfxBusyAcc[0]";
        PCIE_OTHER_END_RECOVERY_ACC: 502[31:0] = "PCIeOtherEndRecoveryAcc";
        /// Of each XCC, as the two above; the first of eight.
        BELOW_LIMIT_PPT_ACC: 503[63:0] = "GfxclkBelowHostLimitPptAcc[0]";
        BELOW_LIMIT_THM_ACC: 519[63:0] = "GfxclkBelowHostLimitThmAcc[0]";
        BELOW_LIMIT_TOTAL_ACC: 535[63:0] = "GfxclkBelowHostLimitTotalAcc[0]";
        LOW_UTILIZATION_ACC: 551[63:0] = "GfxclkLowUtilizationAcc[0]";
    }
}

/// The layouts of this file.
pub const LAYOUTS: &[LayoutInfo] = &[LayoutInfo::of::<Metrics>()];
