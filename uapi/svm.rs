// SPDX-License-Identifier: MIT OR Apache-2.0

//! Shared virtual memory: attributes of address ranges, and the retry mode.

structs! {
    /// One attribute.
    pub struct SvmAttribute = "struct kfd_ioctl_svm_attribute" {
        /// One of the `ATTR_` constants.
        kind: u32 = "type",
        value: u32,
    }

    /// Argument of [`SVM`](super::ioctl::SVM): `nattr` [`SvmAttribute`] follow it.
    pub struct SvmArgs = "struct kfd_ioctl_svm_args" {
        start_addr: u64,
        size: u64,
        /// In: [`OP_SET_ATTR`] or [`OP_GET_ATTR`].
        op: u32,
        nattr: u32,
    }

    /// Argument of [`SET_XNACK_MODE`](super::ioctl::SET_XNACK_MODE).
    pub struct SetXnackModeArgs = "struct kfd_ioctl_set_xnack_mode_args" {
        /// In: negative asks, 0 is off, positive is on. Out: the mode.
        xnack_enabled: i32,
    }
}

constants! {
    FLAG_HOST_ACCESS: u32 = 0x1, "KFD_IOCTL_SVM_FLAG_HOST_ACCESS";
    FLAG_COHERENT: u32 = 0x2, "KFD_IOCTL_SVM_FLAG_COHERENT";
    FLAG_HIVE_LOCAL: u32 = 0x4, "KFD_IOCTL_SVM_FLAG_HIVE_LOCAL";
    FLAG_GPU_RO: u32 = 0x8, "KFD_IOCTL_SVM_FLAG_GPU_RO";
    FLAG_GPU_EXEC: u32 = 0x10, "KFD_IOCTL_SVM_FLAG_GPU_EXEC";
    FLAG_GPU_READ_MOSTLY: u32 = 0x20, "KFD_IOCTL_SVM_FLAG_GPU_READ_MOSTLY";
    FLAG_GPU_ALWAYS_MAPPED: u32 = 0x40, "KFD_IOCTL_SVM_FLAG_GPU_ALWAYS_MAPPED";
    FLAG_EXT_COHERENT: u32 = 0x80, "KFD_IOCTL_SVM_FLAG_EXT_COHERENT";
    OP_SET_ATTR: u32 = 0, "KFD_IOCTL_SVM_OP_SET_ATTR";
    OP_GET_ATTR: u32 = 1, "KFD_IOCTL_SVM_OP_GET_ATTR";
    LOCATION_SYSMEM: u32 = 0, "KFD_IOCTL_SVM_LOCATION_SYSMEM";
    LOCATION_UNDEFINED: u32 = 0xffff_ffff, "KFD_IOCTL_SVM_LOCATION_UNDEFINED";
    ATTR_PREFERRED_LOC: u32 = 0, "KFD_IOCTL_SVM_ATTR_PREFERRED_LOC";
    ATTR_PREFETCH_LOC: u32 = 1, "KFD_IOCTL_SVM_ATTR_PREFETCH_LOC";
    ATTR_ACCESS: u32 = 2, "KFD_IOCTL_SVM_ATTR_ACCESS";
    ATTR_ACCESS_IN_PLACE: u32 = 3, "KFD_IOCTL_SVM_ATTR_ACCESS_IN_PLACE";
    ATTR_NO_ACCESS: u32 = 4, "KFD_IOCTL_SVM_ATTR_NO_ACCESS";
    ATTR_SET_FLAGS: u32 = 5, "KFD_IOCTL_SVM_ATTR_SET_FLAGS";
    ATTR_CLR_FLAGS: u32 = 6, "KFD_IOCTL_SVM_ATTR_CLR_FLAGS";
    ATTR_GRANULARITY: u32 = 7, "KFD_IOCTL_SVM_ATTR_GRANULARITY";
}
