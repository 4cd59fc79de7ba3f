// SPDX-License-Identifier: MIT OR Apache-2.0
//! The extended kernels: calls and recursion, private arrays, 64-bit division, floating division
//! and square root, half precision, traps, DPP, packed pairs, saturated integers.

use rkfd_isa::*;
use rkfd_isa_testkit::*;

const N: usize = 256;

fn longs(seed: u64, n: usize) -> Vec<u64> {
    let mut r = Random(seed);
    (0..n).map(|_| r.u64()).collect()
}

/// Every bit pattern with its own chance: zeros, denormals, infinities, NaN and ordinary numbers.
fn wild(seed: u64, n: usize) -> Vec<f32> {
    let special = [
        0,
        1,
        0x7f_ffff,
        0x80_0000,
        0x7f7f_ffff,
        0x7f80_0000,
        0x7fc0_0000,
        0x3f80_0000,
        0x8000_0000,
        0xff80_0000,
        0x8000_0003,
    ];
    let mut r = Random(seed);
    (0..n)
        .map(|k| {
            f32::from_bits(if k % 3 == 0 {
                special[r.u32() as usize % special.len()]
            } else {
                r.u32()
            })
        })
        .collect()
}

const ONE: [u16; 3] = [64, 1, 1];
const GRID: [u32; 3] = [N as u32, 1, 1];

#[test]
fn long_multiplication() {
    check("x_int", "i64mul", GRID, ONE, &|m| {
        let (a, b) = (longs(1, N), longs(2, N));
        let r: Vec<u64> = a
            .iter()
            .zip(&b)
            .map(|(a, b)| {
                a.wrapping_mul(*b)
                    .wrapping_add(a >> (b & 63))
                    .wrapping_add(u64::from(a < b))
            })
            .collect();
        let (pa, pb, out) = (m.put(&a), m.put(&b), m.alloc(8 * N));
        (
            Args::default().u64(pa).u64(pb).u64(out).u32(N as u32),
            vec![(out, halves(&r))],
        )
    });
}

#[test]
fn long_division() {
    check("x_int", "i64div", GRID, ONE, &|m| {
        let a = longs(3, N);
        let b: Vec<u64> = longs(4, N)
            .into_iter()
            .enumerate()
            .map(|(n, v)| ((v as i64) >> (n % 60)) as u64 | 1)
            .collect();
        let r: Vec<u64> = a
            .iter()
            .zip(&b)
            .map(|(a, b)| {
                let (a, b) = (*a as i64, *b as i64);
                a.wrapping_div(b).wrapping_add(a.wrapping_rem(b)) as u64
            })
            .collect();
        let (pa, pb, out) = (m.put(&a), m.put(&b), m.alloc(8 * N));
        (
            Args::default().u64(pa).u64(pb).u64(out).u32(N as u32),
            vec![(out, halves(&r))],
        )
    });
}

#[test]
fn bit_operations() {
    check("x_int", "bits", GRID, ONE, &|m| {
        let a = ints(5, N);
        let r = a
            .iter()
            .map(|v| v.count_ones() + (v | 1).leading_zeros() + (v | 0x8000_0000).trailing_zeros())
            .zip(&a)
            .map(|(s, v)| {
                s.wrapping_add(v.reverse_bits())
                    .wrapping_add((v >> 5) & 0x3ff)
            })
            .collect();
        let (p, out) = (m.put(&a), m.alloc(4 * N));
        (
            Args::default().u64(p).u64(out).u32(N as u32),
            vec![(out, r)],
        )
    });
}

#[test]
fn bytes_and_shorts() {
    check("x_int", "bytes", GRID, ONE, &|m| {
        let a: Vec<u8> = ints(6, N).iter().map(|v| *v as u8).collect();
        let s: Vec<i16> = ints(7, N).iter().map(|v| *v as i16).collect();
        let o: Vec<u8> = a
            .iter()
            .zip(&s)
            .map(|(a, s)| (i32::from(*a) * 3 + i32::from(*s)) as u8)
            .collect();
        let p: Vec<u16> = a
            .iter()
            .zip(&s)
            .map(|(a, s)| ((s >> 2) as u16).wrapping_add(u16::from(*a)))
            .collect();
        let (pa, ps, po, pp) = (m.put(&a), m.put(&s), m.alloc(N), m.alloc(2 * N));
        let o = o
            .chunks(4)
            .map(|c| u32::from_le_bytes([c[0], c[1], c[2], c[3]]))
            .collect();
        let p = p
            .chunks(2)
            .map(|c| u32::from(c[0]) | (u32::from(c[1]) << 16))
            .collect();
        (
            Args::default()
                .u64(pa)
                .u64(ps)
                .u64(po)
                .u64(pp)
                .u32(N as u32),
            vec![(po, o), (pp, p)],
        )
    });
}

#[test]
fn random_numbers() {
    check("x_int", "prng", GRID, ONE, &|m| {
        let r = (0..N as u64)
            .map(|i| {
                let mut s = i.wrapping_mul(2_685_821_657_736_338_717).wrapping_add(1);
                for _ in 0..20 {
                    s ^= s << 13;
                    s ^= s >> 7;
                    s ^= s << 17;
                }
                (s >> 32) as u32
            })
            .collect();
        let out = m.alloc(4 * N);
        (
            Args::default().u64(out).u32(N as u32).u32(20),
            vec![(out, r)],
        )
    });
}

#[test]
fn bitonic_step_and_wide_copies() {
    check("x_int", "bitonic", GRID, ONE, &|m| {
        let mut d = ints(8, N);
        let p = m.put(&d);
        let (j, k) = (4usize, 16usize);
        for i in 0..N {
            let l = i ^ j;
            if l > i && (d[i] > d[l]) == (i & k == 0) {
                d.swap(i, l);
            }
        }
        (
            Args::default().u64(p).u32(j as u32).u32(k as u32),
            vec![(p, d)],
        )
    });
    check("x_int", "struct_copy", GRID, ONE, &|m| {
        let a = ints(9, 4 * N);
        let r = a.chunks(4).flat_map(|c| [c[3], c[2], c[1], c[0]]).collect();
        let (p, out) = (m.put(&a), m.alloc(16 * N));
        (
            Args::default().u64(p).u64(out).u32(N as u32),
            vec![(out, r)],
        )
    });
}

#[test]
fn floating_division_is_ieee() {
    // NaN results are compared as NaN: which one is not specified by IEEE.
    let (a, b) = (wild(10, 4096), wild(11, 4096));
    for (target, level) in everywhere() {
        let mut memory = Flat::new(32 << 20);
        let mut cu = ComputeUnit::for_target(target);
        let code = load(&mut memory, &compile(target, "x_fp", level));
        let (pa, pb, out) = (memory.put(&a), memory.put(&b), memory.alloc(4 * 4096));
        let args = Args::default().u64(pa).u64(pb).u64(out).u32(4096);
        prepare(&mut memory, &mut cu, &code, "fdiv", args, [4096, 1, 1], ONE)
            .run(&mut memory, &mut cu, 10_000)
            .expect("fdiv");
        // clang's default for HIP is correctly rounded division.
        for (n, got) in memory.words(out, 4096).into_iter().enumerate() {
            let want = a[n] / b[n];
            let same = got == want.to_bits() || (want.is_nan() && f32::from_bits(got).is_nan());
            assert!(
                same,
                "-O{level}: {:e} / {:e} is {:#x}, the CPU has {:#x}",
                a[n],
                b[n],
                got,
                want.to_bits()
            );
        }
    }
}

#[test]
fn mandelbrot() {
    check("x_fp", "mandel", GRID, ONE, &|m| {
        let (w, h, sx, sy) = (16u32, 16u32, 0.19f32, 0.13f32);
        let r = (0..w * h)
            .map(|i| {
                let (cx, cy) = ((i % w) as f32 * sx - 2.0, (i / w) as f32 * sy - 1.0);
                let (mut x, mut y, mut k) = (0f32, 0f32, 0);
                while k < 256 && x * x + y * y < 4.0 {
                    let t = x * x - y * y + cx;
                    y = 2.0 * x * y + cy;
                    x = t;
                    k += 1;
                }
                k
            })
            .collect();
        let out = m.alloc(4 * N);
        (
            Args::default().u64(out).u32(w).u32(h).f32(sx).f32(sy),
            vec![(out, r)],
        )
    });
}

#[test]
fn doubles() {
    check("x_fp", "dgemv", [64, 1, 1], ONE, &|m| {
        let n = 50;
        let mut r = Random(12);
        let mut double = || r.u64() as i64 as f64 / 1e15;
        let (a, x): (Vec<f64>, Vec<f64>) = (
            (0..n * n).map(|_| double()).collect(),
            (0..n).map(|_| double()).collect(),
        );
        let y: Vec<u64> = (0..n)
            .map(|i| {
                let mut s = 0.0;
                for k in 0..n {
                    s += a[i * n + k] * x[k];
                }
                (s / n as f64).to_bits()
            })
            .collect();
        let (pa, px, out) = (m.put(&a), m.put(&x), m.alloc(4096));
        (
            Args::default().u64(pa).u64(px).u64(out).u32(n as u32),
            vec![(out, halves(&y))],
        )
    });
}

#[test]
fn conversions() {
    check("x_fp", "conv", GRID, ONE, &|m| {
        let mut r = Random(13);
        // Out-of-range conversions are undefined in C: the source keeps to what both define.
        let f: Vec<f32> = (0..N).map(|_| r.float() * 1000.0).map(f32::abs).collect();
        let a = f.iter().map(|f| *f as i32 as u32).collect();
        let b = f.iter().map(|f| *f as u32).collect();
        let d: Vec<u64> = f.iter().map(|f| (f64::from(*f) * 2.0).to_bits()).collect();
        let g = f
            .iter()
            .map(|f| (f.floor().clamp(-1e6, 1e6) + f.abs() - f.trunc()).to_bits())
            .collect();
        let (pf, pa, pb, pd, pg) = (
            m.put(&f),
            m.alloc(4 * N),
            m.alloc(4 * N),
            m.alloc(8 * N),
            m.alloc(4 * N),
        );
        let args = Args::default()
            .u64(pf)
            .u64(pa)
            .u64(pb)
            .u64(pd)
            .u64(pg)
            .u32(N as u32);
        (args, vec![(pa, a), (pb, b), (pd, halves(&d)), (pg, g)])
    });
}

#[test]
fn half_precision() {
    use rkfd_isa::exec::float::{from_f16, to_f16};
    check("x_fp", "halfk", GRID, ONE, &|m| {
        let pick = |seed| -> Vec<u16> {
            ints(seed, N)
                .iter()
                .map(|v| *v as u16)
                .map(|h| if h & 0x7c00 == 0x7c00 { h & 0xbfff } else { h })
                .collect()
        };
        let (a, b) = (pick(14), pick(15));
        // -ffp-contract=off: two roundings.
        let r: Vec<u16> = a
            .iter()
            .zip(&b)
            .map(|(a, b)| {
                let product = to_f16(f64::from(from_f16(*a)) * f64::from(from_f16(*b)));
                to_f16(f64::from(from_f16(product)) + 1.5)
            })
            .collect();
        let (pa, pb, out) = (m.put(&a), m.put(&b), m.alloc(2 * N));
        let r = r
            .chunks(2)
            .map(|c| u32::from(c[0]) | (u32::from(c[1]) << 16))
            .collect();
        (
            Args::default().u64(pa).u64(pb).u64(out).u32(N as u32),
            vec![(out, r)],
        )
    });
}

#[test]
fn square_roots_and_reciprocals() {
    check("x_fp", "nbody", [64, 1, 1], ONE, &|m| {
        let n = 40;
        let mut r = Random(16);
        let p: Vec<f32> = (0..4 * n).map(|_| r.float()).collect();
        let o = (0..n)
            .flat_map(|i| {
                let (x, y, z) = (p[i * 4], p[i * 4 + 1], p[i * 4 + 2]);
                let (mut ax, mut ay, mut az) = (0f32, 0f32, 0f32);
                for j in 0..n {
                    let (dx, dy, dz) = (p[j * 4] - x, p[j * 4 + 1] - y, p[j * 4 + 2] - z);
                    let r = dx * dx + dy * dy + dz * dz + 1e-3;
                    let q = 1.0 / r.sqrt();
                    let q = q * q * q * p[j * 4 + 3];
                    ax += dx * q;
                    ay += dy * q;
                    az += dz * q;
                }
                [ax, ay, az, 0.0].map(f32::to_bits)
            })
            .collect();
        let (pp, out) = (m.put(&p), m.alloc(16 * n));
        (
            Args::default().u64(pp).u64(out).u32(n as u32),
            vec![(out, o)],
        )
    });
}

/// FIPS 180-4 compression of one block, written for the test.
fn sha256_block(block: &[u32], k: &[u32; 64]) -> [u32; 8] {
    let mut w = [0u32; 64];
    for n in 0..16 {
        w[n] = block[n].swap_bytes();
    }
    for n in 16..64 {
        let s0 = w[n - 15].rotate_right(7) ^ w[n - 15].rotate_right(18) ^ (w[n - 15] >> 3);
        let s1 = w[n - 2].rotate_right(17) ^ w[n - 2].rotate_right(19) ^ (w[n - 2] >> 10);
        w[n] = w[n - 16]
            .wrapping_add(s0)
            .wrapping_add(w[n - 7])
            .wrapping_add(s1);
    }
    let h = [
        0x6a09e667u32,
        0xbb67ae85,
        0x3c6ef372,
        0xa54ff53a,
        0x510e527f,
        0x9b05688c,
        0x1f83d9ab,
        0x5be0cd19,
    ];
    let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut hh] = h;
    for n in 0..64 {
        let t1 = hh
            .wrapping_add(e.rotate_right(6) ^ e.rotate_right(11) ^ e.rotate_right(25))
            .wrapping_add((e & f) ^ (!e & g))
            .wrapping_add(k[n])
            .wrapping_add(w[n]);
        let t2 = (a.rotate_right(2) ^ a.rotate_right(13) ^ a.rotate_right(22))
            .wrapping_add((a & b) ^ (a & c) ^ (b & c));
        (hh, g, f, e, d, c, b, a) = (g, f, e, d.wrapping_add(t1), c, b, a, t1.wrapping_add(t2));
    }
    let r = [a, b, c, d, e, f, g, hh];
    std::array::from_fn(|n| h[n].wrapping_add(r[n]))
}

#[test]
fn sha256() {
    // The round constants: fractional parts of the cube roots of the first 64 primes.
    let primes: Vec<u64> = (2u64..400)
        .filter(|n| (2..*n).all(|d| n % d != 0))
        .take(64)
        .collect();
    let k: [u32; 64] = std::array::from_fn(|n| {
        // floor(cbrt(p) * 2^32) by bisection on integers.
        let target = u128::from(primes[n]) << 96;
        let (mut low, mut high) = (0u128, 1u128 << 36);
        while high - low > 1 {
            let mid = (low + high) / 2;
            if mid * mid * mid <= target {
                low = mid
            } else {
                high = mid
            }
        }
        low as u32
    });
    check("x_sha", "sha256", [64, 1, 1], ONE, &|m| {
        let a = ints(17, 64 * 16);
        let r = a.chunks(16).flat_map(|b| sha256_block(b, &k)).collect();
        let (p, out) = (m.put(&a), m.alloc(32 * 64));
        (Args::default().u64(p).u64(out).u32(64), vec![(out, r)])
    });
}

fn ackermann(m: u32, n: u32) -> u32 {
    if m == 0 {
        n + 1
    } else if n == 0 {
        ackermann(m - 1, 1)
    } else {
        ackermann(m - 1, ackermann(m, n - 1))
    }
}

#[test]
fn recursion() {
    check("x_stack", "ackk", [64, 1, 1], ONE, &|m| {
        let a: Vec<u32> = (0..64).collect();
        let r = a.iter().map(|v| ackermann(v & 3, (v >> 2) & 3)).collect();
        let (p, out) = (m.put(&a), m.alloc(4096));
        (Args::default().u64(p).u64(out).u32(64), vec![(out, r)])
    });
}

#[test]
fn private_arrays_and_function_pointers() {
    check("x_stack", "privarr", GRID, ONE, &|m| {
        let a = ints(18, 64);
        let r = (0..N as u32)
            .map(|i| {
                let mut t: Vec<u32> = a.iter().map(|v| v.wrapping_mul(i)).collect();
                let mut s = 0u32;
                for k in 0..64 {
                    let q = ((s ^ k) & 63) as usize;
                    s = s.wrapping_add(t[q]);
                    t[q] = s;
                }
                s
            })
            .collect();
        let (p, out) = (m.put(&a), m.alloc(4 * N));
        (
            Args::default().u64(p).u64(out).u32(N as u32),
            vec![(out, r)],
        )
    });
    check("x_stack", "fptr", GRID, ONE, &|m| {
        let a = ints(19, N);
        let r = a
            .iter()
            .map(|v| {
                if v & 1 == 1 {
                    v.wrapping_mul(3)
                } else {
                    v ^ 0x55
                }
            })
            .collect();
        let (p, out) = (m.put(&a), m.alloc(4 * N));
        (
            Args::default().u64(p).u64(out).u32(N as u32),
            vec![(out, r)],
        )
    });
}

#[test]
fn trap() {
    for (target, level) in everywhere() {
        let mut memory = Flat::new(32 << 20);
        let mut cu = ComputeUnit::for_target(target);
        let code = load(&mut memory, &compile(target, "x_stack", level));
        let out = memory.alloc(4096);
        let args = Args::default().u64(out).u32(70);
        let launch = prepare(&mut memory, &mut cu, &code, "trapk", args, [128, 1, 1], ONE);
        let fault = launch
            .run(&mut memory, &mut cu, 10_000)
            .expect_err("work item 70 traps");
        assert_eq!(
            (fault.kind, fault.mnemonic(), fault.workgroup),
            (FaultKind::Trap(2), Some("s_trap"), [1, 0, 0]),
            "-O{level}"
        );
    }
}

#[test]
fn lanes_through_dpp() {
    check("x_lanes", "rowsum", GRID, ONE, &|m| {
        let a = ints(31, N);
        let rows = || a.chunks(16);
        let sums = rows().flat_map(|row| {
            row.iter().scan(0u32, |sum, x| {
                *sum = sum.wrapping_add(*x);
                Some(*sum)
            })
        });
        let turned = rows().flat_map(|row| row.iter().rev().copied()).collect();
        let sums = sums.collect();
        let (pa, out, mirror) = (m.put(&a), m.alloc(4 * N), m.alloc(4 * N));
        (
            Args::default().u64(pa).u64(out).u64(mirror).u32(N as u32),
            vec![(out, sums), (mirror, turned)],
        )
    });
}

#[test]
fn packed_halves() {
    use half::f16;
    check("x_lanes", "packed", GRID, ONE, &|m| {
        let mut r = Random(37);
        // No NaN: which one comes out is not the same question.
        let mut pairs = || -> Vec<u32> {
            (0..N)
                .map(|_| r.u32() & 0xbfff_bfff | 0x1000_0800)
                .collect()
        };
        let (a, b) = (pairs(), pairs());
        let halves = |x: u32| [x as u16, (x >> 16) as u16].map(f16::from_bits);
        let word = |p: [f16; 2]| u32::from(p[0].to_bits()) | (u32::from(p[1].to_bits()) << 16);
        let results = a.iter().zip(&b).flat_map(|(a, b)| {
            let (x, y) = (halves(*a), halves(*b));
            let s = [(0, 1.5), (1, -0.25)].map(|(n, c)| x[n] * y[n] + f16::from_f32(c));
            [word(s), word([0, 1].map(|n| s[n].max(x[n])))]
        });
        let results = results.collect();
        let (pa, pb, out) = (m.put(&a), m.put(&b), m.alloc(8 * N));
        (
            Args::default().u64(pa).u64(pb).u64(out).u32(N as u32),
            vec![(out, results)],
        )
    });
}

#[test]
fn saturated_integers() {
    check("x_lanes", "saturate", GRID, ONE, &|m| {
        let (a, b) = (ints(41, N), ints(43, N));
        let results = a.iter().zip(&b).flat_map(|(a, b)| {
            let half = |n: u32| ((a >> n) as i16).saturating_add((b >> n) as i16) as u16;
            [
                a.saturating_add(*b),
                (*a as i32).saturating_sub(*b as i32) as u32,
                u32::from(half(0)) | (u32::from(half(16)) << 16),
                (a & 255) * (b >> 24) + ((a >> 8) & 255),
            ]
        });
        let results = results.collect();
        let (pa, pb, out) = (m.put(&a), m.put(&b), m.alloc(16 * N));
        (
            Args::default().u64(pa).u64(pb).u64(out).u32(N as u32),
            vec![(out, results)],
        )
    });
}
