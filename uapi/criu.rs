// SPDX-License-Identifier: MIT OR Apache-2.0

//! Checkpoint and restore of a process.

structs! {
    /// Argument of [`CRIU_OP`](super::ioctl::CRIU_OP).
    pub struct CriuArgs = "struct kfd_ioctl_criu_args" {
        /// Address of an array of [`CriuDeviceBucket`].
        devices: u64,
        /// Address of an array of [`CriuBoBucket`].
        bos: u64,
        priv_data: u64,
        priv_data_size: u64,
        num_devices: u32,
        num_bos: u32,
        num_objects: u32,
        pid: u32,
        /// In: one of the `OP_` constants.
        op: u32,
        pad: u32 = "",
    }

    /// A GPU of the process.
    pub struct CriuDeviceBucket = "struct kfd_criu_device_bucket" {
        user_gpu_id: u32,
        actual_gpu_id: u32,
        drm_fd: u32,
        pad: u32,
    }

    /// A buffer object of the process.
    pub struct CriuBoBucket = "struct kfd_criu_bo_bucket" {
        addr: u64,
        size: u64,
        offset: u64,
        restored_offset: u64,
        gpu_id: u32,
        alloc_flags: u32,
        dmabuf_fd: u32,
        pad: u32,
    }
}

constants! {
    OP_PROCESS_INFO: u32 = 0, "KFD_CRIU_OP_PROCESS_INFO";
    OP_CHECKPOINT: u32 = 1, "KFD_CRIU_OP_CHECKPOINT";
    OP_UNPAUSE: u32 = 2, "KFD_CRIU_OP_UNPAUSE";
    OP_RESTORE: u32 = 3, "KFD_CRIU_OP_RESTORE";
    OP_RESUME: u32 = 4, "KFD_CRIU_OP_RESUME";
}
