// SPDX-License-Identifier: MIT OR Apache-2.0
//! How fast the compute unit runs, in wave instructions a second of processor time: other work on
//! the machine does not count. make bench-emulator
#[path = "../tests/common/mod.rs"]
mod common;
use common::*;
use rkfd_isa::{ComputeUnit, Target};

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
    let start = processor_seconds();
    launch.run(&mut memory, &mut cu, 100_000).expect("runs");
    let seconds = processor_seconds() - start;
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

/// Seconds that this thread has run, from the scheduler's own account.
fn processor_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").expect("schedstat");
    let first = text
        .split_whitespace()
        .next()
        .and_then(|n| n.parse::<f64>().ok());
    first.expect("nanoseconds") / 1e9
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
