// SPDX-License-Identifier: MIT OR Apache-2.0

//! The contract with the GPU: one file per format that hardware or firmware reads or writes.
//!
//! The kernel module, the emulated GPU and the tools share these files, so a layout is written
//! once. Because both sides share them, a mistake here would cancel out; `tests/abi` therefore
//! compiles Linux's own C headers and compares every size and every field with the tables
//! that [`layout!`](layout) and [`regs`] keep.
//!
//! Rules of this room: `core` only, no allocation, no panics, no `unsafe`, nothing that depends
//! on who includes it (`super::`, never `crate::`): the module includes it by path.

#![cfg_attr(not(MODULE), no_std)]

#[macro_use]
pub mod layout;

pub mod aql;
pub mod discovery;
pub mod firmware;
pub mod ih;
pub mod mes;
pub mod mqd;
pub mod pm4;
pub mod psp;
pub mod pte;
pub mod regs;
pub mod sdma;
pub mod smu;
pub mod value;
pub mod vbios;
