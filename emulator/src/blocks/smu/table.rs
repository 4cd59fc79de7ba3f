// SPDX-License-Identifier: MIT OR Apache-2.0

//! What MP1 13.0.6 reports: its clocks' levels, and the table of a measurement.
//!
//! The levels are near those that MI300's drivers show.

use crate::blocks::power::{Card, Power};
use rkfd_hw::smu::v13_0_6::{clock, Metrics, FRACTION};

/// Memory and voltage regulators are so many degrees warmer.
const MEMORY: f64 = 3.0;
const REGULATORS: f64 = 5.0;
/// Bytes that the memory of the one base die moves in a cycle of its clock: two stacks of 1,024 bits, four times.
const PER_CYCLE: f64 = 2.0 * 1024.0 / 8.0 * 4.0;
/// Joules in a unit of the energy counter.
const ENERGY_UNIT: f64 = 15.259e-6;
/// MHz of memory.
const UCLK: [u32; 4] = [900, 1100, 1200, 1300];

pub(super) static CARD: Card = Card {
    idle: 140.0,
    compute: 460.0,
    copies: 50.0,
    most: 650,
    per_watt: 0.075,
    gfx: (132, 2100),
    memory: (UCLK[0], UCLK[3]),
    asleep: 1.0,
    // It has none.
    fan: 0.0,
};

/// The four levels of a clock in MHz (`PPCLK_*`); `None` for none of that number.
pub(super) fn levels(number: u32) -> Option<[u32; 4]> {
    Some(match number {
        clock::VCLK | clock::DCLK => [914, 1230, 1538, 1600],
        clock::SOCCLK => [28, 600, 900, 1143],
        clock::UCLK => UCLK,
        clock::FCLK => [1200, 1600, 1900, 2000],
        clock::LCLK => [400, 600, 800, 1000],
        _ => return None,
    })
}

/// The table of the last measurement, of a device with so many XCCs and this serial number.
pub(super) fn table(power: &Power, xccs: u8, serial: u64) -> Metrics {
    let now = &power.last;
    let mut table = Metrics::zeroed();
    let mut put = |word: usize, value: u32| {
        if let Some(place) = table.0.get_mut(word) {
            *place = value;
        }
    };
    let tables = [
        (Metrics::FCLK_TABLE.word(), clock::FCLK),
        (Metrics::UCLK_TABLE.word(), clock::UCLK),
        (Metrics::SOCCLK_TABLE.word(), clock::SOCCLK),
        (Metrics::VCLK_TABLE.word(), clock::VCLK),
        (Metrics::DCLK_TABLE.word(), clock::DCLK),
        (Metrics::LCLK_TABLE.word(), clock::LCLK),
    ];
    for (at, number) in tables {
        for (n, mhz) in levels(number).unwrap_or_default().into_iter().enumerate() {
            put(at + n, mhz << FRACTION);
        }
    }
    // One of four base dies is there.
    let lowest = |number| levels(number).map_or(0, |levels| levels[0]) << FRACTION;
    put(Metrics::SOCCLK.word(), lowest(clock::SOCCLK));
    put(Metrics::LCLK.word(), lowest(clock::LCLK));
    let sums = power.xcc_sums;
    for (n, (busy, sum)) in now.xccs.into_iter().zip(sums).enumerate() {
        if n < usize::from(xccs) {
            put(Metrics::GFXCLK.word() + n, fixed(now.gfx));
            put(Metrics::GFX_BUSY.word() + n, fixed(busy * 100.0));
            let sum = (sum as u64) << FRACTION;
            put(Metrics::GFX_BUSY_ACC.word() + 2 * n, sum as u32);
            put(Metrics::GFX_BUSY_ACC.word() + 2 * n + 1, (sum >> 32) as u32);
        }
    }
    table
        .with(Metrics::ACCUMULATION_COUNTER, power.count)
        .with(Metrics::SERIAL, serial)
        .with(Metrics::MAX_SOCKET_TEMPERATURE, fixed(now.degrees))
        .with(Metrics::MAX_VR_TEMPERATURE, fixed(now.degrees + REGULATORS))
        .with(Metrics::MAX_HBM_TEMPERATURE, fixed(now.degrees + MEMORY))
        .with(Metrics::SOCKET_POWER_LIMIT, power.limit << FRACTION)
        .with(Metrics::MAX_SOCKET_POWER_LIMIT, CARD.most << FRACTION)
        .with(Metrics::SOCKET_POWER, fixed(now.watts))
        .with(
            Metrics::TIMESTAMP,
            (power.started.elapsed().as_nanos() / 10) as u64,
        )
        .with(
            Metrics::SOCKET_ENERGY_ACC,
            (power.energy / ENERGY_UNIT) as u64,
        )
        .with(Metrics::GFXCLK_LIMIT, power.gfx.1 << FRACTION)
        .with(Metrics::FCLK, lowest(clock::FCLK))
        .with(Metrics::UCLK, now.memory << FRACTION)
        .with(Metrics::MAX_GFXCLK, CARD.gfx.1 << FRACTION)
        .with(Metrics::MIN_GFXCLK, CARD.gfx.0 << FRACTION)
        .with(Metrics::SOCKET_GFX_BUSY, fixed(now.busy * 100.0))
        .with(Metrics::DRAM_UTILIZATION, fixed(now.copies * 100.0))
        .with(Metrics::MAX_DRAM_BANDWIDTH, fixed(bandwidth()))
        .with(Metrics::PPT_RESIDENCY_ACC, power.held)
        .with(
            Metrics::SOCKET_GFX_BUSY_ACC,
            (power.busy_sum as u64) << FRACTION,
        )
        .with(
            Metrics::DRAM_UTILIZATION_ACC,
            (power.copies_sum as u64) << FRACTION,
        )
        .with(Metrics::PCIE_SPEED, 5)
        .with(Metrics::PCIE_WIDTH, 16)
}

/// The most that memory moves, in GB/s.
fn bandwidth() -> f64 {
    PER_CYCLE * f64::from(CARD.memory.1) / 1000.0
}

/// A number with ten bits of a fraction.
fn fixed(value: f64) -> u32 {
    (value * f64::from(1u32 << FRACTION)).round() as u32
}
