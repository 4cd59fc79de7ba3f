// SPDX-License-Identifier: MIT OR Apache-2.0
//! What test programs need that pass anything to the driver, right or wrong: bare system calls without
//! a check, memory that the kernel has to wait for, reads of open files, names of errors, the GPU as the topology shows it, and
//! random numbers that a seed repeats.
//!
//! The library `rkfd` refuses most of what these programs send, so they don't use it.

pub mod awaited;
pub mod errno;
pub mod files;
pub mod node;
pub mod rng;
pub mod sys;
pub mod task;
