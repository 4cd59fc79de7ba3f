// SPDX-License-Identifier: MIT OR Apache-2.0

//! Dispatches one after the other, and prints when each was submitted and seen to have ended: some that the program polls, as
//! many whose event it waits for in between. What happened on the way is in the device's trace and the driver's tracepoints;
//! the runner puts them together.
//!
//! `stages CODE-OBJECT NUMBER` prints, in hexadecimal nanoseconds of CLOCK_MONOTONIC_RAW:
//!
//! * `stages floor NS`: what a request costs that there is not, in decimal;
//! * `stages polled SUBMIT SUBMITTED SEEN`, `stages event SUBMIT SUBMITTED SEEN`: a dispatch;
//! * `stages taken AT`, `stages set AT`: the driver took an interrupt's entry, and set an event.

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use rkfd::{Gpu, QueueOptions, Signal, Submission};
use rkfd_programs::raw::{self, errno};
use rkfd_programs::{code_object, report, Failure, VectorAdd, KERNEL};
use rkfd_uapi::device::GetVersionArgs;
use rkfd_uapi::event;
use rustix::io::Errno;
use rustix::time::{clock_gettime, ClockId};

const ELEMENTS: usize = 256;
/// Dispatches before those that count.
const WARM_UP: usize = 50;
const TRACING: &str = "/sys/kernel/tracing";

fn now() -> u64 {
    let now = clock_gettime(ClockId::MonotonicRaw);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// What a request costs that there is not, in nanoseconds: the median.
fn floor() -> Result<f64, Failure> {
    const CALLS: u32 = 1000;
    let kfd = fs::File::open("/dev/kfd").map_err(Failure::new)?;
    let mut samples = Vec::new();
    for _ in 0..15 {
        let start = Instant::now();
        for _ in 0..CALLS {
            let answer = raw::call(&kfd, &raw::NOTHING, &mut GetVersionArgs::default());
            if answer != Err(Errno::NOTTY) {
                return Err(Failure::new(format_args!(
                    "a request that there is not got {answer:?}"
                )));
            }
        }
        samples.push(start.elapsed().as_nanos() as f64 / f64::from(CALLS));
    }
    samples.sort_by(f64::total_cmp);
    samples
        .get(7)
        .copied()
        .ok_or_else(|| Failure::new("no sample"))
}

/// Dispatches one after the other.
fn run_all(
    name: &str,
    number: usize,
    work: &mut Submission,
    wait: impl Fn(&Submission) -> Result<(), Failure>,
    out: &mut String,
) -> Result<(), Failure> {
    let mut times = Vec::with_capacity(number);
    for _ in 0..number {
        let before = now();
        work.submit()?;
        let submitted = now();
        wait(work)?;
        times.push([before, submitted, now()]);
    }
    for [before, submitted, seen] in times {
        let _ = writeln!(out, "stages {name} {before:x} {submitted:x} {seen:x}");
    }
    Ok(())
}

/// Has the driver's tracepoints noted, or not.
fn listen(on: bool) -> Result<(), Failure> {
    let set = |file: &str, value: &str| {
        fs::write(format!("{TRACING}/{file}"), value).map_err(Failure::new)
    };
    if on {
        set("trace_clock", "mono_raw")?;
        set("buffer_size_kb", "8192")?;
    }
    let value = if on { "1" } else { "0" };
    set("events/rkfd/rkfd_ih_entry/enable", value)?;
    set("events/rkfd/rkfd_signal/enable", value)
}

/// What they noted: `  TASK-PID [CPU] FLAGS SECONDS.MICROSECONDS: rkfd_signal: ...`.
fn noted(out: &mut String) -> Result<(), Failure> {
    let text = fs::read_to_string(format!("{TRACING}/trace")).map_err(Failure::new)?;
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let mut words = line.split(": ");
        let (Some(head), Some(event)) = (words.next(), words.next()) else {
            continue;
        };
        let what = match event {
            "rkfd_ih_entry" => "taken",
            "rkfd_signal" => "set",
            _ => continue,
        };
        let at = head.split_whitespace().last().unwrap_or_default();
        let (seconds, micros) = at.split_once('.').unwrap_or_default();
        let number = |text: &str| text.parse::<u64>().map_err(Failure::new);
        let at = (number(seconds)? * 1_000_000 + number(micros)?) * 1000;
        let _ = writeln!(out, "stages {what} {at:x}");
    }
    Ok(())
}

fn run() -> Result<(), Failure> {
    let number = std::env::args().nth(2).and_then(|n| n.parse().ok());
    let number: usize = number.ok_or_else(|| Failure::new("usage: stages CODE-OBJECT NUMBER"))?;
    let gpu = Gpu::open()?;
    let kernel = gpu.load(&code_object()?)?.kernel(KERNEL)?;
    let queue = gpu.queue(QueueOptions::default())?;
    let add = VectorAdd::new(&gpu, ELEMENTS, 0)?;
    let mut out = String::new();
    let _ = writeln!(out, "stages floor {:.1}", floor()?);

    let mut polled = add.dispatch(&queue, &kernel).polled().prepare()?;
    let mut slept = add.dispatch(&queue, &kernel).prepare()?;
    let kfd = fs::File::open("/dev/kfd").map_err(Failure::new)?;
    // As a program that doesn't look at the signal before.
    let sleep = |work: &Submission| {
        let id = work.signal().and_then(Signal::event_id);
        let id = id.ok_or_else(|| Failure::new("a signal without an event"))?;
        raw::wait(&kfd, id, event::TIMEOUT_INFINITE).map_err(errno("WAIT_EVENTS"))?;
        Ok(work.wait()?)
    };
    let spin = |work: &Submission| Ok(work.spin()?);
    for _ in 0..WARM_UP {
        polled.submit()?;
        polled.spin()?;
        slept.submit()?;
        sleep(&slept)?;
    }
    run_all("polled", number / 2, &mut polled, spin, &mut out)?;
    listen(true)?;
    let ran = run_all("event", number, &mut slept, sleep, &mut out);
    // The last entry may still be on its way.
    std::thread::sleep(Duration::from_millis(100));
    listen(false)?;
    ran?;
    run_all("polled", number / 2, &mut polled, spin, &mut out)?;
    noted(&mut out)?;
    std::io::stdout()
        .write_all(out.as_bytes())
        .map_err(Failure::new)?;
    add.verify()?;
    Ok(())
}

fn main() -> ExitCode {
    report("stages", run)
}
