// SPDX-License-Identifier: MIT OR Apache-2.0

//! Perfetto's trace format: messages of protocol buffers.
//!
//! Source: Perfetto, `protos/perfetto/trace/` (`trace.proto`, `trace_packet.proto`,
//! `track_event/track_event.proto`, `track_descriptor.proto`, `debug_annotation.proto`).

use crate::timeline::{Item, Of, Span, Timeline, Track};

/// A message in the making.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    fn number(&mut self, field: u64, value: u64) {
        self.varint(field << 3);
        self.varint(value);
    }

    fn fixed64(&mut self, field: u64, value: u64) {
        self.varint((field << 3) | 1);
        self.0.extend(value.to_le_bytes());
    }

    fn bytes(&mut self, field: u64, bytes: &[u8]) {
        self.varint((field << 3) | 2);
        self.varint(bytes.len() as u64);
        self.0.extend(bytes);
    }

    fn text(&mut self, field: u64, text: &str) {
        self.bytes(field, text.as_bytes());
    }

    fn message(&mut self, field: u64, make: impl FnOnce(&mut Message)) {
        let mut inner = Message::default();
        make(&mut inner);
        self.bytes(field, &inner.0);
    }
}

/// `TracePacket`'s fields.
mod packet {
    pub const TIMESTAMP: u64 = 8;
    pub const SEQUENCE: u64 = 10;
    pub const TRACK_EVENT: u64 = 11;
    pub const TRACK_DESCRIPTOR: u64 = 60;
}

/// `TrackEvent.Type`.
const SLICE_BEGIN: u64 = 1;
const SLICE_END: u64 = 2;
const INSTANT: u64 = 3;
const COUNTER: u64 = 4;

/// All packets are of one writer.
const SEQUENCE: u64 = 1;
/// Ids of tracks begin here; 0 is no track.
const FIRST_TRACK: u64 = 1;
/// Made-up ids of processes: beyond those of a machine.
const FIRST_PID: u64 = 1 << 22;

fn uuid(track: usize) -> u64 {
    FIRST_TRACK + track as u64
}

/// The trace, as the bytes of a file.
pub fn encode(timeline: &Timeline) -> Vec<u8> {
    let mut trace = Message::default();
    for (nth, track) in timeline.tracks.iter().enumerate() {
        trace.message(1, |packet| {
            packet.number(packet::SEQUENCE, SEQUENCE);
            packet.message(packet::TRACK_DESCRIPTOR, |m| descriptor(m, nth, track));
        });
    }
    for (at, kind, item) in in_order(&timeline.items) {
        trace.message(1, |packet| {
            packet.number(packet::TIMESTAMP, at.max(0) as u64);
            packet.number(packet::SEQUENCE, SEQUENCE);
            packet.message(packet::TRACK_EVENT, |m| event(m, kind, item));
        });
    }
    trace.0
}

/// What begins, is and ends, by time: at one time, first what ends.
fn in_order(items: &[Item]) -> Vec<(i64, u64, &Item)> {
    let mut all = Vec::new();
    for item in items {
        match item.span {
            Span::Instant => all.push((item.at, INSTANT, item)),
            Span::Value(_) => all.push((item.at, COUNTER, item)),
            Span::Until(end) => {
                all.push((item.at, SLICE_BEGIN, item));
                all.push((end.max(item.at + 1), SLICE_END, item));
            }
        }
    }
    all.sort_by_key(|&(at, kind, _)| (at, kind != SLICE_END));
    all
}

fn descriptor(m: &mut Message, nth: usize, track: &Track) {
    m.number(1, uuid(nth));
    if let Some(parent) = track.parent {
        m.number(5, uuid(parent));
    }
    m.text(2, &track.name);
    match track.of {
        Of::Group => m.message(3, |process| {
            process.number(1, FIRST_PID + nth as u64);
            process.text(6, &track.name);
        }),
        Of::Counter => m.message(8, |_| {}),
        Of::Thread(_) | Of::Part => {}
    }
}

fn event(m: &mut Message, kind: u64, item: &Item) {
    m.number(9, kind);
    m.number(11, uuid(item.track));
    if kind == SLICE_END {
        return;
    }
    if let Span::Value(value) = item.span {
        return m.number(30, value as u64);
    }
    m.text(23, &item.name);
    for &flow in &item.flows {
        m.fixed64(47, flow);
    }
    for (name, text) in &item.details {
        m.message(4, |annotation| {
            annotation.text(10, name);
            annotation.text(6, text);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_seven_bits_a_byte() {
        let mut m = Message::default();
        m.number(1, 150);
        m.text(2, "testing");
        // The examples of protobuf's own description of its encoding.
        assert_eq!(m.0, b"\x08\x96\x01\x12\x07testing");
    }
}
