// SPDX-License-Identifier: GPL-2.0

//! Version of an IP block, as the discovery table states it.

use kernel::fmt;

/// Version of an IP block.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct IpVersion {
    pub(crate) major: u8,
    pub(crate) minor: u8,
    pub(crate) revision: u8,
}

impl IpVersion {
    /// From its three numbers.
    pub(crate) const fn new(major: u8, minor: u8, revision: u8) -> Self {
        Self {
            major,
            minor,
            revision,
        }
    }
}

impl fmt::Display for IpVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.revision)
    }
}
