// SPDX-License-Identifier: MIT OR Apache-2.0

//! Vector additions by a PM4 queue: the commands of the packet processor's own language. Of whole
//! work-groups and with a part of one, many in a row, from two threads, and beside an AQL queue.
//!
//! `commands CODE-OBJECT`: the code object has a kernel `vadd(a, b, c, n)`.

use std::process::ExitCode;
use std::time::Duration;

use rkfd::{CommandQueue, Gpu, Kernel, QueueOptions};
use rkfd_examples::{code_object, report, Failure, VectorAdd, BLOCK, KERNEL, N};

const TIMEOUT: Duration = Duration::from_secs(300);
/// Dispatches in a row: their commands fill the ring several times.
const MANY: usize = 1000;

/// One addition, slept on.
fn one(gpu: &Gpu, queue: &CommandQueue, kernel: &Kernel, n: usize) -> Result<(), Failure> {
    let add = VectorAdd::new(gpu, n, 1)?;
    let work = add.described(queue.dispatch(kernel)).submit()?;
    let words = work.packet().len();
    work.wait_timeout(TIMEOUT)?;
    let right = add.verified()?;
    println!("{words} words of commands: verified {right}/{n}");
    match right == n {
        true => Ok(()),
        false => Err(Failure::new(format_args!("verified {right}/{n}"))),
    }
}

/// Many of one shape, each behind the other, the last of which is waited for.
fn many(gpu: &Gpu, queue: &CommandQueue, kernel: &Kernel) -> Result<(), Failure> {
    let adds: Vec<VectorAdd> = (0..8)
        .map(|seed| VectorAdd::new(gpu, BLOCK as usize, seed))
        .collect::<Result<_, _>>()?;
    let mut works = adds
        .iter()
        .map(|add| add.described(queue.dispatch(kernel)).polled().prepare())
        .collect::<Result<Vec<_>, _>>()?;
    for n in 0..MANY {
        let next = n % works.len();
        if let Some(work) = works.get_mut(next) {
            work.wait_timeout(TIMEOUT)?;
            work.submit()?;
        }
    }
    for (work, add) in works.iter().zip(&adds) {
        work.wait_timeout(TIMEOUT)?;
        add.verify()?;
    }
    println!("{MANY} dispatches of one queue are right");
    Ok(())
}

fn run() -> Result<(), Failure> {
    let code = code_object()?;
    let gpu = Gpu::open()?;
    let module = gpu.load(&code)?;
    let kernel = module.kernel(KERNEL)?;
    let queue = gpu.command_queue()?;
    one(&gpu, &queue, &kernel, N)?;
    // 37 work-items of the last work-group.
    one(&gpu, &queue, &kernel, 10 * BLOCK as usize + 37)?;
    many(&gpu, &queue, &kernel)?;
    // Two threads, each with a queue of its own kind.
    let aql = gpu.queue(QueueOptions::default())?;
    std::thread::scope(|scope| {
        let other = scope.spawn(|| -> Result<(), Failure> {
            let add = VectorAdd::new(&gpu, N / 4, 3)?;
            add.dispatch(&aql, &kernel)
                .submit()?
                .wait_timeout(TIMEOUT)?;
            add.verify()
        });
        one(&gpu, &queue, &kernel, N / 4)?;
        match other.join() {
            Ok(result) => result,
            Err(_) => Err(Failure::new("a thread panicked")),
        }
    })?;
    println!("both kinds of queue at once are right");
    Ok(())
}

fn main() -> ExitCode {
    report("commands", run)
}
