// SPDX-License-Identifier: GPL-2.0

//! Flags of page table entries for gfx942, as `gmc_v9_0_get_vm_pte` and
//! `gmc_v9_0_get_coherence_flags` choose them for a discrete GPU.

use crate::{
    bo::{Bo, Placement},
    gpu::Hw,
    hw::pte::{mtype, Mtype, ADDRESS, EXECUTABLE, READABLE, SNOOPED, SYSTEM, VALID, WRITEABLE},
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

/// Everything of an entry but its address.
pub(super) fn entry(_hw: &Hw, bo: &Bo, flags: MapFlags) -> u64 {
    let local = bo.placement() == Some(Placement::Vram);
    let cached = if flags.uncached {
        Mtype::Uc
    } else if flags.ext_coherent {
        if local {
            Mtype::Cc
        } else {
            Mtype::Uc
        }
    } else if local {
        Mtype::Rw
    } else {
        Mtype::Uc
    };
    let mut entry = VALID | READABLE | SNOOPED | mtype(cached);
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
pub(super) fn address(hw: &Hw, bo: &Bo, addr: u64) -> u64 {
    let address = match bo.placement() {
        Some(Placement::Vram) => hw.layout.vram_pte(addr),
        _ => addr,
    };
    address & ADDRESS
}
