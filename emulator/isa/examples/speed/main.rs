// SPDX-License-Identifier: MIT OR Apache-2.0
//! How fast the compute unit runs, in wave instructions a second of processor time: other work on
//! the machine does not count, and each kernel's is the fastest of its runs. make bench-emulator; ARGS=NAME runs the kernels of that name only, ARGS=--checked
//! with the checks of programs but for caches, ARGS=--cached with caches, too.
mod by_hand;
mod per_lane;
use rkfd_isa::{Checks, ComputeUnit, SecondLevel, Target, GFX942};
use rkfd_isa_testkit::*;
use rustix::time::ClockId;
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

/// Seconds that this thread has run.
fn processor_seconds() -> f64 {
    let now = rustix::time::clock_gettime(ClockId::ThreadCPUTime);
    now.tv_sec as f64 + now.tv_nsec as f64 / 1e9
}

fn main() {
    for target in TARGETS {
        println!("{}", target.name);
        kernels(target);
    }
    println!("gfx942, the fastest of {ROUNDS} rounds each, the results the same");
    const ITEMS: u32 = 16384;
    const SUMS: u32 = 1 << 15;
    // Its waves lose one lane after the other, and half of its instructions are scalar.
    let lines = ([ITEMS, 1, 1], [256, 1, 1]);
    let both = [On::PerLane, On::ByHand];
    compare("diverge", "collatz", lines, &both, |m| {
        let input: Vec<u32> = (1..=ITEMS).collect();
        let (from, to) = (m.put(&input), m.alloc(4 * ITEMS as usize));
        (Args::default().u64(from).u64(to).u32(ITEMS), to)
    });
    // Few instructions a wave, and most of them of vectors.
    let lines = ([SUMS, 1, 1], [256, 1, 1]);
    compare("vadd", "vadd", lines, &[On::ByHand], |m| {
        let mut random = Random(1);
        let mut vector = || (0..SUMS).map(|_| random.float()).collect::<Vec<_>>();
        let (a, b) = (m.put(&vector()), m.put(&vector()));
        let to = m.alloc(4 * SUMS as usize);
        (Args::default().u64(a).u64(b).u64(to).u32(SUMS), to)
    });
    // Every lane is busy until the end.
    const SIDE: u32 = 128;
    let squares = ([SIDE, SIDE, 1], [16, 16, 1]);
    compare("matmul", "matmul_naive", squares, &[On::PerLane], |m| {
        let mut random = Random(1);
        let mut matrix = || (0..SIDE * SIDE).map(|_| random.float()).collect::<Vec<_>>();
        let (a, b) = (m.put(&matrix()), m.put(&matrix()));
        let to = m.alloc(4 * (SIDE * SIDE) as usize);
        (Args::default().u64(a).u64(b).u64(to).u32(SIDE), to)
    });
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

/// What a kernel of gfx942 is measured on.
#[derive(Clone, Copy, PartialEq)]
enum On {
    /// This interpreter.
    WholeWaves,
    /// One that copies each lane's operands.
    PerLane,
    /// Neither: its program as the host's, written by hand.
    ByHand,
}

impl On {
    fn name(self) -> &'static str {
        match self {
            Self::WholeWaves => "by whole waves",
            Self::PerLane => "by copies of each lane",
            Self::ByHand => "by hand",
        }
    }
}

/// Compares a gfx942 kernel on this interpreter with the same on `others`.
/// They run in turns, so that other work on the machine slows all.
fn compare(
    file: &str,
    kernel: &str,
    (grid, group): ([u32; 3], [u16; 3]),
    others: &[On],
    setup: impl Fn(&mut Flat) -> (Args, u64),
) {
    if !is_asked_for(kernel) {
        return;
    }
    let elf = compile(&GFX942, file, 3);
    let on = [&[On::WholeWaves], others].concat();
    let mut speeds = vec![0f64; on.len()];
    let mut results = Vec::new();
    for n in (0..on.len()).cycle().take(on.len() * ROUNDS) {
        let mut memory = Flat::new(16 << 20);
        let (mut cu, second) = unit(&GFX942, &mut memory);
        let code = load(&mut memory, &elf);
        let (args, to) = setup(&mut memory);
        let launch = prepare(&mut memory, &mut cu, &code, kernel, args, grid, group);
        let mut once = || match on[n] {
            On::WholeWaves => {
                let before = cu.statistics().instructions;
                launch.run(&mut memory, &mut cu, 100_000).expect("runs");
                cu.statistics().instructions - before
            }
            On::PerLane => per_lane::run(&launch, &mut memory, &mut cu),
            On::ByHand => by_hand::run(kernel, &launch, &mut memory, &mut cu),
        };
        // The first run decodes, and touches memory that nobody has touched.
        once();
        let start = processor_seconds();
        let instructions = once();
        let seconds = processor_seconds() - start;
        second.write_back();
        speeds[n] = speeds[n].max(instructions as f64 / seconds / 1e6);
        results.push((memory.words(to, (grid[0] * grid[1]) as usize), instructions));
    }
    assert!(
        results.iter().all(|r| *r == results[0]),
        "all compute the same"
    );
    let whole = speeds[0];
    for (on, speed) in on.iter().zip(speeds) {
        let times = match *on {
            On::WholeWaves => String::new(),
            On::PerLane => format!(", {:.1} times slower", whole / speed),
            On::ByHand => format!(", {:.1} times faster", speed / whole),
        };
        println!("{kernel:14} {speed:7.2} M/s {}{times}", on.name());
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
