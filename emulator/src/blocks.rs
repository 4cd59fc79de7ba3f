// SPDX-License-Identifier: MIT OR Apache-2.0

//! The IP blocks: the registers of each, and what they do.
//!
//! A block lists the registers that it models, by name. Some are plain storage ([`store`]): the
//! hardware's behaviour that hangs on them is not visible to a driver of compute queues. A register
//! of the table that no block lists is refused as not modelled.

pub mod athub;
pub mod discovery;
pub mod hdp;
pub mod ih;
mod mode1;
pub mod nbio;
pub mod osssys;
mod power;
pub mod psp;
pub mod smu;
pub mod smu14;
pub mod smuio;
pub mod store;
pub mod thm;
pub mod vbios;
pub mod vmhub;
