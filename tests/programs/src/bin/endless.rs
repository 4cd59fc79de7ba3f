// SPDX-License-Identifier: MIT OR Apache-2.0

//! Runs a kernel that never ends, and waits to be killed while its waves are on the GPU.
//!
//! `endless CODE-OBJECT READY-FILE`: the code object has a kernel `spin(flag)`, which runs until
//! the flag is set. The file is written once a wave has shown that it runs.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use rkfd::{Gpu, QueueOptions};
use rkfd_programs::{code_object, report, Failure, PATIENCE};

fn run() -> Result<(), Failure> {
    let code = code_object()?;
    let ready = std::env::args()
        .nth(2)
        .ok_or_else(|| Failure::new("usage: endless CODE-OBJECT READY-FILE"))?;
    let gpu = Gpu::open()?;
    let module = gpu.load(&code)?;
    let kernel = module.kernel("spin")?;
    let queue = gpu.queue(QueueOptions::default())?;
    let (flag, seen) = (gpu.upload(&[0u32])?, gpu.upload(&[0u32])?);
    let dispatch = queue.dispatch(&kernel).grid(4096).block(256);
    let _work = dispatch.arg(&flag).arg(&seen).submit()?;
    let start = Instant::now();
    while seen.get(0) == Some(0) {
        if start.elapsed() > PATIENCE {
            return Err(Failure::new("no wave began to run"));
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    std::fs::write(&ready, "running\n").map_err(Failure::new)?;
    loop {
        std::thread::sleep(Duration::from_secs(60));
    }
}

fn main() -> ExitCode {
    report("endless", run)
}
