// SPDX-License-Identifier: GPL-2.0

//! Page tables of gfx12, as `gmc_v12_0_get_vm_pde` and `gmc_v12_0_get_vm_pte` choose.
//!
//! Plain levels; every leaf has the mark that it is one, empty ones included (`init_pte_flags`).

use super::{
    MapFlags,
    Marks, //
};
use crate::hw::pte::{
    gfx12,
    Mtype,
    EXECUTABLE,
    SNOOPED,
    SYSTEM, //
};

/// The format.
pub(super) struct Hal;

impl super::Hal for Hal {
    fn directory(&self) -> &'static Marks {
        &[0; 4]
    }

    fn leaf(&self) -> &'static Marks {
        &[gfx12::PDE_PTE; 4]
    }

    fn empty(&self) -> &'static Marks {
        &[
            EXECUTABLE | gfx12::PDE_PTE,
            gfx12::PDE_PTE,
            gfx12::PDE_PTE,
            gfx12::PDE_PTE,
        ]
    }

    fn nothing(&self) -> u64 {
        gfx12::PRT | gfx12::PDE_PTE | gfx12::mtype(Mtype::Nc) | SNOOPED | SYSTEM
    }

    fn caching(&self, local: bool, flags: MapFlags) -> u64 {
        let cached = if flags.uncached { Mtype::Uc } else { Mtype::Nc };
        gfx12::mtype(cached) | if local { 0 } else { SNOOPED }
    }
}
