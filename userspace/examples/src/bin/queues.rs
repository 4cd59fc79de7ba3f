// SPDX-License-Identifier: MIT OR Apache-2.0

//! Sixty-four queues at once, one dispatch on each, all of them running at the same time.
//!
//! `queues CODE-OBJECT [QUEUES]`

use std::process::ExitCode;
use std::time::Duration;

use rkfd::{Gpu, Queue, QueueOptions};
use rkfd_examples::{code_object, report, Failure, VectorAdd, KERNEL};

const ELEMENTS: usize = 4096;

fn run() -> Result<(), Failure> {
    let code = code_object()?;
    let count = match std::env::args().nth(2) {
        None => 64,
        Some(text) => text
            .parse()
            .map_err(|_| Failure::new(format_args!("{text}: no number")))?,
    };
    let gpu = Gpu::open()?;
    let module = gpu.load(&code)?;
    let kernel = module.kernel(KERNEL)?;
    let options = QueueOptions {
        packets: 64,
        ..Default::default()
    };
    let queues: Vec<Queue> = (0..count)
        .map(|_| gpu.queue(options))
        .collect::<Result<_, _>>()?;
    println!(
        "{count} queues, ids {:?}",
        queues.iter().map(Queue::id).collect::<Vec<_>>()
    );

    let mut running = Vec::new();
    for (i, queue) in queues.iter().enumerate() {
        let add = VectorAdd::new(&gpu, ELEMENTS, i)?;
        let work = add.dispatch(queue, &kernel).submit()?;
        running.push((add, work));
    }
    for (add, work) in &running {
        work.wait_timeout(Duration::from_secs(120))?;
        add.verify()?;
    }
    println!("all {count} dispatches verified");
    drop(running);
    drop(queues);

    // What was given back can be had again.
    let queue = gpu.queue(options)?;
    let add = VectorAdd::new(&gpu, ELEMENTS, count)?;
    add.dispatch(&queue, &kernel)
        .submit()?
        .wait_timeout(Duration::from_secs(120))?;
    add.verify()
}

fn main() -> ExitCode {
    report("queues", run)
}
