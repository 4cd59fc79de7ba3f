// SPDX-License-Identifier: GPL-2.0

//! Numbers of queues in the ABI.

use kernel::fmt;

/// Number of a queue among those of its process, as user programs name it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(transparent)]
pub(crate) struct QueueId(u32);

impl QueueId {
    /// From the number.
    pub(crate) const fn new(id: u32) -> Self {
        Self(id)
    }

    /// The number.
    pub(crate) const fn get(self) -> u32 {
        self.0
    }
}

impl fmt::Display for QueueId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}
