// SPDX-License-Identifier: GPL-2.0

//! Versions of IP blocks that the module has code for: an enum for each block.
//!
//! What a block does otherwise from one version to the next stands in the `hal.rs` of its room: one
//! `match` over the block's own enum, which the compiler holds to be complete. Two chips that have a
//! block of the same version share its arm.
//!
//! Source: Linux, `amdgpu_discovery_set_ip_blocks` and its callees choose callbacks block by block.

use super::IpVersion;
use crate::hw::regs::Block;
use kernel::{
    fmt,
    prelude::*, //
};

/// Version of one kind of block.
pub(crate) trait BlockVersion: Sized {
    /// The block, as the discovery table names it.
    const BLOCK: Block;
    /// The block, as a log names it.
    const NAME: &'static str;

    /// From the discovery table's numbers; `None` when the module has no code for that version.
    fn of(ip: IpVersion) -> Option<Self>;

    /// The discovery table's numbers.
    fn ip(self) -> IpVersion;
}

macro_rules! versions {
    ($(
        $(#[doc = $doc:literal])*
        $name:ident $text:literal $block:ident {
            $( $(#[cfg($cfg:meta)])? $version:ident = $major:literal $minor:literal $revision:literal, )*
        }
    )*) => { $(
        $(#[doc = $doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub(crate) enum $name {
            $( $(#[cfg($cfg)])? $version, )*
        }

        impl BlockVersion for $name {
            const BLOCK: Block = Block::$block;
            const NAME: &'static str = $text;

            fn of(ip: IpVersion) -> Option<Self> {
                match (ip.major, ip.minor, ip.revision) {
                    $( $(#[cfg($cfg)])? ($major, $minor, $revision) => Some(Self::$version), )*
                    _ => None,
                }
            }

            fn ip(self) -> IpVersion {
                match self {
                    $( $(#[cfg($cfg)])? Self::$version => IpVersion::new($major, $minor, $revision), )*
                }
            }
        }
    )* };
}

versions! {
    /// Graphics core: also what schedules queues, the formats of MQDs and page tables, and how its
    /// interrupts are to be read.
    GcVersion "GC" Gc {
        V9_4_3 = 9 4 3,
        V12_0_1 = 12 0 1,
        #[cfg(rkfd_stub_chip)]
        Stub = 0xff 0 0,
    }
    /// Multimedia hub: translates for SDMA and the interrupt handler.
    MmhubVersion "MMHUB" Mmhub {
        V1_8_0 = 1 8 0,
        V4_1_0 = 4 1 0,
        #[cfg(rkfd_stub_chip)]
        Stub = 0xff 0 0,
    }
    /// Interrupt handler.
    OsssysVersion "OSSSYS" Osssys {
        V4_4_2 = 4 4 2,
        V7_0_0 = 7 0 0,
        #[cfg(rkfd_stub_chip)]
        Stub = 0xff 0 0,
    }
    /// Bus side; the discovery table calls it NBIF.
    NbioVersion "NBIO" Nbio {
        V6_3_1 = 6 3 1,
        V7_9_0 = 7 9 0,
        #[cfg(rkfd_stub_chip)]
        Stub = 0xff 0 0,
    }
    /// Copy engines.
    SdmaVersion "SDMA" Sdma {
        V4_4_2 = 4 4 2,
        V7_0_1 = 7 0 1,
        #[cfg(rkfd_stub_chip)]
        Stub = 0xff 0 0,
    }
}

/// A block in a version that the module has no code for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct UnknownBlock {
    /// As [`BlockVersion::NAME`].
    pub(crate) name: &'static str,
    /// What the device has, if it has any.
    pub(crate) found: Option<IpVersion>,
}

impl fmt::Display for UnknownBlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.found {
            Some(version) => f.write_fmt(fmt!("{} {} is unknown", self.name, version)),
            None => write!(f, "it has no {}", self.name),
        }
    }
}

/// Versions of a GPU's blocks: those whose code depends on them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Versions {
    pub(crate) gc: GcVersion,
    pub(crate) mmhub: MmhubVersion,
    pub(crate) osssys: OsssysVersion,
    pub(crate) nbio: NbioVersion,
    pub(crate) sdma: SdmaVersion,
}
