// SPDX-License-Identifier: GPL-2.0

//! Places of queues on copy engines.

/// A queue of a copy engine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct SdmaPlace {
    /// Which of the engines.
    pub(crate) engine: u32,
    /// Which of the engine's queues.
    pub(crate) queue: u32,
}
