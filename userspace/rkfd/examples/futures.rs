// SPDX-License-Identifier: MIT OR Apache-2.0

//! Dispatches that are awaited. Any executor will do; this one is twenty lines long and runs all
//! futures on the main thread. One thread of the library sleeps in the driver for all of them.
//!
//! `cargo run --example futures kernels.co`; `kernels.hip` beside this file shows how to compile.

use std::error::Error;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Wake, Waker};
use std::thread::Thread;

use rkfd::{Gpu, Kernel, Queue, QueueOptions};

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Runs futures side by side until all of them are done.
fn run_all(mut futures: Vec<Pin<Box<dyn Future<Output = ()> + '_>>>) {
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut context = Context::from_waker(&waker);
    loop {
        futures.retain_mut(|future| future.as_mut().poll(&mut context).is_pending());
        if futures.is_empty() {
            return;
        }
        std::thread::park();
    }
}

/// Doubles the numbers 0 to `n`, `times` times, each after the one before.
async fn doubled(
    gpu: &Gpu,
    kernel: &Kernel,
    queue: &Queue,
    n: u32,
    times: u32,
) -> rkfd::Result<()> {
    let x = gpu.alloc::<f32>(n as usize)?;
    x.fill_with(|i| i as f32)?;
    let dispatch = queue.dispatch(kernel).blocks(n.div_ceil(256));
    let mut work = dispatch.arg(&x).arg(2.0f32).arg(n).prepare()?;
    for _ in 0..times {
        work.submit()?;
        work.done().await?;
    }
    let factor = (1 << times) as f32;
    let right = |(i, value): (usize, &f32)| *value == i as f32 * factor;
    assert!(x.to_vec()?.iter().enumerate().all(right));
    println!("{n} numbers are {factor} times as large");
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("name a code object")?;
    let gpu = Gpu::open()?;
    let kernel = &gpu.load(&std::fs::read(path)?)?.kernel("scale")?;
    let queues: Vec<Queue> = (0..4)
        .map(|_| gpu.queue(QueueOptions::default()))
        .collect::<Result<_, _>>()?;

    let tasks = queues.iter().zip(1..).map(|(queue, task)| {
        let gpu = &gpu;
        let work = async move {
            doubled(gpu, kernel, queue, task * 10_000, task)
                .await
                .unwrap()
        };
        Box::pin(work) as Pin<Box<dyn Future<Output = ()>>>
    });
    run_all(tasks.collect());
    Ok(())
}
