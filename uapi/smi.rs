// SPDX-License-Identifier: MIT OR Apache-2.0

//! Management events and profiler control.

structs! {
    /// Argument of [`SMI_EVENTS`](super::ioctl::SMI_EVENTS). The file takes a 64-bit mask of
    /// `1 << (event - 1)` by write and gives lines of text by read.
    pub struct SmiEventsArgs = "struct kfd_ioctl_smi_events_args" {
        gpuid: u32,
        /// Out: a file descriptor.
        anon_fd: u32,
    }

    /// Profiler settings of a GPU.
    pub struct PmcSettings = "struct kfd_ioctl_pmc_settings" {
        gpu_id: u32,
        lock: u32,
        perfcount_enable: u32,
    }

    /// Peak power limit control of a GPU.
    pub struct PtlControl = "struct kfd_ioctl_ptl_control" {
        gpu_id: u32,
        enable: u32,
    }

    /// Argument of [`PROFILER`](super::ioctl::PROFILER).
    pub struct ProfilerArgs = "struct kfd_ioctl_profiler_args" {
        /// In: one of the `PROFILER_` constants.
        op: u32,
        /// The union of [`PmcSettings`], [`PtlControl`] and the version.
        data: [u32; 3] = "pmc",
    }
}

constants! {
    SMI_EVENT_NONE: u32 = 0, "KFD_SMI_EVENT_NONE";
    SMI_EVENT_VMFAULT: u32 = 1, "KFD_SMI_EVENT_VMFAULT";
    SMI_EVENT_THERMAL_THROTTLE: u32 = 2, "KFD_SMI_EVENT_THERMAL_THROTTLE";
    SMI_EVENT_GPU_PRE_RESET: u32 = 3, "KFD_SMI_EVENT_GPU_PRE_RESET";
    SMI_EVENT_GPU_POST_RESET: u32 = 4, "KFD_SMI_EVENT_GPU_POST_RESET";
    SMI_EVENT_MIGRATE_START: u32 = 5, "KFD_SMI_EVENT_MIGRATE_START";
    SMI_EVENT_MIGRATE_END: u32 = 6, "KFD_SMI_EVENT_MIGRATE_END";
    SMI_EVENT_PAGE_FAULT_START: u32 = 7, "KFD_SMI_EVENT_PAGE_FAULT_START";
    SMI_EVENT_PAGE_FAULT_END: u32 = 8, "KFD_SMI_EVENT_PAGE_FAULT_END";
    SMI_EVENT_QUEUE_EVICTION: u32 = 9, "KFD_SMI_EVENT_QUEUE_EVICTION";
    SMI_EVENT_QUEUE_RESTORE: u32 = 10, "KFD_SMI_EVENT_QUEUE_RESTORE";
    SMI_EVENT_UNMAP_FROM_GPU: u32 = 11, "KFD_SMI_EVENT_UNMAP_FROM_GPU";
    SMI_EVENT_PROCESS_START: u32 = 12, "KFD_SMI_EVENT_PROCESS_START";
    SMI_EVENT_PROCESS_END: u32 = 13, "KFD_SMI_EVENT_PROCESS_END";
    /// Events of all processes; needs privilege.
    SMI_EVENT_ALL_PROCESS: u32 = 64, "KFD_SMI_EVENT_ALL_PROCESS";
    SMI_EVENT_MSG_SIZE: u32 = 96, "KFD_SMI_EVENT_MSG_SIZE";
    EVICTION_TRIGGER_SVM: u32 = 0, "KFD_QUEUE_EVICTION_TRIGGER_SVM";
    EVICTION_TRIGGER_USERPTR: u32 = 1, "KFD_QUEUE_EVICTION_TRIGGER_USERPTR";
    EVICTION_TRIGGER_TTM: u32 = 2, "KFD_QUEUE_EVICTION_TRIGGER_TTM";
    EVICTION_TRIGGER_SUSPEND: u32 = 3, "KFD_QUEUE_EVICTION_TRIGGER_SUSPEND";
    EVICTION_CRIU_CHECKPOINT: u32 = 4, "KFD_QUEUE_EVICTION_CRIU_CHECKPOINT";
    EVICTION_CRIU_RESTORE: u32 = 5, "KFD_QUEUE_EVICTION_CRIU_RESTORE";
    PROFILER_PMC: u32 = 0, "KFD_IOC_PROFILER_PMC";
    PROFILER_VERSION: u32 = 2, "KFD_IOC_PROFILER_VERSION";
    PROFILER_PTL_CONTROL: u32 = 3, "KFD_IOC_PROFILER_PTL_CONTROL";
    /// What [`PROFILER_VERSION`] answers.
    PROFILER_VERSION_NUM: u32 = 1, "KFD_IOC_PROFILER_VERSION_NUM";
}

/// The bit of an event in the mask written to the events' file; 0 for an event there is not.
pub const fn event_mask(event: u32) -> u64 {
    match event {
        1..=64 => 1 << event.wrapping_sub(1),
        _ => 0,
    }
}
