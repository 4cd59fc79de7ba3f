// SPDX-License-Identifier: MIT OR Apache-2.0

//! `gpu_metrics` in a GPU's folder of sysfs: all that its management unit measures, in one file of bytes.
//!
//! Format 1.9, which this file has, lists attributes: a header of [`HEADER`] bytes, then of each attribute a word of eight bytes that says what it is
//! ([`Attribute::encoding`]), and its values. Nothing is padded. A value whose bits are all set isn't known.
//!
//! Source: Linux 7.3, `drivers/gpu/drm/amd/include/kgd_pp_interface.h` (`struct metrics_table_header`,
//! `AMDGPU_METRICS_ENC_ATTR`), `pm/swsmu/smu_cmn.h` (`DECLARE_SMU_METRICS_CLASS`),
//! `pm/swsmu/smu13/smu_v13_0_6_ppt.h` (`SMU_13_0_6_METRICS_FIELDS`).

pub mod v1_3;

/// Format and content (`smu_v13_0_6_gpu_metrics_init`).
pub const REVISION: (u8, u8) = (1, 9);
/// Bytes in front of the attributes: of all (16 bits), both numbers of [`REVISION`] (8 each), how many attributes
/// there are (32).
pub const HEADER: usize = 8;

/// Type of a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// `AMDGPU_METRICS_TYPE_U16`.
    U16 = 2,
    /// `AMDGPU_METRICS_TYPE_U32`.
    U32 = 4,
    /// `AMDGPU_METRICS_TYPE_U64`.
    U64 = 6,
}

impl Kind {
    /// Bytes of a value.
    pub const fn bytes(self) -> usize {
        match self {
            Self::U16 => 2,
            Self::U32 => 4,
            Self::U64 => 8,
        }
    }
}

/// Unit of a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    /// `AMDGPU_METRICS_UNIT_NONE`.
    None = 0,
    /// MHz (`AMDGPU_METRICS_UNIT_CLOCK_1`).
    Mhz = 1,
    /// Degrees Celsius (`AMDGPU_METRICS_UNIT_TEMP_1`).
    Celsius = 2,
    /// Watts (`AMDGPU_METRICS_UNIT_POWER_1`).
    Watts = 3,
    /// Nanoseconds (`AMDGPU_METRICS_UNIT_TIME_1`).
    Ns = 4,
    /// Tens of nanoseconds (`AMDGPU_METRICS_UNIT_TIME_2`).
    TenNs = 5,
    /// GT/s (`AMDGPU_METRICS_UNIT_SPEED_1`).
    Gts = 6,
    /// Tenths of GT/s (`AMDGPU_METRICS_UNIT_SPEED_2`).
    TenthGts = 7,
    /// GB/s (`AMDGPU_METRICS_UNIT_BW_1`).
    Gbs = 8,
    /// KB (`AMDGPU_METRICS_UNIT_DATA_1`).
    Kb = 9,
    /// `AMDGPU_METRICS_UNIT_PERCENT`.
    Percent = 10,
}

/// What an attribute is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Attribute {
    /// Its name in Linux's structure.
    pub name: &'static str,
    /// `AMDGPU_METRICS_ATTR_ID_*`.
    pub id: u16,
    /// Unit of each value.
    pub unit: Unit,
    /// Type of each value.
    pub kind: Kind,
    /// How many values.
    pub count: u16,
}

impl Attribute {
    const fn new(name: &'static str, id: u16, unit: Unit, kind: Kind, count: u16) -> Self {
        Self {
            name,
            id,
            unit,
            kind,
            count,
        }
    }

    /// The word in front of the values (`AMDGPU_METRICS_ENC_ATTR`): unit in bits 31:24, type in 23:20, id in 19:10, count in 9:0.
    pub const fn encoding(&self) -> u64 {
        ((self.unit as u64) << 24)
            | ((self.kind as u64) << 20)
            | ((self.id as u64) << 10)
            | self.count as u64
    }
}

macro_rules! attributes {
    ($($(#[$doc:meta])* $name:ident = $c:literal, $id:literal, $unit:ident, $kind:ident, $count:literal;)*) => {
        $($(#[$doc])* #[doc = concat!("`", $c, "`.")]
        pub const $name: Attribute = Attribute::new($c, $id, Unit::$unit, Kind::$kind, $count);)*

        /// Those of MI300, in the order in which they stand in the file.
        pub const MI300: &[&Attribute] = &[$(&$name),*];
    };
}

attributes! {
    TEMPERATURE_HOTSPOT = "temperature_hotspot", 0, Celsius, U16, 1;
    TEMPERATURE_MEM = "temperature_mem", 1, Celsius, U16, 1;
    TEMPERATURE_VRSOC = "temperature_vrsoc", 2, Celsius, U16, 1;
    CURR_SOCKET_POWER = "curr_socket_power", 3, Watts, U16, 1;
    AVERAGE_GFX_ACTIVITY = "average_gfx_activity", 4, Percent, U16, 1;
    AVERAGE_UMC_ACTIVITY = "average_umc_activity", 5, Percent, U16, 1;
    MEM_MAX_BANDWIDTH = "mem_max_bandwidth", 6, Gbs, U64, 1;
    /// In units of 15.259 microjoules.
    ENERGY_ACCUMULATOR = "energy_accumulator", 7, None, U64, 1;
    /// Since the machine's start.
    SYSTEM_CLOCK_COUNTER = "system_clock_counter", 8, Ns, U64, 1;
    /// Grows with each measurement of the unit's.
    ACCUMULATION_COUNTER = "accumulation_counter", 9, None, U64, 1;
    PROCHOT_RESIDENCY_ACC = "prochot_residency_acc", 10, None, U64, 1;
    PPT_RESIDENCY_ACC = "ppt_residency_acc", 11, None, U64, 1;
    SOCKET_THM_RESIDENCY_ACC = "socket_thm_residency_acc", 12, None, U64, 1;
    VR_THM_RESIDENCY_ACC = "vr_thm_residency_acc", 13, None, U64, 1;
    HBM_THM_RESIDENCY_ACC = "hbm_thm_residency_acc", 14, None, U64, 1;
    GFXCLK_LOCK_STATUS = "gfxclk_lock_status", 15, None, U32, 1;
    PCIE_LINK_WIDTH = "pcie_link_width", 16, None, U16, 1;
    PCIE_LINK_SPEED = "pcie_link_speed", 17, TenthGts, U16, 1;
    XGMI_LINK_WIDTH = "xgmi_link_width", 18, None, U16, 1;
    XGMI_LINK_SPEED = "xgmi_link_speed", 19, Gts, U16, 1;
    GFX_ACTIVITY_ACC = "gfx_activity_acc", 20, None, U64, 1;
    MEM_ACTIVITY_ACC = "mem_activity_acc", 21, None, U64, 1;
    PCIE_BANDWIDTH_ACC = "pcie_bandwidth_acc", 22, None, U64, 1;
    PCIE_BANDWIDTH_INST = "pcie_bandwidth_inst", 23, Gbs, U64, 1;
    PCIE_L0_TO_RECOV_COUNT_ACC = "pcie_l0_to_recov_count_acc", 24, None, U64, 1;
    PCIE_REPLAY_COUNT_ACC = "pcie_replay_count_acc", 25, None, U64, 1;
    PCIE_REPLAY_ROVER_COUNT_ACC = "pcie_replay_rover_count_acc", 26, None, U64, 1;
    PCIE_NAK_SENT_COUNT_ACC = "pcie_nak_sent_count_acc", 27, None, U64, 1;
    PCIE_NAK_RCVD_COUNT_ACC = "pcie_nak_rcvd_count_acc", 28, None, U64, 1;
    XGMI_READ_DATA_ACC = "xgmi_read_data_acc", 29, Kb, U64, 8;
    XGMI_WRITE_DATA_ACC = "xgmi_write_data_acc", 30, Kb, U64, 8;
    XGMI_LINK_STATUS = "xgmi_link_status", 31, None, U16, 8;
    FIRMWARE_TIMESTAMP = "firmware_timestamp", 32, TenNs, U64, 1;
    /// Of each XCC.
    CURRENT_GFXCLK = "current_gfxclk", 33, Mhz, U16, 8;
    /// Of each base die.
    CURRENT_SOCCLK = "current_socclk", 34, Mhz, U16, 4;
    CURRENT_VCLK0 = "current_vclk0", 35, Mhz, U16, 4;
    CURRENT_DCLK0 = "current_dclk0", 36, Mhz, U16, 4;
    CURRENT_UCLK = "current_uclk", 37, Mhz, U16, 1;
    PCIE_LC_PERF_OTHER_END_RECOVERY = "pcie_lc_perf_other_end_recovery", 39, None, U64, 1;
    /// Of each XCC.
    GFX_BUSY_INST = "gfx_busy_inst", 40, Percent, U32, 8;
    JPEG_BUSY = "jpeg_busy", 41, Percent, U16, 40;
    VCN_BUSY = "vcn_busy", 42, Percent, U16, 4;
    /// Of each XCC.
    GFX_BUSY_ACC = "gfx_busy_acc", 43, None, U64, 8;
    GFX_BELOW_HOST_LIMIT_PPT_ACC = "gfx_below_host_limit_ppt_acc", 44, None, U64, 8;
    GFX_BELOW_HOST_LIMIT_THM_ACC = "gfx_below_host_limit_thm_acc", 45, None, U64, 8;
    GFX_LOW_UTILIZATION_ACC = "gfx_low_utilization_acc", 46, None, U64, 8;
    GFX_BELOW_HOST_LIMIT_TOTAL_ACC = "gfx_below_host_limit_total_acc", 47, None, U64, 8;
    TEMPERATURE_HBM = "temperature_hbm", 48, Celsius, U16, 8;
    TEMPERATURE_AID = "temperature_aid", 50, Celsius, U16, 4;
    TEMPERATURE_XCD = "temperature_xcd", 51, Celsius, U16, 8;
}
