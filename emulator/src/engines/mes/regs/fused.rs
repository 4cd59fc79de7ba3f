// SPDX-License-Identifier: MIT OR Apache-2.0

//! Which work-group processors of a shader array are fused off.
//!
//! Source: Linux, `amdgpu/gfx_v12_0.c` (`gfx_v12_0_get_wgp_active_bitmap_per_sh`, `gfx_v12_0_get_cu_info`).

use crate::device::facts::GcShape;
use rkfd_hw::regs::gc_12_0_0::{CC_GC_SHADER_ARRAY_CONFIG as Config, GRBM_GFX_INDEX as Index};
use rkfd_hw::regs::Value;

/// CC_GC_SHADER_ARRAY_CONFIG of the array that GRBM_GFX_INDEX chooses. Who chooses all of them reads that of the first.
pub(super) fn processors(shape: &GcShape, index: u32) -> u32 {
    let index = Value::<Index>::new(index);
    let engine = index.get(Index::SE_INDEX) as usize;
    let first = index.get(Index::SA_INDEX) * shape.cus_per_array;
    let units = shape.inactive_cus.get(engine).unwrap_or(&0) >> first;
    // A processor is two compute units, which are fused off together.
    let off = (0..shape.cus_per_array / 2).fold(0, |off, n| off | (((units >> (2 * n)) & 1) << n));
    Value::zeroed()
        .with(Config::INACTIVE_WGPS, off as u16)
        .bits()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chip::navi48;

    /// Of 32 processors an RX 9070 has 28, and each engine lacks one.
    #[test]
    fn each_engine_lacks_one() {
        // GRBM_GFX_INDEX: SA_INDEX at bit 8, SE_INDEX at bit 16 (`gc_12_0_0_sh_mask.h`).
        let of = |shape: &GcShape, engine: u32, array: u32| {
            processors(shape, (engine << 16) | (array << 8)) >> 16
        };
        let all = |shape: &GcShape| [0, 1, 2, 3].map(|e| [of(shape, e, 0), of(shape, e, 1)]);
        assert_eq!(all(&navi48::CHIP.gc), [[0, 0]; 4]);
        let lacking = [[1 << 3, 0], [0, 1], [1 << 1, 0], [0, 1 << 2]];
        assert_eq!(all(&navi48::XL.gc), lacking);
        assert_eq!(navi48::XL.gc.active_cus(), 56);
    }
}
