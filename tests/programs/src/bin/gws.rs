// SPDX-License-Identifier: MIT OR Apache-2.0

//! A barrier across all work-groups of a grid, by global wave sync (GWS).
//!
//! The queue gets the GPU's semaphores and barriers. In every round each work-item mixes its word with
//! one of another work-group, which must be of the same round; the words are compared with the CPU's.
//! While all work-groups but one wait at the barrier, their queue is taken off the GPU and put back.
//! Without the barrier the words must be wrong. While one queue has the semaphores, another queue's
//! request for them must fail.
//!
//! `gws CODE-OBJECT`: the code object has the kernels `gws_init(waves - 1, barrier)` and
//! `exchange(words, out, gate, rounds, stride, waves - 1, barrier, sync)`. One wave of each work-group
//! counts.

use std::fs::File;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use rkfd::{Buffer, Gpu, Kernel, Queue, QueueOptions, Submission};
use rkfd_programs::raw::{self, errno};
use rkfd_programs::{check, code_object, report, Failure, BLOCK, PATIENCE};

/// Work-groups.
const GROUPS: u32 = 32;
const ITEMS: usize = (GROUPS * BLOCK) as usize;
const ROUNDS: u32 = 50;
/// The number of the barrier that is used.
const BARRIER: u32 = 3;
/// A running dispatch of `exchange`, whose last work-group waits at the gate.
struct Exchange {
    words: Buffer<u32>,
    out: Buffer<u32>,
    gate: Buffer<u32>,
    stride: u32,
    work: Submission,
}

impl Exchange {
    fn start(queue: &Queue, init: &Kernel, kernel: &Kernel, sync: bool) -> Result<Self, Failure> {
        let gpu = queue.gpu();
        // Work-groups go to the XCCs in turn, and only those of one XCC share a barrier.
        let stride = gpu.node().xccs().max(1);
        let others = GROUPS / stride - 1;
        let (words, out) = (gpu.alloc(2 * ITEMS)?, gpu.alloc(ITEMS)?);
        words.fill(0)?;
        let gate = gpu.upload(&[0u32])?;
        let set_up = queue.dispatch(init).blocks(stride).block(64u32);
        let set_up = set_up.arg(others).arg(BARRIER).submit()?;
        let dispatch = queue.dispatch(kernel).blocks(GROUPS).block(BLOCK);
        let dispatch = dispatch.arg(&words).arg(&out).arg(&gate);
        let dispatch = dispatch.arg(ROUNDS).arg(stride).arg(others);
        let work = dispatch.arg(BARRIER).arg(u32::from(sync)).submit()?;
        set_up.wait_timeout(PATIENCE)?;
        let exchange = Self {
            words,
            out,
            gate,
            stride,
            work,
        };
        exchange.wait_for_others()?;
        Ok(exchange)
    }

    /// Waits until all work-groups but the last have begun, which their words show.
    fn wait_for_others(&self) -> Result<(), Failure> {
        let start = Instant::now();
        let begun = |words: Vec<u32>| words[1..ITEMS - BLOCK as usize].iter().all(|&w| w != 0);
        while !begun(self.words.to_vec()?) {
            if start.elapsed() > PATIENCE {
                return Err(Failure::new("not all work-groups began to run"));
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        // If the barrier let them through, they would get further in this time.
        std::thread::sleep(Duration::from_millis(100));
        Ok(())
    }

    /// Opens the gate for the last work-group, and returns how many words equal the CPU's.
    fn finish(&self) -> Result<usize, Failure> {
        self.gate.set(0, 1);
        self.work.wait_timeout(PATIENCE)?;
        let start: Vec<u32> = (0..ITEMS as u32).collect();
        let want = (0..ROUNDS).fold(start, |x, _| {
            let other = |i: usize| x[(i + (self.stride * BLOCK) as usize) % ITEMS];
            let mixed = (0..ITEMS).map(|i| x[i].wrapping_mul(1_664_525).wrapping_add(other(i)));
            mixed.collect()
        });
        let got = self.out.to_vec()?;
        Ok(got
            .iter()
            .zip(&want)
            .filter(|(got, want)| got == want)
            .count())
    }
}

fn run() -> Result<(), Failure> {
    let code = code_object()?;
    let kfd = File::options().read(true).write(true).open("/dev/kfd");
    let kfd = kfd.map_err(Failure::new)?;
    let gpu = Gpu::open()?;
    let module = gpu.load(&code)?;
    let (init, kernel) = (module.kernel("gws_init")?, module.kernel("exchange")?);
    let queue = gpu.queue(QueueOptions::default())?;
    let other = gpu.queue(QueueOptions::default())?;
    let count = gpu.node().property("num_gws") as u32;
    let first = queue.alloc_gws(count)?;
    println!("{count} semaphores and barriers, from {first} on");
    check(
        "another queue can't have them too",
        other.alloc_gws(count).is_err(),
    )?;

    for preempt in [false, true] {
        let exchange = Exchange::start(&queue, &init, &kernel, true)?;
        if preempt {
            for _ in 0..3 {
                for percent in [0, 100] {
                    raw::share(&kfd, &queue, percent).map_err(errno("UPDATE_QUEUE"))?;
                    std::thread::sleep(Duration::from_millis(50));
                }
            }
        }
        check(
            "no work-group is past the barrier",
            !exchange.work.is_done(),
        )?;
        let right = exchange.finish()?;
        println!("verified {right}/{ITEMS} words, preempted: {preempt}");
        check("all words are right", right == ITEMS)?;
    }
    let right = Exchange::start(&queue, &init, &kernel, false)?.finish()?;
    println!("without the barrier {right}/{ITEMS} words are right");
    check("without the barrier words are wrong", right < ITEMS)?;

    // Once they are given back, another queue can have them.
    queue.alloc_gws(0)?;
    other.alloc_gws(count)?;
    let right = Exchange::start(&other, &init, &kernel, true)?.finish()?;
    check(
        "all words are right on the other queue, too",
        right == ITEMS,
    )
}

fn main() -> ExitCode {
    report("gws", run)
}
