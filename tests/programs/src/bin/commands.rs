// SPDX-License-Identifier: MIT OR Apache-2.0

//! Vector additions on a PM4 queue, whose commands are the packet processor's own language: with whole
//! work-groups only, with a partial one, many in a row, and at the same time as another thread uses an
//! AQL queue. Then a kernel with an array in scratch memory, on both kinds of queue.
//!
//! `commands CODE-OBJECT SCRATCH`: the first code object has a kernel `vadd(a, b, c, n)`, the second
//! one `privarr(in, out, n)`.

use std::process::ExitCode;

use rkfd::{CommandQueue, Gpu, Kernel, Queue, QueueOptions};
use rkfd_programs::{check, code_object, report, Failure, VectorAdd, BLOCK, KERNEL, N, PATIENCE};

/// Dispatches in a row. Their commands fill the ring several times.
const MANY: usize = 1000;

/// Runs one addition, and sleeps until its event.
fn one(gpu: &Gpu, queue: &CommandQueue, kernel: &Kernel, n: usize) -> Result<(), Failure> {
    let add = VectorAdd::new(gpu, n, 1)?;
    let work = add.described(queue.dispatch(kernel)).submit()?;
    let words = work.packet().len();
    work.wait_timeout(PATIENCE)?;
    let right = add.verified()?;
    println!("{words} words of commands: verified {right}/{n}");
    match right == n {
        true => Ok(()),
        false => Err(Failure::new(format_args!("verified {right}/{n}"))),
    }
}

/// Runs many additions of one shape in a row. Each of the eight is waited for before it is submitted
/// again.
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
            work.wait_timeout(PATIENCE)?;
            work.submit()?;
        }
    }
    for (work, add) in works.iter().zip(&adds) {
        work.wait_timeout(PATIENCE)?;
        add.verify()?;
    }
    println!("{MANY} dispatches of one queue are right");
    Ok(())
}

/// What `privarr` stores for a work-item: a sum over its array, each place of which is computed from
/// the sum so far.
fn summed(input: &[u32], item: u32) -> u32 {
    let mut a: Vec<u32> = input.iter().map(|w| w.wrapping_mul(item)).collect();
    (0..64u32).fold(0u32, |sum, k| {
        let place = ((sum ^ k) & 63) as usize;
        let next = sum.wrapping_add(a[place]);
        a[place] = next;
        next
    })
}

/// Runs a kernel whose work-items have arrays in scratch memory, by commands and by an AQL packet.
fn scratch(gpu: &Gpu, queue: &CommandQueue, aql: &Queue) -> Result<(), Failure> {
    let path = std::env::args().nth(2);
    let path =
        path.ok_or_else(|| Failure::new("no code object with the kernel `privarr` was given"))?;
    let module = gpu.load(&std::fs::read(&path).map_err(Failure::new)?)?;
    let kernel = module.kernel("privarr")?;
    let private = kernel.metadata().private_size;
    check("privarr needs 256 bytes of scratch or more", private >= 256)?;
    let n = 20 * BLOCK;
    let words: Vec<u32> = (0..64u32)
        .map(|i| i.wrapping_mul(0x9e37_79b1) >> 7)
        .collect();
    let input = gpu.upload(&words)?;
    let wanted: Vec<u32> = (0..n).map(|item| summed(&words, item)).collect();
    for (name, dispatch) in [
        ("commands", queue.dispatch(&kernel)),
        ("an AQL packet", aql.dispatch(&kernel)),
    ] {
        let output = gpu.alloc::<u32>(n as usize)?;
        let dispatch = dispatch
            .grid(n)
            .block(BLOCK)
            .arg(&input)
            .arg(&output)
            .arg(n);
        dispatch.submit()?.wait_timeout(PATIENCE)?;
        let what = format!("{n} sums over arrays in scratch memory, by {name}, are right");
        check(&what, output.to_vec()? == wanted)?;
    }
    Ok(())
}

fn run() -> Result<(), Failure> {
    let code = code_object()?;
    let gpu = Gpu::open()?;
    let module = gpu.load(&code)?;
    let kernel = module.kernel(KERNEL)?;
    let queue = gpu.command_queue()?;
    one(&gpu, &queue, &kernel, N)?;
    // The last work-group has only 37 work-items.
    one(&gpu, &queue, &kernel, 10 * BLOCK as usize + 37)?;
    many(&gpu, &queue, &kernel)?;
    // Two threads at once, one with an AQL queue and one with the PM4 queue.
    let aql = gpu.queue(QueueOptions::default())?;
    std::thread::scope(|scope| {
        let other = scope.spawn(|| -> Result<(), Failure> {
            let add = VectorAdd::new(&gpu, N / 4, 3)?;
            add.dispatch(&aql, &kernel)
                .submit()?
                .wait_timeout(PATIENCE)?;
            add.verify()
        });
        one(&gpu, &queue, &kernel, N / 4)?;
        match other.join() {
            Ok(result) => result,
            Err(_) => Err(Failure::new("a thread panicked")),
        }
    })?;
    println!("both kinds of queue at once are right");
    scratch(&gpu, &queue, &aql)?;
    Ok(())
}

fn main() -> ExitCode {
    report("commands", run)
}
