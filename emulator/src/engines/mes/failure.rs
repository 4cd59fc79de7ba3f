// SPDX-License-Identifier: MIT OR Apache-2.0

//! Why a frame fails: its error word, and whether that is the driver's mistake.

use super::frame::{CATEGORY_API, CATEGORY_SCHEDULING};
use crate::memory::VmFault;

/// Codes of error words; the firmware's own are not public.
pub(super) mod code {
    /// No such command.
    pub const UNKNOWN: u8 = 1;
    /// A field has a value that the interface does not allow.
    pub const VALUE: u8 = 2;
    /// The frame is out of order.
    pub const ORDER: u8 = 3;
    /// What it names does not exist.
    pub const NOT_FOUND: u8 = 4;
    /// The model lacks it.
    pub const NOT_MODELLED: u8 = 5;
    /// Memory that it names can't be reached.
    pub const MEMORY: u8 = 6;
    /// A queue does not leave its HQD.
    pub const HUNG: u8 = 7;
}

/// Why a frame fails.
pub(super) struct Failure {
    pub code: u8,
    pub category: u8,
    pub what: String,
    /// The interface does not allow it, so it is recorded.
    pub recorded: bool,
}

pub(super) fn api<T>(code: u8, what: impl Into<String>) -> Result<T, Failure> {
    let (category, what) = (CATEGORY_API, what.into());
    Err(Failure {
        code,
        category,
        what,
        recorded: true,
    })
}

pub(super) fn not_modelled<T>(what: &str) -> Result<T, Failure> {
    Err(Failure {
        code: code::NOT_MODELLED,
        category: CATEGORY_SCHEDULING,
        what: format!("{what}, which is not modelled"),
        recorded: true,
    })
}

/// A failure that is no mistake of the driver.
pub(super) fn refused<T>(code: u8, category: u8, what: &str) -> Result<T, Failure> {
    Err(Failure {
        code,
        category,
        what: what.into(),
        recorded: false,
    })
}

/// What memory that a frame names gave.
pub(super) fn memory<T>(name: &str, done: Result<T, VmFault>) -> Result<T, Failure> {
    done.or_else(|fault| api(code::MEMORY, format!("{name}: {fault}")))
}
