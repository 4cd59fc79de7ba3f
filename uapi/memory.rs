// SPDX-License-Identifier: MIT OR Apache-2.0

//! Memory: the VM, buffer objects, their mappings, DMA-bufs.

structs! {
    /// Argument of [`ACQUIRE_VM`](super::ioctl::ACQUIRE_VM).
    pub struct AcquireVmArgs = "struct kfd_ioctl_acquire_vm_args" {
        /// In: file descriptor of the GPU's render node.
        drm_fd: u32,
        gpu_id: u32,
    }

    /// Argument of [`ALLOC_MEMORY_OF_GPU`](super::ioctl::ALLOC_MEMORY_OF_GPU).
    pub struct AllocMemoryOfGpuArgs = "struct kfd_ioctl_alloc_memory_of_gpu_args" {
        /// In: GPU virtual address that all mappings will have, page aligned.
        va_addr: u64,
        /// In: bytes; with [`ALLOC_AQL_QUEUE_MEM`] twice the object's.
        size: u64,
        /// Out: `gpu_id << 32 | index`.
        handle: u64,
        /// In: CPU address for [`ALLOC_USERPTR`]. Out: offset to map the object at: on the render
        /// node for VRAM and GTT, on `/dev/kfd` for doorbells and MMIO.
        mmap_offset: u64,
        gpu_id: u32,
        /// In: `ALLOC_` bits.
        flags: u32,
    }

    /// Argument of [`FREE_MEMORY_OF_GPU`](super::ioctl::FREE_MEMORY_OF_GPU).
    pub struct FreeMemoryOfGpuArgs = "struct kfd_ioctl_free_memory_of_gpu_args" {
        handle: u64,
    }

    /// Argument of [`MAP_MEMORY_TO_GPU`](super::ioctl::MAP_MEMORY_TO_GPU).
    pub struct MapMemoryToGpuArgs = "struct kfd_ioctl_map_memory_to_gpu_args" {
        handle: u64,
        /// In: address of an array of 32-bit GPU ids.
        device_ids_array_ptr: u64,
        n_devices: u32,
        /// In: devices of the array to skip. Out: devices done.
        n_success: u32,
    }

    /// Argument of [`UNMAP_MEMORY_FROM_GPU`](super::ioctl::UNMAP_MEMORY_FROM_GPU), as for mapping.
    pub struct UnmapMemoryFromGpuArgs = "struct kfd_ioctl_unmap_memory_from_gpu_args" {
        handle: u64,
        device_ids_array_ptr: u64,
        n_devices: u32,
        n_success: u32,
    }

    /// Argument of [`AVAILABLE_MEMORY`](super::ioctl::AVAILABLE_MEMORY).
    pub struct GetAvailableMemoryArgs = "struct kfd_ioctl_get_available_memory_args" {
        /// Out: bytes.
        available: u64,
        gpu_id: u32,
        pad: u32,
    }

    /// Argument of [`SET_SCRATCH_BACKING_VA`](super::ioctl::SET_SCRATCH_BACKING_VA).
    pub struct SetScratchBackingVaArgs = "struct kfd_ioctl_set_scratch_backing_va_args" {
        va_addr: u64,
        gpu_id: u32,
        pad: u32,
    }

    /// Argument of [`GET_DMABUF_INFO`](super::ioctl::GET_DMABUF_INFO).
    pub struct GetDmabufInfoArgs = "struct kfd_ioctl_get_dmabuf_info_args" {
        size: u64,
        metadata_ptr: u64,
        /// In: bytes of room. Out: bytes there are.
        metadata_size: u32,
        gpu_id: u32,
        flags: u32,
        dmabuf_fd: u32,
    }

    /// Argument of [`IMPORT_DMABUF`](super::ioctl::IMPORT_DMABUF).
    pub struct ImportDmabufArgs = "struct kfd_ioctl_import_dmabuf_args" {
        va_addr: u64,
        handle: u64,
        gpu_id: u32,
        dmabuf_fd: u32,
    }

    /// Argument of [`EXPORT_DMABUF`](super::ioctl::EXPORT_DMABUF).
    pub struct ExportDmabufArgs = "struct kfd_ioctl_export_dmabuf_args" {
        handle: u64,
        /// In: `O_CLOEXEC` and access bits.
        flags: u32,
        dmabuf_fd: u32,
    }
}

constants! {
    /// Kind: device memory.
    ALLOC_VRAM: u32 = 1 << 0, "KFD_IOC_ALLOC_MEM_FLAGS_VRAM";
    /// Kind: system memory that the driver allocates.
    ALLOC_GTT: u32 = 1 << 1, "KFD_IOC_ALLOC_MEM_FLAGS_GTT";
    /// Kind: the caller's own memory.
    ALLOC_USERPTR: u32 = 1 << 2, "KFD_IOC_ALLOC_MEM_FLAGS_USERPTR";
    /// Kind: the process' doorbell pages.
    ALLOC_DOORBELL: u32 = 1 << 3, "KFD_IOC_ALLOC_MEM_FLAGS_DOORBELL";
    /// Kind: the page of remapped registers.
    ALLOC_MMIO_REMAP: u32 = 1 << 4, "KFD_IOC_ALLOC_MEM_FLAGS_MMIO_REMAP";
    /// The GPU may write.
    ALLOC_WRITABLE: u32 = 1 << 31, "KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE";
    /// The GPU may fetch instructions.
    ALLOC_EXECUTABLE: u32 = 1 << 30, "KFD_IOC_ALLOC_MEM_FLAGS_EXECUTABLE";
    /// VRAM that the CPU can map.
    ALLOC_PUBLIC: u32 = 1 << 29, "KFD_IOC_ALLOC_MEM_FLAGS_PUBLIC";
    /// No other kind of memory will do.
    ALLOC_NO_SUBSTITUTE: u32 = 1 << 28, "KFD_IOC_ALLOC_MEM_FLAGS_NO_SUBSTITUTE";
    /// Half as much memory, mapped twice back to back.
    ALLOC_AQL_QUEUE_MEM: u32 = 1 << 27, "KFD_IOC_ALLOC_MEM_FLAGS_AQL_QUEUE_MEM";
    /// Coherent with the CPU.
    ALLOC_COHERENT: u32 = 1 << 26, "KFD_IOC_ALLOC_MEM_FLAGS_COHERENT";
    /// Not cached.
    ALLOC_UNCACHED: u32 = 1 << 25, "KFD_IOC_ALLOC_MEM_FLAGS_UNCACHED";
    /// Coherent at device-scope atomics.
    ALLOC_EXT_COHERENT: u32 = 1 << 24, "KFD_IOC_ALLOC_MEM_FLAGS_EXT_COHERENT";
    /// Physically contiguous VRAM.
    ALLOC_CONTIGUOUS: u32 = 1 << 23, "KFD_IOC_ALLOC_MEM_FLAGS_CONTIGUOUS";
    /// Offset of the memory flush register in the page of remapped registers.
    MMIO_REMAP_HDP_MEM_FLUSH_CNTL: u32 = 0, "KFD_MMIO_REMAP_HDP_MEM_FLUSH_CNTL";
    /// Offset of the register flush register there.
    MMIO_REMAP_HDP_REG_FLUSH_CNTL: u32 = 4, "KFD_MMIO_REMAP_HDP_REG_FLUSH_CNTL";
}

/// The bits that name a kind of memory; exactly one is set.
pub const ALLOC_KINDS: u32 =
    ALLOC_VRAM | ALLOC_GTT | ALLOC_USERPTR | ALLOC_DOORBELL | ALLOC_MMIO_REMAP;
