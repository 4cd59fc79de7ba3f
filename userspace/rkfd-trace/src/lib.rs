// SPDX-License-Identifier: MIT OR Apache-2.0

//! What the driver and the emulated GPU did, on one clock.
//!
//! [`driver`] reads the driver's tracepoints, [`device`] the trace of the emulated GPU, and [`clock`] finds
//! how far their clocks lie apart. [`timeline`] makes tracks of both, which [`perfetto`] encodes;
//! [`summary`] counts.

pub mod clock;
pub mod device;
pub mod driver;
pub mod perfetto;
pub mod summary;
pub mod timeline;

mod chain;
