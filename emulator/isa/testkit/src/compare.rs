// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kernels on every chip at every level against the CPU.

use super::*;

pub type Setup<'a> = &'a dyn Fn(&mut Flat) -> (Args, Vec<(u64, Vec<u32>)>);

pub fn check(file: &str, kernel: &str, grid: [u32; 3], group: [u16; 3], setup: Setup) {
    for target in TARGETS {
        check_on(target, file, kernel, grid, group, setup);
    }
    println!("{kernel}: equal on all chips at -O0 to -O3");
}

pub fn check_on(
    target: &'static Target,
    file: &str,
    kernel: &str,
    grid: [u32; 3],
    group: [u16; 3],
    setup: Setup,
) {
    for level in 0..=3 {
        let what = format!("{kernel} for {} at -O{level}", target.name);
        let mut memory = Flat::new(32 << 20);
        let mut cu = ComputeUnit::for_target(target);
        let code = load(&mut memory, &compile(target, file, level));
        let (args, outputs) = setup(&mut memory);
        let launch = prepare(&mut memory, &mut cu, &code, kernel, args, grid, group);
        if let Err(fault) = launch.run(&mut memory, &mut cu, 997) {
            panic!("{what}: {fault}");
        }
        for (out, expected) in outputs {
            let got = memory.words(out, expected.len());
            if let Some(at) = got.iter().zip(&expected).position(|(a, b)| a != b) {
                panic!(
                    "{what}: word {at} is {:#x}, the CPU has {:#x}",
                    got[at], expected[at]
                );
            }
        }
    }
}

pub fn ints(seed: u64, n: usize) -> Vec<u32> {
    let mut r = Random(seed);
    (0..n).map(|_| r.u32()).collect()
}

pub fn halves(v: &[u64]) -> Vec<u32> {
    v.iter()
        .flat_map(|v| [*v as u32, (*v >> 32) as u32])
        .collect()
}
