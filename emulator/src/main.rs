// SPDX-License-Identifier: MIT OR Apache-2.0

//! The emulated GPU's process.

fn main() {}
