// SPDX-License-Identifier: GPL-2.0

//! Addresses: three kinds that must not be mixed up.

use kernel::fmt;

/// Defines an address type over `u64`.
macro_rules! address {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
        #[repr(transparent)]
        pub(crate) struct $name(u64);

        impl $name {
            /// From the number.
            pub(crate) const fn new(addr: u64) -> Self {
                Self(addr)
            }

            /// The number.
            pub(crate) const fn get(self) -> u64 {
                self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{:#x}", self.0)
            }
        }
    };
}

address! {
    /// An address in one of the GPU's address spaces, as packets, MQDs and user programs name it.
    GpuVa
}

impl GpuVa {
    /// Address 0, which programs give where they mean none.
    pub(crate) const NULL: Self = Self(0);

    /// Whether it is [`Self::NULL`].
    pub(crate) const fn is_null(self) -> bool {
        self.0 == 0
    }

    /// The address `bytes` further on, `None` when there is none.
    pub(crate) fn checked_add(self, bytes: u64) -> Option<Self> {
        self.0.checked_add(bytes).map(Self)
    }

    /// The address `bytes` further on, in memory that reaches so far.
    pub(crate) const fn byte(self, bytes: u64) -> Self {
        Self(self.0.wrapping_add(bytes))
    }

    /// Bits 31:0.
    pub(crate) const fn low(self) -> u32 {
        self.0 as u32
    }

    /// Bits 63:32.
    pub(crate) const fn high(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// The address `words` words of 32 bits further on, in memory that reaches so far.
    pub(crate) const fn word(self, words: usize) -> Self {
        Self(self.0.wrapping_add((words as u64) << 2))
    }
}

address! {
    /// A byte offset in VRAM, counted from its first byte.
    VramOffset
}

address! {
    /// The root of an address space's page tables, as registers and packets take it: the table's address
    /// with the bits of an entry.
    PageTableBase
}

address! {
    /// An address on the bus, by which the device reaches system memory or another device.
    BusAddr
}
