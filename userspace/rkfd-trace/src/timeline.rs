// SPDX-License-Identifier: MIT OR Apache-2.0

//! Tracks, and what lies on them.

use crate::chain::{self, Chains};
use crate::{device, driver};
use std::collections::{BTreeMap, HashMap};

/// A track, by its number in [`Timeline::tracks`].
pub type TrackId = usize;

/// What a track is of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Of {
    /// A process, or the GPU: tracks lie in it.
    Group,
    /// A thread of the machine.
    Thread(u32),
    /// A part of the GPU.
    Part,
    /// A number that changes.
    Counter,
}

/// A track.
#[derive(Clone, Debug)]
pub struct Track {
    /// What it is called.
    pub name: String,
    /// The group that it lies in.
    pub parent: Option<TrackId>,
    /// What it is of.
    pub of: Of,
}

/// How long something takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Span {
    /// No time.
    Instant,
    /// Until then, in nanoseconds.
    Until(i64),
    /// The track is a counter, which has this value from then on.
    Value(i64),
}

/// Something on a track.
#[derive(Clone, Debug)]
pub struct Item {
    /// Where.
    pub track: TrackId,
    /// When, in nanoseconds of the device's clock.
    pub at: i64,
    /// How long.
    pub span: Span,
    /// What.
    pub name: String,
    /// Dispatches that it belongs to: what belongs to one is joined by arrows.
    pub flows: Vec<u64>,
    /// More about it.
    pub details: Vec<(String, String)>,
}

/// Everything.
#[derive(Debug, Default)]
pub struct Timeline {
    /// The tracks.
    pub tracks: Vec<Track>,
    /// What lies on them, in no order.
    pub items: Vec<Item>,
    by_name: HashMap<(Option<TrackId>, String), TrackId>,
}

/// Events of the device that would only fill the picture: registers are in the device's own trace.
const LEFT_OUT: [&str; 4] = ["reg_read", "reg_write", "mqd_word", "dispatch_end"];

/// Of the device's events those between the driver's first and its last, which may be a mark; all, if there
/// is no driver's trace.
pub fn within<'a>(
    device: &'a [device::Event],
    driver: &[driver::Event],
    offset: i64,
) -> &'a [device::Event] {
    let times = || driver.iter().map(|e| e.at + offset);
    let (Some(first), Some(last)) = (times().min(), times().max()) else {
        return device;
    };
    let begin = device.partition_point(|e| e.at < first);
    &device[begin..device.partition_point(|e| e.at <= last).max(begin)]
}

impl Timeline {
    /// Puts both sides together; `offset` is [`crate::clock::offset`]'s.
    pub fn new(device: &[device::Event], driver: &[driver::Event], offset: i64) -> Self {
        let mut all = Self::default();
        let chains = chain::find(device, driver);
        all.device(device, &chains);
        all.driver(driver, offset, &chains);
        all
    }

    fn track(&mut self, parent: Option<TrackId>, name: &str, of: Of) -> TrackId {
        let key = (parent, name.to_owned());
        *self.by_name.entry(key).or_insert_with(|| {
            let name = name.to_owned();
            self.tracks.push(Track { name, parent, of });
            self.tracks.len() - 1
        })
    }

    fn device(&mut self, events: &[device::Event], chains: &Chains) {
        let gpu = self.track(None, "GPU", Of::Group);
        let waves = self.track(Some(gpu), "waves in flight", Of::Counter);
        let flushes = self.track(Some(gpu), "TLB flushes", Of::Counter);
        let queues = self.track(Some(gpu), "queues on the hardware", Of::Counter);
        let misses = self.track(Some(gpu), "TLB misses", Of::Counter);
        let words = self.track(Some(gpu), "page table words read", Of::Counter);
        let (mut in_flight, mut flushed, mut connected) = (0, 0, 0);
        let (mut missed, mut read) = (0, 0);
        let mut taken: BTreeMap<String, usize> = BTreeMap::new();
        let end = events.last().map_or(0, |event| event.at);
        let mut started: BTreeMap<(String, u64), (usize, i64)> = BTreeMap::new();
        for (nth, event) in events.iter().enumerate() {
            let mut count = |track, value| self.items.push(counted(track, event.at, value));
            let queue = event.text("queue").trim_end();
            let index = event.number("index").unwrap_or(0);
            match event.kind.as_str() {
                "dispatch_start" => {
                    let per_group = event.number("waves_per_workgroup").unwrap_or(0);
                    let waves_now = event.number("workgroups").unwrap_or(0) * per_group;
                    started.insert((queue.into(), index), (nth, waves_now as i64));
                    in_flight += waves_now as i64;
                    count(waves, in_flight);
                    continue;
                }
                "dispatch_end" => {
                    let Some((first, waves_then)) = started.remove(&(queue.into(), index)) else {
                        continue;
                    };
                    in_flight -= waves_then;
                    count(waves, in_flight);
                    self.dispatch(gpu, &events[first], event, chains.of_device(first));
                    continue;
                }
                "tlb_invalidate" => {
                    flushed += 1;
                    count(flushes, flushed);
                }
                "queue_connect" => {
                    connected += 1;
                    count(queues, connected);
                    taken.insert(queue.into(), nth);
                }
                "queue_disconnect" => {
                    connected -= 1;
                    count(queues, connected);
                    if let Some(first) = taken.remove(queue) {
                        self.slot(gpu, &events[first], event.at);
                    }
                }
                // No TLB knew the address: each table that is walked costs the read of a word of 8 bytes.
                "page_walk" => {
                    missed += 1;
                    read += event.numbers("entries").len() as i64;
                    count(misses, missed);
                    count(words, read);
                    continue;
                }
                "turn" | "sdma_done" => {
                    self.work(gpu, event);
                    continue;
                }
                kind if LEFT_OUT.contains(&kind) => continue,
                _ => {}
            }
            let place = place(event);
            let track = self.track(Some(gpu), &place, Of::Part);
            self.items.push(Item {
                track,
                at: event.at,
                span: Span::Instant,
                name: name(event),
                flows: chains.of_device(nth).into_iter().collect(),
                details: details(event),
            });
        }
        for first in taken.into_values() {
            self.slot(gpu, &events[first], end);
        }
    }

    /// What a compute unit or a copy engine was at until now.
    fn work(&mut self, gpu: TrackId, event: &device::Event) {
        let number = |name: &str| event.number(name).unwrap_or(0);
        let (place, name) = match event.text("queue").strip_prefix("sdma") {
            Some(queue) => (
                format!(
                    "SDMA engine {} packets",
                    queue.split(' ').next().unwrap_or("")
                ),
                event.text("op").to_owned(),
            ),
            None => (
                format!("XCC {} compute unit {}", number("xcc"), number("unit")),
                format!("dispatch {}", number("index")),
            ),
        };
        let track = self.track(Some(gpu), &place, Of::Part);
        self.items.push(Item {
            track,
            at: number("begin_ns") as i64,
            span: Span::Until(event.at),
            name,
            flows: Vec::new(),
            details: details(event),
        });
    }

    /// A queue on its hardware queue, or in its copy engine, from its connection to its end.
    fn slot(&mut self, gpu: TrackId, first: &device::Event, until: i64) {
        let queue = first.text("queue").trim_end();
        let place = match queue.split_once(' ') {
            Some((engine, _)) if engine.starts_with("sdma") => {
                format!("SDMA engine {}", &engine[4..])
            }
            _ => format!("HQD {queue}"),
        };
        let track = self.track(Some(gpu), &place, Of::Part);
        self.items.push(Item {
            track,
            at: first.at,
            span: Span::Until(until),
            name: format!(
                "queue of doorbell {}",
                first.number("doorbell").unwrap_or(0)
            ),
            flows: Vec::new(),
            details: details(first),
        });
    }

    /// A dispatch, on its queue and on each XCC that had a part of it.
    fn dispatch(
        &mut self,
        gpu: TrackId,
        first: &device::Event,
        last: &device::Event,
        flow: Option<u64>,
    ) {
        let queue = first.text("queue").trim_end();
        let name = format!("dispatch {}", first.number("index").unwrap_or(0));
        let mut tracks = vec![(self.track(Some(gpu), queue, Of::Part), flow)];
        for (xcc, groups) in last.numbers("xcc_workgroups").into_iter().enumerate() {
            if groups > 0 {
                tracks.push((self.track(Some(gpu), &format!("XCC {xcc}"), Of::Part), None));
            }
        }
        for (track, flow) in tracks {
            let mut details = details(first);
            details.extend(self::details(last));
            self.items.push(Item {
                track,
                at: first.at,
                span: Span::Until(last.at),
                name: name.clone(),
                flows: flow.into_iter().collect(),
                details,
            });
        }
    }

    fn driver(&mut self, events: &[driver::Event], offset: i64, chains: &Chains) {
        let mut begun: HashMap<u32, &driver::Event> = HashMap::new();
        for (nth, event) in events.iter().enumerate() {
            let group = self.track(None, &event.comm, Of::Group);
            let track = self.track(
                Some(group),
                &format!("thread {}", event.tid),
                Of::Thread(event.tid),
            );
            let flows: Vec<u64> = chains.of_driver(nth).into_iter().collect();
            let mut details: Vec<(String, String)> = event
                .fields()
                .filter(|(name, _)| *name != "argument")
                .map(|(name, text)| (name.into(), text.into()))
                .collect();
            let argument = event.argument().into_iter();
            details.extend(argument.map(|(name, value)| (name.into(), format!("{value:#x}"))));
            let at = event.at + offset;
            let item = match event.kind.as_str() {
                "ioctl_enter" => {
                    begun.insert(event.tid, event);
                    continue;
                }
                "ioctl_exit" => {
                    let Some(first) = begun.remove(&event.tid) else {
                        continue;
                    };
                    // Whoever waited for a dispatch goes on: the arrow ends here.
                    if !flows.is_empty() {
                        self.items.push(Item {
                            track,
                            at,
                            span: Span::Instant,
                            name: "woken".into(),
                            flows,
                            details: Vec::new(),
                        });
                    }
                    Item {
                        track,
                        at: first.at + offset,
                        span: Span::Until(at),
                        name: event
                            .request()
                            .map_or("ioctl", |request| request.name)
                            .into(),
                        flows: Vec::new(),
                        details,
                    }
                }
                kind => Item {
                    track,
                    at,
                    span: Span::Instant,
                    name: kind.into(),
                    flows,
                    details,
                },
            };
            self.items.push(item);
        }
    }
}

fn counted(track: TrackId, at: i64, value: i64) -> Item {
    Item {
        track,
        at,
        span: Span::Value(value),
        name: String::new(),
        flows: Vec::new(),
        details: Vec::new(),
    }
}

/// The part of the GPU where an event belongs.
fn place(event: &device::Event) -> String {
    match event.kind.as_str() {
        "doorbell" => "doorbells".into(),
        "interrupt" | "msi" | "msi_enable" => "IH ring".into(),
        "mes" | "mes_ring" => format!("MES pipe {}", event.number("pipe").unwrap_or(0)),
        "vmid_assign" | "vmid_release" => format!("VMID {}", event.number("vmid").unwrap_or(0)),
        "tlb_invalidate" => "TLBs".into(),
        _ => match event.text("queue").trim_end() {
            "" => "other".into(),
            queue => queue.into(),
        },
    }
}

fn name(event: &device::Event) -> String {
    let what = ["op", "packet", "type"].map(|member| event.text(member));
    match what.into_iter().find(|text| !text.is_empty()) {
        Some(what) => format!("{} {what}", event.kind),
        None => event.kind.clone(),
    }
}

fn details(event: &device::Event) -> Vec<(String, String)> {
    let more = |name: &str| !["seq", "t_ns", "ev"].contains(&name);
    let members = event.members.iter().filter(|(name, _)| more(name));
    let text = |value: &serde_json::Value| value.as_str().map_or(value.to_string(), String::from);
    members
        .map(|(name, value)| (name.clone(), text(value)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEVICE: &str = r#"{"t_ns":800,"ev":"queue_connect","queue":"sdma0 kernel","doorbell":512}
{"t_ns":900,"ev":"queue_connect","queue":"me1 pipe0 queue0","doorbell":2048,"ring":"0x1000","words":1024}
{"t_ns":1000,"ev":"doorbell","index":2048,"value":"0x0","queue":"me1 pipe0 queue0"}
{"t_ns":2000,"ev":"aql","queue":"me1 pipe0 queue0","index":0,"type":"KERNEL_DISPATCH"}
{"t_ns":2500,"ev":"page_walk","vmid":3,"entries":["0x1","0x3"]}
{"t_ns":3000,"ev":"dispatch_start","queue":"me1 pipe0 queue0","index":0,"workgroups":4,"waves_per_workgroup":2}
{"t_ns":4800,"ev":"turn","unit":0,"xcc":0,"index":0,"begin_ns":3100}
{"t_ns":4900,"ev":"sdma_done","queue":"sdma0 kernel","op":"CONST_FILL","begin_ns":4100}
{"t_ns":5000,"ev":"dispatch_end","queue":"me1 pipe0 queue0","index":0,"xcc_workgroups":["0x4","0x0"]}
{"t_ns":6000,"ev":"signal","queue":"me1 pipe0 queue0","event":2}
{"t_ns":7000,"ev":"interrupt","source":181,"pasid":1,"data":["0x2"]}
{"t_ns":7500,"ev":"queue_disconnect","queue":"me1 pipe0 queue0"}
"#;
    const DRIVER: &str = "\
p-7 [000] ..... 0.000000: rkfd_ioctl_enter: number=0xc error=0 argument=
p-7 [000] ..... 0.000000: tracing_mark_write: rkfd_enqueue: queue=0 index=0 address=0x1000
p-7 [000] ..... 0.000001: tracing_mark_write: rkfd_enqueue: queue=0 index=0 address=0x2000
w-9 [001] ..... 0.000008: rkfd_ih_entry: source=181 pasid=1 data=0x2,0x0
w-9 [001] ..... 0.000009: rkfd_signal: pasid=1 event=2 bits=0
p-7 [000] ..... 0.000010: rkfd_ioctl_exit: number=0xc error=0 argument=
";

    #[test]
    fn a_dispatch_is_followed_from_its_doorbell_to_who_waits_for_it() {
        let (device, driver) = (device::parse(DEVICE).unwrap(), driver::parse(DRIVER));
        let line = Timeline::new(&device, &driver, 0);
        let mut steps: Vec<_> = line.items.iter().filter(|i| i.flows == [1]).collect();
        steps.sort_by_key(|item| item.at);
        let names: Vec<_> = steps.iter().map(|item| item.name.as_str()).collect();
        let wanted = [
            "enqueue",
            "doorbell",
            "aql KERNEL_DISPATCH",
            "dispatch 0",
            "signal",
            "interrupt",
        ];
        assert_eq!(names[..6], wanted);
        assert_eq!(names[6..], ["ih_entry", "signal", "woken"]);
        let values = |track: &str| -> Vec<i64> {
            let of = |item: &&Item| line.tracks[item.track].name == track;
            let value = |item: &Item| match item.span {
                Span::Value(value) => Some(value),
                _ => None,
            };
            line.items.iter().filter(of).filter_map(value).collect()
        };
        assert_eq!(values("waves in flight"), [8, 0]);
        assert_eq!(values("TLB misses"), [1]);
        assert_eq!(values("page table words read"), [2]);
        let slots = line.items.iter().filter(|item| {
            let name = &line.tracks[item.track].name;
            name.starts_with("HQD") || name == "SDMA engine 0"
        });
        let slots: Vec<_> = slots
            .map(|i| (line.tracks[i.track].name.as_str(), i.at, i.span))
            .collect();
        let wanted = [
            ("HQD me1 pipe0 queue0", 900, Span::Until(7500)),
            ("SDMA engine 0", 800, Span::Until(7500)),
        ];
        assert_eq!(slots, wanted);
        let xccs = line
            .tracks
            .iter()
            .filter(|track| track.name.starts_with("XCC"));
        assert_eq!(xccs.count(), 2);
        for (track, name, at, until) in [
            ("XCC 0 compute unit 0", "dispatch 0", 3100, 4800),
            ("SDMA engine 0 packets", "CONST_FILL", 4100, 4900),
        ] {
            let of = |item: &&Item| line.tracks[item.track].name == track;
            let works: Vec<_> = line.items.iter().filter(of).collect();
            assert_eq!(works.len(), 1, "{track}");
            assert_eq!((&*works[0].name, works[0].at), (name, at));
            assert_eq!(works[0].span, Span::Until(until));
        }
    }
}
