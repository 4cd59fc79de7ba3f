// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where the time of a dispatch goes: what the program `stages` printed, and what the device noted in its trace, on one
//! clock.
//!
//! The device's clock counts ticks of 10 ns on both chips; the trace has nanoseconds from a little before the clock's start,
//! and each end of a dispatch has both. The program's clock is the driver's CLOCK_MONOTONIC_RAW, which it reads together with
//! the device's: how close together is how exact the border between program and device is.

use crate::trace::{Event, Trace};
use serde_json::{json, Value};
use std::fmt;

/// Nanoseconds of a tick.
const TICK: f64 = 10.0;
/// Which percentiles are shown, and their names.
const PERCENTILES: [(f64, &str); 5] = [
    (0.5, "p50"),
    (0.9, "p90"),
    (0.99, "p99"),
    (0.999, "p99.9"),
    (1.0, "max"),
];

/// The borders between stages: what ends there.
const DEVICE: [&str; 5] = [
    "enqueue, and the doorbell's way to the device",
    "doorbell to the packet's fetch",
    "fetch to the first wave",
    "execution",
    "end to the completion signal",
];
const POLLED: [&str; 1] = ["the program sees the signal"];
const EVENT: [&str; 4] = [
    "signal to the interrupt's entry",
    "entry to the driver's work item",
    "work item to the event",
    "wake-up, and the way back to the program",
];

/// One way of waiting: for each stage, how long it took in each dispatch, in nanoseconds.
#[derive(Debug, Default)]
pub struct Way {
    names: Vec<&'static str>,
    stages: Vec<Vec<f64>>,
    total: Vec<f64>,
}

/// Both ways.
#[derive(Debug)]
pub struct Stages {
    polled: Way,
    event: Way,
    /// Dispatches that ended before their program slept: they have no wake-up, and count in neither way.
    awake: usize,
    /// What a request costs that there is not, in nanoseconds.
    floor: f64,
    /// How exact the border between program and device is, in nanoseconds.
    doubt: f64,
}

/// When a dispatch was submitted, and when the program saw its end.
type Seen = (f64, f64);

/// What the program printed.
#[derive(Default)]
struct Printed {
    polled: Vec<Seen>,
    event: Vec<Seen>,
    taken: Vec<f64>,
    set: Vec<f64>,
    /// The driver's clock, the device's ticks, and how long reading them took.
    clocks: Vec<(f64, f64, f64)>,
    floor: f64,
}

fn printed(output: &[String]) -> Result<Printed, String> {
    let mut all = Printed::default();
    for line in output.iter().filter_map(|l| l.strip_prefix("stages ")) {
        let (name, words) = line.split_once(' ').ok_or_else(|| wrong(line))?;
        if name == "floor" {
            all.floor = words.parse().map_err(|_| wrong(line))?;
            continue;
        }
        let numbers: Result<Vec<u64>, _> = words
            .split(' ')
            .map(|word| u64::from_str_radix(word, 16))
            .collect();
        let numbers = numbers.map_err(|_| wrong(line))?;
        let at: Vec<f64> = numbers.iter().map(|&n| n as f64).collect();
        match (name, at.as_slice()) {
            ("clock", &[before, raw, ticks, after]) => {
                all.clocks.push((raw, ticks, after - before));
            }
            ("polled", &[submit, _, seen]) => all.polled.push((submit, seen)),
            ("event", &[submit, _, seen]) => all.event.push((submit, seen)),
            ("taken", &[at]) => all.taken.push(at),
            ("set", &[at]) => all.set.push(at),
            _ => return Err(wrong(line)),
        }
    }
    Ok(all)
}

fn wrong(line: &str) -> String {
    format!("the program printed 'stages {line}'")
}

/// What the device noted of a dispatch: doorbell, fetch, first wave, end, signal, and the interrupt's entry if there was one.
struct Noted {
    borders: [f64; 5],
    entry: Option<f64>,
}

/// The dispatches in the trace, and by how much its times are later than the clock's.
fn noted(trace: &Trace) -> Result<(Vec<Noted>, f64), String> {
    let mut all: Vec<Noted> = Vec::new();
    let (mut doorbell, mut fetch, mut start, mut end) = (0.0, 0.0, 0.0, 0.0);
    let mut later = f64::INFINITY;
    let time = |event: &Event| event.time() as f64;
    for event in trace.events() {
        match event.kind() {
            "doorbell" => doorbell = time(event),
            "aql" => fetch = time(event),
            "dispatch_start" => start = time(event),
            "dispatch_end" => {
                end = time(event);
                later = later.min(end - event.num("end_ts")? as f64 * TICK);
            }
            "signal" => all.push(Noted {
                borders: [doorbell, fetch, start, end, time(event)],
                entry: None,
            }),
            "ih_write" => {
                if let Some(last) = all.last_mut() {
                    last.entry = Some(time(event));
                }
            }
            _ => {}
        }
    }
    Ok((all, later))
}

/// Converts the program's times into the device's.
struct Clock {
    raw: f64,
    device: f64,
    rate: f64,
    doubt: f64,
}

impl Clock {
    /// By the closest readings of the first half and of the second.
    fn of(clocks: &[(f64, f64, f64)]) -> Option<Self> {
        let (first, second) = clocks.split_at(clocks.len() / 2);
        let closest =
            |half: &[(f64, f64, f64)]| half.iter().copied().min_by(|a, b| a.2.total_cmp(&b.2));
        let (a, b) = (closest(first)?, closest(second)?);
        let rate = (b.1 - a.1) * TICK / (b.0 - a.0);
        (rate > 0.5 && rate < 2.0).then_some(Self {
            raw: a.0,
            device: a.1 * TICK,
            rate,
            doubt: a.2.max(b.2) / 2.0,
        })
    }

    fn device(&self, raw: f64) -> f64 {
        self.device + (raw - self.raw) * self.rate
    }
}

impl Stages {
    /// Puts what a program printed together with the device's trace.
    ///
    /// # Errors
    ///
    /// What is missing, or doesn't fit together.
    pub fn of(output: &[String], trace: &Trace) -> Result<Self, String> {
        let printed = printed(output)?;
        let clock = Clock::of(&printed.clocks).ok_or("the clocks don't go alike")?;
        let (noted, later) = noted(trace)?;
        let (polled, event) = (printed.polled.len(), printed.event.len());
        let begin = noted.len().checked_sub(polled + event);
        let begin = begin.filter(|_| polled > 0 && event > 0).ok_or_else(|| {
            format!(
                "{polled} and {event} dispatches, and {} in the trace",
                noted.len()
            )
        })?;
        let (_, noted) = noted.split_at(begin);
        let (of_polled, of_event) = noted.split_at(polled);
        // The last are the dispatches'; before the first event there was nobody who listened.
        let last = |times: &[f64], what: &str| {
            let from = times.len().checked_sub(event);
            let from =
                from.ok_or_else(|| format!("{} {what} of {event} dispatches", times.len()))?;
            Ok::<_, String>(times[from..].to_vec())
        };
        let taken = last(&printed.taken, "entries")?;
        let set = last(&printed.set, "signals")?;
        let at = |raw: f64| clock.device(raw) + later;
        let mut awake = 0;
        let mut ways = [Way::new(&POLLED), Way::new(&EVENT)];
        for ((submit, seen), noted) in printed.polled.iter().zip(of_polled) {
            ways[0].add(at(*submit), &noted.borders, &[at(*seen)]);
        }
        for (n, ((submit, seen), noted)) in printed.event.iter().zip(of_event).enumerate() {
            let entry = noted.entry.ok_or("a dispatch has no interrupt")?;
            let behind = [entry, at(taken[n]), at(set[n]), at(*seen)];
            if *seen < set[n] {
                awake += 1;
                continue;
            }
            ways[1].add(at(*submit), &noted.borders, &behind);
        }
        let [polled, event] = ways;
        Ok(Self {
            polled,
            event,
            awake,
            floor: printed.floor,
            doubt: clock.doubt,
        })
    }

    /// Both ways, and their names.
    pub fn ways(&self) -> [(&'static str, &Way); 2] {
        [("polled", &self.polled), ("event", &self.event)]
    }

    /// How exact the border between program and device is, in nanoseconds.
    pub fn doubt(&self) -> f64 {
        self.doubt
    }

    /// The figures, in nanoseconds.
    pub fn json(&self) -> Value {
        let way = |way: &Way| {
            let lines = way.lines().map(|(name, times)| {
                let all = PERCENTILES
                    .map(|(part, name)| (name.to_string(), json!(percentile(times, part))));
                (name.to_string(), Value::Object(all.into_iter().collect()))
            });
            Value::Object(lines.collect())
        };
        json!({
            "floor": self.floor,
            "doubt": self.doubt,
            "dispatches": self.polled.total.len(),
            "awake": self.awake,
            "polled": way(&self.polled),
            "event": way(&self.event),
        })
    }
}

impl Way {
    fn new(behind: &[&'static str]) -> Self {
        let names: Vec<&str> = DEVICE.iter().chain(behind).copied().collect();
        Self {
            stages: vec![Vec::new(); names.len()],
            names,
            total: Vec::new(),
        }
    }

    fn add(&mut self, submit: f64, device: &[f64], behind: &[f64]) {
        let mut last = submit;
        let borders = device.iter().chain(behind);
        for (stage, &border) in self.stages.iter_mut().zip(borders) {
            stage.push(border - last);
            last = border;
        }
        self.total.push(last - submit);
    }

    /// Each stage and all of them together: its name, and its times.
    pub fn lines(&self) -> impl Iterator<Item = (&'static str, &[f64])> {
        let stages = self.names.iter().zip(&self.stages);
        let stages = stages.map(|(name, times)| (*name, times.as_slice()));
        stages.chain([("all of it", self.total.as_slice())])
    }
}

/// The value that so large a part of all are below.
pub fn percentile(times: &[f64], part: f64) -> f64 {
    let mut sorted = times.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = (sorted.len() as f64 * part).ceil() as usize;
    sorted
        .get(at.saturating_sub(1))
        .copied()
        .unwrap_or(f64::NAN)
}

impl fmt::Display for Stages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, way) in self.ways() {
            writeln!(f, "{} dispatches, {name}: microseconds", way.total.len())?;
            write!(f, "{:46}", "")?;
            for (_, percentile) in PERCENTILES {
                write!(f, "{percentile:>10}")?;
            }
            writeln!(f, "{:>12}", "p50/floor")?;
            for (name, times) in way.lines() {
                write!(f, "{name:46}")?;
                for (part, _) in PERCENTILES {
                    write!(f, "{:>10.1}", percentile(times, part) / 1000.0)?;
                }
                writeln!(f, "{:>12.1}", percentile(times, 0.5) / self.floor)?;
            }
            writeln!(f)?;
        }
        writeln!(
            f,
            "{} dispatches ended before the program slept, and don't count.",
            self.awake
        )?;
        writeln!(
            f,
            "The floor is a request that there is not: {:.1} us. Program and device are known to each other to {:.1} us.",
            self.floor / 1000.0,
            self.doubt / 1000.0
        )
    }
}
