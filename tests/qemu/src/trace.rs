// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reads `trace.jsonl`: what the emulated GPU saw and did, one JSON object a line.

use crate::shown::shown;
use serde_json::Value;
use std::fs;
use std::path::Path;

/// The trace of a run, in order.
#[derive(Debug, Default)]
pub struct Trace(Vec<Event>);

/// One line.
#[derive(Debug, Clone)]
pub struct Event(Value);

impl Trace {
    /// Read the trace among the logs of a run.
    pub fn read(logs: &Path) -> Result<Self, String> {
        let path = logs.join("trace.jsonl");
        let text = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", shown(&path)))?;
        Self::parse(&text)
    }

    fn parse(text: &str) -> Result<Self, String> {
        let event = |(n, line)| match serde_json::from_str(line) {
            Ok(value) => Ok(Event(value)),
            Err(e) => Err(format!("trace, line {}: {e}", n + 1)),
        };
        text.lines()
            .enumerate()
            .map(event)
            .collect::<Result<_, _>>()
            .map(Trace)
    }

    /// All events, in order.
    pub fn events(&self) -> impl Iterator<Item = &Event> {
        self.0.iter()
    }

    /// All events of a kind.
    pub fn all<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = &'a Event> {
        self.0.iter().filter(move |e| e.kind() == kind)
    }

    /// The only event of a kind for which `wanted` holds.
    pub fn only(&self, kind: &str, wanted: impl Fn(&Event) -> bool) -> Result<&Event, String> {
        let of_kind = |e: &&Event| e.kind() == kind && wanted(e);
        let mut found = self.0.iter().filter(of_kind);
        match (found.next(), found.count()) {
            (Some(event), 0) => Ok(event),
            (None, _) => Err(format!("the device's trace has no such '{kind}'")),
            (_, more) => Err(format!("the device's trace has {} such '{kind}'", more + 1)),
        }
    }
}

impl Event {
    /// What happened.
    pub fn kind(&self) -> &str {
        self.text("ev")
    }

    /// A text; empty if there is none.
    pub fn text(&self, member: &str) -> &str {
        self.0.get(member).and_then(Value::as_str).unwrap_or("")
    }

    /// A count, or a value in hexadecimal.
    pub fn num(&self, member: &str) -> Result<u64, String> {
        let value = self.0.get(member);
        let number = value.and_then(|v| match v {
            Value::String(text) => hex(text),
            other => other.as_u64(),
        });
        number.ok_or_else(|| format!("the device's '{}' has no '{member}'", self.kind()))
    }

    /// An array of words.
    pub fn words(&self, member: &str) -> Result<Vec<u32>, String> {
        let words = self.0.get(member).and_then(Value::as_array);
        let word = |v: &Value| u32::try_from(hex(v.as_str()?)?).ok();
        words
            .and_then(|words| words.iter().map(word).collect())
            .ok_or_else(|| format!("the device's '{}' has no '{member}'", self.kind()))
    }

    /// Its number in the trace.
    pub fn seq(&self) -> u64 {
        self.num("seq").unwrap_or(u64::MAX)
    }

    /// When, in nanoseconds.
    pub fn time(&self) -> u64 {
        self.num("t_ns").unwrap_or(0)
    }

    /// A packet's field in `fields`, such as `PASID=0x1`.
    pub fn field(&self, name: &str) -> Result<u64, String> {
        let mut pairs = self
            .text("fields")
            .split(' ')
            .filter_map(|w| w.split_once('='));
        match pairs.find(|(n, _)| *n == name) {
            // A field of value 0 is not shown.
            None => Ok(0),
            Some((_, value)) => hex(value).ok_or_else(|| format!("{name}={value}")),
        }
    }
}

/// `0x` and hexadecimal digits.
pub fn hex(text: &str) -> Option<u64> {
    u64::from_str_radix(text.strip_prefix("0x")?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"{"seq":0,"t_ns":5,"ev":"pm4","op":"X","fields":"X A=0x10 B=0x2","words":["0x1","0xffffffff"]}
{"seq":1,"t_ns":6,"ev":"signal","address":"0x7f0000000040","old":1}"#;

    #[test]
    fn values_of_all_kinds() {
        let trace = Trace::parse(TEXT).unwrap();
        let pm4 = trace.only("pm4", |_| true).unwrap();
        assert_eq!(pm4.words("words").unwrap(), [1, u32::MAX]);
        assert_eq!((pm4.field("B"), pm4.field("C")), (Ok(2), Ok(0)));
        let signal = trace.only("signal", |_| true).unwrap();
        assert_eq!(signal.num("address"), Ok(0x7f00_0000_0040));
        assert_eq!((signal.num("old"), signal.seq()), (Ok(1), 1));
        assert!(signal.num("new").is_err());
        assert!(trace.only("msi", |_| true).is_err());
    }

    #[test]
    fn a_torn_line_is_an_error() {
        assert!(Trace::parse("{\"seq\":0").is_err());
    }
}
