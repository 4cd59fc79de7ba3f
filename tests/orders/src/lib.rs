// SPDX-License-Identifier: MIT OR Apache-2.0

//! The library's ring, signals, futures and pool in every order that threads can run in.
//!
//! Compiled here are the library's own files, with loom's atomics, locks and threads in place of
//! the standard library's ([`sync`]), and a driver and memory that live in the process ([`driver`],
//! [`sys`]). loom runs a model again and again, each time in another order, with loads that return
//! any value that the memory order allows. So an order that no processor here shows, such as a
//! packet's header before its words, is met.
//!
//! A model has two or three threads and a few steps. Orders with more than [`PREEMPTIONS`] switches
//! away from a thread that could go on are left out, or the models would not end within seconds.

#![expect(
    dead_code,
    reason = "the library's files have more than the models use"
)]

mod driver;
pub mod models;
mod sync;
mod sys;

/// The library's files as they are.
#[path = "../../../userspace/rkfd/src"]
mod library {
    pub(crate) mod error;
    pub(crate) mod signal;

    pub(crate) mod memory {
        mod pool;

        pub(crate) use crate::sys::{flags, Bo};
        pub(crate) use pool::{Piece, Pool, Watch};
    }

    pub(crate) mod queue {
        pub(crate) mod ring;
    }
}

use library::{error, memory, queue, signal};

/// Switches away from a thread that could go on, in one order.
pub const PREEMPTIONS: usize = 3;
