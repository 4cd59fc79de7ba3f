// SPDX-License-Identifier: GPL-2.0

//! Places VRAM and the GART in address space 0.

use super::{
    hal::Placement,
    Hal,
    Mmhub,
    GART_SIZE, //
};
use crate::{
    regs::Regs,
    types::Layout, //
};
use kernel::prelude::*;

/// Below the hole of non-canonical addresses (`AMDGPU_GMC_HOLE_START`).
const HOLE_START: u64 = 0x8000_0000_0000;
const FOUR_GIB: u64 = 4 << 30;

/// Reads where firmware put VRAM and, of a hive, the others' (`gmc_v9_0_vram_gtt_location`), and places the GART as `amdgpu_gmc_gart_location` does.
///
/// # Errors
///
/// EINVAL when no room is left for the GART, or the device's place in a hive is none.
pub(crate) fn read_layout(
    hal: &dyn Hal,
    mmhub: &dyn Mmhub,
    regs: &Regs,
    vram_size: u64,
) -> Result<Layout> {
    let hive = hal.hive(regs)?;
    let fb_start = mmhub.fb_start(regs);
    let vram_start = fb_start.checked_add(hive.offset).ok_or(EINVAL)?;
    let vram_end = vram_start
        .checked_add(vram_size)
        .ok_or(EINVAL)?
        .checked_sub(1)
        .ok_or(EINVAL)?;
    let fb_end = match hive.nodes {
        0 => vram_end,
        _ => mmhub.hive_end(regs),
    };
    // Page table entries name memory of the whole hive.
    let vram_base = hal
        .vram_offset(regs, mmhub)
        .checked_add(hive.offset)
        .ok_or(EINVAL)?;
    let before = fb_start;
    let after_start = fb_end
        .checked_add(1)
        .ok_or(EINVAL)?
        .checked_next_multiple_of(FOUR_GIB)
        .ok_or(EINVAL)?;
    let after = HOLE_START.checked_sub(after_start).ok_or(EINVAL)?;
    if GART_SIZE > before.max(after) {
        return Err(EINVAL);
    }
    let low = match hal.gart() {
        Placement::BestFit => (before >= GART_SIZE && before < after) || after < GART_SIZE,
        Placement::Low if before < GART_SIZE => return Err(EINVAL),
        Placement::Low => true,
    };
    let start = if low { 0 } else { HOLE_START - GART_SIZE };
    let gart_start = start & !(FOUR_GIB - 1);
    Ok(Layout {
        vram_start,
        fb_start,
        fb_end,
        vram_base,
        gart_start,
        gart_end: gart_start.saturating_add(GART_SIZE - 1),
    })
}
