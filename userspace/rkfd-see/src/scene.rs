// SPDX-License-Identifier: MIT OR Apache-2.0

//! Scenes: parts of a run between two marks, with both sides' steps in one order.

use crate::kinds;
use crate::step::{self, Pool, Step};
use anyhow::{Context, Result};
use rkfd_trace::{clock, device, driver};
use serde_json::{json, Value};
use std::collections::HashMap;

/// A part of a run.
pub struct Scene {
    /// Its name, from the mark.
    pub name: String,
    groups: Vec<Group>,
    /// Steps that the scene isn't about.
    left_out: usize,
    from: i64,
}

/// Steps that follow each other and are of one sort: the page shows them as one.
struct Group {
    place: &'static str,
    phase: &'static str,
    steps: Vec<Step>,
}

/// The scenes of a run: what follows each mark `scene=NAME` until the next mark.
///
/// # Errors
///
/// The traces can't be of one run.
pub fn all(
    device: &[device::Event],
    driver: &[driver::Event],
    is_gfx12: bool,
) -> Result<Vec<Scene>> {
    let offset = clock::offset(device, driver)?;
    let marks: Vec<_> = driver.iter().filter(|e| e.kind == "mark").collect();
    let last = driver.last().context("the driver's trace is empty")?.at;
    let mut scenes = Vec::new();
    for (nth, mark) in marks.iter().enumerate() {
        let name = mark.text("scene");
        if name.is_empty() {
            continue;
        }
        let until = marks.get(nth + 1).map_or(last, |next| next.at);
        let of_driver: Vec<_> = driver
            .iter()
            .filter(|e| (mark.at..until).contains(&e.at))
            .cloned()
            .collect();
        let times = (mark.at + offset)..(until + offset);
        let first = device.partition_point(|e| e.at < times.start);
        let end = device.partition_point(|e| e.at < times.end);
        let mut steps = step::of_driver(&of_driver, offset);
        let scheduling = mark.text("view") == "scheduling";
        let of_device = step::of_device(device.get(first..end).unwrap_or_default(), is_gfx12);
        steps.extend(news(of_device));
        // What the driver does causes what the device does at the same time.
        steps.sort_by_key(|s| (s.at, s.kind.starts_with("device")));
        let all = steps.len();
        steps.retain(|step| !scheduling || is_scheduling(step));
        let left_out = all - steps.len();
        let from = steps.first().map_or(mark.at + offset, |s| s.at);
        scenes.push(Scene {
            name: name.into(),
            groups: grouped(at_once(steps), scheduling),
            left_out,
            from,
        });
    }
    Ok(scenes)
}

/// Whether a step is about which queue is on the hardware, and what for.
fn is_scheduling(step: &Step) -> bool {
    let place = place(step);
    match step.kind {
        "driver.ioctl" | "driver.ioctl_exit" => {
            let requests = ["CREATE_QUEUE", "DESTROY_QUEUE", "WAIT_EVENTS"];
            requests.iter().any(|name| step.title.starts_with(name))
        }
        _ => !matches!(
            about(step, place),
            About::Flush | About::Rest | About::Copy | About::Walks
        ),
    }
}

/// Without MQDs that are loaded again as they were: under over-subscription firmware does little else.
fn news(steps: Vec<Step>) -> Vec<Step> {
    let mut loaded: HashMap<String, Vec<u32>> = HashMap::new();
    let mut is_new = |step: &Step| {
        let mqd = fact(step, "mqd").and_then(Value::as_str).unwrap_or("");
        let before = loaded.insert(mqd.into(), step.words.clone());
        before.as_ref() != Some(&step.words)
    };
    let keeps = |step: &Step| step.kind != "device.mqd_word" || is_new(step);
    steps.into_iter().filter(keeps).collect()
}

/// Requests that return before anything else happens become one step, and an interrupt one with its entry.
fn at_once(steps: Vec<Step>) -> Vec<Step> {
    let mut all: Vec<Step> = Vec::new();
    for step in steps {
        let Some(last) = all.last_mut() else {
            all.push(step);
            continue;
        };
        let returns = step.kind == "driver.ioctl_exit"
            && last.kind == "driver.ioctl"
            && step.title.strip_suffix(" returns") == Some(last.title.as_str());
        let enters = step.kind == "device.ih_write" && last.kind == "device.interrupt";
        match (returns, enters) {
            (true, _) => {
                last.before = std::mem::replace(&mut last.words, step.words);
                last.facts = step.facts;
            }
            (_, true) => {
                let facts = std::mem::take(&mut last.facts);
                *last = Step {
                    title: last.title.clone(),
                    ..step
                };
                last.facts.extend(facts);
            }
            _ => all.push(step),
        }
    }
    all
}

/// So many steps of a group are on the page; it tells how many there were.
const SHOWN: usize = 64;

/// What several steps in a row are about, so that they are one step of the page.
#[derive(Clone, Copy, PartialEq, Eq)]
enum About {
    /// A flush of TLBs, with the packets that ask for it.
    Flush,
    /// The driver's own copy engine.
    Copy,
    /// Page walks.
    Walks,
    /// Queues that get hardware queues, or lose them.
    Slots,
    /// Packets of a run list that firmware reads.
    List,
    /// A turn of the scheduler's, where a scene is about many.
    Turn,
    /// What the driver tells the scheduler, where a scene is about many.
    Orders,
    /// It belongs to what is before it, if that is a flush or a copy.
    Rest,
    /// A step of its own.
    Itself,
}

fn about(step: &Step, place: &str) -> About {
    let flushes = ["TLBS", "InvalidateTlbs", "InvTlbs"];
    let is_packet = ["driver.pm4", "driver.mes", "device.pm4", "device.mes"].contains(&step.kind);
    match step.kind {
        _ if place == "sdma" => About::Copy,
        "driver.tlb_flush" | "device.tlb_invalidate" => About::Flush,
        _ if is_packet && flushes.iter().any(|f| step.title.contains(f)) => About::Flush,
        "device.page_walk" => About::Walks,
        "device.queue_connect" | "device.queue_disconnect" => About::Slots,
        "driver.packet" => About::Rest,
        "driver.doorbell" | "device.doorbell" if !of_a_program(step) => About::Rest,
        "device.pm4" if step.title == "WRITE_DATA" => About::Rest,
        "driver.mes" if ["QueryStatus", "Misc"].contains(&step.title.as_str()) => About::Rest,
        "device.mes" if ["QUERY_SCHEDULER_STATUS", "MISC"].contains(&step.title.as_str()) => {
            About::Rest
        }
        "device.pm4" if step.title.starts_with("MAP_") => About::List,
        _ => About::Itself,
    }
}

/// The same in a scene about scheduling, where many queues come and go.
fn of_turns(step: &Step, place: &str) -> About {
    match step.kind {
        "driver.pm4" | "driver.mes" | "driver.run_list" | "driver.queue" => About::Orders,
        _ if ["sched", "hqd", "vmid"].contains(&place) => About::Turn,
        _ => about(step, place),
    }
}

fn grouped(steps: Vec<Step>, scheduling: bool) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    let (mut phase, mut last) = ("open", About::Itself);
    for step in steps {
        let mut place = place(&step);
        let mut about = match scheduling {
            true => of_turns(&step, place),
            false => about(&step, place),
        };
        if about == About::Rest && matches!(last, About::Flush | About::Copy) {
            about = last;
        }
        // The copy engine's packets are written before its doorbell tells what they are for.
        let goes_on = about == About::Copy
            || ["driver.packet", "driver.doorbell"].contains(&step.kind) && about == About::Rest;
        let goes_on = goes_on && groups.last().is_some_and(Group::is_written);
        if about == About::Flush {
            place = "walk";
        }
        let joins = about == last && !matches!(about, About::Itself | About::Rest);
        match groups.last_mut().filter(|_| joins || goes_on) {
            Some(group) => {
                group.place = place;
                group.steps.push(step);
            }
            None => {
                phase = self::phase(&step, place, phase);
                groups.push(Group {
                    place,
                    phase,
                    steps: vec![step],
                });
            }
        }
        last = about;
    }
    groups
}

impl Group {
    /// Only packets and doorbells of the driver that nothing explains so far.
    fn is_written(&self) -> bool {
        let plain = ["driver.packet", "driver.doorbell"];
        let packet = self
            .steps
            .first()
            .is_some_and(|step| step.kind == "driver.packet");
        packet && self.steps.iter().all(|step| plain.contains(&step.kind))
    }
}

fn fact<'a>(step: &'a Step, name: &str) -> Option<&'a Value> {
    step.facts.iter().find(|(n, _)| n == name).map(|(_, v)| v)
}

/// The box of the diagram: what the driver's own copy engine does is all in one.
fn place(step: &Step) -> &'static str {
    let queue = fact(step, "queue").and_then(Value::as_str).unwrap_or("");
    match queue.starts_with("sdma") {
        true => "sdma",
        false => kinds::find(step.kind).map_or("", |kind| kind.place),
    }
}

/// The part of the path that a step belongs to.
fn phase(step: &Step, place: &str, before: &'static str) -> &'static str {
    let started = !["open", "memory", "queue", "schedule"].contains(&before);
    match step.kind {
        "driver.ioctl" => match step.title.as_str() {
            "CREATE_QUEUE" | "UPDATE_QUEUE" => "queue",
            "WAIT_EVENTS" => "wait",
            name if name.starts_with("DESTROY") => "end",
            _ if ["event", "end"].contains(&before) => "end",
            name if ["GET_", "ACQUIRE_VM", "SET_"]
                .iter()
                .any(|p| name.starts_with(p)) =>
            {
                match before {
                    "open" => "open",
                    _ => "memory",
                }
            }
            _ => "memory",
        },
        "driver.ioctl_exit" => match step.title.as_str() {
            "WAIT_EVENTS returns" => "event",
            _ => before,
        },
        "driver.mqd" => "queue",
        "driver.fault" | "driver.ih_entry" | "driver.signal" => "event",
        "device.vm_fault" | "device.fault" => "fault",
        "device.aql" => "packet",
        "device.page_walk" if before == "doorbell" => "packet",
        "device.dispatch_start" | "device.dispatch_end" => "waves",
        "device.signal" => "signal",
        "device.interrupt" | "device.ih_write" | "device.msi" => "interrupt",
        "device.doorbell" if of_a_program(step) => "doorbell",
        _ if before == "end" || place == "walk" || place == "sdma" => before,
        "driver.packet" | "driver.doorbell" => before,
        _ if ["frame", "sched", "hqd", "vmid"].contains(&place) => match started {
            true if before == "event" => "end",
            _ => "schedule",
        },
        _ => before,
    }
}

fn of_a_program(step: &Step) -> bool {
    let queue = fact(step, "queue").and_then(Value::as_str);
    queue.is_some_and(|name| name.starts_with("me1"))
}

impl Scene {
    /// For the page.
    pub fn json(&self, pool: &mut Pool) -> Value {
        let groups = self.groups.iter().map(|group| {
            // What queues are on the hardware has to be told to the end.
            let most = match group.place {
                "walk" | "sdma" => SHOWN,
                _ => usize::MAX,
            };
            let shown = group.steps.iter().take(most);
            let steps: Vec<Value> = shown.map(|s| s.json(self.from, pool)).collect();
            json!({"place": group.place, "phase": group.phase, "count": group.steps.len(), "steps": steps})
        });
        let groups: Vec<Value> = groups.collect();
        json!({"name": self.name, "left_out": self.left_out, "groups": groups})
    }

    /// All steps.
    pub fn steps(&self) -> impl Iterator<Item = &Step> {
        self.groups.iter().flat_map(|group| &group.steps)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEVICE: &str = r#"{"t_ns":1000,"ev":"doorbell","index":24,"value":"0x1","queue":"kiq"}
{"t_ns":2000,"ev":"page_walk","vmid":3,"va":"0x1000","at":["0x8"],"entries":["0x1"]}
{"t_ns":3000,"ev":"page_walk","vmid":3,"va":"0x2000","at":["0x8"],"entries":["0x1"]}
{"t_ns":4000,"ev":"interrupt","source":181,"pasid":1,"data":["0x2"]}
{"t_ns":4001,"ev":"ih_write","words":["0x1"]}
"#;
    const DRIVER: &str = "\
p-7 [000] ..... 0.000000: tracing_mark_write: scene=dispatch
p-7 [000] ..... 0.000001: rkfd_ioctl_enter: number=0x1 error=0 argument=0000000000000000
p-7 [000] ..... 0.000001: rkfd_ioctl_exit: number=0x1 error=0 argument=0100000013000000
p-7 [000] ..... 0.000001: rkfd_doorbell: doorbell=24 value=0x1
p-7 [000] ..... 0.000100: tracing_mark_write: end
";

    #[test]
    fn steps_of_both_sides_are_in_order_and_joined() {
        let (device, driver) = (device::parse(DEVICE).unwrap(), driver::parse(DRIVER));
        let scenes = all(&device, &driver, false).unwrap();
        assert_eq!((scenes.len(), scenes[0].name.as_str()), (1, "dispatch"));
        let shape: Vec<_> = scenes[0]
            .groups
            .iter()
            .map(|g| (g.place, g.steps.len()))
            .collect();
        let wanted = [
            ("ioctl", 1),
            ("bell", 1),
            ("bell", 1),
            ("walk", 2),
            ("ih", 1),
        ];
        assert_eq!(shape, wanted);
        let request = &scenes[0].groups[0].steps[0];
        assert_eq!(
            (request.before.as_slice(), request.words.as_slice()),
            (&[0, 0][..], &[1, 19][..])
        );
        let mut pool = Pool::default();
        let entry = &scenes[0].json(&mut pool)["groups"][4]["steps"][0];
        let place = entry["words"].as_u64().unwrap() as usize;
        assert_eq!(pool.json()[place], json!([1]));
    }
}
