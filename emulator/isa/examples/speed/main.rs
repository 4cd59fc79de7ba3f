// SPDX-License-Identifier: MIT OR Apache-2.0
//! How fast the compute unit runs, in wave instructions a second of processor time: other work on
//! the machine does not count, and each kernel's is the fastest of its runs. make bench-emulator; ARGS=NAME runs the kernels of that name only, ARGS=--checked
//! with the checks of programs but for caches, ARGS=--cached with caches, too.
mod per_lane;
use rkfd_isa::{Checks, ComputeUnit, SecondLevel, Target, GFX942};
use rkfd_isa_testkit::*;
use std::sync::Arc;

fn time(
    target: &'static Target,
    file: &str,
    kernel: &str,
    grid: [u32; 3],
    group: [u16; 3],
    setup: impl Fn(&mut Flat) -> Args,
) {
    if !is_asked_for(kernel) {
        return;
    }
    let mut memory = Flat::new(64 << 20);
    let (mut cu, _) = unit(target, &mut memory);
    let code = load(&mut memory, &compile(target, file, 3));
    let args = setup(&mut memory);
    let launch = prepare(&mut memory, &mut cu, &code, kernel, args, grid, group);
    // The first run decodes, and touches memory that nobody has touched.
    launch.run(&mut memory, &mut cu, 100_000).expect("runs");
    let first = cu.statistics();
    // As often as it takes to measure something, and of that the fastest.
    let (mut fastest, mut spent) = (f64::INFINITY, 0.0);
    while spent < LONG_ENOUGH {
        let start = processor_seconds();
        launch.run(&mut memory, &mut cu, 100_000).expect("runs");
        let seconds = processor_seconds() - start;
        fastest = fastest.min(seconds);
        spent += seconds;
    }
    println!(
        "{kernel:14} {:>10} wave instructions {:7.3} s {:6.1} M/s, {} waves, {} translations",
        first.instructions,
        fastest,
        first.instructions as f64 / fastest / 1e6,
        first.waves,
        first.translations
    );
}

/// A compute unit as the arguments want it, and its second-level cache.
fn unit(target: &'static Target, memory: &mut Flat) -> (ComputeUnit, Arc<SecondLevel>) {
    let asked = |option: &str| std::env::args().any(|argument| argument == option);
    let caches = asked("--cached");
    let checks = match caches || asked("--checked") {
        true => Checks {
            caches,
            ..Checks::default()
        },
        false => Checks::NONE,
    };
    memory.held_back = caches;
    let second = Arc::new(SecondLevel::new(false, 32));
    let cu = ComputeUnit::with_checks(target, checks).above(Some(second.clone()));
    (cu, second)
}

/// Seconds that this thread has run, as the scheduler counts them.
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
    println!("gfx942, the fastest of {ROUNDS} rounds each, the results the same");
    const ITEMS: u32 = 16384;
    // Its waves lose one lane after the other, and half of its instructions are scalar.
    compare("diverge", "collatz", [ITEMS, 1, 1], [256, 1, 1], |m| {
        let input: Vec<u32> = (1..=ITEMS).collect();
        let (from, to) = (m.put(&input), m.alloc(4 * ITEMS as usize));
        (Args::default().u64(from).u64(to).u32(ITEMS), to)
    });
    // Every lane is busy until the end.
    const SIDE: u32 = 128;
    compare(
        "matmul",
        "matmul_naive",
        [SIDE, SIDE, 1],
        [16, 16, 1],
        |m| {
            let mut random = Random(1);
            let mut matrix = || (0..SIDE * SIDE).map(|_| random.float()).collect::<Vec<_>>();
            let (a, b) = (m.put(&matrix()), m.put(&matrix()));
            let to = m.alloc(4 * (SIDE * SIDE) as usize);
            (Args::default().u64(a).u64(b).u64(to).u32(SIDE), to)
        },
    );
}

const ROUNDS: usize = 15;

/// Seconds that a kernel is measured.
const LONG_ENOUGH: f64 = 0.5;

/// Whether a kernel is to be measured: the arguments name none, or this one.
fn is_asked_for(kernel: &str) -> bool {
    let mut names = std::env::args()
        .skip(1)
        .filter(|name| !name.starts_with("--"));
    names.next().is_none_or(|name| name == kernel)
}

/// Compares a gfx942 kernel on this interpreter with the same on one that copies each lane's operands.
/// They run in turns, so that other work on the machine slows both.
fn compare(
    file: &str,
    kernel: &str,
    grid: [u32; 3],
    group: [u16; 3],
    setup: impl Fn(&mut Flat) -> (Args, u64),
) {
    if !is_asked_for(kernel) {
        return;
    }
    let elf = compile(&GFX942, file, 3);
    let mut speeds = [0f64; 2];
    let mut results = Vec::new();
    for n in (0..2).cycle().take(2 * ROUNDS) {
        let mut memory = Flat::new(16 << 20);
        let (mut cu, second) = unit(&GFX942, &mut memory);
        let code = load(&mut memory, &elf);
        let (args, to) = setup(&mut memory);
        let launch = prepare(&mut memory, &mut cu, &code, kernel, args, grid, group);
        let start = processor_seconds();
        let instructions = if n == 0 {
            launch.run(&mut memory, &mut cu, 100_000).expect("runs");
            cu.statistics().instructions
        } else {
            per_lane::run(&launch, &mut memory, &mut cu)
        };
        let seconds = processor_seconds() - start;
        second.write_back();
        speeds[n] = speeds[n].max(instructions as f64 / seconds / 1e6);
        results.push((memory.words(to, (grid[0] * grid[1]) as usize), instructions));
    }
    assert!(
        results.iter().all(|r| *r == results[0]),
        "both compute the same"
    );
    let [whole, lanes] = speeds;
    println!(
        "{kernel:14} {whole:6.1} M/s by whole waves, {lanes:5.2} M/s by copies of each lane: {:.1} times",
        whole / lanes
    );
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
