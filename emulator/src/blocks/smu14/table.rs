// SPDX-License-Identifier: MIT OR Apache-2.0

//! What MP1 14.0.2 reports: its clocks' levels, the table of a measurement, and that of what the card is made for.
//!
//! The levels are near those that drivers show of this chip.

use crate::blocks::power::{Card, Power};
use rkfd_hw::layout::Layout;
use rkfd_hw::smu::v14_0::{clock, feature, throttler, Metrics, PowerPlay, FORMAT};

/// Bits of the features that are modelled.
pub(super) const FEATURES: u64 = (1 << feature::GFXCLK)
    | (1 << feature::UCLK)
    | (1 << feature::FCLK)
    | (1 << feature::SOCCLK)
    | (1 << feature::THROTTLERS)
    | (1 << feature::FAN);
/// Beside the number of levels: only the least and the most are.
pub(super) const FINE: u32 = 1 << 31;

/// Degrees by which the edge of the chip is cooler than its hottest spot, and memory and regulators are warmer.
const EDGE: f64 = 6.0;
const MEMORY: f64 = 4.0;
const REGULATORS: f64 = 2.0;
/// Millivolts that stay.
const SOC: u32 = 800;
const MEMORY_VOLTAGE: u32 = 1350;
/// MHz that each card of this kind reaches: less than this one's most.
const GAME: u32 = 2400;
/// Degrees at which the machine is to be switched off: more than this card's power makes.
const SHUTDOWN: u32 = 118;
const GFXCLK: [u32; 2] = [500, 2970];
const UCLK: [u32; 4] = [96, 456, 772, 1258];

pub(super) static CARD: Card = Card {
    idle: 20.0,
    compute: 230.0,
    copies: 40.0,
    most: 304,
    per_watt: 0.15,
    gfx: (GFXCLK[0], GFXCLK[1]),
    memory: (UCLK[0], UCLK[3]),
    asleep: 0.2,
    fan: 3300.0,
};

/// The levels of a clock in MHz, and the feature that it runs by; `None` for one of a number (`PPCLK_*`) that is not
/// modelled.
pub(super) fn levels(number: u32) -> Option<(&'static [u32], u32)> {
    Some(match number {
        clock::GFXCLK => (&GFXCLK, feature::GFXCLK),
        clock::SOCCLK => (&[300, 600, 1000, 1400], feature::SOCCLK),
        clock::UCLK => (&UCLK, feature::UCLK),
        clock::FCLK => (&[500, 1100, 1700, 2250], feature::FCLK),
        _ => return None,
    })
}

/// The table of the last measurement, of a chip with this serial number.
pub(super) fn metrics(power: &Power, serial: u64) -> Metrics {
    let now = &power.last;
    // No value here is as large as the words allow.
    let whole = |value: f64| value.round().clamp(0.0, f64::from(u16::MAX)) as u16;
    let lowest = |number| levels(number).and_then(|(levels, _)| levels.first().copied());
    let mut table = Metrics::zeroed()
        .with(Metrics::GFXCLK, u32::from(whole(now.gfx)))
        .with(Metrics::SOCCLK, lowest(clock::SOCCLK).unwrap_or(0))
        .with(Metrics::UCLK, now.memory)
        .with(Metrics::FCLK, lowest(clock::FCLK).unwrap_or(0))
        .with(Metrics::GFX_AWAKE, whole(now.gfx))
        .with(Metrics::GFX_AVERAGE, whole(now.gfx_mean))
        .with(Metrics::MEMORY_AWAKE, whole(now.memory.into()))
        .with(Metrics::MEMORY_AVERAGE, whole(now.memory_mean))
        .with(Metrics::COUNTER, power.count)
        .with(Metrics::VOLTAGE_GFX, whole(now.millivolts))
        .with(Metrics::VOLTAGE_SOC, SOC as u16)
        .with(Metrics::VOLTAGE_MEMORY, MEMORY_VOLTAGE as u16)
        .with(Metrics::BUSY, whole(now.busy * 100.0))
        .with(Metrics::MEMORY_BUSY, whole(now.copies * 100.0))
        .with(Metrics::ENERGY, power.energy as u32)
        .with(Metrics::POWER, whole(now.watts))
        .with(Metrics::EDGE, whole(now.degrees - EDGE))
        .with(Metrics::HOTSPOT, whole(now.degrees))
        .with(Metrics::MEMORY, whole(now.degrees + MEMORY))
        .with(Metrics::REGULATOR_GFX, whole(now.degrees + REGULATORS))
        .with(Metrics::REGULATOR_SOC, whole(now.degrees + REGULATORS))
        .with(Metrics::REGULATOR_MEMORY0, whole(now.degrees + REGULATORS))
        .with(Metrics::REGULATOR_MEMORY1, whole(now.degrees + REGULATORS))
        .having(Metrics::LINK_RATE.is::<4>())
        .having(Metrics::LINK_WIDTH.is::<16>())
        .with(Metrics::FAN_PERCENT, whole(now.fan * 100.0) as u8)
        .with(Metrics::FAN_TURNS, whole(power.turns()))
        .with(Metrics::SERIAL_LOW, serial as u32)
        .with(Metrics::SERIAL_HIGH, (serial >> 32) as u32);
    let held = throttler::PPT0 as usize;
    if let Some(word) = table.0.get_mut(Metrics::THROTTLING.word() + held / 4) {
        *word |= u32::from(whole(now.held * 100.0).min(100)) << (8 * (held % 4));
    }
    table
}

/// What the card is made for.
pub(super) fn power_play() -> PowerPlay {
    PowerPlay::zeroed()
        .with(PowerPlay::SIZE, 4 * PowerPlay::WORDS as u16)
        .with(PowerPlay::FORMAT, FORMAT as u8)
        .with(PowerPlay::SHUTDOWN, SHUTDOWN as u16)
        .with(PowerPlay::FEATURES, FEATURES as u32)
        .with(PowerPlay::GAME_CLOCK, GAME as u16)
        .with(PowerPlay::MOST_TURNS, CARD.fan as u16)
}
