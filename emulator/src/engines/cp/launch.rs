// SPDX-License-Identifier: MIT OR Apache-2.0

//! Dispatches while they run: workgroups, and the workers that are the compute units.

pub(crate) mod cleaning;
pub mod dispatch;
pub(crate) mod group;
pub(crate) mod gws;
mod limits;
mod look;
pub mod room;
pub(crate) mod saved;
pub mod share;
pub(crate) mod split;
mod state;
pub(crate) mod window;
pub(crate) mod workers;
