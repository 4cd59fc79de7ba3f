// SPDX-License-Identifier: MIT OR Apache-2.0

//! Which queue is on which HQD, and for how long.

pub(crate) mod connect;
pub(crate) mod copies;
pub(crate) mod evict;
pub(crate) mod fetch;
pub(crate) mod process;
pub(crate) mod step;
pub(crate) mod turns;
