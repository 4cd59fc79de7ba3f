// SPDX-License-Identifier: MIT OR Apache-2.0

//! A program ends while the GPU is reset, and its memory is free afterwards.
//!
//! `given_up CODE-OBJECT`: runs on a GPU whose scheduler hangs once a queue is taken off. The driver is held, by the
//! module `hold_call`, where the engines are off and the scheduler is about to be started again. Then the other program
//! is killed. What its queue had in VRAM can't be touched by anything any more.
//!
//! `given_up CODE-OBJECT bystander`: the other program. It prints a line when its queue has run.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rkfd::{Gpu, Queue, QueueOptions};
use rkfd_programs::{
    bound, bystander, check, code_object, held, raw, report, Failure, VectorAdd, KERNEL, PATIENCE,
};
use rustix::io::Errno;

const ELEMENTS: usize = 4096;
const RUNNING: &str = "bystander: its queue has run";
const COUNTS: &str = "/sys/kernel/debug/rkfd/counts";

/// A queue that has run.
fn used_queue(gpu: &Gpu) -> Result<Queue, Failure> {
    let kernel = gpu.load(&code_object()?)?.kernel(KERNEL)?;
    let queue = gpu.queue(QueueOptions::default())?;
    let add = VectorAdd::new(gpu, ELEMENTS, 1)?;
    let work = add.dispatch(&queue, &kernel).submit()?;
    work.wait_timeout(PATIENCE)?;
    add.verify()?;
    Ok(queue)
}

fn stand_by() -> Result<(), Failure> {
    let gpu = Gpu::open()?;
    let _queue = used_queue(&gpu)?;
    println!("{RUNNING}");
    std::io::stdin()
        .read_to_end(&mut Vec::new())
        .map_err(Failure::new)?;
    Ok(())
}

/// Bytes of VRAM in use.
fn used(device: &Path) -> Result<u64, Failure> {
    let text = fs::read_to_string(device.join("mem_info_vram_used")).map_err(Failure::new)?;
    text.trim().parse().map_err(Failure::new)
}

/// Tries until it succeeds.
fn until(what: &str, mut done: impl FnMut() -> Result<bool, Failure>) -> Result<(), Failure> {
    let start = Instant::now();
    while !done()? {
        if start.elapsed() > PATIENCE {
            return Err(Failure::new(format_args!("it doesn't come that {what}")));
        }
        sleep(Duration::from_millis(20));
    }
    Ok(())
}

/// Whether the driver knows of this program alone.
fn is_alone() -> Result<bool, Failure> {
    let counts = fs::read_to_string(COUNTS).map_err(Failure::new)?;
    Ok(counts.lines().any(|line| line == "processes 1"))
}

/// Another program adds vectors, which works again.
fn is_usable() -> Result<bool, Failure> {
    let mut program = Command::new("/bin/vectoradd");
    let program = program.args(std::env::args().nth(1)).arg("4096");
    let status = program.stdout(Stdio::null()).status();
    Ok(status.map_err(Failure::new)?.success())
}

fn run() -> Result<(), Failure> {
    let (driver, address) = bound()?;
    let device = driver.join(address);
    let gpu = Gpu::open()?;
    let kfd = File::open("/dev/kfd").map_err(Failure::new)?;
    let queue = used_queue(&gpu)?;
    let before = used(&device)?;
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    arguments.push("bystander".to_owned());
    let mut other = bystander::start(&arguments, RUNNING)?;
    let its = used(&device)?.saturating_sub(before);
    println!("the other program has {its} bytes of VRAM");
    check("it has some", its > 0)?;

    check(
        "the scheduler doesn't take a queue off",
        raw::destroy_queue(&kfd, queue.id()) == Err(Errno::TIMEDOUT),
    )?;
    held::wait()?;
    other.kill().map_err(Failure::new)?;
    other.wait().map_err(Failure::new)?;
    until("the other program is gone", is_alone)?;
    held::release()?;
    until("the GPU works again", is_usable)?;
    until("only this program is left", is_alone)?;
    let after = used(&device)?;
    println!("VRAM in use: {before} bytes before it, {after} afterwards");
    check("what it had is free", after < before + its / 2)
}

fn main() -> ExitCode {
    match std::env::args().nth(2).as_deref() {
        Some("bystander") => report("bystander", stand_by),
        _ => report("given_up", run),
    }
}
