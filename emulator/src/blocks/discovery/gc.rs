// SPDX-License-Identifier: MIT OR Apache-2.0

//! The graphics core's counts in the discovery binary, by generation.
//!
//! Source: Linux, `include/discovery.h` (`gc_info_v2_1`, `gc_info_v1_3`).

use crate::device::facts::GcShape;
use rkfd_hw::discovery::{GcInfoV1_3 as V1, GcInfoV2_1 as V2, GC_TABLE_ID};
use rkfd_hw::layout::Layout;

/// The counts of one XCC of gfx942 (version 2.1). Cache sizes are in KiB, those of CDNA 3: a vector cache of 32 KiB in each
/// compute unit, 64 KiB of instruction cache and 16 KiB of scalar cache for two of them, 4 MiB of
/// L2 in 16 channels.
pub fn cdna3(gc: &GcShape) -> Vec<u32> {
    V2::zeroed()
        .with(V2::TABLE_ID, GC_TABLE_ID)
        .with(V2::VERSION_MAJOR, 2)
        .with(V2::VERSION_MINOR, 1)
        .with(V2::SIZE, (V2::WORDS * 4) as u32)
        .with(V2::NUM_SE, gc.engines)
        .with(V2::NUM_CU_PER_SH, gc.cus_per_array)
        .with(V2::NUM_SH_PER_SE, gc.arrays_per_engine)
        .with(V2::NUM_RB_PER_SE, 4)
        .with(V2::NUM_TCCS, gc.cache_channels)
        .with(V2::NUM_GPRS, 512)
        .with(V2::WAVE_SIZE, gc.wave_size)
        .with(V2::MAX_WAVES_PER_SIMD, gc.waves_per_simd)
        .with(V2::MAX_SCRATCH_SLOTS_PER_CU, 32)
        .with(V2::LDS_SIZE, gc.lds_size >> 10)
        .with(V2::NUM_TCP_PER_SH, gc.cus_per_array)
        .with(V2::TCP_SIZE_PER_CU, 32)
        .with(V2::NUM_SDP_INTERFACE, 16)
        .with(V2::NUM_CU_PER_SQC, 2)
        .with(V2::INSTRUCTION_CACHE_SIZE_PER_SQC, 64)
        .with(V2::SCALAR_DATA_CACHE_SIZE_PER_SQC, 16)
        .with(V2::TCC_SIZE, 4096)
        .0
        .to_vec()
}

/// The counts of gfx1201 (version 1.3). A work-group processor (WGP) is two compute units, and all
/// are of the first kind. Cache sizes are in KiB, those of RDNA 4: 32 KiB of vector cache in each
/// compute unit, 32 KiB of instruction and 16 KiB of scalar cache in each WGP, 8 MiB of L2; lines
/// are in bytes.
pub fn rdna4(gc: &GcShape) -> Vec<u32> {
    let wgps = gc.cus_per_array / 2;
    V1::zeroed()
        .with(V1::TABLE_ID, GC_TABLE_ID)
        .with(V1::VERSION_MAJOR, 1)
        .with(V1::VERSION_MINOR, 3)
        .with(V1::SIZE, (V1::WORDS * 4) as u32)
        .with(V1::NUM_SE, gc.engines)
        .with(V1::NUM_WGP0_PER_SA, wgps)
        .with(V1::NUM_RB_PER_SE, 4)
        .with(V1::NUM_GL2C, gc.cache_channels)
        .with(V1::NUM_GPRS, 1536)
        .with(V1::WAVE_SIZE, gc.wave_size)
        .with(V1::MAX_WAVES_PER_SIMD, gc.waves_per_simd)
        .with(V1::MAX_SCRATCH_SLOTS_PER_CU, 32)
        .with(V1::LDS_SIZE, gc.lds_size >> 10)
        .with(V1::NUM_SC_PER_SE, 1)
        .with(V1::NUM_SA_PER_SE, gc.arrays_per_engine)
        .with(V1::NUM_PACKER_PER_SC, 4)
        .with(V1::NUM_GL2A, 4)
        .with(V1::NUM_TCP_PER_SA, gc.cus_per_array)
        .with(V1::NUM_SDP_INTERFACE, 16)
        .with(
            V1::NUM_TCPS,
            gc.cus_per_array * gc.arrays_per_engine * gc.engines,
        )
        .with(V1::NUM_TCP_PER_WPG, 2)
        .with(V1::TCP_L1_SIZE, 32)
        .with(V1::NUM_SQC_PER_WGP, 1)
        .with(V1::L1_INSTRUCTION_CACHE_SIZE_PER_SQC, 32)
        .with(V1::L1_DATA_CACHE_SIZE_PER_SQC, 16)
        .with(V1::GL2C_PER_GPU, gc.cache_channels)
        .with(V1::TCP_SIZE_PER_CU, 32)
        .with(V1::TCP_CACHE_LINE_SIZE, 128)
        .with(V1::INSTRUCTION_CACHE_SIZE_PER_SQC, 32)
        .with(V1::INSTRUCTION_CACHE_LINE_SIZE, 128)
        .with(V1::SCALAR_DATA_CACHE_SIZE_PER_SQC, 16)
        .with(V1::SCALAR_DATA_CACHE_LINE_SIZE, 128)
        .with(V1::TCC_SIZE, 8192)
        .with(V1::TCC_CACHE_LINE_SIZE, 256)
        .0
        .to_vec()
}
