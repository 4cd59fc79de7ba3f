// SPDX-License-Identifier: MIT OR Apache-2.0

//! The kernels of `tests/kernels`, written once more for the CPU: inputs, shapes and the words that
//! the GPU must store. Floating-point operations are in the kernels' order, so results are equal to
//! the last bit.

/// An argument of a kernel.
#[derive(Clone, Debug)]
pub enum Data {
    /// A buffer of words.
    Words(Vec<u32>),
    /// A buffer of bytes.
    Bytes(Vec<u8>),
    /// The buffer that is compared afterwards; these are its words before the kernel runs.
    Output(Vec<u32>),
    /// A 32-bit number, given as its bit pattern.
    Number(u32),
}

/// A kernel, its arguments, and the words that it must store.
#[derive(Clone, Debug)]
pub struct Case {
    /// The kernel's name.
    pub kernel: &'static str,
    /// Work-items.
    pub grid: [u32; 2],
    /// Work-items of a work-group.
    pub block: [u32; 2],
    /// Arguments in order; one is the output.
    pub args: Vec<Data>,
    /// The output's words.
    pub expected: Vec<u32>,
}

/// All cases, grouped by the source file of their kernels.
pub fn all() -> Vec<(&'static str, Vec<Case>)> {
    vec![
        ("vadd", vec![vadd()]),
        ("saxpy", vec![saxpy()]),
        ("reduce", vec![reduce()]),
        (
            "hist",
            vec![histogram("hist_global"), histogram("hist_lds")],
        ),
        (
            "matmul",
            vec![matmul("matmul_naive"), matmul("matmul_tiled")],
        ),
        ("diverge", vec![collatz(), gcd(), switch()]),
    ]
}

/// Elements. This is no multiple of a work-group's size, so that the last work-group is partly idle.
const N: usize = 3001;
/// The word that fills outputs before a kernel runs; no kernel would write it by chance.
const UNTOUCHED: u32 = 0xdead_beef;

/// Numbers that look random and are the same each time: the upper half of a linear congruential
/// generator's state, with the multiplier of Knuth's MMIX.
fn words(seed: u64, n: usize) -> Vec<u32> {
    let mut state = seed;
    let mut next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 32) as u32
    };
    (0..n).map(|_| next()).collect()
}

/// Numbers from -50 to 50 with full mantissas.
fn floats(seed: u64, n: usize) -> Vec<f32> {
    let unit = |w: u32| w as f32 / u32::MAX as f32 - 0.5;
    words(seed, n)
        .into_iter()
        .map(|w| unit(w) * 100.0)
        .collect()
}

fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|v| v.to_bits()).collect()
}

fn items(n: usize, block: u32) -> [u32; 2] {
    [(n as u32).next_multiple_of(block), 1]
}

fn vadd() -> Case {
    let (a, b) = (floats(1, N), floats(2, N));
    let sums: Vec<f32> = a.iter().zip(&b).map(|(a, b)| a + b).collect();
    Case {
        kernel: "vadd",
        grid: items(N, 256),
        block: [256, 1],
        args: vec![
            Data::Words(bits(&a)),
            Data::Words(bits(&b)),
            Data::Output(vec![UNTOUCHED; N]),
            Data::Number(N as u32),
        ],
        expected: bits(&sums),
    }
}

fn saxpy() -> Case {
    const A: f32 = -3.1875;
    let (x, y) = (floats(3, N), floats(4, N));
    // Product and sum are rounded each, since the kernels are compiled without contraction.
    let results: Vec<f32> = x.iter().zip(&y).map(|(x, y)| A * x + y).collect();
    Case {
        kernel: "saxpy",
        grid: items(N, 256),
        block: [256, 1],
        args: vec![
            Data::Number(A.to_bits()),
            Data::Words(bits(&x)),
            Data::Output(bits(&y)),
            Data::Number(N as u32),
        ],
        expected: bits(&results),
    }
}

/// Each work-item sums every 1024th element, then halves of the work-group are added in LDS.
fn reduce() -> Case {
    const GROUPS: usize = 4;
    let input = floats(5, 5 * N);
    let sums: Vec<f32> = (0..GROUPS)
        .map(|group| {
            let first = |t: usize| group * 256 + t;
            let strided = |t| input.iter().skip(first(t)).step_by(GROUPS * 256);
            let mut part: Vec<f32> = (0..256)
                .map(|t| strided(t).fold(0.0, |a, v| a + v))
                .collect();
            while part.len() > 1 {
                let (low, high) = part.split_at(part.len() / 2);
                part = low.iter().zip(high).map(|(l, h)| l + h).collect();
            }
            part.first().copied().unwrap_or(f32::NAN)
        })
        .collect();
    Case {
        kernel: "reduce",
        grid: [GROUPS as u32 * 256, 1],
        block: [256, 1],
        args: vec![
            Data::Words(bits(&input)),
            Data::Output(vec![UNTOUCHED; GROUPS]),
            Data::Number(input.len() as u32),
        ],
        expected: bits(&sums),
    }
}

fn histogram(kernel: &'static str) -> Case {
    // Unevenly spread, so that many work-items meet at the same bin.
    let input: Vec<u8> = words(6, N)
        .iter()
        .map(|w| ((w >> 24) & (w >> 16)) as u8)
        .collect();
    let mut bins = vec![0u32; 256];
    for &value in &input {
        if let Some(bin) = bins.get_mut(usize::from(value)) {
            *bin += 1;
        }
    }
    Case {
        kernel,
        grid: items(N, 256),
        block: [256, 1],
        args: vec![
            Data::Bytes(input),
            Data::Output(vec![0; 256]),
            Data::Number(N as u32),
        ],
        expected: bins,
    }
}

fn matmul(kernel: &'static str) -> Case {
    const SIDE: usize = 48;
    let (a, b) = (floats(7, SIDE * SIDE), floats(8, SIDE * SIDE));
    let product = |at: usize| {
        let row = a.iter().skip(at / SIDE * SIDE).take(SIDE);
        let column = b.iter().skip(at % SIDE).step_by(SIDE);
        row.zip(column).fold(0.0f32, |sum, (a, b)| sum + a * b)
    };
    let expected: Vec<f32> = (0..SIDE * SIDE).map(product).collect();
    Case {
        kernel,
        grid: [SIDE as u32; 2],
        block: [16, 16],
        args: vec![
            Data::Words(bits(&a)),
            Data::Words(bits(&b)),
            Data::Output(vec![UNTOUCHED; SIDE * SIDE]),
            Data::Number(SIDE as u32),
        ],
        expected: bits(&expected),
    }
}

/// A case with one or two inputs and one output of the same length.
fn elementwise(kernel: &'static str, inputs: Vec<Vec<u32>>, expected: Vec<u32>) -> Case {
    let n = expected.len();
    let mut args: Vec<Data> = inputs.into_iter().map(Data::Words).collect();
    args.push(Data::Output(vec![UNTOUCHED; n]));
    args.push(Data::Number(n as u32));
    Case {
        kernel,
        grid: items(n, 64),
        block: [64, 1],
        args,
        expected,
    }
}

fn collatz() -> Case {
    let steps = |start: u32| {
        let (mut v, mut count) = (u64::from(start), 0u32);
        while v != 1 && count < 10000 {
            v = if v % 2 == 1 { 3 * v + 1 } else { v / 2 };
            count += 1;
        }
        count
    };
    let input: Vec<u32> = (1..=N as u32).collect();
    let expected = input.iter().map(|&v| steps(v)).collect();
    elementwise("collatz", vec![input], expected)
}

fn gcd() -> Case {
    fn gcd(a: u32, b: u32) -> u32 {
        if b == 0 {
            a
        } else {
            gcd(b, a % b)
        }
    }
    let (a, b) = (words(9, N), words(10, N));
    let expected = a.iter().zip(&b).map(|(&a, &b)| gcd(a, b)).collect();
    elementwise("gcdk", vec![a, b], expected)
}

/// What `swtch` computes: a loop with a `switch` in it and a `goto` out of it.
fn switched(v: i32) -> i32 {
    let mut r = 0i32;
    for k in 0..v & 31 {
        r = match (v >> k) & 7 {
            0 => r.wrapping_add(k),
            1 => r ^ v,
            2 => r.wrapping_mul(7).wrapping_add(1),
            3 if r < 0 => return r,
            3 => r.wrapping_sub(k),
            4 => r.wrapping_neg(),
            5 => r / 3,
            _ => (r << 3) | k & 7,
        };
    }
    r
}

fn switch() -> Case {
    let input = words(11, N);
    let expected = input.iter().map(|&v| switched(v as i32) as u32).collect();
    elementwise("swtch", vec![input], expected)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_has_one_output_of_the_expected_length() {
        for case in all().into_iter().flat_map(|(_, cases)| cases) {
            let outputs: Vec<usize> = case
                .args
                .iter()
                .filter_map(|a| match a {
                    Data::Output(words) => Some(words.len()),
                    _ => None,
                })
                .collect();
            assert_eq!(outputs, [case.expected.len()], "{}", case.kernel);
        }
    }

    #[test]
    fn known_results() {
        // The Collatz sequence from 27 has 111 steps; the histogram counts every element once.
        assert_eq!(collatz().expected[26], 111);
        assert_eq!(histogram("h").expected.iter().sum::<u32>(), N as u32);
        assert_eq!(switched(1), 1);
        assert_eq!(switched(0), 0);
    }
}
