// SPDX-License-Identifier: MIT OR Apache-2.0

//! The same fill of memory by a copy engine, through the kernel's ring and through a queue of the program's
//! own: what each costs. Times of one run compare; those of one machine mean little, above all under
//! emulation.
//!
//! `rings [TIMES]`: root's, since the kernel's ring takes jobs from debugfs (`rkfd/submit`).

use std::fs::{File, OpenOptions};
use std::hint::{black_box, spin_loop};
use std::io::Write;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use rkfd::{Buffer, CopyQueue, Gpu, Memory};
use rkfd_programs::{check, report, Failure, PATIENCE};

const SUBMIT: &str = "/sys/kernel/debug/rkfd/submit";
/// Words that a job fills.
const WORDS: usize = 16;

/// The mean time of one of `times` pieces of work, in nanoseconds.
fn mean(times: u32, mut work: impl FnMut(u32) -> Result<(), Failure>) -> Result<u128, Failure> {
    // The first brings in what the others find.
    work(0)?;
    let start = Instant::now();
    for n in 1..=times {
        work(n)?;
    }
    Ok(start.elapsed().as_nanos() / u128::from(times.max(1)))
}

/// One job of the kernel's: a system call that returns when the fence has come.
fn by_kernel(submit: &mut File, word: u32) -> Result<(), Failure> {
    let request = format!("fill {word:#x} {WORDS}");
    submit.write_all(request.as_bytes()).map_err(Failure::new)
}

/// One fill through the program's queue, polled. How long it took until packets and doorbell were stored.
fn by_queue(queue: &CopyQueue, memory: &Buffer<u32>, word: u32) -> Result<Duration, Failure> {
    let start = Instant::now();
    let fill = queue.fill(memory, word)?;
    let handed = start.elapsed();
    while !fill.is_done() {
        if start.elapsed() > PATIENCE {
            return Err(Failure::new("the fill does not end"));
        }
        spin_loop();
    }
    Ok(handed)
}

fn run() -> Result<(), Failure> {
    let times = match std::env::args().nth(1) {
        Some(text) => text.parse().map_err(Failure::new)?,
        None => 200,
    };
    let mut submit = OpenOptions::new().write(true).open(SUBMIT);
    let submit = submit
        .as_mut()
        .map_err(|error| Failure::new(format_args!("{SUBMIT}: {error}")))?;
    let gpu = Gpu::open()?;
    let queue = gpu.copy_queue()?;
    let memory = gpu.alloc_in::<u32>(Memory::Gtt, WORDS)?;

    let kernel = mean(times, |n| by_kernel(submit, n))?;
    let last = std::fs::read_to_string(SUBMIT).map_err(Failure::new)?;
    let wanted = format!(" word {times:#x} words {WORDS} right {WORDS} ");
    check("the kernel's ring filled its page", last.contains(&wanted))?;

    let mut handed = Duration::ZERO;
    let own = mean(times, |n| {
        handed += by_queue(&queue, &memory, n)?;
        Ok(())
    })?;
    let right = memory.to_vec()?.iter().all(|word| *word == times);
    check("the queue filled its buffer", right)?;

    let call = mean(times, |_| {
        black_box(rustix::process::getppid());
        Ok(())
    })?;
    println!("a job by the kernel's ring: {kernel} ns");
    println!("the same by a queue: {own} ns");
    let handed = handed.as_nanos() / (u128::from(times) + 1);
    println!("of that until the packets are stored: {handed} ns");
    println!("a system call that does nothing: {call} ns");
    Ok(())
}

fn main() -> ExitCode {
    report("rings", run)
}
