// SPDX-License-Identifier: MIT OR Apache-2.0

//! What threads of a program and the GPU share memory and wait with: the standard library's.
//! `tests/orders` compiles the files that take it from here with loom's in its place.

#[cfg(feature = "async")]
pub(crate) use std::sync::Condvar;
pub(crate) use std::sync::{atomic::AtomicU64, Mutex, MutexGuard};
#[cfg(feature = "async")]
pub(crate) use std::thread;

/// Looks at a value before sleeping.
pub(crate) const SPINS: u32 = 2000;
