// SPDX-License-Identifier: MIT OR Apache-2.0

//! A program's signals reach it while two others flood the GPU with faults of virtual memory.
//!
//! `floods CODE-OBJECT`: this process runs kernels and sleeps for their interrupts. Beside it, two more processes
//! at a time run a kernel in each of some queues: in rounds that alternate these store into a buffer, and to
//! addresses at which nothing is mapped. Each wave faults, and has its trap handler stop it; KFD takes the
//! process' queues off, and the next process follows. Both kinds of rounds cost the host and the scheduler about the
//! same, so the innocent waits of both may be compared: their medians, which what else the host does moves together.
//!
//! `floods CODE-OBJECT work` and `floods CODE-OBJECT fault` are such processes.

use std::fs::File;
use std::process::{Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rkfd::{Address, Error, Gpu, Kernel, Queue, QueueOptions, Signal};
use rkfd_programs::raw::{self, errno};
use rkfd_programs::{check, code_object, report, Failure, VectorAdd, BLOCK, KERNEL, PATIENCE};
use rkfd_uapi::event;

/// An address from which on nothing is mapped.
const NOWHERE: u64 = 0x1234_0000_0000;
const ELEMENTS: usize = 256;
/// Elements of each kernel beside it, and work-groups of those that fault: each of their waves costs the driver three
/// interrupts, where the others' kernels cost one.
const N: usize = 1 << 16;
const FAULTING: u32 = 8;
/// Rounds of each kind, and waits of a round.
const ROUNDS: usize = 4;
const WAITS: usize = 40;
/// Processes beside this one.
const OTHERS: usize = 2;
/// Queues of each of these: few, since each has a save area of 49 MB.
const QUEUES: usize = 4;

/// One process beside the innocent one.
fn beside(faults: bool) -> Result<(), Failure> {
    let gpu = Gpu::open()?;
    let kernel = gpu.load(&code_object()?)?.kernel(KERNEL)?;
    let queues: Result<Vec<_>, _> = (0..QUEUES)
        .map(|_| gpu.queue(QueueOptions::default()))
        .collect();
    let queues = queues?;
    let add = VectorAdd::new(&gpu, N, 1)?;
    if !faults {
        for queue in &queues {
            add.dispatch(queue, &kernel)
                .submit()?
                .wait_timeout(PATIENCE)?;
        }
        return add.verify();
    }
    let submit = |queue: &Queue| {
        let dispatch = queue.dispatch(&kernel).blocks(FAULTING);
        let dispatch = dispatch.block(BLOCK).arg(&add.a).arg(&add.b);
        dispatch.arg(Address(NOWHERE)).arg(N as u32).submit()
    };
    // The first fault may end the others' submission.
    let works: Vec<_> = queues.iter().flat_map(submit).collect();
    let work = works.first().ok_or_else(|| Failure::new("no kernel"))?;
    match work.wait_timeout(PATIENCE) {
        Err(Error::MemoryFault { address, .. }) if address >= NOWHERE => Ok(()),
        other => Err(Failure::new(format_args!("no fault: {other:?}"))),
    }
}

/// The process whose waits count.
struct Innocent {
    kfd: File,
    queue: Queue,
    kernel: Kernel,
    add: VectorAdd,
}

impl Innocent {
    fn new() -> Result<Self, Failure> {
        let gpu = Gpu::open()?;
        Ok(Self {
            kfd: File::open("/dev/kfd").map_err(Failure::new)?,
            queue: gpu.queue(QueueOptions::default())?,
            kernel: gpu.load(&code_object()?)?.kernel(KERNEL)?,
            add: VectorAdd::new(&gpu, ELEMENTS, 1)?,
        })
    }

    /// Runs a kernel and sleeps until its interrupt; how long that took.
    fn wait(&self) -> Result<Duration, Failure> {
        let begin = Instant::now();
        let work = self.add.dispatch(&self.queue, &self.kernel).submit()?;
        let id = work.signal().and_then(Signal::event_id);
        let id = id.ok_or_else(|| Failure::new("a signal without an event"))?;
        let slept = raw::wait(&self.kfd, id, event::TIMEOUT_INFINITE);
        if slept.map_err(errno("WAIT_EVENTS"))?.is_none() {
            return Err(Failure::new("a wait without end ended"));
        }
        work.wait()?;
        Ok(begin.elapsed())
    }
}

/// Processes of a kind, one after the other, until `over`.
fn others(kind: &str, over: &AtomicBool, done: &AtomicUsize) -> Result<(), Failure> {
    let program = std::env::current_exe().map_err(Failure::new)?;
    while !over.load(Ordering::Relaxed) {
        let status = Command::new(&program)
            .args(std::env::args().nth(1))
            .arg(kind)
            .stdout(Stdio::null())
            .status()
            .map_err(Failure::new)?;
        if !status.success() {
            return Err(Failure::new(format_args!(
                "a process of {kind}s ended with {status}"
            )));
        }
        done.fetch_add(1, Ordering::Relaxed);
    }
    Ok(())
}

/// The innocent waits of a round, and how many processes ran beside it.
fn round(innocent: &Innocent, kind: &str) -> Result<(Vec<Duration>, usize), Failure> {
    let (over, done) = (AtomicBool::new(false), AtomicUsize::new(0));
    let waits = thread::scope(|scope| {
        let start = || scope.spawn(|| others(kind, &over, &done));
        let beside: Vec<_> = (0..OTHERS).map(|_| start()).collect();
        let failed = || beside.iter().any(|other| other.is_finished());
        let mut waits = Vec::new();
        // Also until enough others have come and gone.
        while !failed() && (waits.len() < WAITS || done.load(Ordering::Relaxed) < 2 * OTHERS) {
            waits.push(innocent.wait());
        }
        over.store(true, Ordering::Relaxed);
        for other in beside {
            other
                .join()
                .map_err(|_| Failure::new("a thread panicked"))??;
        }
        waits.into_iter().collect::<Result<Vec<_>, _>>()
    })?;
    Ok((waits, done.into_inner()))
}

/// Median and longest.
fn summary(mut waits: Vec<Duration>) -> (Duration, Duration) {
    waits.sort_unstable();
    let at = |i: usize| waits.get(i).copied().unwrap_or_default();
    (at(waits.len() / 2), at(waits.len().saturating_sub(1)))
}

fn run() -> Result<(), Failure> {
    let innocent = Innocent::new()?;
    innocent.wait()?;
    let (mut quiet, mut flooded) = (Vec::new(), Vec::new());
    let (mut workers, mut floods) = (0, 0);
    for _ in 0..ROUNDS {
        let (waits, processes) = round(&innocent, "work")?;
        quiet.extend(waits);
        workers += processes;
        let (waits, processes) = round(&innocent, "fault")?;
        flooded.extend(waits);
        floods += processes;
    }
    let (quiet, flooded) = (summary(quiet), summary(flooded));
    println!("beside {workers} processes that work: {quiet:?} (median, longest)");
    println!("beside {floods} processes that fault: {flooded:?} (median, longest)");
    check(
        "a wait takes less than four times as long beside floods of faults",
        flooded.0 < quiet.0 * 4,
    )?;
    innocent.add.verify()
}

fn main() -> ExitCode {
    let kind = std::env::args().nth(2);
    match kind.as_deref() {
        Some("work") => report("floods-work", || beside(false)),
        Some("fault") => report("floods-fault", || beside(true)),
        _ => report("floods", run),
    }
}
