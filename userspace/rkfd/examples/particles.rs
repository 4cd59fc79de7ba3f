// SPDX-License-Identifier: MIT OR Apache-2.0

//! Structures of the program's own: as elements of a buffer, and as an argument by value. And parts
//! of a buffer, each given to a dispatch of its own.
//!
//! `cargo run --example particles kernels.co`; `kernels.hip` beside this file shows how to compile.

use std::error::Error;

use rkfd::zerocopy::{FromBytes, Immutable, IntoBytes};
use rkfd::{Gpu, QueueOptions};

// The same layout as in the kernel's source. The derives refuse what has padding or values that not
// every pattern of bits is one of.
#[derive(Clone, Copy, PartialEq, Debug, FromBytes, IntoBytes, Immutable)]
#[zerocopy(crate = "rkfd::zerocopy")]
#[repr(C)]
struct Particle {
    position: [f32; 3],
    speed: [f32; 3],
}

#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable)]
#[zerocopy(crate = "rkfd::zerocopy")]
#[repr(C)]
struct Wind {
    force: [f32; 3],
    seconds: f32,
}

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("name a code object")?;
    let gpu = Gpu::open()?;
    let kernel = gpu.load(&std::fs::read(path)?)?.kernel("drift")?;
    let queue = gpu.queue(QueueOptions::default())?;

    let all = gpu.alloc::<Particle>(10_000)?;
    all.fill_with(|i| Particle {
        position: [i as f32, 0.0, 0.0],
        speed: [0.0; 3],
    })?;

    // The halves are blown apart. They are the same memory as `all`, not copies.
    let mut works = Vec::new();
    for (half, force) in [(all.slice(..5_000)?, 1.0), (all.slice(5_000..)?, -1.0)] {
        let wind = Wind {
            force: [0.0, force, 0.0],
            seconds: 0.5,
        };
        let n = half.len() as u32;
        let dispatch = queue.dispatch(&kernel).blocks(n.div_ceil(256));
        works.push(dispatch.concurrent().arg(&half).arg(wind).arg(n).submit()?);
    }
    for work in &works {
        work.wait()?;
    }

    for (i, particle) in all.to_vec()?.into_iter().enumerate() {
        let force = if i < 5_000 { 1.0 } else { -1.0 };
        let wanted = Particle {
            position: [i as f32, force * 0.25, 0.0],
            speed: [0.0, force * 0.5, 0.0],
        };
        assert_eq!(particle, wanted, "particle {i}");
    }
    println!("{} particles drifted in two directions", all.len());
    Ok(())
}
