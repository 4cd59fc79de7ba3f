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
        Layout,
        VramOffset, //
    }, //
};

/// Everything of an entry but its address and what its level adds.
pub(super) fn entry(hal: &dyn Hal, bo: &Bo, flags: MapFlags) -> u64 {
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
    entry
}

/// The address of an entry for an address of a buffer object's segment.
pub(super) fn address(layout: &Layout, bo: &Bo, addr: u64) -> u64 {
    let address = match bo.placement() {
        Some(Placement::Vram) => layout.vram_pte(VramOffset::new(addr)),
        _ => addr,
    };
    address & ADDRESS
}
