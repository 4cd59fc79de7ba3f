// SPDX-License-Identifier: GPL-2.0

//! Page tables of gfx942, as `gmc_v9_0_get_vm_pde` and `gmc_v9_0_get_coherence_flags` choose for a
//! discrete GPU.
//!
//! The walker is given three levels and "translate further" (see `gmc/v9.rs`): the entries of level 2
//! have the mark that those below cover 2^9 pages each (BFS 9), those of level 1 the mark that there is
//! one more level (TF). An entry of level 1 without TF maps 2 MiB itself.
//!
//! An empty entry (`amdgpu_vm_pt_clear`) of level 0 has the executable bit, so that a fault counts
//! as "not present"; in a directory it is a leaf that isn't valid.

use super::{
    MapFlags,
    Marks, //
};
use crate::hw::pte::{
    block_fragment,
    mtype,
    Mtype,
    EXECUTABLE,
    LEVEL_BITS,
    PAGE_SIZE,
    PDE_PTE,
    PRT,
    SNOOPED,
    TRANSLATE_FURTHER, //
};

/// The format.
pub(super) struct Hal;

impl super::Hal for Hal {
    fn directory(&self) -> &'static Marks {
        const MARKS: Marks = [0, TRANSLATE_FURTHER, block_fragment(LEVEL_BITS as u8), 0];
        &MARKS
    }

    fn leaf(&self) -> &'static Marks {
        &[0, 0, PDE_PTE, 0]
    }

    /// `gmc_v9_0_get_vm_pde` sets the lowest bit of the address in level 1 where an entry isn't valid.
    fn absent(&self) -> &'static Marks {
        &[0, PAGE_SIZE, PDE_PTE, 0]
    }

    fn empty(&self) -> &'static Marks {
        &[EXECUTABLE, PAGE_SIZE, PDE_PTE, PDE_PTE]
    }

    fn nothing(&self) -> u64 {
        PRT | mtype(Mtype::Nc)
    }

    fn caching(&self, local: bool, flags: MapFlags) -> u64 {
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
        SNOOPED | mtype(cached)
    }
}
