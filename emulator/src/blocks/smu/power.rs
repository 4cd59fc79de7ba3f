// SPDX-License-Identifier: MIT OR Apache-2.0

//! A simple model of what the management unit measures and decides: clocks and power follow the load, temperatures
//! follow the power, slowly.
//!
//! No number here is a card's: what matters is that they move as a card's do, and that a driver reads them right. The
//! levels of clocks are near those that MI300's drivers show.

use crate::device::load::{Load, XCCS};
use rkfd_hw::smu::v13_0_6::{clock, Metrics, FRACTION};
use std::time::{Duration, Instant};

/// Watts without work, and how much more compute units and copy engines take.
const IDLE: f64 = 140.0;
const COMPUTE: f64 = 460.0;
const COPIES: f64 = 50.0;
/// The most that may be asked for, in watts.
pub(super) const MAX_POWER: u32 = 650;
/// Degrees of the air, and what a watt adds.
const AIR: f64 = 30.0;
const PER_WATT: f64 = 0.075;
/// Memory and voltage regulators are a bit warmer.
const MEMORY: f64 = 3.0;
const REGULATORS: f64 = 5.0;
/// In so many seconds two thirds of the way to another temperature are made.
const INERTIA: f64 = 8.0;
/// MHz of the compute units: the least and the most.
pub(super) const GFX: (u32, u32) = (132, 2100);
/// Measurements are no shorter: what is asked for earlier is the last one.
const SHORTEST: Duration = Duration::from_millis(1);
/// Bytes that the memory of the one base die moves in a cycle of its clock: two stacks of 1,024 bits, four times.
const PER_CYCLE: f64 = 2.0 * 1024.0 / 8.0 * 4.0;
/// Joules in a unit of the energy counter.
const ENERGY_UNIT: f64 = 15.259e-6;

/// The four levels of a clock in MHz (`PPCLK_*`); `None` for none of that number.
pub(super) fn levels(number: u32) -> Option<[u32; 4]> {
    Some(match number {
        clock::VCLK | clock::DCLK => [914, 1230, 1538, 1600],
        clock::SOCCLK => [28, 600, 900, 1143],
        clock::UCLK => [900, 1100, 1200, 1300],
        clock::FCLK => [1200, 1600, 1900, 2000],
        clock::LCLK => [400, 600, 800, 1000],
        _ => return None,
    })
}

/// What is measured, and what was before.
pub(super) struct Power {
    /// Set by the driver: watts, and MHz of the compute units.
    pub limit: u32,
    pub gfx: (u32, u32),
    count: u32,
    at: Instant,
    started: Instant,
    /// Busy times at the last measurement: of compute units, of each XCC's, of copy engines.
    before: Busy,
    temperature: f64,
    energy: f64,
    /// Measurements in which the power limit held clocks back.
    held: u32,
    /// Percent times seconds.
    busy_sum: f64,
    copies_sum: f64,
    xcc_sums: [f64; XCCS],
    last: Measured,
}

#[derive(Clone, Copy, Default)]
struct Busy {
    compute: Duration,
    xccs: [Duration; XCCS],
    copies: Duration,
}

impl Busy {
    fn of(load: &Load) -> Self {
        Self {
            compute: load.compute.total(),
            xccs: std::array::from_fn(|n| load.xccs.get(n).map_or(Duration::ZERO, |m| m.total())),
            copies: load.copies.total(),
        }
    }
}

/// A measurement. Busy is a part of 1.
#[derive(Clone, Copy, Default)]
pub(super) struct Measured {
    pub busy: f64,
    pub copies: f64,
    pub xccs: [f64; XCCS],
    pub watts: f64,
    pub degrees: f64,
    pub gfx: f64,
    pub memory: u32,
}

impl Power {
    /// A cool device that has measured nothing yet.
    pub fn new(load: &Load) -> Self {
        Self {
            limit: MAX_POWER,
            gfx: GFX,
            count: 0,
            at: Instant::now(),
            started: Instant::now(),
            before: Busy::of(load),
            temperature: AIR + IDLE * PER_WATT,
            energy: 0.0,
            held: 0,
            busy_sum: 0.0,
            copies_sum: 0.0,
            xcc_sums: [0.0; XCCS],
            last: Measured::default(),
        }
    }

    /// Measures what the device did since the last time.
    pub fn measure(&mut self, load: &Load) -> Measured {
        let passed = self.at.elapsed();
        if self.count > 0 && passed < SHORTEST {
            return self.last;
        }
        let seconds = passed.max(SHORTEST).as_secs_f64();
        let now = Busy::of(load);
        let part = |now: Duration, before: Duration| {
            (now.saturating_sub(before).as_secs_f64() / seconds).min(1.0)
        };
        let busy = part(now.compute, self.before.compute);
        let copies = part(now.copies, self.before.copies);
        let xccs: [f64; XCCS] = std::array::from_fn(|n| {
            let at = |busy: &Busy| busy.xccs.get(n).copied().unwrap_or_default();
            part(at(&now), at(&self.before))
        });
        let wanted = IDLE + COMPUTE * busy + COPIES * copies;
        let watts = wanted.min(self.limit.into());
        self.held = self.held.wrapping_add(u32::from(watts < wanted));
        let goal = AIR + watts * PER_WATT;
        self.temperature += (goal - self.temperature) * (1.0 - (-seconds / INERTIA).exp());
        let (least, most) = (f64::from(self.gfx.0), f64::from(self.gfx.1));
        let memory = levels(clock::UCLK).unwrap_or_default();
        let any = busy > 0.0 || copies > 0.0;
        self.last = Measured {
            busy,
            copies,
            xccs,
            watts,
            degrees: self.temperature,
            gfx: least + (most - least) * busy,
            memory: memory.get(if any { 3 } else { 0 }).copied().unwrap_or(0),
        };
        self.energy += watts * seconds;
        self.busy_sum += busy * 100.0 * seconds;
        self.copies_sum += copies * 100.0 * seconds;
        for (sum, busy) in self.xcc_sums.iter_mut().zip(xccs) {
            *sum += busy * 100.0 * seconds;
        }
        (self.before, self.at) = (now, Instant::now());
        self.count = self.count.wrapping_add(1).max(1);
        self.last
    }

    /// The table of the last measurement, of a device with so many XCCs.
    pub fn table(&self, xccs: u8) -> Metrics {
        let now = &self.last;
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
        let sums = self.xcc_sums;
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
            .with(Metrics::ACCUMULATION_COUNTER, self.count)
            .with(Metrics::MAX_SOCKET_TEMPERATURE, fixed(now.degrees))
            .with(Metrics::MAX_VR_TEMPERATURE, fixed(now.degrees + REGULATORS))
            .with(Metrics::MAX_HBM_TEMPERATURE, fixed(now.degrees + MEMORY))
            .with(Metrics::SOCKET_POWER_LIMIT, self.limit << FRACTION)
            .with(Metrics::MAX_SOCKET_POWER_LIMIT, MAX_POWER << FRACTION)
            .with(Metrics::SOCKET_POWER, fixed(now.watts))
            .with(
                Metrics::TIMESTAMP,
                (self.started.elapsed().as_nanos() / 10) as u64,
            )
            .with(
                Metrics::SOCKET_ENERGY_ACC,
                (self.energy / ENERGY_UNIT) as u64,
            )
            .with(Metrics::GFXCLK_LIMIT, self.gfx.1 << FRACTION)
            .with(Metrics::FCLK, lowest(clock::FCLK))
            .with(Metrics::UCLK, now.memory << FRACTION)
            .with(Metrics::MAX_GFXCLK, GFX.1 << FRACTION)
            .with(Metrics::MIN_GFXCLK, GFX.0 << FRACTION)
            .with(Metrics::SOCKET_GFX_BUSY, fixed(now.busy * 100.0))
            .with(Metrics::DRAM_UTILIZATION, fixed(now.copies * 100.0))
            .with(Metrics::MAX_DRAM_BANDWIDTH, fixed(bandwidth()))
            .with(Metrics::PPT_RESIDENCY_ACC, self.held)
            .with(
                Metrics::SOCKET_GFX_BUSY_ACC,
                (self.busy_sum as u64) << FRACTION,
            )
            .with(
                Metrics::DRAM_UTILIZATION_ACC,
                (self.copies_sum as u64) << FRACTION,
            )
            .with(Metrics::PCIE_SPEED, 5)
            .with(Metrics::PCIE_WIDTH, 16)
    }
}

/// The most that memory moves, in GB/s.
fn bandwidth() -> f64 {
    let mhz = levels(clock::UCLK).map_or(0, |levels| levels[3]);
    PER_CYCLE * f64::from(mhz) / 1000.0
}

/// A number with ten bits of a fraction.
fn fixed(value: f64) -> u32 {
    (value * f64::from(1u32 << FRACTION)).round() as u32
}
