// SPDX-License-Identifier: MIT OR Apache-2.0
//! An AMD compute unit in software: it decodes and executes gfx942 code, whole waves at a time.
//!
//! The crate knows nothing of PCI, rings or page tables. The embedder gives it translated pages
//! ([`Env`]), a kernel descriptor and a dispatch packet's fields, and runs workgroups in slices of
//! a budget of instructions, so that preemption and hangs are ordinary.

// A misspelt operation in a pattern would be a variable that matches everything.
#![deny(unreachable_patterns, unused_variables, bindings_with_variant_name)]

pub mod decode;
pub mod target;
