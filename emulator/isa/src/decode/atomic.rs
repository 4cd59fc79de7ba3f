// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which atomic operation an instruction is; what it does is in `exec`.

/// The operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are the manuals'")]
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
    /// Both halves, of half precision.
    AddHalves,
    /// Both halves, of bf16.
    AddBrain,
    /// Subtract if that leaves something.
    CondSub,
    /// Subtract, but not below zero.
    SubClamp,
    /// Clear the first operand's bits, then set the second's.
    Mskor,
    /// Subtract the first operand if that leaves something, else add the second.
    Wrap,
    /// As `Cmpst`, comparing numbers.
    CmpstFloat,
}

impl Atomic {
    /// From the middle of a mnemonic: `flat_atomic_<name>` or `ds_<name>`, type taken off.
    pub fn parse(name: &str, float: bool) -> Option<Self> {
        Some(match (name, float) {
            ("add", true) => Self::AddFloat,
            ("min" | "min_num", true) => Self::MinFloat,
            ("max" | "max_num", true) => Self::MaxFloat,
            ("cmpst", true) => Self::CmpstFloat,
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
            ("cond_sub", _) => Self::CondSub,
            ("sub_clamp", _) => Self::SubClamp,
            ("mskor", _) => Self::Mskor,
            ("wrap", _) => Self::Wrap,
            _ => return None,
        })
    }

    /// A compare-and-swap whose first operand is the value to compare with.
    pub fn compares_first(self) -> bool {
        matches!(self, Self::Cmpst | Self::CmpstFloat)
    }
}
