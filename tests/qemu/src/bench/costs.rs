// SPDX-License-Identifier: MIT OR Apache-2.0
//! What `costs` of `tests/programs` printed: what requests cost and cause, and how that grows. As JSON it is what
//! `tests/bench/report.py` judges and draws.

use serde_json::{json, Map, Value};
use std::collections::BTreeMap;

/// The parts of the program, and of what a runner is asked for.
pub const PARTS: [&str; 7] = [
    "requests", "queues", "objects", "events", "signals", "exits", "memory",
];

/// What each line counts.
const COUNTS: [&str; 14] = [
    "register_loads",
    "register_stores",
    "table_words",
    "cleared_bytes",
    "polls",
    "sleeps",
    "flushes",
    "flush_requests",
    "packets",
    "maps",
    "unmaps",
    "list_words",
    "copies",
    "interrupts",
];

/// One figure.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// How many times its floor.
    pub ratio: f64,
    /// Nanoseconds of the floor.
    pub floor: f64,
    /// How often it was measured.
    pub samples: u64,
    /// What the counts are of.
    pub calls: u64,
    counts: BTreeMap<&'static str, u64>,
}

impl Figure {
    /// Reads `KEY=VALUE` words.
    fn of(words: &str) -> Result<Self, String> {
        let pairs: BTreeMap<&str, &str> = words
            .split_whitespace()
            .filter_map(|word| word.split_once('='))
            .collect();
        let text = |key: &str| pairs.get(key).copied().unwrap_or("");
        let real = |key: &str| {
            let value = text(key).parse::<f64>().ok();
            let value = value.filter(|value| value.is_finite() && *value > 0.0);
            value.ok_or_else(|| format!("'{words}' has no {key}"))
        };
        let number = |key: &str| {
            let value = text(key).parse::<u64>();
            value.map_err(|_| format!("'{words}' has no {key}"))
        };
        let counts = COUNTS.iter().map(|&key| Ok((key, number(key)?)));
        let (samples, calls) = (number("samples")?, number("calls")?);
        if samples == 0 || calls == 0 {
            return Err(format!("'{words}': nothing was measured"));
        }
        Ok(Self {
            ratio: real("ratio")?,
            floor: real("floor")?,
            samples,
            calls,
            counts: counts.collect::<Result<_, String>>()?,
        })
    }

    /// How much of something there was in all of its calls.
    pub fn count(&self, key: &str) -> u64 {
        self.counts.get(key).copied().unwrap_or(0)
    }

    fn json(&self) -> Map<String, Value> {
        let mut object = Map::new();
        object.insert("ratio".into(), json!(self.ratio));
        object.insert("floor".into(), json!(self.floor));
        object.insert("samples".into(), json!(self.samples));
        object.insert("calls".into(), json!(self.calls));
        object.insert("counts".into(), json!(self.counts));
        object
    }
}

/// What some things of a kind take together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Taken {
    /// How many things.
    pub count: u64,
    /// Bytes of the kernel's memory.
    pub kernel: i64,
    /// Bytes of VRAM.
    pub vram: i64,
}

impl Taken {
    /// Reads `NUMBER kernel=BYTES vram=BYTES`.
    fn of(words: &str) -> Option<Self> {
        let mut words = words.split_whitespace();
        let count = words.next()?.parse().ok().filter(|count| *count > 0)?;
        let kernel = words.next()?.strip_prefix("kernel=")?.parse().ok()?;
        let vram = words.next()?.strip_prefix("vram=")?.parse().ok()?;
        Some(Self {
            count,
            kernel,
            vram,
        })
    }
}

/// All figures of a run.
#[derive(Debug, Default)]
pub struct Costs {
    /// Requests in the order in which they were measured.
    pub requests: Vec<(String, Figure)>,
    /// Curves, each with its points.
    pub curves: Vec<(String, Vec<(u64, Figure)>)>,
    /// What kinds of things take.
    pub memory: Vec<(String, Taken)>,
}

impl Costs {
    /// Reads the lines `cost NAME ...`, `point CURVE NUMBER ...` and `takes NAME NUMBER ...`; others are left out.
    pub fn of(output: &[String]) -> Result<Self, String> {
        let mut costs = Self::default();
        for line in output {
            if let Some(rest) = line.strip_prefix("cost ") {
                let (name, words) = rest.split_once(' ').unwrap_or((rest, ""));
                costs.requests.push((name.into(), Figure::of(words)?));
            } else if let Some(rest) = line.strip_prefix("point ") {
                let mut parts = rest.splitn(3, ' ');
                let (name, n) = (parts.next().unwrap_or(""), parts.next().unwrap_or(""));
                let n = n.parse().map_err(|_| format!("'{line}' has no number"))?;
                let point = (n, Figure::of(parts.next().unwrap_or(""))?);
                match costs.curves.iter_mut().find(|(known, _)| known == name) {
                    Some((_, points)) => points.push(point),
                    None => costs.curves.push((name.into(), vec![point])),
                }
            } else if let Some(rest) = line.strip_prefix("takes ") {
                let (name, words) = rest.split_once(' ').unwrap_or((rest, ""));
                let taken = Taken::of(words);
                let taken = taken.ok_or_else(|| format!("'{line}' has no bytes"))?;
                costs.memory.push((name.into(), taken));
            }
        }
        Ok(costs)
    }

    /// A request's figure.
    pub fn request(&self, name: &str) -> Result<&Figure, String> {
        let found = self.requests.iter().find(|(known, _)| known == name);
        found
            .map(|(_, figure)| figure)
            .ok_or_else(|| format!("no request '{name}' was measured"))
    }

    /// A curve's points.
    pub fn curve(&self, name: &str) -> Result<&[(u64, Figure)], String> {
        let found = self.curves.iter().find(|(known, _)| known == name);
        found
            .map(|(_, points)| points.as_slice())
            .ok_or_else(|| format!("no curve '{name}' was measured"))
    }

    /// Everything, for a program.
    pub fn json(&self, chip: &str, accel: &str) -> Value {
        let requests = self.requests.iter().map(|(name, figure)| {
            let mut object = figure.json();
            object.insert("name".into(), json!(name));
            Value::Object(object)
        });
        let curves = self.curves.iter().map(|(name, points)| {
            let points = points.iter().map(|(n, figure)| {
                let mut object = figure.json();
                object.insert("n".into(), json!(n));
                Value::Object(object)
            });
            json!({ "name": name, "points": points.collect::<Vec<_>>() })
        });
        let memory = self.memory.iter().map(|(name, taken)| {
            let Taken {
                count,
                kernel,
                vram,
            } = taken;
            json!({ "name": name, "count": count, "kernel": kernel, "vram": vram })
        });
        json!({
            "chip": chip,
            "accel": accel,
            "requests": requests.collect::<Vec<_>>(),
            "curves": curves.collect::<Vec<_>>(),
            "memory": memory.collect::<Vec<_>>(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A line's words, with one of these counts.
    fn words(key: &str, count: u64) -> String {
        let counts = COUNTS.map(|k| format!("{k}={}", if k == key { count } else { 0 }));
        format!(
            "ratio=1.500 floor=800 samples=7 calls=2 {}",
            counts.join(" ")
        )
    }

    #[test]
    fn lines_become_figures() {
        let output = [
            "something else".into(),
            format!("cost GET_VERSION {}", words("sleeps", 0)),
            format!("point exit/queues 4 {}", words("unmaps", 3)),
            format!("point exit/queues 16 {}", words("unmaps", 9)),
            "takes event 4000 kernel=512000 vram=-4096".into(),
        ];
        let costs = Costs::of(&output).unwrap();
        assert_eq!(costs.request("GET_VERSION").unwrap().ratio, 1.5);
        assert!(costs.request("GET").is_err());
        let points = costs.curve("exit/queues").unwrap();
        assert_eq!((points[0].0, points[0].1.count("unmaps")), (4, 3));
        assert_eq!((points[1].0, points[1].1.count("unmaps")), (16, 9));
        let json = costs.json("navi48", "tcg");
        assert_eq!(json["requests"][0]["counts"]["sleeps"], 0);
        assert_eq!(json["curves"][0]["points"][1]["n"], 16);
        assert_eq!(json["memory"][0]["name"], "event");
        assert_eq!(json["memory"][0]["kernel"], 512_000);
        assert_eq!(json["memory"][0]["vram"], -4096);
    }

    #[test]
    fn what_is_missing_is_an_error() {
        for bad in [
            "cost GET_VERSION".to_owned(),
            format!("cost GET_VERSION {}", words("", 0).replace("sleeps=0", "")),
            format!(
                "cost GET_VERSION {}",
                words("", 0).replace("ratio=1.5", "ratio=0.0")
            ),
            format!(
                "cost GET_VERSION {}",
                words("", 0).replace("samples=7", "samples=0")
            ),
            format!("point exit/queues many {}", words("", 0)),
            "takes event 0 kernel=512000 vram=0".into(),
            "takes event 4000 kernel=512000".into(),
        ] {
            assert!(Costs::of(&[bad.clone()]).is_err(), "{bad}");
        }
    }
}
