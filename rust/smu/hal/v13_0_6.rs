// SPDX-License-Identifier: GPL-2.0

//! MP1 13.0.6, of gfx942 (`smu_v13_0_6_ppt.c`).

use super::{
    levels,
    ByLoad,
    ChipReset,
    Format,
    Interface,
    Mailbox,
    Metric,
    Place,
    Service,
    Source,
    Values, //
};
use crate::{
    hw::{
        firmware::tables::id,
        layout::{
            Field,
            Layout, //
        },
        regs::mp1_13_0_6 as mp1,
        smu::v13_0_6::{
            self as smu,
            message,
            Metrics, //
        }, //
    },
    regs::Tables,
    uapi::metrics as abi, //
};
use kernel::{
    str::CStr,
    time::Delta, //
};

/// Firmware that reports of its link (`SMU_CAP(PCIE_METRICS)` of `smu_v13_0_6_init_caps`, as the next ones).
fn has_link(version: u32) -> bool {
    version >= 0x0055_6300
}

/// Firmware that reports what the link's other end did.
fn has_other_end(version: u32) -> bool {
    version >= 0x0055_7600
}

/// Firmware that reports of each XCC.
fn has_xccs(version: u32) -> bool {
    version >= 0x0055_6f00
}

/// Firmware that reports what held an XCC's clock back; programs 0 and 7 of the firmware have it.
fn has_limits(version: u32) -> bool {
    match version >> 24 {
        0 => version >= 0x0055_7e00,
        7 => version >= 0x0755_0e00,
        _ => false,
    }
}

/// What is reported of other chips, and isn't of this one: temperatures of single stacks and dies. Linux adds what
/// links to other GPUs and video engines do, which the driver doesn't drive.
static METRICS: [Metric; 40] = [
    Metric::new(
        &abi::TEMPERATURE_HOTSPOT,
        Source::Rounded(Metrics::MAX_SOCKET_TEMPERATURE.word()),
    ),
    Metric::new(
        &abi::TEMPERATURE_MEM,
        Source::Rounded(Metrics::MAX_HBM_TEMPERATURE.word()),
    ),
    Metric::new(
        &abi::TEMPERATURE_VRSOC,
        Source::Rounded(Metrics::MAX_VR_TEMPERATURE.word()),
    ),
    Metric::new(
        &abi::CURR_SOCKET_POWER,
        Source::Rounded(Metrics::SOCKET_POWER.word()),
    ),
    Metric::new(
        &abi::AVERAGE_GFX_ACTIVITY,
        Source::Rounded(Metrics::SOCKET_GFX_BUSY.word()),
    ),
    Metric::new(
        &abi::AVERAGE_UMC_ACTIVITY,
        Source::Rounded(Metrics::DRAM_UTILIZATION.word()),
    ),
    Metric::new(
        &abi::MEM_MAX_BANDWIDTH,
        Source::Rounded(Metrics::MAX_DRAM_BANDWIDTH.word()),
    ),
    Metric::new(
        &abi::ENERGY_ACCUMULATOR,
        Source::Pair(Metrics::SOCKET_ENERGY_ACC.word()),
    ),
    Metric::new(&abi::SYSTEM_CLOCK_COUNTER, Source::Uptime),
    Metric::new(
        &abi::ACCUMULATION_COUNTER,
        Source::Word(Metrics::ACCUMULATION_COUNTER.word()),
    ),
    Metric::new(
        &abi::PROCHOT_RESIDENCY_ACC,
        Source::Word(Metrics::PROCHOT_RESIDENCY_ACC.word()),
    ),
    Metric::new(
        &abi::PPT_RESIDENCY_ACC,
        Source::Word(Metrics::PPT_RESIDENCY_ACC.word()),
    ),
    Metric::new(
        &abi::SOCKET_THM_RESIDENCY_ACC,
        Source::Word(Metrics::SOCKET_THM_RESIDENCY_ACC.word()),
    ),
    Metric::new(
        &abi::VR_THM_RESIDENCY_ACC,
        Source::Word(Metrics::VR_THM_RESIDENCY_ACC.word()),
    ),
    Metric::new(
        &abi::HBM_THM_RESIDENCY_ACC,
        Source::Word(Metrics::HBM_THM_RESIDENCY_ACC.word()),
    ),
    Metric::new(
        &abi::GFXCLK_LOCK_STATUS,
        Source::XccBits(Metrics::GFXCLK_LOCK.word()),
    ),
    Metric::if_known(
        &abi::PCIE_LINK_WIDTH,
        Source::Word(Metrics::PCIE_WIDTH.word()),
        has_link,
    ),
    Metric::if_known(
        &abi::PCIE_LINK_SPEED,
        Source::Link(Metrics::PCIE_SPEED.word()),
        has_link,
    ),
    Metric::new(
        &abi::XGMI_LINK_WIDTH,
        Source::Word(Metrics::XGMI_WIDTH.word()),
    ),
    Metric::new(
        &abi::XGMI_LINK_SPEED,
        Source::Word(Metrics::XGMI_BITRATE.word()),
    ),
    Metric::new(
        &abi::GFX_ACTIVITY_ACC,
        Source::RoundedPair(Metrics::SOCKET_GFX_BUSY_ACC.word()),
    ),
    Metric::new(
        &abi::MEM_ACTIVITY_ACC,
        Source::RoundedPair(Metrics::DRAM_UTILIZATION_ACC.word()),
    ),
    Metric::new(
        &abi::PCIE_BANDWIDTH_ACC,
        Source::RoundedPair(Metrics::PCIE_BANDWIDTH_ACC.word()),
    ),
    Metric::new(
        &abi::PCIE_BANDWIDTH_INST,
        Source::Rounded(Metrics::PCIE_BANDWIDTH.word()),
    ),
    Metric::new(
        &abi::PCIE_L0_TO_RECOV_COUNT_ACC,
        Source::Word(Metrics::PCIE_L0_TO_RECOVERY_ACC.word()),
    ),
    Metric::new(
        &abi::PCIE_REPLAY_COUNT_ACC,
        Source::Word(Metrics::PCIE_REPLAY_ACC.word()),
    ),
    Metric::new(
        &abi::PCIE_REPLAY_ROVER_COUNT_ACC,
        Source::Word(Metrics::PCIE_REPLAY_ROLLOVER_ACC.word()),
    ),
    Metric::new(
        &abi::PCIE_NAK_SENT_COUNT_ACC,
        Source::Word(Metrics::PCIE_NAK_SENT_ACC.word()),
    ),
    Metric::new(
        &abi::PCIE_NAK_RCVD_COUNT_ACC,
        Source::Word(Metrics::PCIE_NAK_RECEIVED_ACC.word()),
    ),
    Metric::new(
        &abi::FIRMWARE_TIMESTAMP,
        Source::Pair(Metrics::TIMESTAMP.word()),
    ),
    Metric::new(&abi::CURRENT_GFXCLK, Source::Xcc(Metrics::GFXCLK.word())),
    Metric::new(
        &abi::CURRENT_SOCCLK,
        Source::Rounded(Metrics::SOCCLK.word()),
    ),
    Metric::new(&abi::CURRENT_UCLK, Source::Rounded(Metrics::UCLK.word())),
    Metric::if_known(
        &abi::PCIE_LC_PERF_OTHER_END_RECOVERY,
        Source::Word(Metrics::PCIE_OTHER_END_RECOVERY_ACC.word()),
        has_other_end,
    ),
    Metric::if_known(
        &abi::GFX_BUSY_INST,
        Source::Xcc(Metrics::GFX_BUSY.word()),
        has_xccs,
    ),
    Metric::if_known(
        &abi::GFX_BUSY_ACC,
        Source::XccPair(Metrics::GFX_BUSY_ACC.word()),
        has_xccs,
    ),
    Metric::if_known(
        &abi::GFX_BELOW_HOST_LIMIT_PPT_ACC,
        Source::XccPair(Metrics::BELOW_LIMIT_PPT_ACC.word()),
        has_limits,
    ),
    Metric::if_known(
        &abi::GFX_BELOW_HOST_LIMIT_THM_ACC,
        Source::XccPair(Metrics::BELOW_LIMIT_THM_ACC.word()),
        has_limits,
    ),
    Metric::if_known(
        &abi::GFX_LOW_UTILIZATION_ACC,
        Source::XccPair(Metrics::LOW_UTILIZATION_ACC.word()),
        has_limits,
    ),
    Metric::if_known(
        &abi::GFX_BELOW_HOST_LIMIT_TOTAL_ACC,
        Source::XccPair(Metrics::BELOW_LIMIT_TOTAL_ACC.word()),
        has_limits,
    ),
];

/// The place of a value with a fraction.
const fn fixed(field: Field<Metrics, 32>) -> Place {
    Place::of(field, smu::FRACTION)
}

static INTERFACE: Interface = Interface {
    mailbox: Mailbox {
        message: mp1::MP1_SMN_C2PMSG_66.any(),
        argument: mp1::MP1_SMN_C2PMSG_82.any(),
        answer: mp1::MP1_SMN_C2PMSG_90.any(),
    },
    reset_sdma: Some(message::RESET_SDMA),
    keep_on: None,
    reset_chip: ChipReset::Message(message::DRIVER_RESET, smu::RESET_MODE_1),
    // `SMU13_MODE1_RESET_WAIT_TIME_IN_MS`.
    away: Delta::from_millis(500),
    service: Some(Service {
        version: message::GET_VERSION,
        interface_version: message::GET_INTERFACE_VERSION,
        interface: smu::INTERFACE,
        enable: message::ENABLE_ALL_FEATURES,
        prepare_unload: message::PREPARE_FOR_UNLOAD,
        address_high: message::SET_DRIVER_ADDRESS_HIGH,
        address_low: message::SET_DRIVER_ADDRESS_LOW,
        card: None,
        before: &[],
        measure: (message::GET_METRICS_TABLE, 0),
        words: Metrics::WORDS,
        serial: [Metrics::SERIAL.word(), Metrics::SERIAL.word() + 1],
        count: Some(Place::whole(Metrics::ACCUMULATION_COUNTER)),
        levels: levels::Source::Table {
            gfx: [fixed(Metrics::MIN_GFXCLK), fixed(Metrics::MAX_GFXCLK)],
            memory: [
                fixed(Metrics::UCLK_TABLE),
                fixed(Metrics::UCLK_TABLE).behind(1),
                fixed(Metrics::UCLK_TABLE).behind(2),
                fixed(Metrics::UCLK_TABLE).behind(3),
            ],
        },
        // `smu_v13_0_6_read_sensor`, and what Linux hides of chips with base dies.
        values: Values {
            power: fixed(Metrics::SOCKET_POWER),
            is_average: false,
            edge: None,
            temperature: fixed(Metrics::MAX_SOCKET_TEMPERATURE),
            memory_temperature: fixed(Metrics::MAX_HBM_TEMPERATURE),
            voltage: None,
            fan: None,
            gfx: ByLoad {
                busy: fixed(Metrics::SOCKET_GFX_BUSY),
                idle: fixed(Metrics::GFXCLK),
                awake: fixed(Metrics::GFXCLK),
            },
            memory: fixed(Metrics::UCLK),
            busy: fixed(Metrics::SOCKET_GFX_BUSY),
            memory_busy: fixed(Metrics::DRAM_UTILIZATION),
        },
        metrics: Format::List {
            fraction: smu::FRACTION,
            metrics: &METRICS,
        },
    }),
};

/// The management unit.
pub(super) struct Hal;

impl super::Hal for Hal {
    fn tables(&self) -> Tables {
        &[&mp1::TABLE]
    }

    /// `smu_v13_0_6_init_microcode`.
    fn tables_file(&self) -> Option<&'static CStr> {
        Some(c"amdgpu/smu_13_0_6.bin")
    }

    /// As above. Only MI300A has a CPU in its package.
    fn table_of(&self, device: u16) -> Option<u32> {
        Some(match device {
            0x74a0 => id::A,
            _ if device & 0xf == 5 => id::CARD_5,
            _ => id::X,
        })
    }

    fn interface(&self) -> &'static Interface {
        &INTERFACE
    }
}
