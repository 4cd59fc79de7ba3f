// SPDX-License-Identifier: MIT OR Apache-2.0

//! The trace: what the device saw and did, one JSON object a line.
//!
//! Every line has `seq` (0, 1, ...), `t_ns` (since the device's start) and `ev`; the other members
//! belong to the event. Addresses and register values are strings in hexadecimal, since JSON's
//! numbers lose bits above 2^53; counts are numbers.
//!
//! ```text
//! {"seq":7,"t_ns":81234,"ev":"doorbell","index":32,"value":"0x1"}
//! ```

use std::fmt::{LowerHex, Write as _};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// A member's value.
#[derive(Clone, Copy, Debug)]
pub enum Value<'a> {
    /// A count or index.
    Num(u64),
    /// An address or a register's value.
    Hex(u64),
    /// Text.
    Text(&'a str),
    /// The words of a packet or an MQD, an array of hexadecimal strings.
    Words(&'a [u32]),
    /// Addresses or page table entries, an array of hexadecimal strings.
    Longs(&'a [u64]),
}

/// Where events go. Nothing is formatted while the trace is off.
pub struct Trace {
    start: Instant,
    out: Option<Mutex<Out>>,
}

struct Out {
    file: BufWriter<File>,
    seq: u64,
    line: String,
}

impl Trace {
    /// A trace that drops everything.
    pub fn off() -> Arc<Self> {
        Arc::new(Self {
            start: Instant::now(),
            out: None,
        })
    }

    /// A trace into a file.
    ///
    /// # Errors
    /// The file can't be created.
    pub fn to_file(path: &Path) -> io::Result<Arc<Self>> {
        let file = BufWriter::new(File::create(path)?);
        let out = Out {
            file,
            seq: 0,
            line: String::new(),
        };
        Ok(Arc::new(Self {
            start: Instant::now(),
            out: Some(Mutex::new(out)),
        }))
    }

    /// Whether events are kept: ask before gathering what is slow to gather.
    pub fn is_on(&self) -> bool {
        self.out.is_some()
    }

    /// The time that an event would have now, in nanoseconds: when something begins that is recorded at its end.
    pub fn now(&self) -> u64 {
        self.start.elapsed().as_nanos() as u64
    }

    /// Records an event: `trace.event("mqd", &[("queue", Value::Num(1)), ...])`.
    pub fn event(&self, ev: &str, members: &[(&str, Value<'_>)]) {
        let Some(out) = &self.out else { return };
        let t_ns = self.start.elapsed().as_nanos();
        let mut out = out.lock().unwrap_or_else(PoisonError::into_inner);
        let mut line = std::mem::take(&mut out.line);
        line.clear();
        let _ = write!(line, "{{\"seq\":{},\"t_ns\":{t_ns},\"ev\":", out.seq);
        text(&mut line, ev);
        for (name, value) in members {
            line.push(',');
            text(&mut line, name);
            line.push(':');
            let _ = match value {
                Value::Num(n) => write!(line, "{n}"),
                Value::Hex(n) => write!(line, "\"{n:#x}\""),
                Value::Text(s) => {
                    text(&mut line, s);
                    Ok(())
                }
                Value::Words(words) => {
                    array(&mut line, words);
                    Ok(())
                }
                Value::Longs(longs) => {
                    array(&mut line, longs);
                    Ok(())
                }
            };
        }
        line.push_str("}\n");
        // A full disk must not stop the device; the reader sees that the sequence ends.
        let _ = out.file.write_all(line.as_bytes());
        out.line = line;
        out.seq += 1;
    }

    /// Writes out what is buffered: readers follow the file while the device runs.
    pub fn flush(&self) {
        if let Some(out) = &self.out {
            let _ = out
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .file
                .flush();
        }
    }
}

/// A JSON array of hexadecimal strings.
fn array<T: LowerHex>(line: &mut String, numbers: &[T]) {
    line.push('[');
    for (i, number) in numbers.iter().enumerate() {
        let comma = if i == 0 { "" } else { "," };
        let _ = write!(line, "{comma}\"{number:#x}\"");
    }
    line.push(']');
}

/// A JSON string.
fn text(line: &mut String, s: &str) {
    line.push('"');
    for c in s.chars() {
        match c {
            '"' | '\\' => {
                line.push('\\');
                line.push(c);
            }
            c if (c as u32) < 0x20 => {
                let _ = write!(line, "\\u{:04x}", c as u32);
            }
            c => line.push(c),
        }
    }
    line.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_one_object_a_line() {
        let path = std::env::temp_dir().join(format!("rkfd-trace-{}", std::process::id()));
        let trace = Trace::to_file(&path).unwrap();
        trace.event(
            "pm4",
            &[
                ("op", Value::Text("a\"b\n")),
                ("words", Value::Words(&[1, 0xff])),
            ],
        );
        trace.event(
            "doorbell",
            &[
                ("index", Value::Num(32)),
                ("value", Value::Hex(u64::MAX)),
                ("at", Value::Longs(&[1 << 40])),
            ],
        );
        trace.flush();
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        let mut lines = text.lines();
        let first = lines.next().unwrap();
        assert!(first.starts_with("{\"seq\":0,\"t_ns\":"), "{first}");
        assert!(first
            .ends_with(",\"ev\":\"pm4\",\"op\":\"a\\\"b\\u000a\",\"words\":[\"0x1\",\"0xff\"]}"));
        let second = lines.next().unwrap();
        assert!(
            second.ends_with(
                ",\"index\":32,\"value\":\"0xffffffffffffffff\",\"at\":[\"0x10000000000\"]}"
            ),
            "{second}"
        );
        assert_eq!(lines.next(), None);
    }
}
