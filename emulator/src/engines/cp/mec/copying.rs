// SPDX-License-Identifier: MIT OR Apache-2.0

//! Copy queues, as the scheduler that mapped them onto SDMA engines keeps them.

use super::{Owner, Stop};
use crate::engines::sdma::Slot;

/// Which kind of engine a queue is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Engine {
    /// The compute engine.
    Compute,
    /// An SDMA engine: this one, or the one that the MQD names.
    Sdma(Option<u8>),
}

/// A mapped copy queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Copying {
    pub slot: Slot,
    pub mqd: u64,
    pub doorbell: u32,
    pub owner: Owner,
    /// When it was asked to leave, and how.
    pub stop: Option<Stop>,
    pub reset: bool,
}
