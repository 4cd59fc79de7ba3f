// SPDX-License-Identifier: MIT OR Apache-2.0

//! The formats of packets: parsed and checked, nothing executed.

pub(crate) mod amd_queue;
pub(crate) mod aql;
pub mod command;
pub(crate) mod error;
pub mod pm4;
