// SPDX-License-Identifier: MIT OR Apache-2.0

//! MP1 14.0.2 and 14.0.3, of Navi 48.
//!
//! Source: Linux, `pm/swsmu/inc/pmfw_if/smu_v14_0_2_ppsmc.h` (messages),
//! `pm/swsmu/inc/pmfw_if/smu14_driver_if_v14_0.h` (tables, features, clocks), `pm/swsmu/inc/smu_v14_0_2_pptable.h` (what a
//! card is made for), `pm/swsmu/smu14/smu_v14_0_2_ppt.c` (debug message, units).

use super::super::layout::*;

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
    /// `PPSMC_MSG_SetSoftMinByFreq`: clock in bits 31:16, MHz in 15:0, of which 0 is no limit.
    pub const SET_SOFT_MIN: u32 = 0x19;
    /// `PPSMC_MSG_SetSoftMaxByFreq`: the same, but 0xffff is no limit.
    pub const SET_SOFT_MAX: u32 = 0x1a;
    /// `PPSMC_MSG_GetMinDpmFreq`: clock in bits 31:16.
    pub const GET_MIN_FREQUENCY: u32 = 0x1d;
    /// `PPSMC_MSG_GetMaxDpmFreq`.
    pub const GET_MAX_FREQUENCY: u32 = 0x1e;
    /// `PPSMC_MSG_GetDpmFreqByIndex`: clock in bits 31:16, level in 15:0. Of level [`super::COUNT`] it is how many there
    /// are, and bit 31 is set when only the least and the most are levels.
    pub const GET_FREQUENCY: u32 = 0x1f;
    /// `PPSMC_MSG_OverridePcieParameters`.
    pub const SET_PCIE: u32 = 0x20;
    /// `PPSMC_MSG_DramLogSetDramAddrHigh`.
    pub const SET_LOG_ADDRESS_HIGH: u32 = 0x21;
    /// `PPSMC_MSG_DramLogSetDramAddrLow`.
    pub const SET_LOG_ADDRESS_LOW: u32 = 0x22;
    /// `PPSMC_MSG_DramLogSetDramSize`.
    pub const SET_LOG_SIZE: u32 = 0x23;
    /// `PPSMC_MSG_SetWorkloadMask`.
    pub const SET_WORKLOAD: u32 = 0x24;
    /// `PPSMC_MSG_AllowGfxOff`: the graphics core may be switched off while it is idle.
    pub const ALLOW_GFX_OFF: u32 = 0x28;
    /// `PPSMC_MSG_DisallowGfxOff`.
    pub const DISALLOW_GFX_OFF: u32 = 0x29;
    /// `PPSMC_MSG_PrepareMp1ForUnload`.
    pub const PREPARE_FOR_UNLOAD: u32 = 0x2e;
    /// `PPSMC_MSG_SetPptLimit`, in watts, in bits 15:0.
    pub const SET_POWER_LIMIT: u32 = 0x32;
    /// `PPSMC_MSG_GetPptLimit`.
    pub const GET_POWER_LIMIT: u32 = 0x33;
    /// `PPSMC_MSG_RunDcBtc`.
    pub const CALIBRATE: u32 = 0x36;
    /// `PPSMC_MSG_AllowIHHostInterrupt`.
    pub const ALLOW_INTERRUPT: u32 = 0x4d;
}

/// `DEBUGSMC_MSG_Mode1Reset`, of the mailbox for debugging: resets the whole chip.
pub const DEBUG_MODE_1: u32 = 2;

/// `SMU14_DRIVER_IF_VERSION_SMU_V14_0_2`.
pub const INTERFACE: u32 = 0x2e;
/// The level of [`message::GET_FREQUENCY`] that asks for how many there are (`smu_v14_0_get_dpm_level_count`).
pub const COUNT: u32 = 0xff;

/// Tables (`TABLE_*`).
pub mod table {
    /// `TABLE_COMBO_PPTABLE`: [`super::PowerPlay`].
    pub const POWER_PLAY: u32 = 1;
    /// `TABLE_SMU_METRICS`: [`super::Metrics`].
    pub const METRICS: u32 = 5;
    /// `TABLE_COUNT`.
    pub const COUNT: u32 = 13;
}

/// Features that run, by their bits (`FEATURE_*_BIT`).
pub mod feature {
    /// `FEATURE_DPM_GFXCLK_BIT`.
    pub const GFXCLK: u32 = 1;
    /// `FEATURE_DPM_UCLK_BIT`.
    pub const UCLK: u32 = 3;
    /// `FEATURE_DPM_FCLK_BIT`.
    pub const FCLK: u32 = 4;
    /// `FEATURE_DPM_SOCCLK_BIT`.
    pub const SOCCLK: u32 = 5;
    /// `FEATURE_THROTTLERS_BIT`.
    pub const THROTTLERS: u32 = 23;
    /// `FEATURE_FAN_CONTROL_BIT`.
    pub const FAN: u32 = 29;
}

/// Clocks in messages (`PPCLK_e`).
pub mod clock {
    /// `PPCLK_GFXCLK`.
    pub const GFXCLK: u32 = 0;
    /// `PPCLK_SOCCLK`.
    pub const SOCCLK: u32 = 1;
    /// `PPCLK_UCLK`.
    pub const UCLK: u32 = 2;
    /// `PPCLK_FCLK`.
    pub const FCLK: u32 = 3;
}

/// What holds clocks back, by its place in [`Metrics::THROTTLING`] (`THROTTLER_*`).
pub mod throttler {
    /// `THROTTLER_TEMP_EDGE_BIT`.
    pub const EDGE: u32 = 0;
    /// `THROTTLER_TEMP_HOTSPOT_BIT`.
    pub const HOTSPOT: u32 = 1;
    /// `THROTTLER_TEMP_MEM_BIT`.
    pub const MEMORY: u32 = 4;
    /// `THROTTLER_TEMP_VR_GFX_BIT`.
    pub const REGULATOR_GFX: u32 = 5;
    /// `THROTTLER_TEMP_VR_SOC_BIT`.
    pub const REGULATOR_SOC: u32 = 6;
    /// `THROTTLER_TEMP_VR_MEM0_BIT`.
    pub const REGULATOR_MEMORY0: u32 = 7;
    /// `THROTTLER_TEMP_VR_MEM1_BIT`.
    pub const REGULATOR_MEMORY1: u32 = 8;
    /// `THROTTLER_TEMP_LIQUID0_BIT`.
    pub const LIQUID0: u32 = 9;
    /// `THROTTLER_TEMP_LIQUID1_BIT`.
    pub const LIQUID1: u32 = 10;
    /// `THROTTLER_TDC_GFX_BIT`.
    pub const TDC_GFX: u32 = 12;
    /// `THROTTLER_TDC_SOC_BIT`.
    pub const TDC_SOC: u32 = 13;
    /// `THROTTLER_PPT0_BIT`.
    pub const PPT0: u32 = 14;
    /// `THROTTLER_PPT1_BIT`.
    pub const PPT1: u32 = 15;
    /// `THROTTLER_PPT2_BIT`.
    pub const PPT2: u32 = 16;
    /// `THROTTLER_PPT3_BIT`.
    pub const PPT3: u32 = 17;
    /// `THROTTLER_FIT_BIT`.
    pub const FIT: u32 = 18;
    /// `THROTTLER_GFX_APCC_PLUS_BIT`.
    pub const APCC: u32 = 19;
    /// `THROTTLER_COUNT`.
    pub const COUNT: u32 = 21;
}

layout! {
    /// What the unit measures: MHz, millivolts, percent, watts, degrees, turns in a minute.
    pub struct Metrics: [u32; 103] = "SmuMetricsExternal_t" {
        GFXCLK: 0[31:0] = "SmuMetrics.CurrClock[PPCLK_GFXCLK]";
        SOCCLK: 1[31:0] = "SmuMetrics.CurrClock[PPCLK_SOCCLK]";
        UCLK: 2[31:0] = "SmuMetrics.CurrClock[PPCLK_UCLK]";
        FCLK: 3[31:0] = "SmuMetrics.CurrClock[PPCLK_FCLK]";
        DCLK: 4[31:0] = "SmuMetrics.CurrClock[PPCLK_DCLK_0]";
        VCLK: 5[31:0] = "SmuMetrics.CurrClock[PPCLK_VCLK_0]";
        /// Before the time in which it sleeps is counted, and behind it; as the next ones.
        GFX_AWAKE: 11[31:16] = "SmuMetrics.AverageGfxclkFrequencyPreDs";
        GFX_AVERAGE: 12[15:0] = "SmuMetrics.AverageGfxclkFrequencyPostDs";
        MEMORY_AWAKE: 13[31:16] = "SmuMetrics.AverageMemclkFrequencyPreDs";
        MEMORY_AVERAGE: 14[15:0] = "SmuMetrics.AverageMemclkFrequencyPostDs";
        VCLK0_AVERAGE: 14[31:16] = "SmuMetrics.AverageVclk0Frequency";
        DCLK0_AVERAGE: 15[15:0] = "SmuMetrics.AverageDclk0Frequency";
        VCLK1_AVERAGE: 15[31:16] = "SmuMetrics.AverageVclk1Frequency";
        DCLK1_AVERAGE: 16[15:0] = "SmuMetrics.AverageDclk1Frequency";
        /// Grows with each measurement.
        COUNTER: 26[31:0] = "SmuMetrics.MetricsCounter";
        VOLTAGE_GFX: 27[15:0] = "SmuMetrics.AvgVoltage[SVI_PLANE_VDD_GFX]";
        VOLTAGE_SOC: 27[31:16] = "SmuMetrics.AvgVoltage[SVI_PLANE_VDD_SOC]";
        VOLTAGE_MEMORY: 28[31:16] = "SmuMetrics.AvgVoltage[SVI_PLANE_VDDIO_MEM]";
        BUSY: 31[15:0] = "SmuMetrics.AverageGfxActivity";
        /// All bits are set where it isn't known (`smu_safe_u16_nn`).
        MEMORY_BUSY: 31[31:16] = "SmuMetrics.AverageUclkActivity";
        VIDEO0_BUSY: 32[15:0] = "SmuMetrics.AverageVcn0ActivityPercentage";
        VIDEO1_BUSY: 32[31:16] = "SmuMetrics.Vcn1ActivityPercentage";
        ENERGY: 33[31:0] = "SmuMetrics.EnergyAccumulator";
        POWER: 34[15:0] = "SmuMetrics.AverageSocketPower";
        EDGE: 35[15:0] = "SmuMetrics.AvgTemperature[TEMP_EDGE]";
        HOTSPOT: 35[31:16] = "SmuMetrics.AvgTemperature[TEMP_HOTSPOT]";
        MEMORY: 37[15:0] = "SmuMetrics.AvgTemperature[TEMP_MEM]";
        REGULATOR_GFX: 37[31:16] = "SmuMetrics.AvgTemperature[TEMP_VR_GFX]";
        REGULATOR_SOC: 38[15:0] = "SmuMetrics.AvgTemperature[TEMP_VR_SOC]";
        REGULATOR_MEMORY0: 38[31:16] = "SmuMetrics.AvgTemperature[TEMP_VR_MEM0]";
        REGULATOR_MEMORY1: 39[15:0] = "SmuMetrics.AvgTemperature[TEMP_VR_MEM1]";
        /// The link's generation and lanes.
        LINK_RATE: 41[23:16] = "SmuMetrics.PcieRate";
        LINK_WIDTH: 41[31:24] = "SmuMetrics.PcieWidth";
        FAN_PERCENT: 42[7:0] = "SmuMetrics.AvgFanPwm";
        FAN_TURNS: 42[31:16] = "SmuMetrics.AvgFanRpm";
        /// Percent of time for each [`throttler`]; the first of so many bytes.
        THROTTLING: 43[7:0] = "SmuMetrics.ThrottlingPercentage[0]";
        /// Bits 31:0 of the chip's serial number, and bits 63:32.
        SERIAL_LOW: 63[31:0] = "SmuMetrics.PublicSerialNumberLower";
        SERIAL_HIGH: 64[31:0] = "SmuMetrics.PublicSerialNumberUpper";
    }

    /// What the card is made for, of which little is needed here.
    pub struct PowerPlay: [u32; 1453] = "struct smu_14_0_2_powerplay_table" {
        /// Bytes of it.
        SIZE: 0[15:0] = "header.structuresize";
        /// `SMU_14_0_2_TABLE_FORMAT_REVISION`.
        FORMAT: 0[23:16] = "header.format_revision";
        /// Degrees at which the driver is to switch the machine off.
        SHUTDOWN: 10[39:24] = "software_shutdown_temp";
        /// Bits of the first [`feature`]s.
        FEATURES: 337[31:0] = "smc_pptable.PFE_Settings.FeaturesToRun[0]";
        /// MHz that the compute units of every card reach; 0 where nothing says so.
        GAME_CLOCK: 987[31:16] = "smc_pptable.SkuTable.DriverReportedClocks.GameClockAc";
        /// Turns in a minute.
        MOST_TURNS: 1261[31:16] = "smc_pptable.CustomSkuTable.FanMaximumRpm";
    }
}

/// `SMU_14_0_2_TABLE_FORMAT_REVISION`.
pub const FORMAT: u32 = 23;

/// The layouts of this file.
pub const LAYOUTS: &[LayoutInfo] = &[LayoutInfo::of::<Metrics>(), LayoutInfo::of::<PowerPlay>()];
