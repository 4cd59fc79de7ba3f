// SPDX-License-Identifier: MIT OR Apache-2.0

//! A program's signals reach it while another program is busy in the driver and its queues send bad
//! packets.
//!
//! The other process allocates system memory, which takes its time, and meanwhile lets a queue read a packet
//! without dimensions: for each of some queues, until this process has seen enough. This process runs kernels and
//! sleeps for their interrupts only. By order, not by time: waits must begin and end between a bad packet and the end
//! of its allocation, of one at least.
//!
//! `stalled CODE-OBJECT`

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use rkfd::{Gpu, Kernel, Queue, QueueOptions, Signal};
use rkfd_bare::sys::clock;
use rkfd_programs::raw::{self, errno};
use rkfd_programs::{check, code_object, report, Failure, VectorAdd, KERNEL};
use rkfd_uapi::{event, memory};

/// Set in the other process.
const OTHER: &str = "RKFD_STALLED_OTHER";
const ELEMENTS: usize = 256;
/// Few, since each has a save area of 49 MB.
const QUEUES: usize = 6;
/// Waits during one allocation that are enough.
const WAITS: usize = 3;
/// What the other process allocates at once.
const BYTES: usize = 384 << 20;
const VA: u64 = 0x1234_0000_0000;

/// `CLOCK_MONOTONIC`, which both processes have.
const MONOTONIC: i32 = 1;

/// Nanoseconds.
fn now() -> u64 {
    clock(MONOTONIC)
}

/// A queue whose next packet but one is bad, behind a closed gate.
struct Trap {
    gate: Signal,
    _queue: Queue,
    _addition: VectorAdd,
}

impl Trap {
    fn new(gpu: &Gpu, kernel: &Kernel) -> Result<Self, Failure> {
        let queue = gpu.queue(QueueOptions::default())?;
        let gate = gpu.signal(1)?;
        let _barrier = queue.barrier_and(&[&gate])?;
        let addition = VectorAdd::new(gpu, ELEMENTS, 0)?;
        let work = addition.dispatch(&queue, kernel).submit()?;
        let slot = work.index().ok_or_else(|| Failure::new("no packet"))?;
        let at = queue.addresses().0 + slot % u64::from(queue.packets()) * 64;
        // SAFETY: The packet's second half word, its dimensions, inside the queue's ring.
        unsafe { ((at + 2) as *mut u16).write_volatile(0) };
        Ok(Self {
            gate,
            _queue: queue,
            _addition: addition,
        })
    }
}

/// Allocates once for each queue, and prints when its bad packet was sent and when the allocation ended; until it
/// reads that this was enough.
fn other() -> Result<(), Failure> {
    let gpu = Gpu::open()?;
    let kernel = gpu.load(&code_object()?)?.kernel(KERNEL)?;
    let kfd = File::open("/dev/kfd").map_err(Failure::new)?;
    let traps: Result<Vec<_>, _> = (0..QUEUES).map(|_| Trap::new(&gpu, &kernel)).collect();
    let traps = traps?;
    let mut answers = std::io::stdin().lines().map_while(Result::ok);
    println!("ready");
    for trap in &traps {
        let begun = AtomicBool::new(false);
        let (bad, (made, end)) = thread::scope(|scope| {
            let allocation = scope.spawn(|| {
                let flags = memory::ALLOC_GTT | memory::ALLOC_WRITABLE;
                begun.store(true, Ordering::Release);
                let made = raw::alloc(&kfd, gpu.id(), VA, BYTES, 0, flags);
                (made, now())
            });
            while !begun.load(Ordering::Acquire) {
                thread::yield_now();
            }
            thread::sleep(Duration::from_millis(10));
            let bad = now();
            trap.gate.set(0);
            let joined = allocation.join();
            joined
                .map(|made| (bad, made))
                .map_err(|_| Failure::new("the allocation's thread panicked"))
        })?;
        let made = made.map_err(errno("ALLOC_MEMORY_OF_GPU"))?;
        println!("bad {bad} {end}");
        raw::free(&kfd, made).map_err(errno("FREE_MEMORY_OF_GPU"))?;
        if answers.next().as_deref() == Some("enough") {
            break;
        }
    }
    println!("done");
    Ok(())
}

/// Runs a kernel, sleeps until its interrupt, and returns when that began and ended.
fn wait_once(
    kfd: &File,
    queue: &Queue,
    kernel: &Kernel,
    add: &VectorAdd,
) -> Result<(u64, u64), Failure> {
    let begin = now();
    let work = add.dispatch(queue, kernel).submit()?;
    let id = work.signal().and_then(Signal::event_id);
    let id = id.ok_or_else(|| Failure::new("a signal without an event"))?;
    let slept = raw::wait(kfd, id, event::TIMEOUT_INFINITE).map_err(errno("WAIT_EVENTS"))?;
    if slept.is_none() {
        return Err(Failure::new("a wait without end ended"));
    }
    work.wait()?;
    Ok((begin, now()))
}

fn run() -> Result<(), Failure> {
    let gpu = Gpu::open()?;
    let kernel = gpu.load(&code_object()?)?.kernel(KERNEL)?;
    let kfd = File::open("/dev/kfd").map_err(Failure::new)?;
    let queue = gpu.queue(QueueOptions::default())?;
    let add = VectorAdd::new(&gpu, ELEMENTS, 1)?;
    wait_once(&kfd, &queue, &kernel, &add)?;

    let program = std::env::current_exe().map_err(Failure::new)?;
    let mut other = Command::new(program)
        .args(std::env::args().skip(1))
        .env(OTHER, "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(Failure::new)?;
    let (answers, out) = (other.stdin.take(), other.stdout.take());
    let mut answers = answers.ok_or_else(|| Failure::new("no input of the other process"))?;
    let out = out.ok_or_else(|| Failure::new("no output of the other process"))?;
    let mut lines = BufReader::new(out).lines().map_while(Result::ok);
    if lines.next().as_deref() != Some("ready") {
        return Err(Failure::new("the other process isn't ready"));
    }
    let (send, said) = mpsc::channel();
    let reader = thread::spawn(move || lines.try_for_each(|line| send.send(line)));
    let (mut waits, mut most, mut done) = (Vec::new(), 0, false);
    while !done {
        waits.push(wait_once(&kfd, &queue, &kernel, &add)?);
        for line in said.try_iter() {
            let mut words = line.split(' ');
            done |= words.next() == Some("done");
            let times: Vec<u64> = words.flat_map(str::parse).collect();
            if let &[bad, end] = &times[..] {
                let meanwhile = waits.iter().filter(|(b, e)| *b > bad && *e < end);
                most = most.max(meanwhile.count());
                let answer = if most >= WAITS { "enough" } else { "more" };
                writeln!(answers, "{answer}").map_err(Failure::new)?;
            }
        }
        done |= reader.is_finished();
    }
    let ended = other.wait().map_err(Failure::new)?;
    check("the other process did all it should", ended.success())?;
    println!(
        "of {} waits {most} were between a bad packet and the end of its allocation",
        waits.len()
    );
    check("signals came meanwhile", most >= WAITS)?;
    add.verify()
}

fn main() -> ExitCode {
    if std::env::var_os(OTHER).is_some() {
        return match other() {
            Ok(()) => ExitCode::SUCCESS,
            Err(failure) => {
                println!("{failure}");
                ExitCode::FAILURE
            }
        };
    }
    report("stalled", run)
}
