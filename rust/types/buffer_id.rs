// SPDX-License-Identifier: GPL-2.0

//! Numbers of buffer objects in the ABI.

/// Number of a buffer object among those that a process has on a GPU: the lower half of a handle.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(transparent)]
pub(crate) struct BufferId(u32);

impl BufferId {
    /// From the number.
    pub(crate) const fn new(id: u32) -> Self {
        Self(id)
    }

    /// The number.
    pub(crate) const fn get(self) -> u32 {
        self.0
    }
}
