// SPDX-License-Identifier: MIT OR Apache-2.0

//! A queue that the scheduler refuses costs its program nothing but an error.
//!
//! `refused CODE-OBJECT`: runs on a GPU whose scheduler refuses the third queue. CREATE_QUEUE fails, with the errno
//! of upstream's `add_queue_mes` when MES doesn't do it; afterwards the driver holds what it held before for programs,
//! and the same program's other queues run.

use std::fs;
use std::process::ExitCode;

use rkfd::{Error, Gpu, Queue, QueueOptions};
use rkfd_programs::{check, code_object, report, Failure, VectorAdd, KERNEL, PATIENCE};
use rustix::io::Errno;

const ELEMENTS: usize = 4096;

/// What the driver holds for programs.
fn held() -> Result<String, Failure> {
    fs::read_to_string("/sys/kernel/debug/rkfd/counts").map_err(Failure::new)
}

/// The doorbells that the program's queues have.
fn doorbells() -> Result<Vec<String>, Failure> {
    let text = fs::read_to_string("/sys/kernel/debug/rkfd/queues").map_err(Failure::new)?;
    let lines = text.lines().map(str::trim);
    let found = lines.filter(|line| line.starts_with("doorbell "));
    Ok(found.map(str::to_owned).collect())
}

fn run() -> Result<(), Failure> {
    let gpu = Gpu::open()?;
    let kernel = gpu.load(&code_object()?)?.kernel(KERNEL)?;
    let add = VectorAdd::new(&gpu, ELEMENTS, 1)?;
    let runs = |queue: &Queue| -> Result<(), Failure> {
        let work = add.dispatch(queue, &kernel).submit()?;
        work.wait_timeout(PATIENCE)?;
        add.verify()
    };
    // What is made for the first queue alone stays.
    let first = gpu.queue(QueueOptions::default())?;
    let second = gpu.queue(QueueOptions::default())?;
    runs(&first)?;
    runs(&second)?;
    let free = doorbells()?;
    drop(second);
    let before = held()?;
    let refused = gpu.queue(QueueOptions::default()).err();
    println!("the third queue: {refused:?}");
    let timed_out =
        |error: &Error| matches!(error, Error::Ioctl { errno, .. } if *errno == Errno::TIMEDOUT);
    check(
        "CREATE_QUEUE fails with ETIMEDOUT",
        refused.as_ref().is_some_and(timed_out),
    )?;
    let after = held()?;
    println!("before it:\n{before}after it:\n{after}");
    check("nothing of the queue is left", before == after)?;
    runs(&first)?;
    let next = gpu.queue(QueueOptions::default())?;
    let given = doorbells()?;
    println!("doorbells {free:?}, then {given:?}");
    check("its doorbell is the next one's", free == given)?;
    runs(&next)
}

fn main() -> ExitCode {
    report("refused", run)
}
