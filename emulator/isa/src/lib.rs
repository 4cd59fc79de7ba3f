// SPDX-License-Identifier: MIT OR Apache-2.0
//! An AMD compute unit in software: it decodes and executes gfx942 and gfx1201
//! code, whole waves at a time.
//!
//! The crate knows nothing of PCI, rings or page tables. The embedder gives it translated pages
//! ([`Env`]), a kernel descriptor and a dispatch packet's fields, and runs workgroups in slices of
//! a budget of instructions, so that preemption and hangs are ordinary.

// A misspelt operation in a pattern would be a variable that matches everything.
#![deny(unreachable_patterns, unused_variables, bindings_with_variant_name)]

mod blocks;
pub mod cache;
pub mod checks;
pub mod cu;
pub mod decode;
pub mod dispatch;
pub mod exec;
pub mod fault;
pub mod kernel;
mod leftovers;
pub mod memory;
mod races;
pub mod schedule;
mod second;
mod tags;
mod tally;
pub mod target;
pub mod text;
mod traffic;
pub mod trap;
mod waits;
pub mod watch;
pub mod wave;
pub mod workgroup;

pub use checks::Checks;
pub use cu::{ComputeUnit, Statistics};
pub use dispatch::{Apertures, Dispatch, Handler, Launch};
pub use fault::{Fault, FaultKind, Space};
pub use kernel::{DescriptorError, Kernel};
pub use memory::{Access, Env, Gws, GwsAnswer, GwsRequest, HostPage, MemoryFault, Reason};
pub use schedule::Schedule;
pub use second::SecondLevel;
pub use tally::{Issue, Tally};
pub use target::{Target, GFX1201, GFX942};
pub use text::Text;
pub use traffic::{Lookup, Lookups, Traffic};
pub use watch::{Watch, WatchMode, Watches};
pub use wave::Trap;
pub use workgroup::{
    stored_bytes, CleanError, LaunchError, Outcome, Relaunch, Run, SavedWave, Scratch, Workgroup,
};
