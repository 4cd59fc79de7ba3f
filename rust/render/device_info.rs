// SPDX-License-Identifier: GPL-2.0

//! What the chip is, as INFO reports it (`AMDGPU_INFO_DEV_INFO`).
//!
//! Zero is what only graphics needs or only a BIOS knows: render backends that are active, buffers
//! of geometry stages, the PCIe link; and clocks, where no management unit is asked. Flags are those of what works,
//! which is none of them.

use crate::{
    gpu::Gpu,
    uapi::amdgpu as abi, //
};

/// Contexts of the graphics pipe, on both generations (`max_hw_contexts`).
const GFX_CONTEXTS: u32 = 8;
const PAGE: u32 = 4096;
/// 2 MiB: pages that one entry of the translation caches covers (`fragment_size` 9).
const FRAGMENT: u32 = PAGE << 9;

/// Addresses have 48 bits, and a hole in the middle (`AMDGPU_GMC_HOLE_START`, `_END`).
pub(super) const VM_END: u64 = 1 << 48;
pub(super) const HOLE_START: u64 = 1 << 47;
pub(super) const HOLE_END: u64 = !(HOLE_START - 1);
/// Set aside at the start (`AMDGPU_VA_RESERVED_BOTTOM`).
pub(super) const RESERVED_BOTTOM: u64 = 1 << 16;
/// And at the end: for trap handlers, sequence numbers, and save areas of graphics.
pub(super) const RESERVED_TOP: u64 = (1 << 16) + (2 << 20) + (2 << 20);

/// Answers [`abi::INFO_DEV_INFO`].
pub(super) fn of(gpu: &Gpu) -> abi::InfoDevice {
    let chip = gpu.chip();
    let drm = &chip.family.drm;
    let gc = gpu.gc_info();
    let cus = cu_bitmap(&chip.cu_bitmap);
    let vm_size = VM_END - RESERVED_TOP;
    let (gfx_mhz, memory_mhz) = gpu.most_mhz().unwrap_or((0, 0));
    abi::InfoDevice {
        device_id: gpu.pci().device.into(),
        chip_rev: chip.rev_id,
        external_rev: chip.rev_id.saturating_add(drm.external_rev),
        pci_rev: gpu.pci().revision.into(),
        pcie_gen: gpu.pci().link.generation,
        pcie_num_lanes: gpu.pci().link.lanes,
        family: drm.family,
        // Of one XCC.
        num_shader_engines: gc.shader_engines,
        num_shader_arrays_per_engine: gc.shader_arrays_per_engine,
        gpu_counter_freq: u32::try_from(gpu.clock_hz() / 1000).unwrap_or(0),
        // In kHz.
        max_engine_clock: u64::from(gfx_mhz).saturating_mul(1000),
        max_memory_clock: u64::from(memory_mhz).saturating_mul(1000),
        cu_active_number: chip.cu_count,
        cu_ao_mask: if drm.always_on { always_on(&cus) } else { 0 },
        cu_bitmap: cus,
        num_rb_pipes: gc.render_backends.saturating_mul(gc.shader_engines),
        num_hw_gfx_contexts: GFX_CONTEXTS,
        virtual_address_offset: RESERVED_BOTTOM,
        virtual_address_max: HOLE_START,
        virtual_address_alignment: PAGE,
        pte_fragment_size: FRAGMENT,
        gart_page_size: PAGE,
        vram_type: chip.vram.kind,
        vram_bit_width: chip.vram.bits,
        wave_front_size: chip.wave_size,
        num_shader_visible_vgprs: gc.vgprs,
        num_cu_per_sh: chip.cu_per_array,
        num_tcc_blocks: chip.tccs,
        cu_ao_bitmap: if drm.always_on { cus } else { [[0; 4]; 4] },
        high_va_offset: HOLE_END,
        high_va_max: HOLE_END | vm_size,
        tcp_cache_size: gc.tcp_l1_kib,
        num_sqc_per_wgp: gc.sqc_per_wgp,
        sqc_data_cache_size: gc.sqc_data_kib,
        sqc_inst_cache_size: gc.sqc_inst_kib,
        gl1c_cache_size: gc.gl1c_kib,
        gl2c_cache_size: gc.gl2c_kib,
        ..Default::default()
    }
}

/// Active compute units by engine and array. Engines from the fifth on are in the last two columns.
fn cu_bitmap(engines: &[[u32; 4]; 8]) -> [[u32; 4]; 4] {
    let [a, b, c, d, e, f, g, h] = *engines;
    let pack = |low: [u32; 4], high: [u32; 4]| match high {
        [0, 0, 0, 0] => low,
        _ => [low[0], low[1], high[0], high[1]],
    };
    [pack(a, e), pack(b, f), pack(c, g), pack(d, h)]
}

/// Those of the first two engines' first two arrays, 8 bits each.
fn always_on(cus: &[[u32; 4]; 4]) -> u32 {
    let [[a, b, ..], [c, d, ..], ..] = *cus;
    a | b << 8 | c << 16 | d << 24
}
