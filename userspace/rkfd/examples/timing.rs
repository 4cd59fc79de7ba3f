// SPDX-License-Identifier: MIT OR Apache-2.0

//! What a dispatch costs, by both clocks: a prepared one is submitted again and again, and the GPU
//! records when each began and ended.
//!
//! `cargo run --release --example timing kernels.co`; `kernels.hip` beside this file shows how to
//! compile.

use std::error::Error;
use std::time::{Duration, Instant};

use rkfd::{Gpu, Priority, QueueOptions};

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("name a code object")?;
    let gpu = Gpu::open()?;
    let kernel = gpu.load(&std::fs::read(path)?)?.kernel("scale")?;
    let options = QueueOptions::new().timestamps(true);
    let queue = gpu.queue(options.priority(Priority::HIGHEST))?;

    let n = 1 << 14;
    let x = gpu.upload(&vec![1.0f32; n])?;
    let dispatch = queue.dispatch(&kernel).grid(n as u32).block(256);

    // What is prepared has its arguments in memory and needs no system call any more. Without an
    // interrupt nobody sleeps: the program spins.
    let dispatch = dispatch.arg(&x).arg(2.0f32).arg(n as u32).polled();
    let mut work = dispatch.prepare()?;

    const RUNS: u32 = 20;
    let (mut enqueue, mut whole, mut device) = (Duration::ZERO, Duration::ZERO, Duration::ZERO);
    let mut last_end = Duration::ZERO;
    for _ in 0..RUNS {
        let start = Instant::now();
        work.submit()?;
        enqueue += start.elapsed();
        work.spin()?;
        whole += start.elapsed();
        let times = work.times()?.ok_or("the queue records no times")?;
        assert!(last_end <= times.end, "the GPU's clock goes on");
        last_end = times.end;
        device += times.elapsed();
    }

    println!("of {RUNS} dispatches of {n} work-items, one took on average");
    println!("  {:>12?} to submit", enqueue / RUNS);
    println!("  {:>12?} until its end was seen", whole / RUNS);
    println!("  {:>12?} of these on the device", device / RUNS);
    assert_eq!(x.get(n - 1), Some((1u32 << RUNS) as f32));
    Ok(())
}
