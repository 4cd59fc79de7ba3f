// SPDX-License-Identifier: GPL-2.0

//! MP1 14.0.3, of gfx12 (`smu_v14_0_2_ppt.c`): the security processor gives it its firmware. Copy engines have registers of
//! their own to be reset by. Of what Linux sends it the driver leaves out a log for tools and limits of the PCI link.

use super::{
    levels,
    ByLoad,
    Card,
    ChipReset,
    Columns,
    Format,
    From,
    Interface,
    Mailbox,
    Place,
    Reported,
    Service,
    Values, //
};
use crate::{
    hw::{
        layout::Layout,
        regs::mp1_14_0_2 as mp1,
        smu::v14_0::{
            self as smu,
            clock,
            feature,
            message,
            throttler,
            Metrics,
            PowerPlay, //
        }, //
    },
    regs::Tables,
    uapi::metrics::v1_3::{
        self as abi,
        throttler as bit, //
    }, //
};
use kernel::{
    str::CStr,
    time::Delta, //
};

/// Firmware that counts energy.
const COUNTS_ENERGY: u32 = 0x0068_5000;

const GFX: ByLoad = ByLoad {
    busy: Place::whole(Metrics::BUSY),
    idle: Place::whole(Metrics::GFX_AVERAGE),
    awake: Place::whole(Metrics::GFX_AWAKE),
};
const MEMORY: ByLoad = ByLoad {
    busy: Place::whole(Metrics::MEMORY_BUSY),
    idle: Place::whole(Metrics::MEMORY_AVERAGE),
    awake: Place::whole(Metrics::MEMORY_AWAKE),
};

/// A column that is a field of the table.
macro_rules! same {
    ($column:ident, $field:ident) => {
        Reported::new(abi::$column, From::Table(Place::whole(Metrics::$field)))
    };
}

/// `smu_v14_0_2_get_gpu_metrics`.
static REPORTED: [Reported; 33] = [
    same!(TEMPERATURE_EDGE, EDGE),
    same!(TEMPERATURE_HOTSPOT, HOTSPOT),
    same!(TEMPERATURE_MEM, MEMORY),
    same!(TEMPERATURE_VRGFX, REGULATOR_GFX),
    same!(TEMPERATURE_VRSOC, REGULATOR_SOC),
    Reported::new(
        abi::TEMPERATURE_VRMEM,
        From::Larger(
            Place::whole(Metrics::REGULATOR_MEMORY0),
            Place::whole(Metrics::REGULATOR_MEMORY1),
        ),
    ),
    same!(AVERAGE_GFX_ACTIVITY, BUSY),
    Reported::new(
        abi::AVERAGE_UMC_ACTIVITY,
        From::OrNone(Place::whole(Metrics::MEMORY_BUSY)),
    ),
    Reported::new(
        abi::AVERAGE_MM_ACTIVITY,
        From::Larger(
            Place::whole(Metrics::VIDEO0_BUSY),
            Place::whole(Metrics::VIDEO1_BUSY),
        ),
    ),
    same!(AVERAGE_SOCKET_POWER, POWER),
    Reported {
        column: abi::ENERGY_ACCUMULATOR,
        from: From::Table(Place::whole(Metrics::ENERGY)),
        since: COUNTS_ENERGY,
    },
    Reported::new(abi::SYSTEM_CLOCK_COUNTER, From::Uptime),
    Reported::new(abi::AVERAGE_GFXCLK_FREQUENCY, From::Clock(GFX)),
    Reported::new(abi::AVERAGE_UCLK_FREQUENCY, From::Clock(MEMORY)),
    same!(AVERAGE_VCLK0_FREQUENCY, VCLK0_AVERAGE),
    same!(AVERAGE_DCLK0_FREQUENCY, DCLK0_AVERAGE),
    same!(AVERAGE_VCLK1_FREQUENCY, VCLK1_AVERAGE),
    same!(AVERAGE_DCLK1_FREQUENCY, DCLK1_AVERAGE),
    Reported::new(abi::CURRENT_GFXCLK, From::Clock(GFX)),
    same!(CURRENT_SOCCLK, SOCCLK),
    same!(CURRENT_UCLK, UCLK),
    // Both engines' clocks are those of the first.
    same!(CURRENT_VCLK0, VCLK),
    same!(CURRENT_DCLK0, DCLK),
    same!(CURRENT_VCLK1, VCLK),
    same!(CURRENT_DCLK1, DCLK),
    Reported::new(
        abi::THROTTLE_STATUS,
        From::Throttlers(Place::whole(Metrics::THROTTLING)),
    ),
    same!(CURRENT_FAN_SPEED, FAN_TURNS),
    same!(PCIE_LINK_WIDTH, LINK_WIDTH),
    Reported::new(
        abi::PCIE_LINK_SPEED,
        From::Link(Place::whole(Metrics::LINK_RATE)),
    ),
    same!(VOLTAGE_SOC, VOLTAGE_SOC),
    same!(VOLTAGE_GFX, VOLTAGE_GFX),
    same!(VOLTAGE_MEM, VOLTAGE_MEMORY),
    Reported::new(
        abi::INDEP_THROTTLE_STATUS,
        From::IndependentThrottlers(Place::whole(Metrics::THROTTLING)),
    ),
];

/// `smu_v14_0_2_throttler_map`. The others have no bit: Linux takes that of the first power limit for them.
static BITS: [(u32, u32); 17] = [
    (throttler::PPT0, bit::PPT0),
    (throttler::PPT1, bit::PPT1),
    (throttler::PPT2, bit::PPT2),
    (throttler::PPT3, bit::PPT3),
    (throttler::TDC_GFX, bit::TDC_GFX),
    (throttler::TDC_SOC, bit::TDC_SOC),
    (throttler::EDGE, bit::EDGE),
    (throttler::HOTSPOT, bit::HOTSPOT),
    (throttler::MEMORY, bit::MEMORY),
    (throttler::REGULATOR_GFX, bit::REGULATOR_GFX),
    (throttler::REGULATOR_SOC, bit::REGULATOR_SOC),
    (throttler::REGULATOR_MEMORY0, bit::REGULATOR_MEMORY0),
    (throttler::REGULATOR_MEMORY1, bit::REGULATOR_MEMORY1),
    (throttler::LIQUID0, bit::LIQUID0),
    (throttler::LIQUID1, bit::LIQUID1),
    (throttler::APCC, bit::APCC),
    (throttler::FIT, bit::FIT),
];

/// The order is that of `smu_smc_hw_setup`.
const SERVICE: Service = Service {
    version: message::GET_VERSION,
    interface_version: message::GET_INTERFACE_VERSION,
    interface: smu::INTERFACE,
    card: Some(Card {
        message: message::GET_TABLE,
        table: smu::table::POWER_PLAY,
        words: PowerPlay::WORDS,
        features: Place::whole(PowerPlay::FEATURES),
        fan: feature::FAN,
        reported_clock: Place::whole(PowerPlay::GAME_CLOCK),
        most_turns: Place::whole(PowerPlay::MOST_TURNS),
    }),
    // All features are allowed (`smu_v14_0_2_init_allowed_features`).
    before: &[
        (message::CALIBRATE, 0),
        (message::ALLOW_FEATURES_HIGH, u32::MAX),
        (message::ALLOW_FEATURES_LOW, u32::MAX),
    ],
    enable: message::ENABLE_ALL_FEATURES,
    prepare_unload: message::PREPARE_FOR_UNLOAD,
    address_high: message::SET_DRIVER_ADDRESS_HIGH,
    address_low: message::SET_DRIVER_ADDRESS_LOW,
    measure: (message::GET_TABLE, smu::table::METRICS),
    words: Metrics::WORDS,
    serial: [Metrics::SERIAL_LOW.word(), Metrics::SERIAL_HIGH.word()],
    count: None,
    levels: levels::Source::Asked {
        features: [message::GET_FEATURES_HIGH, message::GET_FEATURES_LOW],
        frequency: message::GET_FREQUENCY,
        count: smu::COUNT,
        gfx: levels::Clock {
            number: clock::GFXCLK,
            feature: feature::GFXCLK,
        },
        memory: levels::Clock {
            number: clock::UCLK,
            feature: feature::UCLK,
        },
    },
    // `smu_v14_0_2_read_sensor`.
    values: Values {
        power: Place::whole(Metrics::POWER),
        is_average: true,
        edge: Some(Place::whole(Metrics::EDGE)),
        temperature: Place::whole(Metrics::HOTSPOT),
        memory_temperature: Place::whole(Metrics::MEMORY),
        voltage: Some(Place::whole(Metrics::VOLTAGE_GFX)),
        fan: Some((
            Place::whole(Metrics::FAN_TURNS),
            Place::whole(Metrics::FAN_PERCENT),
        )),
        gfx: GFX,
        memory: Place::whole(Metrics::UCLK),
        busy: Place::whole(Metrics::BUSY),
        memory_busy: Place::whole(Metrics::MEMORY_BUSY),
    },
    metrics: Format::Columns(Columns {
        reported: &REPORTED,
        throttlers: throttler::COUNT,
        bits: &BITS,
    }),
};

/// `smu_v14_0_2_init_msg_ctl`.
static INTERFACE: Interface = Interface {
    mailbox: Mailbox {
        message: mp1::MP1_SMN_C2PMSG_66.any(),
        argument: mp1::MP1_SMN_C2PMSG_82.any(),
        answer: mp1::MP1_SMN_C2PMSG_90.any(),
    },
    reset_sdma: None,
    keep_on: Some(message::DISALLOW_GFX_OFF),
    reset_chip: ChipReset::Debug(
        Mailbox {
            message: mp1::MP1_SMN_C2PMSG_75.any(),
            argument: mp1::MP1_SMN_C2PMSG_53.any(),
            answer: mp1::MP1_SMN_C2PMSG_54.any(),
        },
        smu::DEBUG_MODE_1,
    ),
    // `smu_v14_0_2_mode1_reset`.
    away: Delta::from_secs(1),
    service: Some(SERVICE),
};

/// The management unit.
pub(super) struct Hal;

impl super::Hal for Hal {
    fn tables(&self) -> Tables {
        &[&mp1::TABLE]
    }

    /// `smu_v14_0_init_microcode`.
    fn file(&self) -> Option<&'static CStr> {
        Some(c"amdgpu/smu_14_0_3.bin")
    }

    fn interface(&self) -> &'static Interface {
        &INTERFACE
    }
}
