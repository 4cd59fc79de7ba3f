// SPDX-License-Identifier: MIT OR Apache-2.0
//! How fast the compute unit runs: cargo run --release --example speed
#[path = "../tests/common/mod.rs"]
mod common;
use common::*;
use rkfd_isa::{ComputeUnit, Target};
use std::time::Instant;

fn time(
    target: &'static Target,
    file: &str,
    kernel: &str,
    grid: [u32; 3],
    group: [u16; 3],
    setup: impl Fn(&mut Flat) -> Args,
) {
    let mut memory = Flat::new(64 << 20);
    let mut cu = ComputeUnit::for_target(target);
    let code = load(&mut memory, &compile(target, file, 3));
    let args = setup(&mut memory);
    let launch = prepare(&mut memory, &mut cu, &code, kernel, args, grid, group);
    let start = Instant::now();
    launch.run(&mut memory, &mut cu, 100_000).expect("runs");
    let seconds = start.elapsed().as_secs_f64();
    let s = cu.statistics();
    println!(
        "{kernel:14} {:>10} wave instructions {:7.3} s {:6.1} M/s, {} waves, {} translations",
        s.instructions,
        seconds,
        s.instructions as f64 / seconds / 1e6,
        s.waves,
        s.translations
    );
}

fn main() {
    for target in TARGETS {
        println!("{}", target.name);
        kernels(target);
    }
}

fn kernels(target: &'static Target) {
    let n = 1 << 20;
    let zeros = |m: &mut Flat, count: usize| m.alloc(4 * count);
    time(target, "vadd", "vadd", [n, 1, 1], [256, 1, 1], |m| {
        let (a, b, c) = (
            zeros(m, n as usize),
            zeros(m, n as usize),
            zeros(m, n as usize),
        );
        Args::default().u64(a).u64(b).u64(c).u32(n)
    });
    time(
        target,
        "reduce",
        "reduce",
        [65536, 1, 1],
        [256, 1, 1],
        |m| {
            let (a, b) = (zeros(m, n as usize), zeros(m, 4096));
            Args::default().u64(a).u64(b).u32(n)
        },
    );
    time(
        target,
        "matmul",
        "matmul_naive",
        [256, 256, 1],
        [16, 16, 1],
        |m| {
            let (a, b, c) = (zeros(m, 65536), zeros(m, 65536), zeros(m, 65536));
            Args::default().u64(a).u64(b).u64(c).u32(256)
        },
    );
    time(
        target,
        "matmul",
        "matmul_tiled",
        [256, 256, 1],
        [16, 16, 1],
        |m| {
            let (a, b, c) = (zeros(m, 65536), zeros(m, 65536), zeros(m, 65536));
            Args::default().u64(a).u64(b).u64(c).u32(256)
        },
    );
    time(
        target,
        "diverge",
        "collatz",
        [65536, 1, 1],
        [256, 1, 1],
        |m| {
            let input: Vec<u32> = (1..=65536).collect();
            let (a, b) = (m.put(&input), zeros(m, 65536));
            Args::default().u64(a).u64(b).u32(65536)
        },
    );
}
