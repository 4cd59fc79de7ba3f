// SPDX-License-Identifier: GPL-2.0

//! Reads what the device reports about itself: discovery, and the harvest registers.

use super::Hal;
use crate::{
    chip::{
        cwsr_sizes,
        family,
        ChipInfo,
        SdmaCounts, //
    },
    hw::{
        regs::Block,
        value::Bounded, //
    },
    regs::Regs,
    types::Versions, //
};
use kernel::prelude::*;

/// Discovery's numbers of copy engines (`SDMA0_HWID` to `SDMA3_HWID`).
const SDMA_HW_IDS: [u16; 4] = [42, 43, 68, 69];

/// Reads what discovery and the harvest registers state (`gfx_v9_4_3_get_cu_info`). Called at probe
/// only, when nobody else uses GRBM_GFX_INDEX.
///
/// # Errors
///
/// ENODEV when there is no XCC or no compute unit, EOVERFLOW when the counts are absurd.
pub(crate) fn read_chip(
    versions: Versions,
    hal: &dyn Hal,
    regs: &Regs,
    rev_id: u32,
    vram_size: u64,
    visible_vram_size: u64,
) -> Result<ChipInfo> {
    let family = family(versions.gc);
    let discovery = regs.discovery();
    let shape = *discovery.gc();
    let (mut num_xcc, mut cu_count, mut cu_bitmap) = (0u32, 0u32, [[0u32; 4]; 8]);
    let mask = !u32::MAX.checked_shl(shape.cu_per_array.max(1)).unwrap_or(0);
    for xcc in regs.instances(Block::Gc) {
        for (engine, arrays) in (0u64..)
            .zip(cu_bitmap.iter_mut())
            .take(shape.shader_engines as usize)
        {
            let engine = Bounded::try_new(engine).ok_or(EOVERFLOW)?;
            for (array, bitmap) in (0u64..)
                .zip(arrays.iter_mut())
                .take(shape.shader_arrays_per_engine as usize)
            {
                let array = Bounded::try_new(array).ok_or(EOVERFLOW)?;
                let active = hal.active_cus(regs, xcc, engine, array) & mask;
                cu_count = cu_count.checked_add(active.count_ones()).ok_or(EOVERFLOW)?;
                if num_xcc == 0 {
                    *bitmap = active;
                }
            }
        }
        hal.see_all_arrays(regs, xcc);
        num_xcc = num_xcc.checked_add(1).ok_or(EOVERFLOW)?;
    }
    let cus_per_xcc = cu_count.checked_div(num_xcc).ok_or(ENODEV)?;
    if cu_count == 0 {
        return Err(ENODEV);
    }
    let shader_engines = num_xcc.checked_mul(shape.shader_engines).ok_or(EOVERFLOW)?;
    let sdma_engines = SDMA_HW_IDS
        .iter()
        .map(|&id| discovery.instances(id).count() as u32)
        .fold(0, u32::saturating_add);
    Ok(ChipInfo {
        family,
        versions,
        sdma_counts: SdmaCounts::new(&family.sdma, sdma_engines),
        num_xcc,
        shader_engines,
        shader_arrays_per_engine: shape.shader_arrays_per_engine,
        cu_per_array: shape.cu_per_array,
        cu_count,
        cu_bitmap,
        wave_size: shape.wave_size,
        waves_per_simd: shape.waves_per_simd,
        max_scratch_slots_per_cu: shape.max_scratch_slots_per_cu,
        lds_kib: shape.lds_kib,
        caches: shape.caches,
        tccs: shape.tccs,
        vram_size,
        vram: family.vram,
        memory_dies: sdma_engines.div_ceil(family.sdma.engines_per_die).max(1),
        visible_vram_size,
        rev_id,
        // Only the firmware's files have them, which whoever loaded the firmware has read.
        mec_fw_version: 0,
        sdma_fw_version: 0,
        gb_addr_config: hal.addresses(regs),
        cwsr: cwsr_sizes(family, cus_per_xcc, shader_engines)?,
    })
}
