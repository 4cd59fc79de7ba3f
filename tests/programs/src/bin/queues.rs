// SPDX-License-Identifier: MIT OR Apache-2.0

//! Sixty-four queues with one dispatch each, all of them running at the same time.
//!
//! `queues CODE-OBJECT [QUEUES [ELEMENTS]]`

use std::process::ExitCode;

use rkfd::{Gpu, Queue, QueueOptions};
use rkfd_programs::{code_object, report, Failure, VectorAdd, KERNEL, PATIENCE};

/// The argument at `place`, or `otherwise` if there is none.
fn number(place: usize, otherwise: usize) -> Result<usize, Failure> {
    std::env::args().nth(place).map_or(Ok(otherwise), |text| {
        text.parse()
            .map_err(|_| Failure::new(format_args!("{text} is no number")))
    })
}

fn run() -> Result<(), Failure> {
    let code = code_object()?;
    let (count, elements) = (number(2, 64)?, number(3, 4096)?);
    let gpu = Gpu::open()?;
    let module = gpu.load(&code)?;
    let kernel = module.kernel(KERNEL)?;
    let options = QueueOptions::new().packets(64);
    let queues: Vec<Queue> = (0..count)
        .map(|_| gpu.queue(options))
        .collect::<Result<_, _>>()?;
    println!(
        "{count} queues, ids {:?}",
        queues.iter().map(Queue::id).collect::<Vec<_>>()
    );

    let mut running = Vec::new();
    for (i, queue) in queues.iter().enumerate() {
        let add = VectorAdd::new(&gpu, elements, i)?;
        let work = add.dispatch(queue, &kernel).submit()?;
        running.push((add, work));
    }
    for (add, work) in &running {
        work.wait_timeout(PATIENCE)?;
        add.verify()?;
    }
    println!("all {count} dispatches verified");
    drop(running);
    drop(queues);

    // What those queues and buffers used can be allocated again.
    let queue = gpu.queue(options)?;
    let add = VectorAdd::new(&gpu, elements, count)?;
    add.dispatch(&queue, &kernel)
        .submit()?
        .wait_timeout(PATIENCE)?;
    add.verify()
}

fn main() -> ExitCode {
    report("queues", run)
}
