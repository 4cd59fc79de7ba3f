// SPDX-License-Identifier: MIT OR Apache-2.0

//! The first dispatch: two arrays are added on the GPU.
//!
//! `cargo run --example vector_add kernels.co`; `kernels.hip` beside this file shows how to compile.

use std::error::Error;

use rkfd::{Gpu, QueueOptions};

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("name a code object")?;

    // Opens the first GPU: `/dev/kfd` for requests, its render node for memory.
    let gpu = Gpu::open()?;
    println!(
        "{} with {} compute units",
        gpu.target(),
        gpu.node().compute_units()
    );

    // The code object is checked against the GPU, copied into its memory and relocated.
    let module = gpu.load(&std::fs::read(path)?)?;
    let kernel = module.kernel("vadd")?;

    // A queue is the last thing that needs the driver: a ring of packets in shared memory, and a
    // doorbell, which is a word of the device itself.
    let queue = gpu.queue(QueueOptions::default())?;

    // Buffers have one address, on the CPU and on the GPU. The CPU copies in and out.
    let n = 1_000_000;
    let a = gpu.alloc::<f32>(n)?;
    a.fill_with(|i| i as f32)?;
    let b = gpu.upload(&vec![0.5f32; n])?;
    let c = gpu.alloc::<f32>(n)?;

    // A grid of work-items, in work-groups of 256. The kernel's metadata lists how many arguments it
    // takes and which of them are pointers, so wrong ones are refused here.
    let dispatch = queue
        .dispatch(&kernel)
        .blocks((n as u32).div_ceil(256))
        .block(256)
        .arg(&a)
        .arg(&b)
        .arg(&c)
        .arg(n as u32);

    // Submitting stores 64 bytes and rings the doorbell. Waiting spins a little, then sleeps until
    // the GPU's interrupt.
    let work = dispatch.submit()?;
    work.wait()?;

    let sums = c.to_vec()?;
    for (i, sum) in sums.iter().enumerate() {
        assert_eq!(*sum, i as f32 + 0.5, "element {i}");
    }
    println!("{n} sums are right, the last is {}", sums[n - 1]);
    Ok(())
}
