// SPDX-License-Identifier: MIT OR Apache-2.0

//! Messages and tables of the management units.

use crate::{compare, AMD};
use rkfd_abi_test::{includes, linux, Probe};
use rkfd_hw::smu;

#[test]
fn the_management_units_interface_is_linux_s() {
    use rkfd_hw::smu::{answer, v13_0_6 as smu};
    let folder = format!("{AMD}/pm/swsmu/inc/pmfw_if");
    let flags = includes(&linux(), &[&folder]);
    let headers = ["smu_v13_0_6_pmfw.h", "smu_v13_0_6_ppsmc.h"];
    compare(Probe::new(&headers, &flags), &[smu::LAYOUTS]);
    // Its numbers of clocks; the rest of the header collides with the other two.
    let header = linux().join(format!("{folder}/smu13_driver_if_v13_0_6.h"));
    let text = std::fs::read_to_string(header).expect("the header can be read");
    let (_, rest) = text.split_once("PPCLK_VCLK").expect("clocks");
    let (list, _) = rest.split_once('}').expect("the end of the list");
    let (_, rest) = text
        .split_once("#define SMU13_0_6_DRIVER_IF_VERSION")
        .expect("the version");
    let version = rest.lines().next().unwrap_or_default();
    let mut probe = Probe::new(&headers, &flags);
    probe.declare(&format!("enum clocks {{ PPCLK_VCLK {list} }};"));
    let constants = [
        (answer::OK, "PPSMC_Result_OK"),
        (answer::BUSY, "PPSMC_Result_CmdRejectedBusy"),
        (answer::BAD_PREREQUISITE, "PPSMC_Result_CmdRejectedPrereq"),
        (answer::UNKNOWN, "PPSMC_Result_UnknownCmd"),
        (answer::FAILED, "PPSMC_Result_Failed"),
        (smu::message::TEST, "PPSMC_MSG_TestMessage"),
        (smu::message::GET_VERSION, "PPSMC_MSG_GetSmuVersion"),
        (smu::message::DRIVER_RESET, "PPSMC_MSG_GfxDriverReset"),
        (
            smu::message::GET_INTERFACE_VERSION,
            "PPSMC_MSG_GetDriverIfVersion",
        ),
        (
            smu::message::ENABLE_ALL_FEATURES,
            "PPSMC_MSG_EnableAllSmuFeatures",
        ),
        (
            smu::message::DISABLE_ALL_FEATURES,
            "PPSMC_MSG_DisableAllSmuFeatures",
        ),
        (
            smu::message::GET_METRICS_VERSION,
            "PPSMC_MSG_GetMetricsVersion",
        ),
        (smu::message::GET_METRICS_TABLE, "PPSMC_MSG_GetMetricsTable"),
        (
            smu::message::GET_FEATURES_LOW,
            "PPSMC_MSG_GetEnabledSmuFeaturesLow",
        ),
        (
            smu::message::GET_FEATURES_HIGH,
            "PPSMC_MSG_GetEnabledSmuFeaturesHigh",
        ),
        (
            smu::message::SET_DRIVER_ADDRESS_HIGH,
            "PPSMC_MSG_SetDriverDramAddrHigh",
        ),
        (
            smu::message::SET_DRIVER_ADDRESS_LOW,
            "PPSMC_MSG_SetDriverDramAddrLow",
        ),
        (
            smu::message::SET_TOOLS_ADDRESS_HIGH,
            "PPSMC_MSG_SetToolsDramAddrHigh",
        ),
        (
            smu::message::SET_TOOLS_ADDRESS_LOW,
            "PPSMC_MSG_SetToolsDramAddrLow",
        ),
        (smu::message::SET_SOFT_MAX, "PPSMC_MSG_SetSoftMaxByFreq"),
        (smu::message::GET_MIN_FREQUENCY, "PPSMC_MSG_GetMinDpmFreq"),
        (smu::message::GET_MAX_FREQUENCY, "PPSMC_MSG_GetMaxDpmFreq"),
        (smu::message::GET_FREQUENCY, "PPSMC_MSG_GetDpmFreqByIndex"),
        (smu::message::SET_POWER_LIMIT, "PPSMC_MSG_SetPptLimit"),
        (smu::message::GET_POWER_LIMIT, "PPSMC_MSG_GetPptLimit"),
        (smu::message::SET_SOFT_MIN_GFX, "PPSMC_MSG_SetSoftMinGfxClk"),
        (smu::message::SET_SOFT_MAX_GFX, "PPSMC_MSG_SetSoftMaxGfxClk"),
        (smu::message::GET_MIN_GFX, "PPSMC_MSG_GetMinGfxDpmFreq"),
        (smu::message::GET_MAX_GFX, "PPSMC_MSG_GetMaxGfxDpmFreq"),
        (
            smu::message::PREPARE_FOR_UNLOAD,
            "PPSMC_MSG_PrepareForDriverUnload",
        ),
        (
            smu::message::GET_THERMAL_LIMIT,
            "PPSMC_MSG_ReadThrottlerLimit",
        ),
        (smu::message::GET_CRITICAL, "PPSMC_MSG_GetCTFLimit"),
        (smu::message::SELECT_LINK_POWER, "PPSMC_MSG_SelectPLPDMode"),
        (
            smu::message::SET_THROTTLING_POLICY,
            "PPSMC_MSG_SetThrottlingPolicy",
        ),
        (smu::message::RESET_SDMA, "PPSMC_MSG_ResetSDMA"),
        (smu::RESET_MODE_1, "PPSMC_RESET_TYPE_DRIVER_MODE_1_RESET"),
        (smu::limit::SOCKET, "PPSMC_THROTTLING_LIMIT_TYPE_SOCKET"),
        (smu::limit::HBM, "PPSMC_THROTTLING_LIMIT_TYPE_HBM"),
        (smu::sensor::AID, "PPSMC_AID_THM_TYPE"),
        (smu::sensor::XCD, "PPSMC_XCD_THM_TYPE"),
        (smu::sensor::HBM, "PPSMC_HBM_THM_TYPE"),
        (smu::clock::VCLK, "PPCLK_VCLK"),
        (smu::clock::DCLK, "PPCLK_DCLK"),
        (smu::clock::SOCCLK, "PPCLK_SOCCLK"),
        (smu::clock::UCLK, "PPCLK_UCLK"),
        (smu::clock::FCLK, "PPCLK_FCLK"),
        (smu::clock::LCLK, "PPCLK_LCLK"),
        (smu::INTERFACE, version),
        (smu::METRICS, "SMU_METRICS_TABLE_VERSION"),
        (smu::FEATURES, "NUM_FEATURES"),
    ];
    for (_, name) in constants {
        probe.value(name);
    }
    for ((value, name), answer) in constants.iter().zip(probe.run()) {
        assert_eq!(answer.bit, u64::from(*value), "{name}");
    }
}

#[test]
fn the_management_units_interface_of_navi_48_is_linux_s() {
    use rkfd_hw::smu::{answer, v14_0 as smu};
    let folder = format!("{AMD}/pm/swsmu/inc");
    let flags = includes(&linux(), &[&format!("{folder}/pmfw_if")]);
    let headers = ["smu14_driver_if_v14_0.h", "smu_v14_0_2_ppsmc.h"];
    let mut tables = Probe::new(&headers, &flags);
    // What the card is made for has the head of any table of a BIOS, whose header is a large one.
    let card = std::fs::read_to_string(linux().join(format!("{folder}/smu_v14_0_2_pptable.h")));
    let bios = std::fs::read_to_string(linux().join(format!("{AMD}/include/atomfirmware.h")));
    let (card, bios) = card.ok().zip(bios.ok()).expect("the headers can be read");
    let (_, rest) = bios
        .split_once("struct atom_common_table_header\n")
        .expect("the head of a table");
    let (body, _) = rest.split_once("};").expect("its end");
    tables.declare(&format!("struct atom_common_table_header {body}}};"));
    tables.declare(&card);
    compare(tables, &[smu::LAYOUTS]);
    let mut probe = Probe::new(&headers, &flags);
    let format = card
        .lines()
        .find_map(|line| line.strip_prefix("#define SMU_14_0_2_TABLE_FORMAT_REVISION "));
    let format = format.expect("the format");
    // Of a source file, which the compiler can't take alone.
    let source = linux().join(format!("{AMD}/pm/swsmu/smu14/smu_v14_0_2_ppt.c"));
    let text = std::fs::read_to_string(source).expect("the source can be read");
    let (_, rest) = text
        .split_once("#define DEBUGSMC_MSG_Mode1Reset")
        .expect("the message");
    let mode_1 = rest.lines().next().unwrap_or_default();
    let (_, rest) = text
        .split_once("#define SMU14_DRIVER_IF_VERSION_SMU_V14_0_2")
        .expect("the version");
    let version = rest.lines().next().unwrap_or_default();
    use smu::message;
    let constants = [
        (answer::OK, "PPSMC_Result_OK"),
        (answer::BUSY, "PPSMC_Result_CmdRejectedBusy"),
        (answer::BAD_PREREQUISITE, "PPSMC_Result_CmdRejectedPrereq"),
        (answer::UNKNOWN, "PPSMC_Result_UnknownCmd"),
        (answer::FAILED, "PPSMC_Result_Failed"),
        (message::TEST, "PPSMC_MSG_TestMessage"),
        (message::GET_VERSION, "PPSMC_MSG_GetSmuVersion"),
        (
            message::GET_INTERFACE_VERSION,
            "PPSMC_MSG_GetDriverIfVersion",
        ),
        (
            message::ALLOW_FEATURES_LOW,
            "PPSMC_MSG_SetAllowedFeaturesMaskLow",
        ),
        (
            message::ALLOW_FEATURES_HIGH,
            "PPSMC_MSG_SetAllowedFeaturesMaskHigh",
        ),
        (
            message::ENABLE_ALL_FEATURES,
            "PPSMC_MSG_EnableAllSmuFeatures",
        ),
        (
            message::DISABLE_ALL_FEATURES,
            "PPSMC_MSG_DisableAllSmuFeatures",
        ),
        (
            message::GET_FEATURES_LOW,
            "PPSMC_MSG_GetRunningSmuFeaturesLow",
        ),
        (
            message::GET_FEATURES_HIGH,
            "PPSMC_MSG_GetRunningSmuFeaturesHigh",
        ),
        (
            message::SET_DRIVER_ADDRESS_HIGH,
            "PPSMC_MSG_SetDriverDramAddrHigh",
        ),
        (
            message::SET_DRIVER_ADDRESS_LOW,
            "PPSMC_MSG_SetDriverDramAddrLow",
        ),
        (
            message::SET_TOOLS_ADDRESS_HIGH,
            "PPSMC_MSG_SetToolsDramAddrHigh",
        ),
        (
            message::SET_TOOLS_ADDRESS_LOW,
            "PPSMC_MSG_SetToolsDramAddrLow",
        ),
        (message::GET_TABLE, "PPSMC_MSG_TransferTableSmu2Dram"),
        (message::SET_TABLE, "PPSMC_MSG_TransferTableDram2Smu"),
        (message::SET_PCIE, "PPSMC_MSG_OverridePcieParameters"),
        (
            message::SET_LOG_ADDRESS_HIGH,
            "PPSMC_MSG_DramLogSetDramAddrHigh",
        ),
        (
            message::SET_LOG_ADDRESS_LOW,
            "PPSMC_MSG_DramLogSetDramAddrLow",
        ),
        (message::SET_LOG_SIZE, "PPSMC_MSG_DramLogSetDramSize"),
        (message::PREPARE_FOR_UNLOAD, "PPSMC_MSG_PrepareMp1ForUnload"),
        (message::CALIBRATE, "PPSMC_MSG_RunDcBtc"),
        (message::ALLOW_INTERRUPT, "PPSMC_MSG_AllowIHHostInterrupt"),
        (message::ALLOW_GFX_OFF, "PPSMC_MSG_AllowGfxOff"),
        (message::DISALLOW_GFX_OFF, "PPSMC_MSG_DisallowGfxOff"),
        (smu::DEBUG_MODE_1, mode_1),
        (message::SET_SOFT_MIN, "PPSMC_MSG_SetSoftMinByFreq"),
        (message::SET_SOFT_MAX, "PPSMC_MSG_SetSoftMaxByFreq"),
        (message::GET_MIN_FREQUENCY, "PPSMC_MSG_GetMinDpmFreq"),
        (message::GET_MAX_FREQUENCY, "PPSMC_MSG_GetMaxDpmFreq"),
        (message::GET_FREQUENCY, "PPSMC_MSG_GetDpmFreqByIndex"),
        (message::SET_WORKLOAD, "PPSMC_MSG_SetWorkloadMask"),
        (message::SET_POWER_LIMIT, "PPSMC_MSG_SetPptLimit"),
        (message::GET_POWER_LIMIT, "PPSMC_MSG_GetPptLimit"),
        (smu::INTERFACE, version),
        (smu::FORMAT, format),
        (smu::table::POWER_PLAY, "TABLE_COMBO_PPTABLE"),
        (smu::table::METRICS, "TABLE_SMU_METRICS"),
        (smu::table::COUNT, "TABLE_COUNT"),
        (smu::feature::GFXCLK, "FEATURE_DPM_GFXCLK_BIT"),
        (smu::feature::UCLK, "FEATURE_DPM_UCLK_BIT"),
        (smu::feature::FCLK, "FEATURE_DPM_FCLK_BIT"),
        (smu::feature::SOCCLK, "FEATURE_DPM_SOCCLK_BIT"),
        (smu::feature::THROTTLERS, "FEATURE_THROTTLERS_BIT"),
        (smu::feature::FAN, "FEATURE_FAN_CONTROL_BIT"),
        (smu::clock::GFXCLK, "PPCLK_GFXCLK"),
        (smu::clock::SOCCLK, "PPCLK_SOCCLK"),
        (smu::clock::UCLK, "PPCLK_UCLK"),
        (smu::clock::FCLK, "PPCLK_FCLK"),
        (smu::throttler::EDGE, "THROTTLER_TEMP_EDGE_BIT"),
        (smu::throttler::HOTSPOT, "THROTTLER_TEMP_HOTSPOT_BIT"),
        (smu::throttler::MEMORY, "THROTTLER_TEMP_MEM_BIT"),
        (smu::throttler::REGULATOR_GFX, "THROTTLER_TEMP_VR_GFX_BIT"),
        (smu::throttler::REGULATOR_SOC, "THROTTLER_TEMP_VR_SOC_BIT"),
        (
            smu::throttler::REGULATOR_MEMORY0,
            "THROTTLER_TEMP_VR_MEM0_BIT",
        ),
        (
            smu::throttler::REGULATOR_MEMORY1,
            "THROTTLER_TEMP_VR_MEM1_BIT",
        ),
        (smu::throttler::LIQUID0, "THROTTLER_TEMP_LIQUID0_BIT"),
        (smu::throttler::LIQUID1, "THROTTLER_TEMP_LIQUID1_BIT"),
        (smu::throttler::TDC_GFX, "THROTTLER_TDC_GFX_BIT"),
        (smu::throttler::TDC_SOC, "THROTTLER_TDC_SOC_BIT"),
        (smu::throttler::PPT0, "THROTTLER_PPT0_BIT"),
        (smu::throttler::PPT1, "THROTTLER_PPT1_BIT"),
        (smu::throttler::PPT2, "THROTTLER_PPT2_BIT"),
        (smu::throttler::PPT3, "THROTTLER_PPT3_BIT"),
        (smu::throttler::FIT, "THROTTLER_FIT_BIT"),
        (smu::throttler::APCC, "THROTTLER_GFX_APCC_PLUS_BIT"),
        (smu::throttler::COUNT, "THROTTLER_COUNT"),
    ];
    for (_, name) in constants {
        probe.value(name);
    }
    for ((value, name), answer) in constants.iter().zip(probe.run()) {
        assert_eq!(answer.bit, u64::from(*value), "{name}");
    }
}
