// SPDX-License-Identifier: MIT OR Apache-2.0

//! IP discovery: the table in VRAM that lists the chip's IP blocks and their places.
//!
//! Source: Linux, `include/discovery.h`, `amdgpu/amdgpu_discovery.c`.
//!
//! The binary lies [`OFFSET_FROM_END`] bytes before the end of VRAM. A header lists the tables;
//! the IP table lists dies, and a die lists IP blocks of 8 bytes followed by their base addresses,
//! so its parts lie at any byte and are read with [`u16_at`] and [`u32_at`].

use super::layout::*;

pub mod names;

/// Distance of the binary from the end of VRAM, and the size set aside for it.
pub const OFFSET_FROM_END: u64 = 64 << 10;
/// Largest binary Linux reads (`DISCOVERY_TMR_SIZE`).
pub const MAX_SIZE: usize = 10 << 10;
/// First word of the binary.
pub const BINARY_SIGNATURE: u32 = 0x2821_1407;
/// First word of the IP table.
pub const IP_SIGNATURE: u32 = 0x5344_5049;
/// First word of the GC table.
pub const GC_TABLE_ID: u32 = 0x4347;
/// First word of the harvest table.
pub const HARVEST_SIGNATURE: u32 = 0x5652_4148;

/// Index of the IP table in the header's list.
pub const TABLE_IP: usize = 0;
/// Index of the GC table.
pub const TABLE_GC: usize = 1;
/// Index of the harvest table.
pub const TABLE_HARVEST: usize = 2;
/// Number of tables in the header's list.
pub const TABLES: usize = 6;

layout! {
    /// The head of the binary. A table's place is [`TableInfo`].
    pub struct BinaryHeader: [u32; 15] = "struct binary_header" {
        SIGNATURE: 0[31:0] = "binary_signature";
        VERSION_MAJOR: 1[15:0] = "version_major";
        VERSION_MINOR: 1[31:16] = "version_minor";
        /// Sum of the bytes after this field, 16 bits.
        CHECKSUM: 2[15:0] = "binary_checksum";
        /// Size of the binary in bytes.
        SIZE: 2[31:16] = "binary_size";
        IP_OFFSET: 3[15:0] = "table_list[0].offset";
        IP_CHECKSUM: 3[31:16] = "table_list[0].checksum";
        IP_SIZE: 4[15:0] = "table_list[0].size";
        GC_OFFSET: 5[15:0] = "table_list[1].offset";
        GC_CHECKSUM: 5[31:16] = "table_list[1].checksum";
        GC_SIZE: 6[15:0] = "table_list[1].size";
        HARVEST_OFFSET: 7[15:0] = "table_list[2].offset";
        HARVEST_CHECKSUM: 7[31:16] = "table_list[2].checksum";
        HARVEST_SIZE: 8[15:0] = "table_list[2].size";
    }

    /// One entry of the header's list: byte place and sum of a table.
    pub struct TableInfo: [u32; 2] = "struct table_info" {
        /// From the start of the binary, in bytes.
        OFFSET: 0[15:0] = "offset";
        /// Sum of the table's bytes, 16 bits.
        CHECKSUM: 0[31:16] = "checksum";
        SIZE: 1[15:0] = "size";
    }

    /// The head of the IP table, up to its first die. 16 die entries of 4 bytes follow.
    pub struct IpHeader: [u32; 20] = "struct ip_discovery_header" {
        SIGNATURE: 0[31:0] = "signature";
        /// 3 and below: 32-bit base addresses.
        VERSION: 1[15:0] = "version";
        SIZE: 1[31:16] = "size";
        ID: 2[31:0] = "id";
        NUM_DIES: 3[15:0] = "num_dies";
        DIE0_ID: 3[31:16] = "die_info[0].die_id";
        /// Place of the die's header, from the start of the binary, in bytes.
        DIE0_OFFSET: 4[15:0] = "die_info[0].die_offset";
    }

    /// The head of a die: how many IP entries follow.
    pub struct DieHeader: [u32; 1] = "struct die_header" {
        DIE_ID: 0[15:0] = "die_id";
        NUM_IPS: 0[31:16] = "num_ips";
    }

    /// An IP block (version 3 of the table). Its base addresses follow, 4 bytes each, in words.
    pub struct Ip: [u32; 2] = "struct ip_v3" {
        HW_ID: 0[15:0] = "hw_id";
        INSTANCE: 0[23:16] = "instance_number";
        NUM_BASE_ADDRESS: 0[31:24] = "num_base_address";
        MAJOR: 1[7:0] = "major";
        MINOR: 1[15:8] = "minor";
        REVISION: 1[23:16] = "revision";
        SUB_REVISION: 1[27:24] = "sub_revision";
        VARIANT: 1[31:28] = "variant";
    }

    /// The GC table of gfx11 and gfx12 (version 1.3): counts of the graphics core.
    pub struct GcInfoV1_3: [u32; 41] = "struct gc_info_v1_3" {
        TABLE_ID: 0[31:0] = "header.table_id";
        VERSION_MAJOR: 1[15:0] = "header.version_major";
        VERSION_MINOR: 1[31:16] = "header.version_minor";
        SIZE: 2[31:0] = "header.size";
        NUM_SE: 3[31:0] = "gc_num_se";
        NUM_WGP0_PER_SA: 4[31:0] = "gc_num_wgp0_per_sa";
        NUM_WGP1_PER_SA: 5[31:0] = "gc_num_wgp1_per_sa";
        NUM_RB_PER_SE: 6[31:0] = "gc_num_rb_per_se";
        NUM_GL2C: 7[31:0] = "gc_num_gl2c";
        NUM_GPRS: 8[31:0] = "gc_num_gprs";
        NUM_MAX_GS_THDS: 9[31:0] = "gc_num_max_gs_thds";
        GS_TABLE_DEPTH: 10[31:0] = "gc_gs_table_depth";
        GSPRIM_BUFF_DEPTH: 11[31:0] = "gc_gsprim_buff_depth";
        PARAMETER_CACHE_DEPTH: 12[31:0] = "gc_parameter_cache_depth";
        DOUBLE_OFFCHIP_LDS_BUFFER: 13[31:0] = "gc_double_offchip_lds_buffer";
        WAVE_SIZE: 14[31:0] = "gc_wave_size";
        MAX_WAVES_PER_SIMD: 15[31:0] = "gc_max_waves_per_simd";
        MAX_SCRATCH_SLOTS_PER_CU: 16[31:0] = "gc_max_scratch_slots_per_cu";
        LDS_SIZE: 17[31:0] = "gc_lds_size";
        NUM_SC_PER_SE: 18[31:0] = "gc_num_sc_per_se";
        NUM_SA_PER_SE: 19[31:0] = "gc_num_sa_per_se";
        NUM_PACKER_PER_SC: 20[31:0] = "gc_num_packer_per_sc";
        NUM_GL2A: 21[31:0] = "gc_num_gl2a";
        NUM_TCP_PER_SA: 22[31:0] = "gc_num_tcp_per_sa";
        NUM_SDP_INTERFACE: 23[31:0] = "gc_num_sdp_interface";
        NUM_TCPS: 24[31:0] = "gc_num_tcps";
        NUM_TCP_PER_WPG: 25[31:0] = "gc_num_tcp_per_wpg";
        TCP_L1_SIZE: 26[31:0] = "gc_tcp_l1_size";
        NUM_SQC_PER_WGP: 27[31:0] = "gc_num_sqc_per_wgp";
        L1_INSTRUCTION_CACHE_SIZE_PER_SQC: 28[31:0] = "gc_l1_instruction_cache_size_per_sqc";
        L1_DATA_CACHE_SIZE_PER_SQC: 29[31:0] = "gc_l1_data_cache_size_per_sqc";
        GL1C_PER_SA: 30[31:0] = "gc_gl1c_per_sa";
        GL1C_SIZE_PER_INSTANCE: 31[31:0] = "gc_gl1c_size_per_instance";
        GL2C_PER_GPU: 32[31:0] = "gc_gl2c_per_gpu";
        TCP_SIZE_PER_CU: 33[31:0] = "gc_tcp_size_per_cu";
        TCP_CACHE_LINE_SIZE: 34[31:0] = "gc_tcp_cache_line_size";
        INSTRUCTION_CACHE_SIZE_PER_SQC: 35[31:0] = "gc_instruction_cache_size_per_sqc";
        INSTRUCTION_CACHE_LINE_SIZE: 36[31:0] = "gc_instruction_cache_line_size";
        SCALAR_DATA_CACHE_SIZE_PER_SQC: 37[31:0] = "gc_scalar_data_cache_size_per_sqc";
        SCALAR_DATA_CACHE_LINE_SIZE: 38[31:0] = "gc_scalar_data_cache_line_size";
        TCC_SIZE: 39[31:0] = "gc_tcc_size";
        TCC_CACHE_LINE_SIZE: 40[31:0] = "gc_tcc_cache_line_size";
    }

    /// The GC table of gfx9.4.3 (version 2.1): counts of the graphics core.
    pub struct GcInfoV2_1: [u32; 27] = "struct gc_info_v2_1" {
        TABLE_ID: 0[31:0] = "header.table_id";
        VERSION_MAJOR: 1[15:0] = "header.version_major";
        VERSION_MINOR: 1[31:16] = "header.version_minor";
        SIZE: 2[31:0] = "header.size";
        NUM_SE: 3[31:0] = "gc_num_se";
        NUM_CU_PER_SH: 4[31:0] = "gc_num_cu_per_sh";
        NUM_SH_PER_SE: 5[31:0] = "gc_num_sh_per_se";
        NUM_RB_PER_SE: 6[31:0] = "gc_num_rb_per_se";
        NUM_TCCS: 7[31:0] = "gc_num_tccs";
        NUM_GPRS: 8[31:0] = "gc_num_gprs";
        WAVE_SIZE: 14[31:0] = "gc_wave_size";
        MAX_WAVES_PER_SIMD: 15[31:0] = "gc_max_waves_per_simd";
        MAX_SCRATCH_SLOTS_PER_CU: 16[31:0] = "gc_max_scratch_slots_per_cu";
        LDS_SIZE: 17[31:0] = "gc_lds_size";
        NUM_TCP_PER_SH: 20[31:0] = "gc_num_tcp_per_sh";
        TCP_SIZE_PER_CU: 21[31:0] = "gc_tcp_size_per_cu";
        NUM_SDP_INTERFACE: 22[31:0] = "gc_num_sdp_interface";
        NUM_CU_PER_SQC: 23[31:0] = "gc_num_cu_per_sqc";
        INSTRUCTION_CACHE_SIZE_PER_SQC: 24[31:0] = "gc_instruction_cache_size_per_sqc";
        SCALAR_DATA_CACHE_SIZE_PER_SQC: 25[31:0] = "gc_scalar_data_cache_size_per_sqc";
        TCC_SIZE: 26[31:0] = "gc_tcc_size";
    }
}

/// The little-endian half word at a byte offset, or `None` beyond the end.
pub fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(
        bytes.get(at..at.checked_add(2)?)?.try_into().ok()?,
    ))
}

/// The little-endian word at a byte offset, or `None` beyond the end.
pub fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(
        bytes.get(at..at.checked_add(4)?)?.try_into().ok()?,
    ))
}

/// The checksum of the binary and of its tables: the sum of the bytes in 16 bits.
pub fn checksum(bytes: &[u8]) -> u16 {
    bytes
        .iter()
        .fold(0u16, |sum, &byte| sum.wrapping_add(u16::from(byte)))
}

/// The layouts of this file.
pub const LAYOUTS: &[LayoutInfo] = &[
    LayoutInfo::of::<BinaryHeader>(),
    LayoutInfo::of::<TableInfo>(),
    LayoutInfo::of::<IpHeader>(),
    LayoutInfo::of::<DieHeader>(),
    LayoutInfo::of::<Ip>(),
    LayoutInfo::of::<GcInfoV1_3>(),
    LayoutInfo::of::<GcInfoV2_1>(),
];
