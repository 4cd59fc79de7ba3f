// SPDX-License-Identifier: MIT OR Apache-2.0

//! The formats of packets: parsed and checked, nothing executed.

pub(crate) mod aql;
pub mod command;
pub mod pm4;
