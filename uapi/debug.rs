// SPDX-License-Identifier: MIT OR Apache-2.0

//! The debugger's interface: its runtime handshake, its operations, what it reads back.

structs! {
    /// Argument of the deprecated DBG_REGISTER.
    pub struct DbgRegisterArgs = "struct kfd_ioctl_dbg_register_args" {
        gpu_id: u32,
        pad: u32,
    }

    /// Argument of the deprecated DBG_UNREGISTER.
    pub struct DbgUnregisterArgs = "struct kfd_ioctl_dbg_unregister_args" {
        gpu_id: u32,
        pad: u32,
    }

    /// Argument of the deprecated DBG_ADDRESS_WATCH.
    pub struct DbgAddressWatchArgs = "struct kfd_ioctl_dbg_address_watch_args" {
        content_ptr: u64,
        gpu_id: u32,
        buf_size_in_bytes: u32,
    }

    /// Argument of the deprecated DBG_WAVE_CONTROL.
    pub struct DbgWaveControlArgs = "struct kfd_ioctl_dbg_wave_control_args" {
        content_ptr: u64,
        gpu_id: u32,
        buf_size_in_bytes: u32,
    }

    /// What a debugger gets about a GPU.
    pub struct DbgDeviceInfoEntry = "struct kfd_dbg_device_info_entry" {
        exception_status: u64,
        lds_base: u64,
        lds_limit: u64,
        scratch_base: u64,
        scratch_limit: u64,
        gpuvm_base: u64,
        gpuvm_limit: u64,
        gpu_id: u32,
        location_id: u32,
        vendor_id: u32,
        device_id: u32,
        revision_id: u32,
        subsystem_vendor_id: u32,
        subsystem_device_id: u32,
        fw_version: u32,
        gfx_target_version: u32,
        simd_count: u32,
        max_waves_per_simd: u32,
        array_count: u32,
        simd_arrays_per_engine: u32,
        num_xcc: u32,
        capability: u32,
        debug_prop: u32,
        capability2: u32,
        pad: u32,
    }

    /// What the runtime has reported to the driver about itself with RUNTIME_ENABLE.
    pub struct RuntimeInfo = "struct kfd_runtime_info" {
        r_debug: u64,
        /// One of the `RUNTIME_STATE_` constants.
        runtime_state: u32,
        ttmp_setup: u32,
    }

    /// Argument of [`RUNTIME_ENABLE`](super::ioctl::RUNTIME_ENABLE).
    pub struct RuntimeEnableArgs = "struct kfd_ioctl_runtime_enable_args" {
        r_debug: u64,
        /// In: `RUNTIME_ENABLE_MODE_` bits.
        mode_mask: u32,
        capabilities_mask: u32,
    }

    /// What a debugger gets about a queue.
    pub struct QueueSnapshotEntry = "struct kfd_queue_snapshot_entry" {
        exception_status: u64,
        ring_base_address: u64,
        write_pointer_address: u64,
        read_pointer_address: u64,
        ctx_save_restore_address: u64,
        queue_id: u32,
        gpu_id: u32,
        ring_size: u32,
        queue_type: u32,
        ctx_save_restore_area_size: u32,
        reserved: u32,
    }

    /// Start of the area that waves are saved to, once per XCC.
    pub struct ContextSaveAreaHeader = "struct kfd_context_save_area_header" {
        control_stack_offset: u32 = "wave_state.control_stack_offset",
        control_stack_size: u32 = "wave_state.control_stack_size",
        wave_state_offset: u32 = "wave_state.wave_state_offset",
        wave_state_size: u32 = "wave_state.wave_state_size",
        debug_offset: u32,
        debug_size: u32,
        err_payload_addr: u64,
        err_event_id: u32,
        reserved1: u32,
    }

    /// Operation 0: starts to debug a process.
    pub struct DbgTrapEnableArgs = "struct kfd_ioctl_dbg_trap_enable_args" {
        exception_mask: u64,
        rinfo_ptr: u64,
        rinfo_size: u32,
        dbg_fd: u32,
    }

    /// Operation 2: raises exceptions to the runtime.
    pub struct DbgTrapSendRuntimeEventArgs = "struct kfd_ioctl_dbg_trap_send_runtime_event_args" {
        exception_mask: u64,
        gpu_id: u32,
        queue_id: u32,
    }

    /// Operation 3: which exceptions the debugger hears of.
    pub struct DbgTrapSetExceptionsEnabledArgs = "struct kfd_ioctl_dbg_trap_set_exceptions_enabled_args" {
        exception_mask: u64,
    }

    /// Operation 4: which hardware exceptions trap.
    pub struct DbgTrapSetWaveLaunchOverrideArgs = "struct kfd_ioctl_dbg_trap_set_wave_launch_override_args" {
        override_mode: u32,
        enable_mask: u32,
        support_request_mask: u32,
        pad: u32,
    }

    /// Operation 5: how waves start.
    pub struct DbgTrapSetWaveLaunchModeArgs = "struct kfd_ioctl_dbg_trap_set_wave_launch_mode_args" {
        launch_mode: u32,
        pad: u32,
    }

    /// Operation 6: takes queues off the hardware.
    pub struct DbgTrapSuspendQueuesArgs = "struct kfd_ioctl_dbg_trap_suspend_queues_args" {
        exception_mask: u64,
        queue_array_ptr: u64,
        num_queues: u32,
        grace_period: u32,
    }

    /// Operation 7: puts them back.
    pub struct DbgTrapResumeQueuesArgs = "struct kfd_ioctl_dbg_trap_resume_queues_args" {
        queue_array_ptr: u64,
        num_queues: u32,
        pad: u32,
    }

    /// Operation 8: watches an address.
    pub struct DbgTrapSetNodeAddressWatchArgs = "struct kfd_ioctl_dbg_trap_set_node_address_watch_args" {
        address: u64,
        mode: u32,
        mask: u32,
        gpu_id: u32,
        id: u32,
    }

    /// Operation 9: ends that.
    pub struct DbgTrapClearNodeAddressWatchArgs = "struct kfd_ioctl_dbg_trap_clear_node_address_watch_args" {
        gpu_id: u32,
        id: u32,
    }

    /// Operation 10: further wave settings.
    pub struct DbgTrapSetFlagsArgs = "struct kfd_ioctl_dbg_trap_set_flags_args" {
        flags: u32,
        pad: u32,
    }

    /// Operation 11: which exceptions were raised.
    pub struct DbgTrapQueryDebugEventArgs = "struct kfd_ioctl_dbg_trap_query_debug_event_args" {
        exception_mask: u64,
        gpu_id: u32,
        queue_id: u32,
    }

    /// Operation 12: what is known about one.
    pub struct DbgTrapQueryExceptionInfoArgs = "struct kfd_ioctl_dbg_trap_query_exception_info_args" {
        info_ptr: u64,
        info_size: u32,
        source_id: u32,
        exception_code: u32,
        clear_exception: u32,
    }

    /// Operation 13: the queues.
    pub struct DbgTrapQueueSnapshotArgs = "struct kfd_ioctl_dbg_trap_queue_snapshot_args" {
        exception_mask: u64,
        snapshot_buf_ptr: u64,
        num_queues: u32,
        entry_size: u32,
    }

    /// Operation 14: the GPUs.
    pub struct DbgTrapDeviceSnapshotArgs = "struct kfd_ioctl_dbg_trap_device_snapshot_args" {
        exception_mask: u64,
        snapshot_buf_ptr: u64,
        num_devices: u32,
        entry_size: u32,
    }

    /// Argument of [`DBG_TRAP`](super::ioctl::DBG_TRAP).
    pub struct DbgTrapArgs = "struct kfd_ioctl_dbg_trap_args" {
        pid: u32,
        /// In: one of the `OP_` constants.
        op: u32,
        /// The union of the operations' arguments.
        data: [u64; 3] = "enable",
    }
}

constants! {
    OP_ENABLE: u32 = 0, "KFD_IOC_DBG_TRAP_ENABLE";
    OP_DISABLE: u32 = 1, "KFD_IOC_DBG_TRAP_DISABLE";
    OP_SEND_RUNTIME_EVENT: u32 = 2, "KFD_IOC_DBG_TRAP_SEND_RUNTIME_EVENT";
    OP_SET_EXCEPTIONS_ENABLED: u32 = 3, "KFD_IOC_DBG_TRAP_SET_EXCEPTIONS_ENABLED";
    OP_SET_WAVE_LAUNCH_OVERRIDE: u32 = 4, "KFD_IOC_DBG_TRAP_SET_WAVE_LAUNCH_OVERRIDE";
    OP_SET_WAVE_LAUNCH_MODE: u32 = 5, "KFD_IOC_DBG_TRAP_SET_WAVE_LAUNCH_MODE";
    OP_SUSPEND_QUEUES: u32 = 6, "KFD_IOC_DBG_TRAP_SUSPEND_QUEUES";
    OP_RESUME_QUEUES: u32 = 7, "KFD_IOC_DBG_TRAP_RESUME_QUEUES";
    OP_SET_NODE_ADDRESS_WATCH: u32 = 8, "KFD_IOC_DBG_TRAP_SET_NODE_ADDRESS_WATCH";
    OP_CLEAR_NODE_ADDRESS_WATCH: u32 = 9, "KFD_IOC_DBG_TRAP_CLEAR_NODE_ADDRESS_WATCH";
    OP_SET_FLAGS: u32 = 10, "KFD_IOC_DBG_TRAP_SET_FLAGS";
    OP_QUERY_DEBUG_EVENT: u32 = 11, "KFD_IOC_DBG_TRAP_QUERY_DEBUG_EVENT";
    OP_QUERY_EXCEPTION_INFO: u32 = 12, "KFD_IOC_DBG_TRAP_QUERY_EXCEPTION_INFO";
    OP_GET_QUEUE_SNAPSHOT: u32 = 13, "KFD_IOC_DBG_TRAP_GET_QUEUE_SNAPSHOT";
    OP_GET_DEVICE_SNAPSHOT: u32 = 14, "KFD_IOC_DBG_TRAP_GET_DEVICE_SNAPSHOT";
    RUNTIME_STATE_DISABLED: u32 = 0, "DEBUG_RUNTIME_STATE_DISABLED";
    RUNTIME_STATE_ENABLED: u32 = 1, "DEBUG_RUNTIME_STATE_ENABLED";
    RUNTIME_STATE_ENABLED_BUSY: u32 = 2, "DEBUG_RUNTIME_STATE_ENABLED_BUSY";
    RUNTIME_STATE_ENABLED_ERROR: u32 = 3, "DEBUG_RUNTIME_STATE_ENABLED_ERROR";
    RUNTIME_ENABLE_MODE_ENABLE_MASK: u32 = 1, "KFD_RUNTIME_ENABLE_MODE_ENABLE_MASK";
    RUNTIME_ENABLE_MODE_TTMP_SAVE_MASK: u32 = 2, "KFD_RUNTIME_ENABLE_MODE_TTMP_SAVE_MASK";
    EC_NONE: u32 = 0, "EC_NONE";
    EC_QUEUE_WAVE_ABORT: u32 = 1, "EC_QUEUE_WAVE_ABORT";
    EC_QUEUE_WAVE_TRAP: u32 = 2, "EC_QUEUE_WAVE_TRAP";
    EC_QUEUE_WAVE_MATH_ERROR: u32 = 3, "EC_QUEUE_WAVE_MATH_ERROR";
    EC_QUEUE_WAVE_ILLEGAL_INSTRUCTION: u32 = 4, "EC_QUEUE_WAVE_ILLEGAL_INSTRUCTION";
    EC_QUEUE_WAVE_MEMORY_VIOLATION: u32 = 5, "EC_QUEUE_WAVE_MEMORY_VIOLATION";
    EC_QUEUE_WAVE_APERTURE_VIOLATION: u32 = 6, "EC_QUEUE_WAVE_APERTURE_VIOLATION";
    EC_QUEUE_PACKET_DISPATCH_DIM_INVALID: u32 = 16, "EC_QUEUE_PACKET_DISPATCH_DIM_INVALID";
    EC_QUEUE_PACKET_DISPATCH_GROUP_SEGMENT_SIZE_INVALID: u32 = 17, "EC_QUEUE_PACKET_DISPATCH_GROUP_SEGMENT_SIZE_INVALID";
    EC_QUEUE_PACKET_DISPATCH_CODE_INVALID: u32 = 18, "EC_QUEUE_PACKET_DISPATCH_CODE_INVALID";
    EC_QUEUE_PACKET_RESERVED: u32 = 19, "EC_QUEUE_PACKET_RESERVED";
    EC_QUEUE_PACKET_UNSUPPORTED: u32 = 20, "EC_QUEUE_PACKET_UNSUPPORTED";
    EC_QUEUE_PACKET_DISPATCH_WORK_GROUP_SIZE_INVALID: u32 = 21, "EC_QUEUE_PACKET_DISPATCH_WORK_GROUP_SIZE_INVALID";
    EC_QUEUE_PACKET_DISPATCH_REGISTER_INVALID: u32 = 22, "EC_QUEUE_PACKET_DISPATCH_REGISTER_INVALID";
    EC_QUEUE_PACKET_VENDOR_UNSUPPORTED: u32 = 23, "EC_QUEUE_PACKET_VENDOR_UNSUPPORTED";
    EC_QUEUE_PREEMPTION_ERROR: u32 = 30, "EC_QUEUE_PREEMPTION_ERROR";
    EC_QUEUE_NEW: u32 = 31, "EC_QUEUE_NEW";
    EC_DEVICE_QUEUE_DELETE: u32 = 32, "EC_DEVICE_QUEUE_DELETE";
    EC_DEVICE_MEMORY_VIOLATION: u32 = 33, "EC_DEVICE_MEMORY_VIOLATION";
    EC_DEVICE_RAS_ERROR: u32 = 34, "EC_DEVICE_RAS_ERROR";
    EC_DEVICE_FATAL_HALT: u32 = 35, "EC_DEVICE_FATAL_HALT";
    EC_DEVICE_NEW: u32 = 36, "EC_DEVICE_NEW";
    EC_PROCESS_RUNTIME: u32 = 48, "EC_PROCESS_RUNTIME";
    EC_PROCESS_DEVICE_REMOVE: u32 = 49, "EC_PROCESS_DEVICE_REMOVE";
    /// Exceptions of queues, and of waves in them.
    EC_MASK_QUEUE: u64 = exceptions(EC_QUEUE_WAVE_ABORT, EC_QUEUE_WAVE_APERTURE_VIOLATION)
        | EC_MASK_PACKET
        | exceptions(EC_QUEUE_PREEMPTION_ERROR, EC_QUEUE_NEW), "KFD_EC_MASK_QUEUE";
    /// Those of packets, which stop a queue.
    EC_MASK_PACKET: u64 =
        exceptions(EC_QUEUE_PACKET_DISPATCH_DIM_INVALID, EC_QUEUE_PACKET_VENDOR_UNSUPPORTED), "KFD_EC_MASK_PACKET";
    /// Bits of [`DbgTrapSetFlagsArgs`].
    FLAG_SINGLE_MEM_OP: u32 = 1, "KFD_DBG_TRAP_FLAG_SINGLE_MEM_OP";
    FLAG_SINGLE_ALU_OP: u32 = 2, "KFD_DBG_TRAP_FLAG_SINGLE_ALU_OP";
    FLAG_LDS_OUT_OF_ADDR_RANGE: u32 = 4, "KFD_DBG_TRAP_FLAG_LDS_OUT_OF_ADDR_RANGE";
    OVERRIDE_OR: u32 = 0, "KFD_DBG_TRAP_OVERRIDE_OR";
    OVERRIDE_REPLACE: u32 = 1, "KFD_DBG_TRAP_OVERRIDE_REPLACE";
    /// Bits of [`DbgTrapSetWaveLaunchOverrideArgs`]: what makes waves trap.
    TRAP_MASK_FP_INVALID: u32 = 1, "KFD_DBG_TRAP_MASK_FP_INVALID";
    TRAP_MASK_FP_INPUT_DENORMAL: u32 = 2, "KFD_DBG_TRAP_MASK_FP_INPUT_DENORMAL";
    TRAP_MASK_FP_DIVIDE_BY_ZERO: u32 = 4, "KFD_DBG_TRAP_MASK_FP_DIVIDE_BY_ZERO";
    TRAP_MASK_FP_OVERFLOW: u32 = 8, "KFD_DBG_TRAP_MASK_FP_OVERFLOW";
    TRAP_MASK_FP_UNDERFLOW: u32 = 16, "KFD_DBG_TRAP_MASK_FP_UNDERFLOW";
    TRAP_MASK_FP_INEXACT: u32 = 32, "KFD_DBG_TRAP_MASK_FP_INEXACT";
    TRAP_MASK_INT_DIVIDE_BY_ZERO: u32 = 64, "KFD_DBG_TRAP_MASK_INT_DIVIDE_BY_ZERO";
    TRAP_MASK_ADDRESS_WATCH: u32 = 128, "KFD_DBG_TRAP_MASK_DBG_ADDRESS_WATCH";
    TRAP_MASK_MEMORY_VIOLATION: u32 = 256, "KFD_DBG_TRAP_MASK_DBG_MEMORY_VIOLATION";
    TRAP_MASK_WAVE_START: u32 = 1 << 30, "KFD_DBG_TRAP_MASK_TRAP_ON_WAVE_START";
    TRAP_MASK_WAVE_END: u32 = 1 << 31, "KFD_DBG_TRAP_MASK_TRAP_ON_WAVE_END";
    /// Values of [`DbgTrapSetWaveLaunchModeArgs`].
    LAUNCH_MODE_NORMAL: u32 = 0, "KFD_DBG_TRAP_WAVE_LAUNCH_MODE_NORMAL";
    LAUNCH_MODE_HALT: u32 = 1, "KFD_DBG_TRAP_WAVE_LAUNCH_MODE_HALT";
    LAUNCH_MODE_DEBUG: u32 = 3, "KFD_DBG_TRAP_WAVE_LAUNCH_MODE_DEBUG";
    /// Which accesses [`DbgTrapSetNodeAddressWatchArgs`] is for.
    WATCH_MODE_READ: u32 = 0, "KFD_DBG_TRAP_ADDRESS_WATCH_MODE_READ";
    WATCH_MODE_NONREAD: u32 = 1, "KFD_DBG_TRAP_ADDRESS_WATCH_MODE_NONREAD";
    WATCH_MODE_ATOMIC: u32 = 2, "KFD_DBG_TRAP_ADDRESS_WATCH_MODE_ATOMIC";
    WATCH_MODE_ALL: u32 = 3, "KFD_DBG_TRAP_ADDRESS_WATCH_MODE_ALL";
    QUEUE_ERROR_BIT: u32 = 30, "KFD_DBG_QUEUE_ERROR_BIT";
    QUEUE_INVALID_BIT: u32 = 31, "KFD_DBG_QUEUE_INVALID_BIT";
}

/// The bit of an exception code in an exception mask; 0 for a code there is not.
pub const fn exception_mask(code: u32) -> u64 {
    match code {
        1..=EC_PROCESS_DEVICE_REMOVE => 1 << code.wrapping_sub(1),
        _ => 0,
    }
}

/// The bits of two exception codes and of all between them.
const fn exceptions(first: u32, last: u32) -> u64 {
    (exception_mask(last) << 1).wrapping_sub(exception_mask(first))
}
