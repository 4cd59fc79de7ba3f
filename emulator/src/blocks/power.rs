// SPDX-License-Identifier: MIT OR Apache-2.0

//! A simple model of what a management unit measures and decides: clocks and power follow the load, temperatures
//! follow the power, slowly; a fan and the voltage of compute units follow these.
//!
//! No number of a [`Card`] is a card's own: what matters is that they move as a card's do, and that a driver reads them
//! right.

use crate::device::load::{Load, XCCS};
use crate::trace::{Trace, Value};
use std::time::{Duration, Instant};

/// Degrees of the air.
const AIR: f64 = 30.0;
/// In so many seconds two thirds of the way to another temperature are made.
const INERTIA: f64 = 8.0;
/// Measurements are no shorter: what is asked for earlier is the last one.
const SHORTEST: Duration = Duration::from_millis(1);
/// The fan stands still below, and is at its fastest so many degrees above.
const FAN_STARTS: f64 = 35.0;
const FAN_RANGE: f64 = 50.0;
/// Watts that each part takes which isn't gated while it is idle.
const AWAKE: f64 = 2.0;
/// Millivolts of compute units at no clock, and what a MHz adds.
const LEAST_VOLTAGE: f64 = 650.0;
const PER_MHZ: f64 = 0.15;

/// What is a card's own.
pub(super) struct Card {
    /// Watts without work, and how much more compute units and copy engines take.
    pub idle: f64,
    pub compute: f64,
    pub copies: f64,
    /// The most that may be asked for, in watts.
    pub most: u32,
    /// Degrees that a watt adds.
    pub per_watt: f64,
    /// MHz of the compute units: the least and the most.
    pub gfx: (u32, u32),
    /// MHz of memory, without work and with it.
    pub memory: (u32, u32),
    /// What is left of a clock's mean while nothing needs it, as it sleeps.
    pub asleep: f64,
    /// Turns of the fan in a minute, at its fastest.
    pub fan: f64,
}

/// What is measured, and what was before.
pub(super) struct Power {
    card: &'static Card,
    /// Set by the driver: watts, and MHz of the compute units.
    pub limit: u32,
    pub gfx: (u32, u32),
    pub count: u32,
    at: Instant,
    pub started: Instant,
    /// Busy times at the last measurement: of compute units, of each XCC's, of copy engines.
    before: Busy,
    temperature: f64,
    /// Joules.
    pub energy: f64,
    /// Measurements in which the power limit held clocks back.
    pub held: u32,
    /// Percent times seconds.
    pub busy_sum: f64,
    pub copies_sum: f64,
    pub xcc_sums: [f64; XCCS],
    pub last: Measured,
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

/// A measurement. Busy and the fan's speed are parts of 1.
#[derive(Clone, Copy, Default)]
pub(super) struct Measured {
    pub busy: f64,
    pub copies: f64,
    pub xccs: [f64; XCCS],
    pub watts: f64,
    /// How many parts aren't gated while they are idle.
    pub awake: u32,
    /// Of what was wanted, the power limit left so much out.
    pub held: f64,
    pub degrees: f64,
    pub gfx: f64,
    pub memory: u32,
    /// Means of these clocks, in which the time counts for which they sleep.
    pub gfx_mean: f64,
    pub memory_mean: f64,
    pub millivolts: f64,
    pub fan: f64,
}

impl Power {
    /// A cool device that has measured nothing yet.
    pub fn new(card: &'static Card, load: &Load) -> Self {
        Self {
            card,
            limit: card.most,
            gfx: card.gfx,
            count: 0,
            at: Instant::now(),
            started: Instant::now(),
            before: Busy::of(load),
            temperature: AIR + card.idle * card.per_watt,
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
        let card = self.card;
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
        let awake = load.awake();
        let idle = card.idle + AWAKE * f64::from(awake);
        let wanted = idle + card.compute * busy + card.copies * copies;
        let watts = wanted.min(self.limit.into());
        self.held = self.held.wrapping_add(u32::from(watts < wanted));
        let goal = AIR + watts * card.per_watt;
        self.temperature += (goal - self.temperature) * (1.0 - (-seconds / INERTIA).exp());
        let (least, most) = (f64::from(self.gfx.0), f64::from(self.gfx.1));
        let any = busy > 0.0 || copies > 0.0;
        let gfx = least + (most - least) * busy;
        let memory = if any { card.memory.1 } else { card.memory.0 };
        let mean = |clock: f64, used: f64| clock * (card.asleep + (1.0 - card.asleep) * used);
        self.last = Measured {
            busy,
            copies,
            xccs,
            watts,
            awake,
            held: (wanted - watts) / wanted,
            degrees: self.temperature,
            gfx,
            memory,
            gfx_mean: mean(gfx, busy),
            memory_mean: mean(memory.into(), copies),
            millivolts: LEAST_VOLTAGE + gfx * PER_MHZ,
            fan: ((self.temperature - FAN_STARTS) / FAN_RANGE).clamp(0.0, 1.0),
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

    /// Turns of the fan in a minute.
    pub fn turns(&self) -> f64 {
        self.card.fan * self.last.fan
    }

    /// Traces the last measurement.
    pub fn note(&self, trace: &Trace) {
        let thousandths = |value: f64| Value::Num((value * 1000.0).round() as u64);
        let now = &self.last;
        let members = [
            ("milliwatts", thousandths(now.watts)),
            ("awake", Value::Num(now.awake.into())),
            ("millidegrees", thousandths(now.degrees)),
            ("gfx_khz", thousandths(now.gfx)),
            ("memory_mhz", Value::Num(now.memory.into())),
            ("gfx_mean_khz", thousandths(now.gfx_mean)),
            ("memory_mean_khz", thousandths(now.memory_mean)),
            ("busy", thousandths(now.busy * 100.0)),
            ("copies", thousandths(now.copies * 100.0)),
            ("microvolts", thousandths(now.millivolts)),
            ("fan", thousandths(now.fan * 100.0)),
            ("milliturns", thousandths(self.turns())),
        ];
        trace.event("smu_metrics", &members);
    }
}
