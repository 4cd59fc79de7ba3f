// SPDX-License-Identifier: MIT OR Apache-2.0

//! Four threads share one queue: each runs its own vector additions and checks every sum.
//!
//! `threads CODE-OBJECT`

use std::process::ExitCode;

use rkfd::{Gpu, Kernel, Queue, QueueOptions};
use rkfd_programs::{code_object, report, Failure, VectorAdd, KERNEL};

const THREADS: usize = 4;
const ROUNDS: usize = 50;
const ELEMENTS: usize = 4096;

fn work(gpu: &Gpu, queue: &Queue, kernel: &Kernel, thread: usize) -> Result<(), Failure> {
    for round in 0..ROUNDS {
        let add = VectorAdd::new(gpu, ELEMENTS, thread * ROUNDS + round)?;
        add.dispatch(queue, kernel).submit()?.wait()?;
        add.verify()?;
    }
    Ok(())
}

fn run() -> Result<(), Failure> {
    let gpu = Gpu::open()?;
    let module = gpu.load(&code_object()?)?;
    let kernel = module.kernel(KERNEL)?;
    // A small ring, so that the threads also meet at its end.
    let queue = gpu.queue(QueueOptions::new().packets(64))?;
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|thread| {
                let (gpu, queue, kernel) = (&gpu, &queue, &kernel);
                scope.spawn(move || work(gpu, queue, kernel, thread))
            })
            .collect();
        threads.into_iter().try_for_each(|thread| {
            thread
                .join()
                .map_err(|_| Failure::new("a thread panicked"))?
        })
    })?;
    let (written, read) = queue.indices();
    println!("{THREADS} threads, {written} packets written, {read} read");
    if written != (THREADS * ROUNDS) as u64 {
        return Err(Failure::new("the number of packets is wrong"));
    }
    Ok(())
}

fn main() -> ExitCode {
    report("threads", run)
}
