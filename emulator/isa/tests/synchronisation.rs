// SPDX-License-Identifier: MIT OR Apache-2.0
//! Atomics of every kind, spin locks, signals to the host and operations between lanes, on every
//! chip at -O0 to -O3.

use rkfd_isa::*;
use rkfd_isa_testkit::*;

const N: usize = 256;
const ONE: [u16; 3] = [64, 1, 1];
const GRID: [u32; 3] = [N as u32, 1, 1];

#[test]
fn atomics() {
    check("x_sync", "atoms", GRID, ONE, &|m| {
        let n = N as u64;
        let (a, b, f, c) = (m.alloc(4096), m.alloc(4096), m.alloc(4096), m.alloc(4096));
        let xor = (0..N as u32).fold(0, |x, i| x ^ i);
        // One group after the other in lane order: the exchange hands each value to the next.
        let exchanged = (0..N as u32 - 1).sum::<u32>();
        let args = Args::default().u64(a).u64(b).u64(f).u64(c).u32(N as u32);
        (
            args,
            vec![
                (a, vec![u32::MAX, xor, N as u32 - 1, exchanged]),
                (b, vec![(n * (n - 1) / 2) as u32, 0]),
                (f, vec![(N as f32).to_bits()]),
                (c, vec![N as u32 - 1, 0]),
            ],
        )
    });
}

#[test]
fn spin_lock_and_signal() {
    check("x_sync", "spinlock", [256, 1, 1], ONE, &|m| {
        let (lock, count) = (m.alloc(4096), m.alloc(4096));
        (
            Args::default().u64(lock).u64(count).u32(10),
            vec![(lock, vec![0]), (count, vec![40])],
        )
    });
    // The clock is read once, or its halves with the upper one once more.
    for (target, now) in [(&GFX942, 1), (&GFX1201, 2)] {
        check_on(target, "x_sync", "signal_host", [64, 1, 1], ONE, &|m| {
            let (signal, time) = (m.alloc(4096), m.alloc(4096));
            let value = 0x1234_5678_9abc_def0;
            let outputs = vec![
                (signal, vec![0x9abc_def0, 0x1234_5678]),
                (time, vec![now, 0]),
            ];
            (Args::default().u64(signal).u64(value).u64(time), outputs)
        });
    }
}

#[test]
fn cross_lane() {
    check("x_sync", "shfl_reduce", GRID, ONE, &|m| {
        let a = ints(20, N);
        let sum = a.iter().take(200).fold(0u32, |s, v| s.wrapping_add(*v));
        let (p, out) = (m.put(&a), m.alloc(4096));
        (
            Args::default().u64(p).u64(out).u32(200),
            vec![(out, vec![sum])],
        )
    });
    // The first wave's lanes.
    for (target, lanes) in [(&GFX942, 64), (&GFX1201, 32)] {
        check_on(target, "x_sync", "ballotk", GRID, ONE, &|m| {
            let a: Vec<u32> = ints(21, N).iter().map(|v| v % 200).collect();
            let r: Vec<u64> = (0..N / 64)
                .map(|g| {
                    let votes = |l: usize| g * 64 + l < 230 && a[g * 64 + l] > 100;
                    let mask = (0..lanes).fold(0u64, |s, l| s | (u64::from(votes(l)) << l));
                    mask.wrapping_add(g as u64 * 64)
                })
                .collect();
            let (p, out) = (m.put(&a), m.alloc(4096));
            let args = Args::default().u64(p).u64(out).u32(230);
            (args, vec![(out, halves(&r))])
        });
    }
}
