// SPDX-License-Identifier: MIT OR Apache-2.0

//! Runs a kernel that never ends, and waits to be killed while its waves are on the GPU.
//!
//! `endless CODE-OBJECT READY-FILE`: the code object has a kernel `spin(flag)`, which runs until
//! the flag is set. The file is written once a wave has shown that it runs.
//!
//! `endless copy READY-FILE`: runs on a GPU whose first copy never ends. The file is written once the copy has had time
//! to begin.
//!
//! `endless sleeps READY-FILE`: waits for an event that nobody sets, without a limit, and prints by which error it was woken. The
//! file is written before.

use std::fs::File;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use rkfd::{Gpu, Memory, QueueOptions};
use rkfd_programs::raw::{self, errno};
use rkfd_programs::{check, code_object, report, Failure, PATIENCE};
use rkfd_uapi::event;

const WORDS: usize = 1 << 12;

fn run() -> Result<(), Failure> {
    let ready = std::env::args()
        .nth(2)
        .ok_or_else(|| Failure::new("usage: endless CODE-OBJECT|copy|sleeps READY-FILE"))?;
    match std::env::args().nth(1).as_deref() {
        Some("copy") => copy(&ready),
        Some("sleeps") => sleeps(&ready),
        _ => compute(&ready),
    }
}

fn copy(ready: &str) -> Result<(), Failure> {
    let gpu = Gpu::open()?;
    let buffer = || gpu.alloc_in::<u32>(Memory::Gtt, WORDS);
    let (source, target) = (buffer()?, buffer()?);
    let queue = gpu.copy_queue()?;
    let copy = queue.copy(&target, &source)?;
    std::thread::sleep(Duration::from_millis(500));
    check("the copy doesn't end", !copy.is_done())?;
    rest(ready)
}

fn compute(ready: &str) -> Result<(), Failure> {
    let code = code_object()?;
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
    rest(ready)
}

fn sleeps(ready: &str) -> Result<(), Failure> {
    let _gpu = Gpu::open()?;
    let kfd = File::open("/dev/kfd").map_err(Failure::new)?;
    let id = raw::event(&kfd, event::EVENT_MEMORY).map_err(errno("CREATE_EVENT"))?;
    std::fs::write(ready, "sleeping\n").map_err(Failure::new)?;
    match raw::wait(&kfd, id, event::TIMEOUT_INFINITE) {
        Ok(_) => Err(Failure::new("the wait ended without an error")),
        Err(error) => {
            println!("woken by {error}");
            Ok(())
        }
    }
}

/// Until it is killed.
fn rest(ready: &str) -> Result<(), Failure> {
    std::fs::write(ready, "running\n").map_err(Failure::new)?;
    loop {
        std::thread::sleep(Duration::from_secs(60));
    }
}

fn main() -> ExitCode {
    report("endless", run)
}
