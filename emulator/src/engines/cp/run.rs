// SPDX-License-Identifier: MIT OR Apache-2.0

//! Taking the packets of a user queue, and completing them.

pub(crate) mod aql;
mod area;
pub(crate) mod commands;
mod config;
pub(crate) mod direct;
pub(crate) mod errors;
pub(crate) mod prepare;
pub mod record;
pub mod save;
pub(crate) mod signal;
pub(crate) mod step;
pub(crate) mod trace;
pub(crate) mod waves;
