// SPDX-License-Identifier: MIT OR Apache-2.0
//! Waves of a workgroup run in an order that a seed draws: a barrier that is missing shows, and a seed repeats
//! what it showed.

use rkfd_isa::*;
use rkfd_isa_testkit::*;

const ITEMS: u32 = 256;

/// What a kernel of shift.hip writes, with a seed, or with waves one after the other.
fn shifted(target: &'static Target, elf: &[u8], kernel: &str, seed: Option<u64>) -> Vec<u32> {
    let mut memory = Flat::new(1 << 20);
    let checks = Checks {
        seed,
        ..Checks::default()
    };
    let mut cu = ComputeUnit::with_checks(target, checks);
    let code = load(&mut memory, elf);
    let out = memory.alloc(4 * ITEMS as usize);
    let args = Args::default().u64(out);
    let (grid, group) = ([ITEMS, 1, 1], [ITEMS as u16, 1, 1]);
    let launch = prepare(&mut memory, &mut cu, &code, kernel, args, grid, group);
    let ran = launch.run(&mut memory, &mut cu, 100_000);
    assert_eq!(ran, Ok(()), "{} {kernel} with seed {seed:?}", target.name);
    memory.words(out, ITEMS as usize)
}

fn right() -> Vec<u32> {
    let value = |t: u32| t.checked_sub(64).map_or(0, |from| 3 * from + 1);
    (0..ITEMS).map(value).collect()
}

#[test]
fn a_missing_barrier_shows() {
    const SEEDS: u64 = 32;
    for target in TARGETS {
        let elf = compile(target, "shift", 3);
        let without = |seed| shifted(target, &elf, "shift_without_barrier", seed);
        for seed in (0..SEEDS).map(Some).chain([None]) {
            let with = shifted(target, &elf, "shift", seed);
            assert_eq!(with, right(), "{} with seed {seed:?}", target.name);
        }
        // One after the other nobody notices.
        assert_eq!(without(None), right(), "{}", target.name);
        let wrong: Vec<u64> = (0..SEEDS)
            .filter(|seed| without(Some(*seed)) != right())
            .collect();
        println!("{}: wrong with seeds {wrong:?}", target.name);
        assert!(wrong.len() > 4, "{}: {wrong:?}", target.name);
        for seed in wrong {
            let [first, second] = [(); 2].map(|()| without(Some(seed)));
            assert_eq!(first, second, "{} with seed {seed}", target.name);
        }
    }
}
