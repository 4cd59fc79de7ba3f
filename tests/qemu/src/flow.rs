// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rkfd-vm rocm-trace`: one HIP program, layer by layer, as a trace of ROCm on hardware shows it.
//!
//! HIP's own log has its calls, a tool of the HSA runtime counts the calls below, strace shows the
//! requests to the driver, and the device's trace shows what arrived there. Every number is counted
//! from the one run; what must hold between the layers is checked.
//!
//! The kernel's dispatch is found by its packet's index, which is both in the device's trace and in the
//! value of the program's doorbell. No request may lie between the reservation of its slot and its doorbell. After
//! it, until the program has waited, its thread may wait, and may wake the runtime's own thread to
//! look after one more signal; the driver may not touch the device at all before the kernel ends,
//! but to see whether it is there.

mod program;

use crate::trace::{Event, Trace};
use crate::verdict::Outcome;
use program::{Program, Request, Submission};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// What `sed` puts before a line of strace's.
pub const STRACE: &str = "strace ";
/// The call by which a program has the runtime's thread look after a signal.
const ASYNC_HANDLER: &str = "async_handler";
/// What the device's trace has of a driver that gives it work: registers, packets for the command
/// processor, frames for MES.
const DRIVERS: [&str; 4] = ["reg_write", "pm4", "mes_ring", "mes"];
/// The device's clock has 100 MHz.
const TICKS_A_MICROSECOND: f64 = 100.0;

type Counts = BTreeMap<String, u64>;

fn count(counts: &mut Counts, name: &str) {
    *counts.entry(name.into()).or_default() += 1;
}

/// All layers of a run.
pub struct Flow {
    program: Program,
    /// AQL queues on the device: slot, doorbell, doorbell stores, packets by kind.
    queues: Vec<Queue>,
    sdma: Counts,
    /// Queues of programs on the device, those of copy engines too.
    connected: u64,
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
    /// Of its packet.
    index: u64,
    workgroups: u64,
    instructions: u64,
    ticks: u64,
    /// Stores to the queue's doorbell with its packet's index.
    rung: u64,
    /// What the driver did to the device from the first such store to the kernel's end.
    driver: Counts,
    /// Registers that it read then.
    reads: u64,
}

impl Flow {
    /// Read the logs of a finished run; the kernel is the dispatch with so many workgroups.
    pub fn of(outcome: &Outcome, workgroups: u64) -> Result<Self, String> {
        let trace = Trace::read(&outcome.logs)?;
        let program = Program::read(&outcome.output);
        let mut queues = Vec::new();
        let mut connected = BTreeSet::new();
        for event in trace.all("queue_connect") {
            let (slot, doorbell) = (event.text("queue"), event.num("doorbell")?);
            let known = queues.iter().any(|q: &Queue| q.doorbell == doorbell);
            // A queue that was taken off and put back is still that queue.
            if event.text("role") == "User" && !known {
                queues.push(Queue::of(&trace, slot, doorbell));
            }
            if ["User", "Sdma"].contains(&event.text("role")) {
                connected.insert(doorbell);
            }
        }
        let mut sdma = Counts::new();
        let of_programs = |e: &&Event| !e.text("queue").ends_with(" kernel");
        trace
            .all("sdma")
            .filter(of_programs)
            .for_each(|e| count(&mut sdma, e.text("op")));
        let end = trace.only("dispatch_end", |e| e.num("workgroups") == Ok(workgroups))?;
        let kernel = Kernel::of(&trace, end, &queues)?;
        Ok(Flow {
            program,
            queues,
            sdma,
            connected: connected.len() as u64,
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
        let created = p.ioctls.get("CREATE_QUEUE").copied().unwrap_or(0);
        must(
            created == self.connected,
            format!("{created} CREATE_QUEUE, {} queues", self.connected),
        );
        for q in &self.queues {
            let packets = total(&q.packets);
            must(
                packets >= q.rung && q.rung > 0,
                format!("{}: {} doorbells for {packets} packets", q.slot, q.rung),
            );
        }
        let k = &self.kernel;
        must(
            k.rung == 1,
            format!("{} doorbell stores for the kernel", k.rung),
        );
        must(
            k.driver.is_empty(),
            format!("the driver worked the device meanwhile:{}", List(&k.driver)),
        );
        let submission = match self.submission() {
            Ok(submission) => submission,
            Err(why) => {
                broken.push(why);
                return broken;
            }
        };
        match &submission.before {
            None => broken.push("the kernel's doorbell is not that of the slot before it".into()),
            Some(before) if !before.is_empty() => broken.push(format!(
                "requests between the kernel's slot and its doorbell:{}",
                List(before)
            )),
            Some(_) => {}
        }
        for request in submission.after.iter().filter(|r| submission.needs(r)) {
            broken.push(format!("on the kernel's way: {request}"));
        }
        broken
    }
}

impl Flow {
    /// The program's side of the kernel's dispatch.
    fn submission(&self) -> Result<&Submission, String> {
        let index = self.kernel.index;
        let all = self.program.submissions.iter();
        let found: Vec<_> = all.filter(|s| s.index == index).collect();
        match (self.program.queues.len(), &found[..]) {
            (1, [submission]) => Ok(submission),
            (queues, found) => Err(format!(
                "the kernel is packet {index}; {} doorbells of {queues} HSA queues have that index",
                found.len()
            )),
        }
    }
}

impl Submission {
    /// Whether a request after the doorbell is one that the dispatch itself would need: of the
    /// same thread, and neither its wait nor made to wake the runtime's thread.
    fn needs(&self, request: &Request) -> bool {
        let wakes = request.within.as_deref() == Some(ASYNC_HANDLER) && request.name == "SET_EVENT";
        request.thread == self.thread && request.name != "WAIT_EVENTS" && !wakes
    }
}

impl Kernel {
    fn of(trace: &Trace, end: &Event, queues: &[Queue]) -> Result<Self, String> {
        let (slot, index) = (end.text("queue"), end.num("index")?);
        let queue = queues.iter().find(|q| q.slot == slot);
        let doorbell = queue.ok_or("the kernel ran on no queue")?.doorbell;
        let own = |e: &&Event| e.num("index") == Ok(doorbell) && e.num("value") == Ok(index);
        let first = trace.all("doorbell").find(own).map(Event::seq);
        let first = first.ok_or("the kernel's doorbell did not arrive")?;
        let meanwhile = |e: &&Event| (first..end.seq()).contains(&e.seq());
        let mut driver = Counts::new();
        for kind in DRIVERS {
            trace
                .all(kind)
                .filter(meanwhile)
                .for_each(|_| count(&mut driver, kind));
        }
        Ok(Kernel {
            slot: slot.into(),
            index,
            workgroups: end.num("workgroups")?,
            instructions: end.num("instructions")?,
            ticks: end.num("end_ts")?.saturating_sub(end.num("start_ts")?),
            rung: trace.all("doorbell").filter(own).count() as u64,
            driver,
            reads: trace.all("reg_read").filter(meanwhile).count() as u64,
        })
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
        writeln!(f, "interrupts: {}", self.interrupts)?;
        let k = &self.kernel;
        writeln!(
            f,
            "kernel: on {}, packet {}, {} work-groups, {} instructions, {:.1} us on the device",
            k.slot,
            k.index,
            k.workgroups,
            k.instructions,
            k.ticks as f64 / TICKS_A_MICROSECOND
        )?;
        if let Ok(submission) = self.submission() {
            let before = submission.before.as_ref().map_or(0, total);
            writeln!(
                f,
                "    slot to doorbell: {before} requests, then {} store",
                k.rung
            )?;
            writeln!(
                f,
                "    doorbell to end: the driver wrote {} registers or packets, and read {}",
                total(&k.driver),
                k.reads
            )?;
            let mut after = BTreeMap::<&Request, u64>::new();
            for request in &submission.after {
                *after.entry(request).or_default() += 1;
            }
            writeln!(
                f,
                "    doorbell to the end of the wait of thread {}:",
                submission.thread
            )?;
            for (request, n) in after {
                writeln!(f, "        {request} {n}")?;
            }
        }
        Ok(())
    }
}

impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "thread {}", self.thread)?;
        if let Some(call) = &self.within {
            write!(f, ", in {call}")?;
        }
        write!(f, ": {}", self.name)
    }
}
