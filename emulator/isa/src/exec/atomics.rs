// SPDX-License-Identifier: MIT OR Apache-2.0
//! What atomics do to the old value, in memory and in LDS alike.
//!
//! Sums of floats round to nearest even. In memory they keep denormals, in LDS they do as MODE says (RDNA4
//! ISA, section 12.3).

use super::exact::{from_bf16, to_bf16};
use super::float::{extreme32, extreme64, flush32, from_f16, to_f16};
use crate::decode::atomic::Atomic;
use crate::kernel::mode;

/// Add both halves.
fn halves(old: u64, data: u64, add: impl Fn(u16, u16) -> u16) -> u64 {
    let half =
        |n: u32| u64::from(add((old >> (16 * n)) as u16, (data >> (16 * n)) as u16)) << (16 * n);
    half(0) | half(1)
}

fn add_half(a: u16, b: u16) -> u16 {
    to_f16(f64::from(from_f16(a)) + f64::from(from_f16(b)))
}

fn add_brain(a: u16, b: u16) -> u16 {
    let value = |x| f64::from(f32::from_bits(from_bf16(x)));
    to_bf16(value(a) + value(b))
}

macro_rules! apply {
    ($name:ident, $int:ty, $signed:ty, $float:ty, $extreme:ident) => {
        /// The new value of a cell that holds `old`.
        pub fn $name(op: Atomic, old: $int, data: $int, compare: $int) -> $int {
            let float = |f: fn($float, $float) -> $float| {
                f(<$float>::from_bits(old), <$float>::from_bits(data)).to_bits()
            };
            match op {
                Atomic::Add => old.wrapping_add(data),
                Atomic::Sub => old.wrapping_sub(data),
                Atomic::Rsub => data.wrapping_sub(old),
                Atomic::Inc => {
                    if old >= data {
                        0
                    } else {
                        old + 1
                    }
                }
                Atomic::Dec => {
                    if old == 0 || old > data {
                        data
                    } else {
                        old - 1
                    }
                }
                Atomic::Smin => (old as $signed).min(data as $signed) as $int,
                Atomic::Umin => old.min(data),
                Atomic::Smax => (old as $signed).max(data as $signed) as $int,
                Atomic::Umax => old.max(data),
                Atomic::And => old & data,
                Atomic::Or => old | data,
                Atomic::Xor => old ^ data,
                Atomic::Swap => data,
                Atomic::Cmpswap | Atomic::Cmpst => {
                    if old == compare {
                        data
                    } else {
                        old
                    }
                }
                Atomic::AddFloat => float(|a, b| a + b),
                Atomic::MinFloat => $extreme(old, data, false),
                Atomic::MaxFloat => $extreme(old, data, true),
                Atomic::AddHalves => halves(old.into(), data.into(), add_half) as $int,
                Atomic::AddBrain => halves(old.into(), data.into(), add_brain) as $int,
                Atomic::CondSub => {
                    if old >= data {
                        old - data
                    } else {
                        old
                    }
                }
                Atomic::SubClamp => old.saturating_sub(data),
                Atomic::Mskor => old & !data | compare,
                Atomic::Wrap => {
                    if old >= data {
                        old - data
                    } else {
                        old.wrapping_add(compare)
                    }
                }
                Atomic::CmpstFloat => {
                    if <$float>::from_bits(old) == <$float>::from_bits(compare) {
                        data
                    } else {
                        old
                    }
                }
            }
        }
    };
}

apply!(apply32, u32, i32, f32, pick32);
apply!(apply64, u64, i64, f64, pick64);

/// The smaller or larger number; of two NaNs the data's, quiet (RDNA4 ISA, DS_MIN_NUM_F32).
fn pick32(old: u32, data: u32, max: bool) -> u32 {
    match [old, data].map(|x| f32::from_bits(x).is_nan()) {
        [true, true] => data | 0x40_0000,
        _ => extreme32(old, data, max, false),
    }
}

/// The same of doubles.
fn pick64(old: u64, data: u64, max: bool) -> u64 {
    match [old, data].map(|x| f64::from_bits(x).is_nan()) {
        [true, true] => data | 0x8_0000_0000_0000,
        _ => extreme64(old, data, max, false),
    }
}

fn flush64(x: u64) -> u64 {
    if x & (0x7ff << 52) == 0 {
        x & (1 << 63)
    } else {
        x
    }
}

/// Halves of a pair.
fn flush_halves(x: u32) -> u32 {
    [0, 16].into_iter().fold(0, |r, at| {
        let half = (x >> at) & 0xffff;
        let kept = if half & 0x7c00 == 0 {
            half & 0x8000
        } else {
            half
        };
        r | (kept << at)
    })
}

/// The same of bf16, which has the exponent of single precision.
fn flush_brains(x: u32) -> u32 {
    flush32(x & 0xffff_0000) | (flush32(x << 16) >> 16)
}

/// The new value of a cell of LDS: MODE says whether denormals count, as sources and as results.
pub fn apply32_by_mode(mode: u32, op: Atomic, old: u32, data: u32, compare: u32) -> u32 {
    let flush: fn(u32) -> u32 = match op {
        Atomic::AddFloat | Atomic::MinFloat | Atomic::MaxFloat | Atomic::CmpstFloat => flush32,
        Atomic::AddHalves => flush_halves,
        Atomic::AddBrain => flush_brains,
        _ => return apply32(op, old, data, compare),
    };
    // Pairs follow the field of half and double precision.
    let single = !matches!(op, Atomic::AddHalves | Atomic::AddBrain);
    let [sources, results] = kept(mode, single);
    let read = |x: u32| if sources { x } else { flush(x) };
    if op == Atomic::CmpstFloat {
        // What is stored is no result of arithmetic.
        let equal = f32::from_bits(read(old)) == f32::from_bits(read(compare));
        return if equal { data } else { old };
    }
    let r = apply32(op, read(old), read(data), compare);
    if results {
        r
    } else {
        flush(r)
    }
}

/// The same of 64 bits.
pub fn apply64_by_mode(mode: u32, op: Atomic, old: u64, data: u64, compare: u64) -> u64 {
    let float = matches!(op, Atomic::AddFloat | Atomic::MinFloat | Atomic::MaxFloat);
    let [sources, results] = kept(mode, false);
    if !float || (sources && results) {
        return apply64(op, old, data, compare);
    }
    let read = |x: u64| if sources { x } else { flush64(x) };
    let r = apply64(op, read(old), read(data), compare);
    if results {
        r
    } else {
        flush64(r)
    }
}

/// Whether MODE keeps denormals of sources, and of results.
fn kept(mode: u32, single: bool) -> [bool; 2] {
    let field = mode >> (mode::DENORM + if single { 0 } else { 2 });
    [field & 1 == 1, field & 2 == 2]
}
