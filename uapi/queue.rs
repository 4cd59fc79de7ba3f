// SPDX-License-Identifier: MIT OR Apache-2.0

//! Queues: creation, change, CU mask, wave state.

structs! {
    /// Argument of [`CREATE_QUEUE`](super::ioctl::CREATE_QUEUE). Addresses are GPU virtual
    /// addresses, sizes are in bytes.
    pub struct CreateQueueArgs = "struct kfd_ioctl_create_queue_args" {
        /// In: the ring, a mapping of exactly `ring_size` rounded up to a page.
        ring_base_address: u64,
        /// In: 64-bit write pointer. The mapping that holds it is one page.
        write_pointer_address: u64,
        /// In: 64-bit read pointer. The mapping that holds it is one page.
        read_pointer_address: u64,
        /// Out: mmap offset of the queue's doorbell: see [`super::mmap`].
        doorbell_offset: u64,
        /// In: 0 or a power of two; less than [`MIN_RING_SIZE`] is raised to it.
        ring_size: u32,
        gpu_id: u32,
        /// In: one of the `QUEUE_TYPE_` constants.
        queue_type: u32,
        /// In: bits 7:0 share of 0 to 100; bits 15:8 the XCC that runs PM4 packets.
        queue_percentage: u32,
        /// In: 0 to 15.
        queue_priority: u32,
        /// Out: id, unique in the process.
        queue_id: u32,
        /// In: end-of-pipe buffer, 0 if the chip needs none.
        eop_buffer_address: u64,
        eop_buffer_size: u64,
        /// In: area that waves are saved to when the queue is preempted.
        ctx_save_restore_address: u64,
        /// In: size of that area for one XCC, at least the node's `cwsr_size`.
        ctx_save_restore_size: u32,
        /// In: exactly the node's `ctl_stack_size`.
        ctl_stack_size: u32,
        /// In: engine of a `QUEUE_TYPE_SDMA_BY_ENG_ID`.
        sdma_engine_id: u32,
        /// In: 0 or a power of two; AQL only.
        metadata_ring_size: u32,
    }

    /// Argument of [`DESTROY_QUEUE`](super::ioctl::DESTROY_QUEUE).
    pub struct DestroyQueueArgs = "struct kfd_ioctl_destroy_queue_args" {
        queue_id: u32,
        pad: u32,
    }

    /// Argument of [`UPDATE_QUEUE`](super::ioctl::UPDATE_QUEUE). A ring of 0, a size of 0 or a
    /// share of 0 disables the queue.
    pub struct UpdateQueueArgs = "struct kfd_ioctl_update_queue_args" {
        ring_base_address: u64,
        queue_id: u32,
        ring_size: u32,
        queue_percentage: u32,
        queue_priority: u32,
    }

    /// Argument of [`SET_CU_MASK`](super::ioctl::SET_CU_MASK).
    pub struct SetCuMaskArgs = "struct kfd_ioctl_set_cu_mask_args" {
        queue_id: u32,
        /// In: bits in the mask, a multiple of 32, not 0; those above 1024 are ignored.
        num_cu_mask: u32,
        /// In: address of the mask, 32-bit words.
        cu_mask_ptr: u64,
    }

    /// Argument of [`GET_QUEUE_WAVE_STATE`](super::ioctl::GET_QUEUE_WAVE_STATE).
    pub struct GetQueueWaveStateArgs = "struct kfd_ioctl_get_queue_wave_state_args" {
        /// In: where the control stack is copied to.
        ctl_stack_address: u64,
        ctl_stack_used_size: u32,
        save_area_used_size: u32,
        queue_id: u32,
        pad: u32,
    }

    /// Argument of [`ALLOC_QUEUE_GWS`](super::ioctl::ALLOC_QUEUE_GWS).
    pub struct AllocQueueGwsArgs = "struct kfd_ioctl_alloc_queue_gws_args" {
        queue_id: u32,
        num_gws: u32,
        first_gws: u32,
        pad: u32,
    }
}

constants! {
    /// A compute queue of PM4 packets.
    QUEUE_TYPE_COMPUTE: u32 = 0, "KFD_IOC_QUEUE_TYPE_COMPUTE";
    /// A copy queue.
    QUEUE_TYPE_SDMA: u32 = 1, "KFD_IOC_QUEUE_TYPE_SDMA";
    /// A compute queue of AQL packets.
    QUEUE_TYPE_COMPUTE_AQL: u32 = 2, "KFD_IOC_QUEUE_TYPE_COMPUTE_AQL";
    /// A copy queue on an engine for links between GPUs.
    QUEUE_TYPE_SDMA_XGMI: u32 = 3, "KFD_IOC_QUEUE_TYPE_SDMA_XGMI";
    /// A copy queue on the engine that `sdma_engine_id` names.
    QUEUE_TYPE_SDMA_BY_ENG_ID: u32 = 4, "KFD_IOC_QUEUE_TYPE_SDMA_BY_ENG_ID";
    /// Largest share.
    MAX_PERCENTAGE: u32 = 100, "KFD_MAX_QUEUE_PERCENTAGE";
    /// Highest priority.
    MAX_PRIORITY: u32 = 15, "KFD_MAX_QUEUE_PRIORITY";
    /// Smallest ring, in bytes.
    MIN_RING_SIZE: u32 = 1024, "KFD_MIN_QUEUE_RING_SIZE";
}
