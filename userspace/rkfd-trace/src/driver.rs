// SPDX-License-Identifier: MIT OR Apache-2.0

//! The driver's tracepoints, as `trace` of tracefs prints them (Linux, Documentation/trace/ftrace.rst).

use rkfd_uapi::abi::{FieldInfo, StructInfo};
use rkfd_uapi::ioctl::{IoctlInfo, IOCTLS};
use rkfd_uapi::STRUCTS;

/// An event.
#[derive(Clone, Debug)]
pub struct Event {
    /// When, in nanoseconds of the kernel's clock.
    pub at: i64,
    /// The thread that the processor was in.
    pub tid: u32,
    /// Its name.
    pub comm: String,
    /// Which tracepoint, without `rkfd_`, or what a program told of itself in the same form (`enqueue`); `mark` for what somebody wrote into `trace_marker`.
    pub kind: String,
    fields: Vec<(String, String)>,
}

impl Event {
    /// A field's text; empty if there is none.
    pub fn text(&self, field: &str) -> &str {
        let mut fields = self.fields.iter();
        let found = fields.find(|(name, _)| name == field);
        found.map_or("", |(_, text)| text)
    }

    /// A field's number.
    pub fn number(&self, field: &str) -> Option<i64> {
        number(self.text(field))
    }

    /// The numbers of a field that has several.
    pub fn numbers(&self, field: &str) -> Vec<i64> {
        self.text(field).split(',').filter_map(number).collect()
    }

    /// All fields.
    pub fn fields(&self) -> impl Iterator<Item = (&str, &str)> {
        self.fields
            .iter()
            .map(|(name, text)| (name.as_str(), text.as_str()))
    }

    /// The request that begins or ends here.
    pub fn request(&self) -> Option<&'static IoctlInfo> {
        let number = self.number("number")?;
        IOCTLS.iter().find(|info| i64::from(info.number) == number)
    }

    /// The members of a request's argument, by their names in C.
    pub fn argument(&self) -> Vec<(&'static str, u64)> {
        let text = self.text("argument");
        let bytes: Vec<u8> = (0..text.len() / 2)
            .filter_map(|at| u8::from_str_radix(text.get(2 * at..2 * at + 2)?, 16).ok())
            .collect();
        let fields = self.request().and_then(fields).unwrap_or_default();
        let value = |field: &FieldInfo| {
            let bytes = bytes.get(field.offset..field.offset + field.size.min(8))?;
            let value = bytes
                .iter()
                .rev()
                .fold(0, |value, &byte| (value << 8) | u64::from(byte));
            (!field.c.is_empty()).then_some((field.c, value))
        };
        fields.iter().filter_map(value).collect()
    }
}

fn fields(request: &IoctlInfo) -> Option<&'static [FieldInfo]> {
    let name = request.argument.rsplit("::").next()?;
    let mut all = STRUCTS.iter().flat_map(|file| file.iter());
    let found: Option<&StructInfo> = all.find(|info| info.name == name);
    Some(found?.fields)
}

fn number(text: &str) -> Option<i64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok().map(|n| n as i64),
        None => text.parse().ok(),
    }
}

/// How tracefs calls what was written into `trace_marker`.
const MARK: &str = ": tracing_mark_write:";

/// The same before what begins with `rkfd_`.
const WRITTEN: &str = ": tracing_mark_write";

/// Reads what tracefs printed. Other lines, such as its heading, are left out.
pub fn parse(text: &str) -> Vec<Event> {
    text.lines().filter_map(event).collect()
}

/// `   comm-123   [000] d..1.   12.345678: rkfd_name: field=value field=value`.
fn event(line: &str) -> Option<Event> {
    let marked = || {
        let (before, text) = line.split_once(MARK)?;
        Some((before, "mark", text))
    };
    let told = || {
        let (before, after) = line.split_once(": rkfd_")?;
        let nothing = (after.trim_end_matches(':'), "");
        let (kind, fields) = after.split_once(": ").unwrap_or(nothing);
        Some((before, kind, fields))
    };
    let (before, kind, fields) = told().or_else(marked)?;
    let before = before.strip_suffix(WRITTEN).unwrap_or(before);
    let (who, rest) = before.rsplit_once('[')?;
    let (comm, tid) = who.trim().rsplit_once('-')?;
    let (seconds, fraction) = rest.split_whitespace().last()?.split_once('.')?;
    let nanoseconds = format!("{fraction:0<9}");
    let fields = fields.split_whitespace().filter_map(|field| {
        let (name, text) = field.split_once('=')?;
        Some((name.into(), text.trim_matches(['{', '}']).into()))
    });
    Some(Event {
        at: seconds.parse::<i64>().ok()? * 1_000_000_000 + nanoseconds.parse::<i64>().ok()?,
        tid: tid.parse().ok()?,
        comm: comm.trim().into(),
        kind: kind.into(),
        fields: fields.collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_taken_apart() {
        let text = "# tracer: nop\n\
            \x20      vector-add-107     [001] .....    12.000345: rkfd_ioctl_exit: number=0x1 error=0 argument=0100000013000000\n\
            \x20          <idle>-0       [000] d.h1.    12.000400: rkfd_ih_entry: client=20 source=181 data=0x2,0x0\n\
            \x20   kworker/1:2-9        [000] .....    12.000500: rkfd_packet: doorbell=24 words={0x40001,0x0}\n\
            \x20         sh-110       [000] .....    12.000600: tracing_mark_write: end scene=x\n\
            \x20 vector-add-107     [001] .....    12.000700: tracing_mark_write: rkfd_enqueue: queue=0 index=5 address=0x40\n";
        let events = parse(text);
        assert_eq!(events.len(), 5);
        assert_eq!(
            (events[4].kind.as_str(), events[4].at, events[4].tid),
            ("enqueue", 12_000_700_000, 107)
        );
        assert_eq!(events[4].number("address"), Some(0x40));
        assert_eq!(
            (events[3].kind.as_str(), events[3].at),
            ("mark", 12_000_600_000)
        );
        assert_eq!(events[3].text("scene"), "x");
        assert_eq!(events[0].at, 12_000_345_000);
        assert_eq!(
            (events[0].tid, events[0].comm.as_str()),
            (107, "vector-add")
        );
        assert_eq!(events[0].kind, "ioctl_exit");
        let request = events[0].request().unwrap();
        assert!(request.name.ends_with("GET_VERSION"));
        assert_eq!(
            events[0].argument(),
            [("major_version", 1), ("minor_version", 19)]
        );
        assert_eq!(events[1].numbers("data"), [2, 0]);
        assert_eq!(events[2].numbers("words"), [0x40001, 0]);
    }
}
