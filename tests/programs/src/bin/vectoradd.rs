// SPDX-License-Identifier: MIT OR Apache-2.0

//! One vector addition of 1,048,576 floats, 4,096 work-groups of 256, with every step shown.
//!
//! `vectoradd CODE-OBJECT [ELEMENTS]`: the code object has a kernel `vadd(a, b, c, n)`.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use rkfd::trace::Marker;
use rkfd::{Gpu, QueueOptions};
use rkfd_programs::{code_object, report, steps, Failure, VectorAdd, BLOCK, KERNEL, N, PATIENCE};

fn run() -> Result<(), Failure> {
    let code = code_object()?;
    let n = match std::env::args().nth(2) {
        None => N,
        Some(text) => text
            .parse()
            .map_err(|_| Failure::new(format_args!("{text}: no number")))?,
    };
    let marker = Marker::asked().map_err(Failure::new)?;
    steps::print_all(marker);

    println!("--- open the GPU");
    let gpu = Gpu::open()?;
    let (major, minor) = gpu.driver_version();
    println!("GPU {:#x}: {}, KFD {major}.{minor}", gpu.id(), gpu.target());

    println!("--- load the code object");
    let module = gpu.load(&code)?;
    let kernel = module.kernel(KERNEL)?;
    println!(
        "image at {:#x}, kernel descriptor at {:#x}, {} bytes of arguments",
        module.address(),
        kernel.address(),
        kernel.metadata().kernarg_size
    );

    println!("--- create the queue");
    let queue = gpu.queue(QueueOptions::default())?;
    let (ring, write, read) = queue.addresses();
    println!("queue {}: {} packets", queue.id(), queue.packets());
    println!("ring {ring:#x}, write index {write:#x}, read index {read:#x}");

    println!("--- allocate and fill the buffers");
    let add = VectorAdd::new(&gpu, n, 1)?;
    println!(
        "a {:#x}, b {:#x}, c {:#x}: {n} floats each",
        add.a.address(),
        add.b.address(),
        add.c.address()
    );

    println!(
        "--- dispatch: {} work-groups of {BLOCK}",
        n.div_ceil(BLOCK as usize)
    );
    let mut work = add.dispatch(&queue, &kernel).prepare()?;
    if let Some(signal) = work.signal() {
        let event = signal.event_id().unwrap_or(0);
        println!(
            "signal at {:#x}, event {event}, before: {}",
            signal.address(),
            signal.value()
        );
    }
    println!("arguments at {:#x}", work.kernarg_address().unwrap_or(0));
    let start = Instant::now();
    work.submit()?;
    println!("indices after the doorbell: {:?}", queue.indices());

    println!("--- wait");
    work.wait_timeout(PATIENCE)?;
    let time = start.elapsed();
    if let Some(signal) = work.signal() {
        println!(
            "signal after: {}, {:.3} ms",
            signal.value(),
            time.as_secs_f64() * 1e3
        );
    }
    // The GPU frees the packet's slot in the ring shortly after it has stored the signal.
    let freed = Instant::now();
    while queue.indices().0 != queue.indices().1 && freed.elapsed() < Duration::from_secs(5) {
        std::thread::sleep(Duration::from_millis(1));
    }
    let (written, done) = queue.indices();
    println!("write index {written}, read index {done}");
    if written != done {
        return Err(Failure::new("the read index doesn't reach the write index"));
    }

    println!("--- compare with the CPU");
    let right = add.verified()?;
    println!("verified {right}/{n}");
    if right != n {
        return Err(Failure::new(format_args!("verified {right}/{n}")));
    }
    println!("--- take everything down");
    Ok(())
}

fn main() -> ExitCode {
    report("vectoradd", run)
}
