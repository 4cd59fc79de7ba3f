// SPDX-License-Identifier: MIT OR Apache-2.0

//! The trace of the emulated GPU: one JSON object a line (`rkfd-emulator --trace`).

use anyhow::{Context, Result};
use serde_json::{Map, Value};

/// An event.
#[derive(Clone, Debug)]
pub struct Event {
    /// When, in nanoseconds since the emulator's start.
    pub at: i64,
    /// What: the member `ev`.
    pub kind: String,
    /// All members.
    pub members: Map<String, Value>,
}

impl Event {
    /// A text; empty if there is none.
    pub fn text(&self, member: &str) -> &str {
        self.members
            .get(member)
            .and_then(Value::as_str)
            .unwrap_or("")
    }

    /// A count, or a value in hexadecimal.
    pub fn number(&self, member: &str) -> Option<u64> {
        number(self.members.get(member)?)
    }

    /// The numbers of an array.
    pub fn numbers(&self, member: &str) -> Vec<u64> {
        let array = self.members.get(member).and_then(Value::as_array);
        array.into_iter().flatten().filter_map(number).collect()
    }
}

fn number(value: &Value) -> Option<u64> {
    match value {
        Value::String(text) => u64::from_str_radix(text.strip_prefix("0x")?, 16).ok(),
        other => other.as_u64(),
    }
}

/// Reads a trace.
///
/// # Errors
///
/// A line that is not an event, by its number.
pub fn parse(text: &str) -> Result<Vec<Event>> {
    let lines = text.lines().enumerate();
    lines
        .map(|(n, line)| event(line).with_context(|| format!("the device's trace, line {}", n + 1)))
        .collect()
}

fn event(line: &str) -> Result<Event> {
    let members: Map<String, Value> = serde_json::from_str(line)?;
    let at = members.get("t_ns").and_then(Value::as_i64);
    let kind = members.get("ev").and_then(Value::as_str).map(String::from);
    Ok(Event {
        at: at.context("no 't_ns'")?,
        kind: kind.context("no 'ev'")?,
        members,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_in_both_forms() {
        let line =
            r#"{"seq":1,"t_ns":5,"ev":"doorbell","index":7,"value":"0x1f","data":["0x2",3]}"#;
        let events = parse(line).unwrap();
        assert_eq!((events[0].at, events[0].kind.as_str()), (5, "doorbell"));
        assert_eq!(events[0].number("index"), Some(7));
        assert_eq!(events[0].number("value"), Some(31));
        assert_eq!(events[0].numbers("data"), [2, 3]);
        assert!(parse("{}").unwrap_err().to_string().contains("line 1"));
    }
}
