// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a driver did to the device, as far as two drivers can be compared by it.

use anyhow::{ensure, Result};
use rkfd_trace::device::Event;
use std::collections::BTreeMap;

/// A thing that was done: where, and what.
pub type Key = (String, String);

/// The security processor's and the management unit's mailboxes, and the copy of the device's own that the
/// trace has of each: what is told by them is compared by its meaning.
const MAILBOXES: [&str; 2] = ["Mp0", "Mp1"];
/// The management unit's register for messages.
const MESSAGE: &str = "MP1_SMN_C2PMSG_66";

/// What was done, and the last value of each.
#[derive(Default)]
pub struct Seen {
    /// By place and name.
    pub done: BTreeMap<Key, String>,
    /// What the security processor was asked, in order.
    pub asked: Vec<String>,
    /// The last values of registers that were written after the last dispatch, when the driver goes.
    pub ended: BTreeMap<Key, String>,
}

impl Seen {
    /// What stands in a trace before the first dispatch.
    ///
    /// # Errors
    ///
    /// A trace without one.
    pub fn of(events: &[Event]) -> Result<Self> {
        let mut seen = Self::default();
        let mut dispatched = false;
        for event in events {
            match event.kind.as_str() {
                "dispatch_start" => dispatched = true,
                _ => seen.note(event),
            }
            if dispatched {
                break;
            }
        }
        ensure!(dispatched, "nothing was dispatched");
        let is_dispatch = |event: &Event| event.kind == "dispatch_start";
        let last = events.iter().rposition(is_dispatch).unwrap_or(0);
        let mut end = Self::default();
        let written = events.iter().skip(last);
        written
            .filter(|event| event.kind == "reg_write")
            .for_each(|event| end.note(event));
        seen.ended = end.done;
        // Which queue an MQD's words are of is told after them.
        let roles = roles(events);
        for event in events.iter().filter(|event| event.kind == "mqd_word") {
            let role = event.number("mqd").and_then(|mqd| roles.get(&mqd));
            if let Some(role) = role {
                let place = format!("MQD.{role}");
                let key = (place, event.text("name").to_owned());
                let value = event.text("value").to_owned();
                seen.done.entry(key).or_insert(value);
            }
        }
        Ok(seen)
    }

    fn note(&mut self, event: &Event) {
        let text = |member| event.text(member).to_owned();
        match event.kind.as_str() {
            "reg_write" if event.text("reg") == MESSAGE => {
                let key = ("SMU".into(), text("value"));
                self.done.insert(key, "asked".into());
            }
            "reg_write" if MAILBOXES.contains(&event.text("block")) => {}
            "reg_write" => {
                self.done
                    .insert((text("block"), text("reg")), text("value"));
            }
            "psp_boot" => self.asked.push(format!("boot:{}", event.text("command"))),
            "psp_command" => {
                let [command, kind, size] = ["command", "type", "size"].map(text);
                self.asked.push(format!("{command}:{kind}:{size}"));
            }
            "pm4" => self.packet(
                &format!("PM4.{}", event.text("queue")),
                event.text("fields"),
            ),
            "mes" => self.packet("MES", event.text("fields")),
            _ => {}
        }
    }

    /// A packet or frame: its name, and `FIELD=VALUE` of each that is not 0.
    fn packet(&mut self, place: &str, text: &str) {
        let mut words = text.split_whitespace();
        let Some(name) = words.next() else { return };
        let mut done = |name: String, value: &str| {
            self.done.insert((place.to_owned(), name), value.to_owned());
        };
        done(name.to_owned(), "sent");
        for (field, value) in words.filter_map(|word| word.split_once('=')) {
            done(format!("{name}.{field}"), value);
        }
    }
}

/// What each MQD is for, by its address.
fn roles(events: &[Event]) -> BTreeMap<u64, String> {
    let connected = events.iter().filter(|event| event.kind == "queue_connect");
    let of = |event: &Event| Some((event.number("mqd")?, event.text("role").to_owned()));
    connected.filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = r#"
{"seq":1,"t_ns":1,"ev":"reg_write","block":"Gc","reg":"A","value":"0x1"}
{"seq":2,"t_ns":2,"ev":"reg_write","block":"Gc","reg":"A","value":"0x2"}
{"seq":3,"t_ns":3,"ev":"reg_write","block":"Mp0","reg":"MP0_SMN_C2PMSG_36","value":"0x3"}
{"seq":4,"t_ns":4,"ev":"psp_boot","command":"0x80000","address":"0x300000"}
{"seq":5,"t_ns":5,"ev":"reg_write","block":"Mp1","reg":"MP1_SMN_C2PMSG_66","value":"0x5"}
{"seq":6,"t_ns":6,"ev":"mqd_word","mqd":"0x2000","index":0,"name":"HEADER","value":"0xc0310800"}
{"seq":6,"t_ns":6,"ev":"pm4","queue":"kiq","op":"MAP_QUEUES","fields":"MapQueues NUM_QUEUES=0x1","words":["0x0"]}
{"seq":7,"t_ns":7,"ev":"queue_connect","queue":"q","role":"User","mqd":"0x2000"}
{"seq":8,"t_ns":8,"ev":"dispatch_start"}
{"seq":9,"t_ns":9,"ev":"reg_write","block":"Gc","reg":"B","value":"0x1"}
"#;

    fn seen(text: &str) -> Result<Seen> {
        Seen::of(&rkfd_trace::device::parse(text.trim())?)
    }

    #[test]
    fn what_the_driver_writes_when_it_goes() {
        let key = |place: &str, name: &str| (place.to_owned(), name.to_owned());
        let ended = BTreeMap::from([(key("Gc", "B"), "0x1".to_owned())]);
        assert_eq!(seen(TRACE).unwrap().ended, ended);
    }

    #[test]
    fn last_values_before_the_first_dispatch_and_what_mailboxes_mean() {
        let seen = seen(TRACE).unwrap();
        let done: Vec<_> = seen.done.iter().map(|((a, b), c)| [&a[..], b, c]).collect();
        let wanted = [
            ["Gc", "A", "0x2"],
            ["MQD.User", "HEADER", "0xc0310800"],
            ["PM4.kiq", "MapQueues", "sent"],
            ["PM4.kiq", "MapQueues.NUM_QUEUES", "0x1"],
            ["SMU", "0x5", "asked"],
        ];
        assert_eq!(done, wanted);
        assert_eq!(seen.asked, ["boot:0x80000"]);
    }

    #[test]
    fn a_trace_without_a_dispatch_is_refused() {
        let cut = TRACE.split(r#"{"seq":8"#).next().unwrap();
        assert!(seen(cut).is_err());
    }
}
