// SPDX-License-Identifier: MIT OR Apache-2.0

//! Waiting by event: dispatches whose waiters sleep in the driver until the GPU's interrupt.
//!
//! A barrier packet that waits for a signal of ours holds the queue, so the waiter is certainly
//! asleep when the GPU goes on.
//!
//! `events CODE-OBJECT`

use std::process::ExitCode;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rkfd::trace::{observe, Step};
use rkfd::{Error, Gpu, QueueOptions};
use rkfd_programs::{code_object, report, Failure, VectorAdd, KERNEL};
use rkfd_uapi::ioctl;

const ROUNDS: usize = 20;
const ELEMENTS: usize = 4096;

fn run() -> Result<(), Failure> {
    let waits = Arc::new(AtomicU32::new(0));
    let counter = waits.clone();
    observe(move |step| {
        if matches!(step, Step::Ioctl { info, .. } if info.number == ioctl::nr::WAIT_EVENTS) {
            counter.fetch_add(1, Ordering::Relaxed);
        }
    });

    let gpu = Gpu::open()?;
    let module = gpu.load(&code_object()?)?;
    let kernel = module.kernel(KERNEL)?;
    let queue = gpu.queue(QueueOptions::default())?;

    let mut slowest = Duration::ZERO;
    for round in 0..ROUNDS {
        let gate = gpu.signal(1)?;
        let barrier = queue.barrier_and(&[&gate])?;
        let add = VectorAdd::new(&gpu, ELEMENTS, round)?;
        let work = add.dispatch(&queue, &kernel).submit()?;
        match work.wait_timeout(Duration::from_millis(20)) {
            Err(Error::Timeout { .. }) => {}
            other => {
                other?;
                return Err(Failure::new("the dispatch ran before its barrier was open"));
            }
        }
        let late = std::thread::scope(|scope| -> Result<_, Failure> {
            let waiter = scope.spawn(|| {
                let result = work.wait_timeout(Duration::from_secs(60));
                (Instant::now(), result)
            });
            std::thread::sleep(Duration::from_millis(10));
            let opened = Instant::now();
            gate.set(0);
            let (woken, result) = waiter
                .join()
                .map_err(|_| Failure::new("the waiter panicked"))?;
            result?;
            Ok(woken.saturating_duration_since(opened))
        })?;
        slowest = slowest.max(late);
        barrier.wait_timeout(Duration::from_secs(60))?;
        add.verify()?;
    }
    let waits = waits.load(Ordering::Relaxed);
    println!("{ROUNDS} waits slept in {waits} calls; slowest wake-up {slowest:?}");
    if waits < ROUNDS as u32 {
        return Err(Failure::new("no waiter slept, so the test shows nothing"));
    }
    // The library looks at the signal once a second even if no interrupt wakes it.
    if slowest >= Duration::from_millis(900) {
        return Err(Failure::new(format_args!(
            "a waiter was not woken: {slowest:?}"
        )));
    }
    Ok(())
}

fn main() -> ExitCode {
    report("events", run)
}
