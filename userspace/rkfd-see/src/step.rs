// SPDX-License-Identifier: MIT OR Apache-2.0

//! Steps: what both traces report, in the order of time, each with its bytes.

use crate::kinds::{self, Kind};
use crate::layouts;
use rkfd_hw::pm4;
use rkfd_trace::{device, driver};
use serde_json::{json, Value};
use std::collections::HashMap;

/// A step of the page.
#[derive(Clone, Debug)]
pub struct Step {
    /// When, in nanoseconds of the device's clock.
    pub at: i64,
    /// The key of its kind.
    pub kind: &'static str,
    /// What, in a few words.
    pub title: String,
    /// The name of its bytes' layout.
    pub layout: Option<String>,
    /// Its bytes.
    pub words: Vec<u32>,
    /// What the bytes were before, if they have changed.
    pub before: Vec<u32>,
    /// Numbers that aren't bytes of a layout, by their names in the trace.
    pub facts: Vec<(String, Value)>,
}

impl Step {
    fn new(at: i64, kind: &'static str, title: impl Into<String>) -> Self {
        Self {
            at,
            kind,
            title: title.into(),
            layout: None,
            words: Vec::new(),
            before: Vec::new(),
            facts: Vec::new(),
        }
    }

    fn of(mut self, layout: Option<&str>, words: Vec<u32>) -> Self {
        self.layout = layout.map(String::from);
        self.words = words;
        self
    }

    /// For the page; times count from `from`.
    pub fn json(&self, from: i64, pool: &mut Pool) -> Value {
        let mut step = json!({"t": self.at - from, "k": self.kind, "title": self.title});
        if let Some(layout) = &self.layout {
            step["layout"] = json!(layout);
        }
        if !self.words.is_empty() {
            step["words"] = json!(pool.place(&self.words));
        }
        if !self.before.is_empty() && self.before != self.words {
            step["before"] = json!(pool.place(&self.before));
        }
        if !self.facts.is_empty() {
            step["facts"] = json!(self.facts);
        }
        step
    }
}

/// Bytes of all steps, equal ones once.
#[derive(Default)]
pub struct Pool {
    all: Vec<Vec<u32>>,
    places: HashMap<Vec<u32>, usize>,
}

impl Pool {
    fn place(&mut self, words: &[u32]) -> usize {
        if let Some(&place) = self.places.get(words) {
            return place;
        }
        self.places.insert(words.into(), self.all.len());
        self.all.push(words.into());
        self.all.len() - 1
    }

    /// For the page.
    pub fn json(&self) -> Value {
        json!(self.all)
    }
}

/// The key of a kind, as the table has it.
fn key(prefix: &str, name: &str) -> Option<&'static str> {
    kinds::find(&format!("{prefix}.{name}")).map(|kind: &Kind| kind.key)
}

fn words(numbers: Vec<u64>) -> Vec<u32> {
    numbers.into_iter().map(|word| word as u32).collect()
}

/// Steps of the driver; `offset` is [`rkfd_trace::clock::offset`]'s.
pub fn of_driver(events: &[driver::Event], offset: i64) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut begun: Vec<(u32, usize)> = Vec::new();
    for event in events {
        let at = event.at + offset;
        match event.kind.as_str() {
            "ioctl_enter" | "ioctl_exit" => request(&mut steps, &mut begun, event, at),
            "packet" => {
                let words: Vec<u32> = event.numbers("words").iter().map(|&w| w as u32).collect();
                let (kind, layout) = match (words.len(), layouts::of_pm4(&words)) {
                    (_, Some(layout)) => ("driver.pm4", Some(layout)),
                    (64, None) => ("driver.mes", layouts::of_mes(&words)),
                    _ => ("driver.packet", None),
                };
                let opcode = words.first().and_then(|&word| pm4::parse_header(word));
                let name = opcode.and_then(|(opcode, _)| pm4::name(opcode));
                let title = layout.and_then(|name| name.rsplit("::").next());
                let title = title.or(name).unwrap_or("packet");
                let mut step = Step::new(at, kind, title).of(layout, words);
                step.facts = facts(event, &["words"]);
                steps.push(step);
            }
            name => {
                let Some(kind) = key("driver", name) else {
                    continue;
                };
                let mut step = Step::new(at, kind, title_of_driver(event));
                step.facts = facts(event, &[]);
                steps.push(step);
            }
        }
    }
    steps
}

fn facts(event: &driver::Event, but: &[&str]) -> Vec<(String, Value)> {
    let fields = event.fields().filter(|(name, _)| !but.contains(name));
    fields
        .map(|(name, text)| (name.into(), json!(text)))
        .collect()
}

fn title_of_driver(event: &driver::Event) -> String {
    match event.kind.as_str() {
        "queue" => format!("queue is {}", event.text("state")),
        "mqd" => match event.number("fresh") {
            Some(0) => "MQD is changed".into(),
            _ => "MQD is filled".into(),
        },
        "run_list" => format!(
            "run list of {} processes and {} queues",
            event.text("processes"),
            event.text("queues")
        ),
        "doorbell" => format!(
            "doorbell {} = {}",
            event.text("doorbell"),
            event.text("value")
        ),
        "ih_entry" => format!("entry of source {}", event.text("source")),
        "signal" => format!("event {} is signaled", event.text("event")),
        "evict" => match event.number("change") {
            Some(change) if change < 0 => "a reason to evict is gone".into(),
            _ => "a reason to evict".into(),
        },
        "fault" => format!("page fault at {}", event.text("address")),
        "tlb_flush" => "TLB flush".into(),
        other => other.into(),
    }
}

/// A request begins or ends. Both are one step if nothing happens between.
fn request(steps: &mut Vec<Step>, begun: &mut Vec<(u32, usize)>, event: &driver::Event, at: i64) {
    let name = event.request().map_or("ioctl", |request| request.name);
    let argument = event.request().and_then(|r| r.argument.rsplit("::").next());
    let layout = argument.map(|name| format!("uapi::{name}"));
    let text = event.text("argument");
    let bytes: Vec<u8> = (0..text.len() / 2)
        .filter_map(|at| u8::from_str_radix(text.get(2 * at..2 * at + 2)?, 16).ok())
        .collect();
    let words: Vec<u32> = bytes
        .chunks(4)
        .map(|b| {
            b.iter()
                .rev()
                .fold(0, |word, &byte| (word << 8) | u32::from(byte))
        })
        .collect();
    let open = begun.iter().position(|(tid, _)| *tid == event.tid);
    let ended = (event.kind == "ioctl_exit").then_some(open).flatten();
    let Some(open) = ended else {
        begun.retain(|(tid, _)| *tid != event.tid);
        begun.push((event.tid, steps.len()));
        let mut step = Step::new(at, "driver.ioctl", name).of(layout.as_deref(), words);
        step.facts = vec![
            ("program".into(), json!(event.comm)),
            ("tid".into(), json!(event.tid)),
        ];
        steps.push(step);
        return;
    };
    let (_, nth) = begun.remove(open);
    let before = steps.get(nth).map(|s| s.words.clone()).unwrap_or_default();
    let mut step = Step::new(at, "driver.ioctl_exit", format!("{name} returns"));
    step = step.of(layout.as_deref(), words);
    step.before = before;
    step.facts = vec![
        ("program".into(), json!(event.comm)),
        ("tid".into(), json!(event.tid)),
        ("error".into(), json!(event.text("error"))),
    ];
    steps.push(step);
}

/// Steps of the device.
pub fn of_device(events: &[device::Event], is_gfx12: bool) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for event in events {
        let Some(kind) = key("device", &event.kind) else {
            continue;
        };
        if event.kind == "mqd_word" {
            mqd_word(&mut steps, event, is_gfx12);
            continue;
        }
        let mut step = Step::new(event.at, kind, title_of_device(event));
        let layout = match event.kind.as_str() {
            "pm4" => layouts::of_pm4(&words(event.numbers("words"))),
            "mes" => layouts::of_mes(&words(event.numbers("words"))),
            "sdma" => layouts::of_sdma(event.text("op"), is_gfx12),
            "aql" => match event.text("type") {
                "KERNEL_DISPATCH" => Some("aql::KernelDispatch"),
                "BARRIER_AND" | "BARRIER_OR" => Some("aql::Barrier"),
                _ => None,
            },
            "signal" => Some("aql::Signal"),
            "ih_write" => Some("ih::Entry"),
            "dispatch_start" => Some("aql::KernelDescriptor"),
            _ => None,
        };
        let bytes = match event.kind.as_str() {
            "dispatch_start" => "descriptor",
            _ => "words",
        };
        let mut found = words(event.numbers(bytes));
        if event.kind == "signal" {
            // The trace has the bytes before the value changes.
            step.before.clone_from(&found);
            let new = event.number("new").unwrap_or(0);
            found.get_mut(2..4).into_iter().for_each(|value| {
                value.copy_from_slice(&[new as u32, (new >> 32) as u32]);
            });
        }
        step = Step {
            before: step.before.clone(),
            ..step.of(layout, found)
        };
        let more = |name: &str| !["seq", "t_ns", "ev", bytes, "fields", "role"].contains(&name);
        let members = event.members.iter().filter(|(name, _)| more(name));
        step.facts = members.map(|(n, v)| (n.clone(), v.clone())).collect();
        steps.push(step);
    }
    steps
}

/// A word of an MQD: all of one image are one step.
fn mqd_word(steps: &mut Vec<Step>, event: &device::Event, is_gfx12: bool) {
    let mqd = json!(event.text("mqd"));
    let (index, value) = (event.number("index"), event.number("value"));
    let (Some(index), Some(value)) = (index, value) else {
        return;
    };
    let index = index as usize;
    let goes_on = |step: &&mut Step| {
        let same = step.facts.iter().any(|(n, v)| n == "mqd" && *v == mqd);
        step.kind == "device.mqd_word" && same && index >= step.words.len()
    };
    if let Some(step) = steps.last_mut().filter(goes_on) {
        step.words.resize(index, 0);
        step.words.push(value as u32);
        return;
    }
    let layout = match is_gfx12 {
        true => "mqd::v12::ComputeMqd",
        false => "mqd::v9::ComputeMqd",
    };
    let mut words = vec![0; index];
    words.push(value as u32);
    let mut step = Step::new(event.at, "device.mqd_word", "MQD is loaded").of(Some(layout), words);
    step.facts = vec![("mqd".into(), mqd)];
    steps.push(step);
}

fn title_of_device(event: &device::Event) -> String {
    let text = |name| event.text(name).trim_end();
    let number = |name| event.number(name).unwrap_or(0);
    match event.kind.as_str() {
        "pm4" | "mes" | "sdma" => text("op").into(),
        "queue_connect" => format!("{} has a queue", text("queue")),
        "queue_disconnect" => format!("{} is free", text("queue")),
        "vmid_assign" => format!("VMID {} is for PASID {}", number("vmid"), number("pasid")),
        "vmid_release" => format!("VMID {} is free", number("vmid")),
        "doorbell" => format!("doorbell {} = {}", number("index"), text("value")),
        "aql" => format!("packet {}: {}", number("index"), text("type")),
        "page_walk" => match text("fault") {
            "" => format!("page walk for {}", text("va")),
            why => format!("page walk for {}: {why}", text("va")),
        },
        "dispatch_start" => format!("{} work-groups start", number("workgroups")),
        "dispatch_end" => format!("{} waves have ended", number("waves")),
        "signal" => format!("signal {} becomes {}", number("old"), number("new")),
        "interrupt" => format!("interrupt of source {}", number("source")),
        "ih_write" => "entry into the IH ring".into(),
        "msi" => "MSI".into(),
        "fence" => format!("fence = {}", text("value")),
        "unmap" => "queues are unmapped".into(),
        "tlb_invalidate" => "TLB forgets".into(),
        "vm_fault" | "fault" => text(if event.kind == "fault" {
            "text"
        } else {
            "fault"
        })
        .into(),
        other => other.into(),
    }
}
