// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rkfd-vm rocm-trace`: one HIP program, layer by layer, as a trace of ROCm on hardware shows it.
//!
//! HIP's own log tells its calls, a tool of the HSA runtime counts those below, strace tells the
//! requests to the driver, and the device's trace what arrived there. Every number is counted from
//! the one run; what must hold between the layers is checked.

use crate::trace::{Event, Trace};
use crate::verdict::Outcome;
use std::collections::BTreeMap;
use std::fmt;

/// What `sed` puts before a line of strace's.
pub const STRACE: &str = "strace ";
/// The device's clock has 100 MHz.
const TICKS_A_MICROSECOND: f64 = 100.0;

type Counts = BTreeMap<String, u64>;

/// What the program's side told.
#[derive(Debug, Default)]
struct Program {
    hip: Counts,
    hsa: Counts,
    ioctls: Counts,
    /// Queues that the HSA runtime made, by its number, and the requests that each took.
    queues: Vec<(String, Counts)>,
    /// Stores to doorbells of AQL queues.
    doorbells: u64,
    /// Requests between a doorbell and the end of the wait after it, but for the wait's own.
    meanwhile: Counts,
}

impl Program {
    fn read(output: &[String]) -> Self {
        let mut program = Program::default();
        let mut threads = BTreeMap::<&str, Thread>::new();
        for line in output {
            if let Some(line) = line.strip_prefix(STRACE) {
                let (pid, call) = line.trim().split_once(' ').unwrap_or(("", line));
                program.system_call(call.trim(), threads.entry(pid).or_default());
            } else if let Some(("", call)) = line.split_once("hsa ") {
                if let Some((name, count)) = call.split_once(' ') {
                    let count = count.parse().unwrap_or(0);
                    *program.hsa.entry(name.into()).or_default() += count;
                }
            } else if let Some(name) = hip_call(line) {
                count(&mut program.hip, name);
            }
        }
        program
    }

    fn system_call(&mut self, call: &str, thread: &mut Thread) {
        if let Some(request) = call
            .strip_prefix("ioctl(")
            .and_then(|c| c.split(", ").nth(1))
        {
            // Of the two drivers that strace knows for a number of DRM the first is ours.
            let request = request.split(" or ").next().unwrap_or(request);
            let Some(request) = request
                .strip_prefix("AMDKFD_IOC_")
                .or_else(|| request.strip_prefix("DRM_IOCTL_"))
            else {
                return;
            };
            count(&mut self.ioctls, request);
            if let Some(made) = &mut thread.making_queue {
                count(made, request);
            }
            if thread.rung && request != "WAIT_EVENTS" {
                count(&mut self.meanwhile, request);
            }
        } else if let Some(mark) = call.strip_prefix("write(-1, \"") {
            let mark = mark.split('"').next().unwrap_or("");
            match mark.split(' ').collect::<Vec<_>>()[..] {
                ["begin", "hsa_queue_create"] => thread.making_queue = Some(Counts::new()),
                ["end", "hsa_queue_create", id] => {
                    let made = thread.making_queue.take().unwrap_or_default();
                    self.queues.push((id.into(), made));
                }
                ["doorbell", _] => {
                    self.doorbells += 1;
                    thread.rung = true;
                }
                ["waited", _] => thread.rung = false,
                _ => {}
            }
        }
    }
}

/// Where a thread is.
#[derive(Debug, Default)]
struct Thread {
    making_queue: Option<Counts>,
    rung: bool,
}

/// `:3:hip_memory.cpp :756 : 0159028454 us:   hipMalloc ( 0x7ff, 4194304 )`: the name.
fn hip_call(line: &str) -> Option<&str> {
    let (_, call) = line.strip_prefix(":3:hip_")?.split_once(" us:")?;
    let (name, rest) = call.trim_start().split_once(' ')?;
    let is_name = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    (is_name && rest.starts_with('(')).then_some(name)
}

fn count(counts: &mut Counts, name: &str) {
    *counts.entry(name.into()).or_default() += 1;
}

/// All layers of a run.
pub struct Flow {
    program: Program,
    /// AQL queues on the device: slot, doorbell, doorbell stores, packets by kind.
    queues: Vec<Queue>,
    sdma: Counts,
    kernel: Kernel,
    interrupts: usize,
}

struct Queue {
    slot: String,
    doorbell: u64,
    rung: u64,
    packets: Counts,
}

/// The dispatch that the program is about.
struct Kernel {
    slot: String,
    workgroups: u64,
    instructions: u64,
    ticks: u64,
}

impl Flow {
    /// Read the logs of a finished run; the kernel is the dispatch with so many workgroups.
    pub fn of(outcome: &Outcome, workgroups: u64) -> Result<Self, String> {
        let trace = Trace::read(&outcome.logs)?;
        let program = Program::read(&outcome.output);
        let mut queues = Vec::new();
        for event in trace.all("queue_connect") {
            let (slot, doorbell) = (event.text("queue"), event.num("doorbell")?);
            let known = queues.iter().any(|q: &Queue| q.doorbell == doorbell);
            // A queue that was taken off and put back is still that queue.
            if event.text("role") == "User" && !known {
                queues.push(Queue::of(&trace, slot, doorbell));
            }
        }
        let mut sdma = Counts::new();
        trace
            .all("sdma")
            .for_each(|e| count(&mut sdma, e.text("op")));
        let end = trace.only("dispatch_end", |e| e.num("workgroups") == Ok(workgroups))?;
        let kernel = Kernel {
            slot: end.text("queue").into(),
            workgroups,
            instructions: end.num("instructions")?,
            ticks: end.num("end_ts")?.saturating_sub(end.num("start_ts")?),
        };
        Ok(Flow {
            program,
            queues,
            sdma,
            kernel,
            interrupts: trace.all("msi").count(),
        })
    }

    /// What does not hold between the layers.
    pub fn broken(&self) -> Vec<String> {
        let mut broken = Vec::new();
        let p = &self.program;
        let mut must = |holds: bool, what: String| {
            if !holds {
                broken.push(what);
            }
        };
        must(!p.hip.is_empty(), "HIP logged no call".into());
        must(!p.hsa.is_empty(), "the HSA runtime counted no call".into());
        must(!p.queues.is_empty(), "no HSA queue was made".into());
        for (id, made) in &p.queues {
            let n = made.get("CREATE_QUEUE").copied().unwrap_or(0);
            must(n >= 1, format!("HSA queue {id} took no CREATE_QUEUE"));
        }
        must(
            p.meanwhile.is_empty(),
            format!(
                "requests between doorbell and completion:{}",
                List(&p.meanwhile)
            ),
        );
        let packets: u64 = self.queues.iter().map(|q| total(&q.packets)).sum();
        let rung: u64 = self.queues.iter().map(|q| q.rung).sum();
        must(
            rung >= p.doorbells && p.doorbells > 0,
            format!("{} doorbell stores, {rung} arrived", p.doorbells),
        );
        must(
            packets >= rung,
            format!("{rung} doorbells for {packets} packets"),
        );
        broken
    }
}

impl Queue {
    fn of(trace: &Trace, slot: &str, doorbell: u64) -> Self {
        let here = |e: &&Event| e.num("doorbell") == Ok(doorbell);
        let mut packets = Counts::new();
        trace
            .all("aql")
            .filter(here)
            .for_each(|e| count(&mut packets, e.text("type")));
        let rung = trace
            .all("doorbell")
            .filter(|e| e.num("index") == Ok(doorbell));
        Queue {
            slot: slot.into(),
            doorbell,
            rung: rung.count() as u64,
            packets,
        }
    }
}

/// Names with their counts, the most frequent first, in lines.
struct List<'a>(&'a Counts);

impl fmt::Display for List<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut all: Vec<_> = self.0.iter().collect();
        all.sort_by_key(|(name, n)| (std::cmp::Reverse(**n), name.as_str()));
        let mut line = String::new();
        for (name, n) in all {
            let item = format!(" {name} {n}");
            if line.len() + item.len() > 90 {
                write!(f, "\n   {line}")?;
                line.clear();
            }
            line.push_str(&item);
        }
        write!(f, "\n   {line}")
    }
}

/// The sum of all counts.
fn total(counts: &Counts) -> u64 {
    counts.values().sum()
}

impl fmt::Display for Flow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let p = &self.program;
        writeln!(f, "HIP: {} calls{}", total(&p.hip), List(&p.hip))?;
        writeln!(f, "HSA: {} calls{}", total(&p.hsa), List(&p.hsa))?;
        writeln!(f, "ioctl: {} requests{}", total(&p.ioctls), List(&p.ioctls))?;
        for (id, made) in &p.queues {
            writeln!(f, "HSA queue {id} took{}", List(made))?;
        }
        for q in &self.queues {
            let (slot, doorbell, rung) = (&q.slot, q.doorbell, q.rung);
            let packets = total(&q.packets);
            writeln!(
                f,
                "queue {slot}, doorbell {doorbell:#x}: {rung} doorbell stores, {packets} packets{}",
                List(&q.packets)
            )?;
        }
        writeln!(
            f,
            "copy engines: {} packets{}",
            total(&self.sdma),
            List(&self.sdma)
        )?;
        let k = &self.kernel;
        writeln!(
            f,
            "kernel: on {}, {} work-groups, {} instructions, {:.1} us on the device",
            k.slot,
            k.workgroups,
            k.instructions,
            k.ticks as f64 / TICKS_A_MICROSECOND
        )?;
        writeln!(f, "interrupts: {}", self.interrupts)?;
        let meanwhile = total(&p.meanwhile);
        writeln!(
            f,
            "between doorbell and completion: {meanwhile} requests but for the wait's"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &str = r#":3:hip_memory.cpp            :641 : 10 us:   hipMalloc ( 0x7ffc, 4194304 )
:3:hip_memory.cpp            :643 : 11 us:  hipMalloc: Returned hipSuccess : 0x7f
hsa hsa_init 1
strace 7 write(-1, "begin hsa_queue_create", 22) = -1 EBADF (Bad file descriptor)
strace 7 ioctl(3, AMDKFD_IOC_CREATE_QUEUE, 0x7ffc) = 0
strace 7 ioctl(2, TCGETS2, 0x7ffc) = -1 ENOTTY (Inappropriate ioctl for device)
strace 7 write(-1, "end hsa_queue_create 1", 22) = -1 EBADF (Bad file descriptor)
strace 8 ioctl(3, AMDKFD_IOC_SET_EVENT, 0x7ffc) = 0
strace 7 write(-1, "doorbell 0", 10) = -1 EBADF (Bad file descriptor)
strace 7 ioctl(3, AMDKFD_IOC_WAIT_EVENTS, 0x7ffc <unfinished ...>
strace 8 ioctl(3, AMDKFD_IOC_SET_EVENT, 0x7ffc) = 0
strace 7 <... ioctl resumed>) = 0
strace 7 write(-1, "waited 0", 8) = -1 EBADF (Bad file descriptor)
vectoradd: PASSED (0 wrong)"#;

    fn read(output: &str) -> Program {
        Program::read(&output.lines().map(String::from).collect::<Vec<_>>())
    }

    #[test]
    fn each_layer_is_counted() {
        let p = read(OUTPUT);
        assert_eq!(p.hip, Counts::from([("hipMalloc".into(), 1)]));
        assert_eq!(p.hsa, Counts::from([("hsa_init".into(), 1)]));
        assert_eq!((p.ioctls["CREATE_QUEUE"], p.ioctls["SET_EVENT"]), (1, 2));
        assert_eq!((p.queues.len(), p.doorbells), (1, 1));
        assert_eq!(total(&p.queues[0].1), 1);
    }

    #[test]
    fn only_the_waiting_threads_own_requests_are_in_the_way() {
        assert!(read(OUTPUT).meanwhile.is_empty());
        let more = OUTPUT.replace("8 ioctl", "7 ioctl");
        assert_eq!(read(&more).meanwhile["SET_EVENT"], 1);
    }
}
