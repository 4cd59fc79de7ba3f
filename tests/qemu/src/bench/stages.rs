// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where the time of a dispatch goes: what the program `stages` printed, and what the device noted in its trace, on one
//! clock.
//!
//! Both clocks go at the same rate, nearly, and nothing tells how they stand to each other as exactly as a program that polls: it
//! sees a signal within a look of the device's store. So of each hundred polled dispatches the one that was seen quickest
//! counts as seen at once, and between two such dispatches the clocks' difference changes evenly.

use crate::trace::{Event, Trace};
use serde_json::{json, Map, Value};
use std::fmt;

/// Polled dispatches of which the quickest tells how the clocks stand.
const WINDOW: usize = 100;
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

/// The stages that begin by one clock and end by the other.
pub const BETWEEN_CLOCKS: [&str; 3] = [DEVICE[0], POLLED[0], EVENT[1]];

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

/// The last of the device's borders.
const SIGNAL: usize = DEVICE.len() - 1;

/// What the device noted of a dispatch: doorbell, fetch, first wave, end, signal, and the interrupt's entry if there was one.
struct Noted {
    borders: [f64; 5],
    entry: Option<f64>,
}

/// The dispatches in the trace.
fn noted(trace: &Trace) -> Vec<Noted> {
    let mut all: Vec<Noted> = Vec::new();
    let (mut doorbell, mut fetch, mut start, mut end) = (0.0, 0.0, 0.0, 0.0);
    let time = |event: &Event| event.time() as f64;
    for event in trace.events() {
        match event.kind() {
            "doorbell" => doorbell = time(event),
            "aql" => fetch = time(event),
            "dispatch_start" => start = time(event),
            "dispatch_end" => end = time(event),
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
    all
}

/// How the clocks stand to each other: at times of the program's, what is to be added for the device's.
struct Clock(Vec<(f64, f64)>);

impl Clock {
    /// By polled dispatches: when the program saw the signal, and when the device stored it.
    fn of(polled: &[(f64, f64)]) -> Self {
        let quickest = |window: &[(f64, f64)]| {
            let differences = window.iter().map(|(seen, signal)| (*seen, signal - seen));
            differences.max_by(|a, b| a.1.total_cmp(&b.1))
        };
        Self(polled.chunks(WINDOW).filter_map(quickest).collect())
    }

    fn device(&self, at: f64) -> f64 {
        let behind = self.0.iter().position(|(knot, _)| *knot >= at);
        let pair = match behind {
            Some(0) => self.0.first().zip(self.0.first()),
            Some(n) => self.0.get(n - 1).zip(self.0.get(n)),
            None => self.0.last().zip(self.0.last()),
        };
        let Some((&(from, first), &(to, last))) = pair else {
            return f64::NAN;
        };
        let part = if to > from {
            (at - from) / (to - from)
        } else {
            0.0
        };
        at + first + (last - first) * part
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
        let all = noted(trace);
        let (polled, event) = (printed.polled.len(), printed.event.len());
        let begin = all.len().checked_sub(polled + event);
        let begin = begin.filter(|_| polled > 0 && event > 0).ok_or_else(|| {
            format!(
                "{polled} and {event} dispatches, and {} in the trace",
                all.len()
            )
        })?;
        // Those that are waited for are in the middle of the others.
        let (before, rest) = all[begin..].split_at(polled / 2);
        let (of_event, after) = rest.split_at(event);
        let of_polled = || before.iter().chain(after);
        let seen = printed.polled.iter().zip(of_polled());
        let seen: Vec<_> = seen
            .map(|((_, seen), noted)| (*seen, noted.borders[SIGNAL]))
            .collect();
        let clock = Clock::of(&seen);
        // The last are the dispatches'; before the first event there was nobody who listened.
        let last = |times: &[f64], what: &str| {
            let from = times.len().checked_sub(event);
            let from =
                from.ok_or_else(|| format!("{} {what} of {event} dispatches", times.len()))?;
            Ok::<_, String>(times[from..].to_vec())
        };
        let taken = last(&printed.taken, "entries")?;
        let set = last(&printed.set, "signals")?;
        let at = |raw: f64| clock.device(raw);
        let mut awake = 0;
        let mut ways = [Way::new(&POLLED), Way::new(&EVENT)];
        for ((submit, seen), noted) in printed.polled.iter().zip(of_polled()) {
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
        })
    }

    /// Both ways, and their names.
    pub fn ways(&self) -> [(&'static str, &Way); 2] {
        [("polled", &self.polled), ("event", &self.event)]
    }

    /// The figures, in nanoseconds; stages in their order.
    pub fn json(&self, chip: &str, accel: &str) -> Value {
        let way = |way: &Way| {
            let line = |(name, times): (&str, &[f64])| {
                let mut object = Map::from_iter([("stage".to_string(), json!(name))]);
                for (part, name) in PERCENTILES {
                    object.insert(name.into(), json!(percentile(times, part)));
                }
                Value::Object(object)
            };
            Value::Array(way.lines().map(line).collect())
        };
        json!({
            "chip": chip,
            "accel": accel,
            "floor": self.floor,
            "awake": self.awake,
            "dispatches": self.polled.total.len(),
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
            "The floor is a request that there is not: {:.1} us.",
            self.floor / 1000.0
        )
    }
}
