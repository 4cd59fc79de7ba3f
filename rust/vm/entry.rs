// SPDX-License-Identifier: GPL-2.0

//! Entries of page tables that map memory: the same in all generations but for caches.

use super::{
    flags::MapFlags,
    hal::Hal, //
};
use crate::{
    bo::{
        Placement,
        Segment, //
    },
    hw::pte::{
        ADDRESS,
        EXECUTABLE,
        READABLE,
        SYSTEM,
        VALID,
        WRITEABLE, //
    },
    types::{
        GpuVa,
        Layout,
        VramOffset, //
    }, //
};

/// The bits of an entry that say how its memory may be used.
#[derive(Clone, Copy)]
pub(super) struct EntryFlags(pub(super) u64);

/// The bits of an entry that say where its memory is: a bus address, or one of VRAM.
#[derive(Clone, Copy)]
pub(super) struct EntryAddr(pub(super) u64);

impl EntryAddr {
    /// The address `bytes` further on, in memory that reaches so far.
    pub(super) fn byte(self, bytes: u64) -> Self {
        Self(self.0.wrapping_add(bytes))
    }

    /// The address `bytes` before, in memory that begins there or earlier.
    pub(super) fn back(self, bytes: u64) -> Self {
        Self(self.0.wrapping_sub(bytes))
    }
}

/// Everything of an entry but its address and what its level adds.
pub(super) fn entry(hal: &dyn Hal, placement: Placement, flags: MapFlags) -> EntryFlags {
    let local = placement == Placement::Vram;
    let mut entry = VALID | READABLE | hal.caching(local, flags);
    if !local {
        entry |= SYSTEM;
    }
    if flags.writable {
        entry |= WRITEABLE;
    }
    if flags.executable {
        entry |= EXECUTABLE;
    }
    EntryFlags(entry)
}

/// An entry of what isn't resident. Nobody looks at its address, which is aligned as the virtual one is, so that it is as large
/// a piece as its place allows.
pub(super) fn nothing(hal: &dyn Hal, va: GpuVa) -> (EntryAddr, EntryFlags) {
    (EntryAddr(va.get() & ADDRESS), EntryFlags(hal.nothing()))
}

/// The address of an entry for a buffer object's segment.
pub(super) fn address(layout: &Layout, segment: Segment) -> EntryAddr {
    let address = match segment.placement {
        Placement::Vram => layout.vram_pte(VramOffset::new(segment.addr)),
        Placement::Gtt => segment.addr,
    };
    EntryAddr(address & ADDRESS)
}
