// SPDX-License-Identifier: GPL-2.0

//! Entries of page tables that map memory: the same in all generations but for caches.

use super::{
    flags::MapFlags,
    hal::Hal, //
};
use crate::{
    bo::{
        Bo,
        Placement, //
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
pub(super) fn entry(hal: &dyn Hal, bo: &Bo, flags: MapFlags) -> EntryFlags {
    if bo.is_nothing() {
        return EntryFlags(hal.nothing());
    }
    let local = bo.placement() == Some(Placement::Vram);
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

/// An address that is aligned as the virtual one is, for entries whose address nobody looks at.
pub(super) fn anywhere(va: GpuVa) -> EntryAddr {
    EntryAddr(va.get() & ADDRESS)
}

/// The address of an entry for an address of a buffer object's segment.
pub(super) fn address(layout: &Layout, bo: &Bo, addr: u64) -> EntryAddr {
    let address = match bo.placement() {
        Some(Placement::Vram) => layout.vram_pte(VramOffset::new(addr)),
        _ => addr,
    };
    EntryAddr(address & ADDRESS)
}
