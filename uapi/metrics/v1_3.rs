// SPDX-License-Identifier: MIT OR Apache-2.0

//! Format 1.3 of `gpu_metrics`, of cards since Navi: each value has its place in [`SIZE`] bytes.
//!
//! Source: Linux 7.3, `drivers/gpu/drm/amd/include/kgd_pp_interface.h` (`struct gpu_metrics_v1_3`),
//! `pm/swsmu/inc/amdgpu_smu.h` (`SMU_THROTTLER_*`).

use super::Kind;

/// Format and content.
pub const REVISION: (u8, u8) = (1, 3);
/// Bytes of all. They begin with this number (16 bits), and both of [`REVISION`] (8 each).
pub const SIZE: usize = 120;

/// A value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Column {
    /// Its name in Linux's structure.
    pub name: &'static str,
    /// Its first byte.
    pub offset: usize,
    /// Its type.
    pub kind: Kind,
}

macro_rules! columns {
    ($($(#[$doc:meta])* $name:ident = $c:literal, $offset:literal, $kind:ident;)*) => {
        $($(#[$doc])* #[doc = concat!("`", $c, "`.")]
        pub const $name: Column = Column { name: $c, offset: $offset, kind: Kind::$kind };)*

        /// All of these.
        pub const COLUMNS: &[Column] = &[$($name),*];
    };
}

// Degrees, percent, watts, MHz, turns in a minute, tenths of GT/s, millivolts.
columns! {
    TEMPERATURE_EDGE = "temperature_edge", 4, U16;
    TEMPERATURE_HOTSPOT = "temperature_hotspot", 6, U16;
    TEMPERATURE_MEM = "temperature_mem", 8, U16;
    TEMPERATURE_VRGFX = "temperature_vrgfx", 10, U16;
    TEMPERATURE_VRSOC = "temperature_vrsoc", 12, U16;
    TEMPERATURE_VRMEM = "temperature_vrmem", 14, U16;
    AVERAGE_GFX_ACTIVITY = "average_gfx_activity", 16, U16;
    AVERAGE_UMC_ACTIVITY = "average_umc_activity", 18, U16;
    AVERAGE_MM_ACTIVITY = "average_mm_activity", 20, U16;
    AVERAGE_SOCKET_POWER = "average_socket_power", 22, U16;
    ENERGY_ACCUMULATOR = "energy_accumulator", 24, U64;
    /// Since the machine's start, in nanoseconds.
    SYSTEM_CLOCK_COUNTER = "system_clock_counter", 32, U64;
    AVERAGE_GFXCLK_FREQUENCY = "average_gfxclk_frequency", 40, U16;
    AVERAGE_UCLK_FREQUENCY = "average_uclk_frequency", 44, U16;
    AVERAGE_VCLK0_FREQUENCY = "average_vclk0_frequency", 46, U16;
    AVERAGE_DCLK0_FREQUENCY = "average_dclk0_frequency", 48, U16;
    AVERAGE_VCLK1_FREQUENCY = "average_vclk1_frequency", 50, U16;
    AVERAGE_DCLK1_FREQUENCY = "average_dclk1_frequency", 52, U16;
    CURRENT_GFXCLK = "current_gfxclk", 54, U16;
    CURRENT_SOCCLK = "current_socclk", 56, U16;
    CURRENT_UCLK = "current_uclk", 58, U16;
    CURRENT_VCLK0 = "current_vclk0", 60, U16;
    CURRENT_DCLK0 = "current_dclk0", 62, U16;
    CURRENT_VCLK1 = "current_vclk1", 64, U16;
    CURRENT_DCLK1 = "current_dclk1", 66, U16;
    /// Bits of the chip's own.
    THROTTLE_STATUS = "throttle_status", 68, U32;
    CURRENT_FAN_SPEED = "current_fan_speed", 72, U16;
    PCIE_LINK_WIDTH = "pcie_link_width", 74, U16;
    PCIE_LINK_SPEED = "pcie_link_speed", 76, U16;
    VOLTAGE_SOC = "voltage_soc", 104, U16;
    VOLTAGE_GFX = "voltage_gfx", 106, U16;
    VOLTAGE_MEM = "voltage_mem", 108, U16;
    /// Bits of [`throttler`].
    INDEP_THROTTLE_STATUS = "indep_throttle_status", 112, U64;
}

/// What holds clocks back, by its bit, the same of all chips.
pub mod throttler {
    macro_rules! bits {
        ($($name:ident = $value:literal, $c:literal;)*) => {
            $(#[doc = concat!("`", $c, "`.")]
            pub const $name: u32 = $value;)*

            /// All of these, with their names.
            pub const BITS: &[(&str, u32)] = &[$(($c, $name)),*];
        };
    }

    bits! {
        PPT0 = 0, "SMU_THROTTLER_PPT0_BIT";
        PPT1 = 1, "SMU_THROTTLER_PPT1_BIT";
        PPT2 = 2, "SMU_THROTTLER_PPT2_BIT";
        PPT3 = 3, "SMU_THROTTLER_PPT3_BIT";
        TDC_GFX = 16, "SMU_THROTTLER_TDC_GFX_BIT";
        TDC_SOC = 17, "SMU_THROTTLER_TDC_SOC_BIT";
        APCC = 23, "SMU_THROTTLER_APCC_BIT";
        MEMORY = 34, "SMU_THROTTLER_TEMP_MEM_BIT";
        EDGE = 35, "SMU_THROTTLER_TEMP_EDGE_BIT";
        HOTSPOT = 36, "SMU_THROTTLER_TEMP_HOTSPOT_BIT";
        REGULATOR_GFX = 38, "SMU_THROTTLER_TEMP_VR_GFX_BIT";
        REGULATOR_SOC = 39, "SMU_THROTTLER_TEMP_VR_SOC_BIT";
        REGULATOR_MEMORY0 = 40, "SMU_THROTTLER_TEMP_VR_MEM0_BIT";
        REGULATOR_MEMORY1 = 41, "SMU_THROTTLER_TEMP_VR_MEM1_BIT";
        LIQUID0 = 42, "SMU_THROTTLER_TEMP_LIQUID0_BIT";
        LIQUID1 = 43, "SMU_THROTTLER_TEMP_LIQUID1_BIT";
        FIT = 57, "SMU_THROTTLER_FIT_BIT";
    }
}
