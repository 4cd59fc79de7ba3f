// SPDX-License-Identifier: MIT OR Apache-2.0

//! Many queues, one small dispatch on each, all on the same buffers. It runs while the module is loaded
//! and unloaded in a loop, and makes little besides the queues, whose parts are what may leak.
//!
//! A queue has an MQD and a save area for each XCC, so a GPU with several XCCs gets fewer queues.
//!
//! `cycle CODE-OBJECT [MQDS]`: it prints nothing if all is well. Queues times XCCs are MQDS.

use std::process::ExitCode;

use rkfd::{Address, Gpu, Queue, QueueOptions};
use rkfd_programs::{code_object, Failure, KERNEL, PATIENCE};

/// Elements of a queue's dispatch, which is one work-group.
const EACH: usize = 256;

fn run() -> Result<(), Failure> {
    let code = code_object()?;
    let mqds: usize = match std::env::args().nth(2) {
        None => 64,
        Some(text) => text
            .parse()
            .map_err(|_| Failure::new(format_args!("{text} is no number")))?,
    };
    let gpu = Gpu::open()?;
    let count = mqds.div_ceil(gpu.node().xccs().max(1) as usize);
    let module = gpu.load(&code)?;
    let kernel = module.kernel(KERNEL)?;
    let options = QueueOptions::new().packets(64);
    let queues: Vec<Queue> = (0..count)
        .map(|_| gpu.queue(options))
        .collect::<Result<_, _>>()?;

    let n = count * EACH;
    let (a, b, c) = (
        gpu.alloc::<u32>(n)?,
        gpu.alloc::<u32>(n)?,
        gpu.alloc::<u32>(n)?,
    );
    // Whole numbers below 2^23, so that sums are exact.
    a.fill_with(|i| (i as f32).to_bits())?;
    b.fill_with(|i| (2.0 * i as f32).to_bits())?;
    c.fill(u32::MAX)?;
    let mut running = Vec::new();
    for (i, queue) in queues.iter().enumerate() {
        let part = |address: u64| Address(address + (i * EACH * 4) as u64);
        let dispatch = queue.dispatch(&kernel).grid(EACH as u32).block(EACH as u32);
        let dispatch = dispatch.arg(part(a.address())).arg(part(b.address()));
        let dispatch = dispatch.arg(part(c.address())).arg(EACH as u32);
        running.push(dispatch.submit()?);
    }
    for work in &running {
        work.wait_timeout(PATIENCE)?;
    }
    let sums = c.to_vec()?;
    let wrong = |(i, sum): &(usize, u32)| *sum != (3.0 * *i as f32).to_bits();
    match sums.into_iter().enumerate().filter(wrong).count() {
        0 => Ok(()),
        wrong => Err(Failure::new(format_args!("{wrong} of {n} sums are wrong"))),
    }
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            println!("cycle: {failure}");
            ExitCode::FAILURE
        }
    }
}
