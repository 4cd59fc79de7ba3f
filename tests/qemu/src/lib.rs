// SPDX-License-Identifier: MIT OR Apache-2.0
//! Boot a kernel in QEMU with `rkfd.ko` and the emulated GPU, run a plan in the guest, and give
//! one verdict.
//!
//! A [`Scenario`] lists what to put into the initramfs, and has a plan of [`Step`]s. [`run::run`]
//! starts the emulator and QEMU; in the guest, `rkfd-init` is process 1 and works the plan off.
//! Kernel messages come out of the first serial port; what programs print, and the lines of
//! [`protocol`], come out of the second, so that neither ever lands inside a line of the other.
//!
//! A run is good only if every test line is good, the guest reached its last line, the kernel
//! printed nothing that [`splat`] knows, and the emulator recorded no violation.

pub mod bench;
pub mod boot;
pub mod build;
pub mod c_program;
pub mod chip;
mod course;
pub mod cpio;
pub mod demo;
pub mod emulator;
pub mod firmware;
pub mod flow;
pub mod gdb;
pub mod guest;
pub mod host;
pub mod image;
pub mod interactive;
pub mod kernel;
pub mod kmemleak;
pub mod kunit;
pub mod mutants;
pub mod omissions;
mod parts;
pub mod plan;
pub mod protocol;
pub mod qemu;
pub mod run;
pub mod scenario;
pub mod scenarios;
pub mod shown;
pub mod splat;
pub mod suite;
pub mod terminal;
pub mod trace;
pub mod typed;
pub mod verdict;

pub use plan::Step;
pub use scenario::{Expect, Include, Scenario};
pub use verdict::Outcome;
