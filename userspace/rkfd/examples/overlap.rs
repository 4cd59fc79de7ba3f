// SPDX-License-Identifier: MIT OR Apache-2.0

//! A copy engine and the compute units at work at the same time: while a piece is computed, the next
//! one is on its way to the device, and the one before on its way back.
//!
//! `cargo run --example overlap kernels.co`; `kernels.hip` beside this file shows how to compile.

use std::error::Error;

use rkfd::{Gpu, Memory, QueueOptions};

const PIECES: usize = 8;
const PIECE: usize = 1 << 16;

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("name a code object")?;
    let gpu = Gpu::open()?;
    let kernel = gpu.load(&std::fs::read(path)?)?.kernel("scale")?;
    let queue = gpu.queue(QueueOptions::default())?;
    // Two copy queues, one for each direction: the packets of one queue run one after the other.
    let (inwards, outwards) = (gpu.copy_queue()?, gpu.copy_queue()?);

    let host = gpu.alloc_in::<f32>(Memory::Gtt, PIECES * PIECE)?;
    let device = gpu.alloc_in::<f32>(Memory::Vram, PIECES * PIECE)?;
    host.fill_with(|i| i as f32)?;

    let piece = |n: usize| n * PIECE..(n + 1) * PIECE;
    let (mut coming, mut running, mut leaving) = (None, None, Vec::new());
    // Each round starts a copy, a dispatch and a copy back, for three pieces in a row.
    for round in 0..PIECES + 2 {
        let arrived = coming.take();
        let computed = running.take();
        if round < PIECES {
            let (to, from) = (device.slice(piece(round))?, host.slice(piece(round))?);
            coming = Some((round, inwards.copy(&to, &from)?));
        }
        if let Some((n, copy)) = arrived {
            copy.wait()?;
            let dispatch = queue.dispatch(&kernel).grid(PIECE as u32).block(256);
            let dispatch = dispatch.arg(&device.slice(piece(n))?).arg(3.0f32);
            running = Some((n, dispatch.arg(PIECE as u32).submit()?));
        }
        if let Some((n, work)) = computed {
            work.wait()?;
            let (to, from) = (host.slice(piece(n))?, device.slice(piece(n))?);
            leaving.push(outwards.copy(&to, &from)?);
        }
    }
    for copy in leaving {
        copy.wait()?;
    }

    let all = host.to_vec()?;
    let right = |(i, value): (usize, &f32)| *value == i as f32 * 3.0;
    assert!(all.iter().enumerate().all(right));
    println!("{PIECES} pieces of {PIECE} numbers went there and back");
    Ok(())
}
