// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kernels compiled by clang at -O0 to -O3, executed, and compared bit by bit with the CPU.

use rkfd_isa::*;
use rkfd_isa_testkit::*;

const N: usize = 1000;

/// Run `kernel` of `file` on every chip at every level and compare `out` words at the address it
/// returns with the CPU's, and everything that the kernel could write with the first chip's.
fn check(
    file: &str,
    kernel: &str,
    grid: [u32; 3],
    group: [u16; 3],
    setup: impl Fn(&mut Flat) -> (Args, u64, Vec<u32>),
) {
    let mut first = None;
    for (target, level) in everywhere() {
        let what = format!("{kernel} for {} at -O{level}", target.name);
        let mut memory = Flat::new(32 << 20);
        // None of these kernels has a race.
        let checks = Checks {
            races: true,
            memory_races: true,
            ..Checks::default()
        };
        let mut cu = ComputeUnit::with_checks(target, checks);
        // Data first, so that it lies at the same addresses whatever the code's size.
        let data = memory.next;
        let (args, out, expected) = setup(&mut memory);
        let end = memory.next;
        let code = load(&mut memory, &compile(target, file, level));
        let launch = prepare(&mut memory, &mut cu, &code, kernel, args, grid, group);
        // A small odd slice: preemption at every kind of instruction.
        if let Err(fault) = launch.run(&mut memory, &mut cu, 977) {
            panic!("{what}: {fault}");
        }
        let got = memory.words(out, expected.len());
        let wrong = got.iter().zip(&expected).position(|(a, b)| a != b);
        if let Some(at) = wrong {
            panic!(
                "{what}: word {at} is {:#x}, the CPU has {:#x}",
                got[at], expected[at]
            );
        }
        let all = memory.read(data, (end - data) as usize);
        assert!(
            all == *first.get_or_insert_with(|| all.clone()),
            "{what}: not as on the first chip"
        );
        let run = cu.statistics().instructions;
        println!(
            "{what}: {} words and {} bytes equal, {run} wave instructions",
            expected.len(),
            all.len()
        );
    }
}

fn floats(seed: u64, n: usize) -> Vec<f32> {
    let mut r = Random(seed);
    (0..n).map(|_| r.float()).collect()
}

fn ints(seed: u64, n: usize) -> Vec<u32> {
    let mut r = Random(seed);
    (0..n).map(|_| r.u32()).collect()
}

fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|v| v.to_bits()).collect()
}

#[test]
fn vadd() {
    check("vadd", "vadd", [N as u32, 1, 1], [256, 1, 1], |m| {
        let (a, b) = (floats(1, N), floats(2, N));
        let sum: Vec<f32> = a.iter().zip(&b).map(|(a, b)| a + b).collect();
        let (pa, pb, out) = (m.put(&a), m.put(&b), m.alloc(4 * N));
        (
            Args::default().u64(pa).u64(pb).u64(out).u32(N as u32),
            out,
            bits(&sum),
        )
    });
}

#[test]
fn saxpy() {
    check("saxpy", "saxpy", [1024, 1, 1], [256, 1, 1], |m| {
        let (x, y) = (floats(3, N), floats(4, N));
        let r: Vec<f32> = x.iter().zip(&y).map(|(x, y)| 1.7 * x + y).collect();
        let (px, py) = (m.put(&x), m.put(&y));
        (
            Args::default().f32(1.7).u64(px).u64(py).u32(N as u32),
            py,
            bits(&r),
        )
    });
}

#[test]
fn reduce() {
    check("reduce", "reduce", [1024, 1, 1], [256, 1, 1], |m| {
        let n = 5000;
        let x = floats(5, n);
        let sums: Vec<f32> = (0..4)
            .map(|group| {
                let mut s: Vec<f32> = (0..256)
                    .map(|t| {
                        let mut a = 0.0;
                        let mut i = group * 256 + t;
                        while i < n {
                            a += x[i];
                            i += 1024;
                        }
                        a
                    })
                    .collect();
                let mut k = 128;
                while k > 0 {
                    for t in 0..k {
                        s[t] += s[t + k];
                    }
                    k >>= 1;
                }
                s[0]
            })
            .collect();
        let (px, out) = (m.put(&x), m.alloc(4096));
        (
            Args::default().u64(px).u64(out).u32(n as u32),
            out,
            bits(&sums),
        )
    });
}

fn histogram(kernel: &str) {
    check("hist", kernel, [1024, 1, 1], [256, 1, 1], |m| {
        let data: Vec<u8> = ints(6, N).into_iter().map(|v| (v >> 24) as u8).collect();
        let mut bins = vec![0u32; 256];
        for d in &data {
            bins[*d as usize] += 1;
        }
        let (p, out) = (m.put(&data), m.alloc(4096));
        (Args::default().u64(p).u64(out).u32(N as u32), out, bins)
    });
}

#[test]
fn histogram_in_memory() {
    histogram("hist_global");
}

#[test]
fn histogram_in_lds() {
    histogram("hist_lds");
}

fn matrix(kernel: &str) {
    check("matmul", kernel, [32, 32, 1], [16, 16, 1], |m| {
        let n = 32;
        let (a, b) = (floats(7, n * n), floats(8, n * n));
        let mut c = vec![0f32; n * n];
        for y in 0..n {
            for x in 0..n {
                let mut s = 0.0;
                for k in 0..n {
                    s += a[y * n + k] * b[k * n + x];
                }
                c[y * n + x] = s;
            }
        }
        let (pa, pb, out) = (m.put(&a), m.put(&b), m.alloc(4 * n * n));
        (
            Args::default().u64(pa).u64(pb).u64(out).u32(n as u32),
            out,
            bits(&c),
        )
    });
}

#[test]
fn matmul_naive() {
    matrix("matmul_naive");
}

#[test]
fn matmul_tiled() {
    matrix("matmul_tiled");
}

#[test]
fn collatz() {
    check("diverge", "collatz", [1024, 1, 1], [64, 1, 1], |m| {
        let input: Vec<u32> = (1..=N as u32).collect();
        let steps = input
            .iter()
            .map(|v| {
                let (mut v, mut c) = (u64::from(*v), 0);
                while v != 1 && c < 10000 {
                    v = if v & 1 == 1 { 3 * v + 1 } else { v >> 1 };
                    c += 1;
                }
                c
            })
            .collect();
        let (p, out) = (m.put(&input), m.alloc(4 * N));
        (Args::default().u64(p).u64(out).u32(N as u32), out, steps)
    });
}

#[test]
fn gcd() {
    check("diverge", "gcdk", [1024, 1, 1], [64, 1, 1], |m| {
        let (a, b) = (ints(9, N), ints(10, N));
        let r = a
            .iter()
            .zip(&b)
            .map(|(a, b)| {
                let (mut x, mut y) = (*a, *b);
                while y != 0 {
                    (x, y) = (y, x % y);
                }
                x
            })
            .collect();
        let (pa, pb, out) = (m.put(&a), m.put(&b), m.alloc(4 * N));
        (
            Args::default().u64(pa).u64(pb).u64(out).u32(N as u32),
            out,
            r,
        )
    });
}

fn switch(v: i32) -> i32 {
    let mut r = 0i32;
    for k in 0..(v & 31) {
        match (v >> k) & 7 {
            0 => r = r.wrapping_add(k),
            1 => r ^= v,
            2 => r = r.wrapping_mul(7).wrapping_add(1),
            3 => {
                if r < 0 {
                    return r;
                }
                r = r.wrapping_sub(k);
            }
            4 => r = r.wrapping_neg(),
            5 => r /= 3,
            _ => r = (r << 3) | (k & 7),
        }
    }
    r
}

#[test]
fn switch_and_goto() {
    check("diverge", "swtch", [1024, 1, 1], [64, 1, 1], |m| {
        let input = ints(11, N);
        let r = input.iter().map(|v| switch(*v as i32) as u32).collect();
        let (p, out) = (m.put(&input), m.alloc(4 * N));
        (Args::default().u64(p).u64(out).u32(N as u32), out, r)
    });
}
