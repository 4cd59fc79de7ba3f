// SPDX-License-Identifier: MIT OR Apache-2.0
//! What atomics do to the old value, in memory and in LDS alike.

/// The operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // the names are the manual's
pub enum Atomic {
    Add,
    Sub,
    Rsub,
    Inc,
    Dec,
    Smin,
    Umin,
    Smax,
    Umax,
    And,
    Or,
    Xor,
    Swap,
    /// The new value is the first data operand.
    Cmpswap,
    /// The new value is the second data operand.
    Cmpst,
    AddFloat,
    MinFloat,
    MaxFloat,
}

impl Atomic {
    /// From the middle of a mnemonic: `flat_atomic_<name>` or `ds_<name>`, type taken off.
    pub fn parse(name: &str, float: bool) -> Option<Self> {
        Some(match (name, float) {
            ("add", true) => Self::AddFloat,
            ("min" | "min_num", true) => Self::MinFloat,
            ("max" | "max_num", true) => Self::MaxFloat,
            (_, true) => return None,
            ("add", _) => Self::Add,
            ("sub", _) => Self::Sub,
            ("rsub", _) => Self::Rsub,
            ("inc", _) => Self::Inc,
            ("dec", _) => Self::Dec,
            ("smin", _) => Self::Smin,
            ("umin", _) => Self::Umin,
            ("smax", _) => Self::Smax,
            ("umax", _) => Self::Umax,
            ("and", _) => Self::And,
            ("or", _) => Self::Or,
            ("xor", _) => Self::Xor,
            ("swap" | "wrxchg" | "storexchg", _) => Self::Swap,
            ("cmpswap" | "cmpstore", _) => Self::Cmpswap,
            ("cmpst", _) => Self::Cmpst,
            _ => return None,
        })
    }
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
            }
        }
    };
}

apply!(apply32, u32, i32, f32);
apply!(apply64, u64, i64, f64);
