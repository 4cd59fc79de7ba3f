// SPDX-License-Identifier: MIT OR Apache-2.0

//! A queue that the scheduler refuses costs its program nothing but an error.
//!
//! `refused CODE-OBJECT`: runs on a GPU whose scheduler refuses the first queue. CREATE_QUEUE fails, with the errno
//! of upstream's `add_queue_mes` when MES doesn't do it; afterwards the driver has what it had before of memory and
//! queues, and the same program's next queue runs.

use std::fs;
use std::process::ExitCode;

use rkfd::{Gpu, QueueOptions};
use rkfd_programs::{check, code_object, report, Failure, VectorAdd, KERNEL, PATIENCE};

const ELEMENTS: usize = 4096;

/// What the driver holds for programs.
fn held() -> Result<String, Failure> {
    fs::read_to_string("/sys/kernel/debug/rkfd/counts").map_err(Failure::new)
}

fn run() -> Result<(), Failure> {
    let gpu = Gpu::open()?;
    let kernel = gpu.load(&code_object()?)?.kernel(KERNEL)?;
    let add = VectorAdd::new(&gpu, ELEMENTS, 1)?;
    let before = held()?;
    let error = match gpu.queue(QueueOptions::default()) {
        Ok(_) => return Err(Failure::new("the first queue is not refused")),
        Err(error) => error.to_string(),
    };
    println!("{error}");
    check(
        "CREATE_QUEUE fails with ETIMEDOUT",
        error.contains("errno 110"),
    )?;
    let after = held()?;
    println!("before it:\n{before}after it:\n{after}");
    check("nothing of the queue is left", before == after)?;
    let queue = gpu.queue(QueueOptions::default())?;
    add.dispatch(&queue, &kernel)
        .submit()?
        .wait_timeout(PATIENCE)?;
    add.verify()
}

fn main() -> ExitCode {
    report("refused", run)
}
