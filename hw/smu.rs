// SPDX-License-Identifier: MIT OR Apache-2.0

//! The interface of the system management unit (SMU): messages, and the tables that it writes into memory.
//!
//! Each generation of its firmware has an interface of its own.

pub mod v13_0_6;
