// SPDX-License-Identifier: MIT OR Apache-2.0

//! The render node: what a driver of the name amdgpu returns for the request INFO.
//!
//! Source: Linux 7.3, `include/uapi/drm/amdgpu_drm.h`.

use super::{
    drm::TYPE,
    ioctl::{Request, WRITE},
};

structs! {
    /// Argument of [`INFO`].
    pub struct Info = "struct drm_amdgpu_info" {
        /// In: where the answer is written.
        return_pointer: u64,
        /// In: bytes of room there. Answers are cut to it.
        return_size: u32,
        /// In: one of `INFO_`.
        query: u32,
        /// In: what is asked for, by the query: [`Info::hw_ip`], [`Info::registers`],
        /// [`Info::firmware`].
        of: [u32; 4] = "read_mmr_reg",
    }

    /// Argument of [`SCHED`].
    pub struct Sched = "union drm_amdgpu_sched" {
        op: u32 = "in.op",
        /// A file of the device.
        fd: u32 = "in.fd",
        priority: i32 = "in.priority",
        ctx_id: u32 = "in.ctx_id",
    }

    /// Answer of [`INFO_HW_IP_INFO`].
    pub struct InfoHwIp = "struct drm_amdgpu_info_hw_ip" {
        hw_ip_version_major: u32,
        hw_ip_version_minor: u32,
        capabilities_flags: u64,
        ib_start_alignment: u32,
        ib_size_alignment: u32,
        /// One bit for each ring of the kernel's that programs may submit to.
        available_rings: u32,
        /// Major version in bits 23:16, minor in 15:8, revision in 7:0.
        ip_discovery_version: u32,
        userq_num_slots: u32,
        pad: u32 = "",
    }

    /// Answer of [`INFO_FW_VERSION`].
    pub struct InfoFirmware = "struct drm_amdgpu_info_firmware" {
        ver: u32,
        feature: u32,
    }

    /// Answer of [`INFO_GDS_CONFIG`].
    pub struct InfoGds = "struct drm_amdgpu_info_gds" {
        gds_gfx_partition_size: u32,
        compute_partition_size: u32,
        gds_total_size: u32,
        gws_per_gfx_partition: u32,
        gws_per_compute_partition: u32,
        oa_per_gfx_partition: u32,
        oa_per_compute_partition: u32,
        _pad: u32,
    }

    /// Answer of [`INFO_VBIOS`] about who the card is: texts that end with a zero, of 32 or twice 32 bytes.
    pub struct InfoVbios = "struct drm_amdgpu_info_vbios" {
        name: [[u8; 32]; 2],
        vbios_pn: [[u8; 32]; 2],
        version: u32,
        _pad: u32 = "pad",
        vbios_ver_str: [u8; 32],
        date: [u8; 32],
    }

    /// Answer of [`INFO_VRAM_GTT`], in bytes.
    pub struct InfoVramGtt = "struct drm_amdgpu_info_vram_gtt" {
        vram_size: u64,
        vram_cpu_accessible_size: u64,
        gtt_size: u64,
    }

    /// A kind of memory, in bytes.
    pub struct HeapInfo = "struct drm_amdgpu_heap_info" {
        total_heap_size: u64,
        usable_heap_size: u64,
        heap_usage: u64,
        /// The largest buffer there can be, by a rule of thumb.
        max_allocation: u64,
    }

    /// Answer of [`INFO_MEMORY`].
    pub struct MemoryInfo = "struct drm_amdgpu_memory_info" {
        vram: HeapInfo,
        cpu_accessible_vram: HeapInfo,
        gtt: HeapInfo,
    }

    /// Answer of [`INFO_GPUVM_FAULT`].
    pub struct InfoGpuvmFault = "struct drm_amdgpu_info_gpuvm_fault" {
        /// Page-aligned address; 0 before the first fault.
        addr: u64,
        /// The hub's VM_L2_PROTECTION_FAULT_STATUS.
        status: u32,
        /// Which hub: `VMHUB_`.
        vmhub: u32,
    }

    /// Answer of [`INFO_DEV_INFO`].
    pub struct InfoDevice = "struct drm_amdgpu_info_device" {
        device_id: u32,
        /// Steppings of the chip.
        chip_rev: u32,
        external_rev: u32,
        pci_rev: u32,
        family: u32,
        num_shader_engines: u32,
        num_shader_arrays_per_engine: u32,
        /// kHz, as all clocks.
        gpu_counter_freq: u32,
        max_engine_clock: u64,
        max_memory_clock: u64,
        cu_active_number: u32,
        cu_ao_mask: u32,
        cu_bitmap: [[u32; 4]; 4],
        enabled_rb_pipes_mask: u32,
        num_rb_pipes: u32,
        num_hw_gfx_contexts: u32,
        pcie_gen: u32,
        ids_flags: u64,
        virtual_address_offset: u64,
        virtual_address_max: u64,
        virtual_address_alignment: u32,
        pte_fragment_size: u32,
        gart_page_size: u32,
        ce_ram_size: u32,
        vram_type: u32,
        vram_bit_width: u32,
        vce_harvest_config: u32,
        gc_double_offchip_lds_buf: u32,
        prim_buf_gpu_addr: u64,
        pos_buf_gpu_addr: u64,
        cntl_sb_buf_gpu_addr: u64,
        param_buf_gpu_addr: u64,
        prim_buf_size: u32,
        pos_buf_size: u32,
        cntl_sb_buf_size: u32,
        param_buf_size: u32,
        wave_front_size: u32,
        num_shader_visible_vgprs: u32,
        num_cu_per_sh: u32,
        num_tcc_blocks: u32,
        gs_vgt_table_depth: u32,
        gs_prim_buffer_depth: u32,
        max_gs_waves_per_vgt: u32,
        pcie_num_lanes: u32,
        cu_ao_bitmap: [[u32; 4]; 4],
        high_va_offset: u64,
        high_va_max: u64,
        pa_sc_tile_steering_override: u32,
        pad: u32,
        tcc_disabled_mask: u64,
        min_engine_clock: u64,
        min_memory_clock: u64,
        /// KiB, as the sizes that follow. Up to `gl2c_cache_size` zero before gfx11.
        tcp_cache_size: u32,
        num_sqc_per_wgp: u32,
        sqc_data_cache_size: u32,
        sqc_inst_cache_size: u32,
        gl1c_cache_size: u32,
        gl2c_cache_size: u32,
        mall_size: u64,
        enabled_rb_pipes_mask_hi: u32,
        shadow_size: u32,
        shadow_alignment: u32,
        csa_size: u32,
        csa_alignment: u32,
        userq_ip_mask: u32,
    }
}

constants! {
    /// Can programs have work done? 32 bits.
    INFO_ACCEL_WORKING: u32 = 0x00, "AMDGPU_INFO_ACCEL_WORKING";
    /// The rings of a kind of engine: [`InfoHwIp`].
    INFO_HW_IP_INFO: u32 = 0x02, "AMDGPU_INFO_HW_IP_INFO";
    /// How many engines of a kind there are, 32 bits.
    INFO_HW_IP_COUNT: u32 = 0x03, "AMDGPU_INFO_HW_IP_COUNT";
    /// The GPU's clock counter, 64 bits.
    INFO_TIMESTAMP: u32 = 0x05, "AMDGPU_INFO_TIMESTAMP";
    /// Version of a firmware: [`InfoFirmware`].
    INFO_FW_VERSION: u32 = 0x0e, "AMDGPU_INFO_FW_VERSION";
    /// Bytes that buffers were moved between heaps, 64 bits.
    INFO_NUM_BYTES_MOVED: u32 = 0x0f, "AMDGPU_INFO_NUM_BYTES_MOVED";
    /// Bytes of VRAM in use, 64 bits.
    INFO_VRAM_USAGE: u32 = 0x10, "AMDGPU_INFO_VRAM_USAGE";
    /// Bytes of system memory in use, 64 bits.
    INFO_GTT_USAGE: u32 = 0x11, "AMDGPU_INFO_GTT_USAGE";
    /// Global data share and wave sync: [`InfoGds`].
    INFO_GDS_CONFIG: u32 = 0x13, "AMDGPU_INFO_GDS_CONFIG";
    /// Sizes of the heaps: [`InfoVramGtt`].
    INFO_VRAM_GTT: u32 = 0x14, "AMDGPU_INFO_VRAM_GTT";
    /// Registers, 32 bits each.
    INFO_READ_MMR_REG: u32 = 0x15, "AMDGPU_INFO_READ_MMR_REG";
    /// The chip: [`InfoDevice`].
    INFO_DEV_INFO: u32 = 0x16, "AMDGPU_INFO_DEV_INFO";
    /// Bytes in use of the VRAM that the CPU sees, 64 bits.
    INFO_VIS_VRAM_USAGE: u32 = 0x17, "AMDGPU_INFO_VIS_VRAM_USAGE";
    /// Buffers that were evicted from VRAM, 64 bits.
    INFO_NUM_EVICTIONS: u32 = 0x18, "AMDGPU_INFO_NUM_EVICTIONS";
    /// Sizes and use of the heaps: [`MemoryInfo`].
    INFO_MEMORY: u32 = 0x19, "AMDGPU_INFO_MEMORY";
    /// The VBIOS, of which one of these is asked.
    INFO_VBIOS: u32 = 0x1b, "AMDGPU_INFO_VBIOS";
    /// Bytes of its image, 32 bits.
    INFO_VBIOS_SIZE: u32 = 0x1, "AMDGPU_INFO_VBIOS_SIZE";
    /// The image from a byte on.
    INFO_VBIOS_IMAGE: u32 = 0x2, "AMDGPU_INFO_VBIOS_IMAGE";
    /// Who the card is: [`InfoVbios`].
    INFO_VBIOS_INFO: u32 = 0x3, "AMDGPU_INFO_VBIOS_INFO";
    /// Handles of video decoders.
    INFO_NUM_HANDLES: u32 = 0x1c, "AMDGPU_INFO_NUM_HANDLES";
    /// Clocks, temperatures, power.
    INFO_SENSOR: u32 = 0x1d, "AMDGPU_INFO_SENSOR";
    /// MHz of compute units.
    INFO_SENSOR_GFX_SCLK: u32 = 0x1, "AMDGPU_INFO_SENSOR_GFX_SCLK";
    /// MHz of memory.
    INFO_SENSOR_GFX_MCLK: u32 = 0x2, "AMDGPU_INFO_SENSOR_GFX_MCLK";
    /// Thousandths of a degree.
    INFO_SENSOR_GPU_TEMP: u32 = 0x3, "AMDGPU_INFO_SENSOR_GPU_TEMP";
    /// Percent.
    INFO_SENSOR_GPU_LOAD: u32 = 0x4, "AMDGPU_INFO_SENSOR_GPU_LOAD";
    /// Watts.
    INFO_SENSOR_GPU_AVG_POWER: u32 = 0x5, "AMDGPU_INFO_SENSOR_GPU_AVG_POWER";
    /// Millivolts of compute units.
    INFO_SENSOR_VDDGFX: u32 = 0x7, "AMDGPU_INFO_SENSOR_VDDGFX";
    /// Watts.
    INFO_SENSOR_GPU_INPUT_POWER: u32 = 0xc, "AMDGPU_INFO_SENSOR_GPU_INPUT_POWER";
    /// Faults of the CPU on VRAM that it did not see, 64 bits.
    INFO_NUM_VRAM_CPU_PAGE_FAULTS: u32 = 0x1e, "AMDGPU_INFO_NUM_VRAM_CPU_PAGE_FAULTS";
    /// How often a reset lost VRAM, 32 bits.
    INFO_VRAM_LOST_COUNTER: u32 = 0x1f, "AMDGPU_INFO_VRAM_LOST_COUNTER";
    /// The last page fault in the file's address space: [`InfoGpuvmFault`].
    INFO_GPUVM_FAULT: u32 = 0x23, "AMDGPU_INFO_GPUVM_FAULT";
    /// Kinds of hubs, and where the number of one begins.
    VMHUB_TYPE_GFX: u32 = 0, "AMDGPU_VMHUB_TYPE_GFX";
    VMHUB_TYPE_MM0: u32 = 1, "AMDGPU_VMHUB_TYPE_MM0";
    VMHUB_IDX_SHIFT: u32 = 8, "AMDGPU_VMHUB_IDX_SHIFT";

    /// Kinds of engines.
    HW_IP_GFX: u32 = 0, "AMDGPU_HW_IP_GFX";
    HW_IP_COMPUTE: u32 = 1, "AMDGPU_HW_IP_COMPUTE";
    HW_IP_DMA: u32 = 2, "AMDGPU_HW_IP_DMA";
    HW_IP_UVD: u32 = 3, "AMDGPU_HW_IP_UVD";
    HW_IP_NUM: u32 = 10, "AMDGPU_HW_IP_NUM";
    HW_IP_INSTANCE_MAX_COUNT: u32 = 1, "AMDGPU_HW_IP_INSTANCE_MAX_COUNT";

    /// Firmware of the first compute command processor.
    FW_GFX_MEC: u32 = 0x08, "AMDGPU_INFO_FW_GFX_MEC";
    FW_SMC: u32 = 0x0a, "AMDGPU_INFO_FW_SMC";
    FW_SDMA: u32 = 0x0b, "AMDGPU_INFO_FW_SDMA";

    /// Shader engine and array in [`Registers::instance`]: all bits are all of them.
    MMR_SE_INDEX_SHIFT: u32 = 0, "AMDGPU_INFO_MMR_SE_INDEX_SHIFT";
    MMR_SE_INDEX_MASK: u32 = 0xff, "AMDGPU_INFO_MMR_SE_INDEX_MASK";
    MMR_SH_INDEX_SHIFT: u32 = 8, "AMDGPU_INFO_MMR_SH_INDEX_SHIFT";
    MMR_SH_INDEX_MASK: u32 = 0xff, "AMDGPU_INFO_MMR_SH_INDEX_MASK";

    /// Families of chips: gfx9 but its APUs, and gfx12.
    FAMILY_AI: u32 = 141, "AMDGPU_FAMILY_AI";
    FAMILY_GC_12_0_0: u32 = 152, "AMDGPU_FAMILY_GC_12_0_0";

    VRAM_TYPE_UNKNOWN: u32 = 0, "AMDGPU_VRAM_TYPE_UNKNOWN";
    VRAM_TYPE_GDDR5: u32 = 5, "AMDGPU_VRAM_TYPE_GDDR5";
    VRAM_TYPE_HBM: u32 = 6, "AMDGPU_VRAM_TYPE_HBM";
    VRAM_TYPE_GDDR6: u32 = 9, "AMDGPU_VRAM_TYPE_GDDR6";
    VRAM_TYPE_HBM3E: u32 = 13, "AMDGPU_VRAM_TYPE_HBM3E";
}

/// Asks the driver something.
pub const INFO: Request<Info> = Request::new(
    "AMDGPU_INFO",
    "DRM_IOCTL_AMDGPU_INFO",
    "Info",
    WRITE,
    TYPE,
    0x45,
);

/// Changes the priority of another file's contexts; for the master of a screen.
pub const SCHED: Request<Sched> = Request::new(
    "AMDGPU_SCHED",
    "DRM_IOCTL_AMDGPU_SCHED",
    "Sched",
    WRITE,
    TYPE,
    0x55,
);

/// Which registers [`INFO_READ_MMR_REG`] is to read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Registers {
    /// Address of the first, in words.
    pub dword_offset: u32,
    /// How many.
    pub count: u32,
    /// Shader engine and array.
    pub instance: u32,
}

impl Info {
    /// Kind of engine, and which of them.
    pub const fn hw_ip(&self) -> (u32, u32) {
        (self.of[0], self.of[1])
    }

    /// Kind of firmware, its engine and its number there.
    pub const fn firmware(&self) -> (u32, u32, u32) {
        (self.of[0], self.of[1], self.of[2])
    }

    /// What is asked of the VBIOS, and from which byte of its image on.
    pub const fn vbios(&self) -> (u32, u32) {
        (self.of[0], self.of[1])
    }

    /// Kind of sensor.
    pub const fn sensor(&self) -> u32 {
        self.of[0]
    }

    /// Registers.
    pub const fn registers(&self) -> Registers {
        Registers {
            dword_offset: self.of[0],
            count: self.of[1],
            instance: self.of[2],
        }
    }
}
