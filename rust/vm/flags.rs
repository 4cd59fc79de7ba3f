// SPDX-License-Identifier: GPL-2.0

//! Flags of page table entries: what a mapping may do, the same in all generations but for caches.

use super::Hal;
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
    },
};

/// How the GPU may use a mapping, and what a user program asked of its caches.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) struct MapFlags {
    pub(crate) writable: bool,
    pub(crate) executable: bool,
    /// Coherent with the CPU: gfx942 is, without further ado.
    pub(crate) coherent: bool,
    pub(crate) uncached: bool,
    /// Coherent at device-scope atomics as well.
    pub(crate) ext_coherent: bool,
}

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
