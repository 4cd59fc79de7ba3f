// SPDX-License-Identifier: MIT OR Apache-2.0
//! What stock amdgpu and the module do to the same device, from its power-on to the first dispatch.
//!
//! Compared are the registers that were written with the last value of each, what the security processor and the
//! management unit were asked, the packets of kernel queues, and the words of MQDs; not their order, but for the
//! security processor's. What both do alike is noted for each chip ([`Same`]), so that a run of the module alone
//! can be held to it.

mod compare;
mod same;
mod seen;
mod verdicts;

pub use compare::{compare, Report};
pub use same::Same;
pub use seen::Seen;
pub use verdicts::Verdicts;
