// SPDX-License-Identifier: MIT OR Apache-2.0
//! What atomics do to the old value, in memory and in LDS alike.
//!
//! Sums of floats ignore MODE: they round to nearest even, and keep denormals.

use super::exact::{from_bf16, to_bf16};
use super::float::{from_f16, to_f16};
use crate::decode::atomic::Atomic;

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
    ($name:ident, $int:ty, $signed:ty, $float:ty) => {
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
                Atomic::MinFloat => float(<$float>::min),
                Atomic::MaxFloat => float(<$float>::max),
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

apply!(apply32, u32, i32, f32);
apply!(apply64, u64, i64, f64);
