// SPDX-License-Identifier: GPL-2.0

//! Names of GPUs in the ABI.

use core::num::NonZeroU16;
use kernel::fmt;

/// Name of a GPU in the ABI: 16 bits, never 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(transparent)]
pub(crate) struct GpuId(NonZeroU16);

impl GpuId {
    /// `id`, or 1 instead of 0.
    pub(crate) fn new(id: u16) -> Self {
        Self(NonZeroU16::new(id).unwrap_or(NonZeroU16::MIN))
    }

    /// The name that a user program gave, if a GPU can have it.
    pub(crate) fn from_user(id: u32) -> Option<Self> {
        Some(Self(NonZeroU16::new(u16::try_from(id).ok()?)?))
    }

    /// The number.
    pub(crate) fn get(self) -> u16 {
        self.0.get()
    }
}

impl fmt::Display for GpuId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.get())
    }
}
