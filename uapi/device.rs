// SPDX-License-Identifier: MIT OR Apache-2.0

//! Devices: version, apertures, clocks, cache policy, tiling, trap handler.

structs! {
    /// Argument of [`GET_VERSION`](super::ioctl::GET_VERSION).
    pub struct GetVersionArgs = "struct kfd_ioctl_get_version_args" {
        major_version: u32,
        minor_version: u32,
    }

    /// Argument of [`SET_MEMORY_POLICY`](super::ioctl::SET_MEMORY_POLICY).
    pub struct SetMemoryPolicyArgs = "struct kfd_ioctl_set_memory_policy_args" {
        alternate_aperture_base: u64,
        alternate_aperture_size: u64,
        gpu_id: u32,
        /// In: one of the `CACHE_POLICY_` constants.
        default_policy: u32,
        alternate_policy: u32,
        /// In: `PROC_FLAG_` bits.
        misc_process_flag: u32,
    }

    /// Argument of [`GET_CLOCK_COUNTERS`](super::ioctl::GET_CLOCK_COUNTERS).
    pub struct GetClockCountersArgs = "struct kfd_ioctl_get_clock_counters_args" {
        /// Out: 0 when there is no such GPU.
        gpu_clock_counter: u64,
        cpu_clock_counter: u64,
        system_clock_counter: u64,
        /// Out: ticks of the system clock per second.
        system_clock_freq: u64,
        gpu_id: u32,
        pad: u32,
    }

    /// Where a GPU's apertures lie in the process' address space. Limits are the last address.
    pub struct ProcessDeviceApertures = "struct kfd_process_device_apertures" {
        lds_base: u64,
        lds_limit: u64,
        scratch_base: u64,
        scratch_limit: u64,
        gpuvm_base: u64,
        gpuvm_limit: u64,
        gpu_id: u32,
        pad: u32,
    }

    /// Argument of [`GET_PROCESS_APERTURES`](super::ioctl::GET_PROCESS_APERTURES).
    pub struct GetProcessAperturesArgs = "struct kfd_ioctl_get_process_apertures_args" {
        process_apertures: [ProcessDeviceApertures; NUM_OF_SUPPORTED_GPUS as usize],
        num_of_nodes: u32,
        pad: u32,
    }

    /// Argument of [`GET_PROCESS_APERTURES_NEW`](super::ioctl::GET_PROCESS_APERTURES_NEW).
    pub struct GetProcessAperturesNewArgs = "struct kfd_ioctl_get_process_apertures_new_args" {
        /// In: address of an array of [`ProcessDeviceApertures`].
        kfd_process_device_apertures_ptr: u64,
        /// In: entries the array has room for; 0 asks for the number only. Out: entries filled.
        num_of_nodes: u32,
        pad: u32,
    }

    /// Argument of [`GET_TILE_CONFIG`](super::ioctl::GET_TILE_CONFIG).
    pub struct GetTileConfigArgs = "struct kfd_ioctl_get_tile_config_args" {
        tile_config_ptr: u64,
        macro_tile_config_ptr: u64,
        num_tile_configs: u32,
        num_macro_tile_configs: u32,
        gpu_id: u32,
        gb_addr_config: u32,
        num_banks: u32,
        num_ranks: u32,
    }

    /// Argument of [`SET_TRAP_HANDLER`](super::ioctl::SET_TRAP_HANDLER).
    pub struct SetTrapHandlerArgs = "struct kfd_ioctl_set_trap_handler_args" {
        /// In: the handler's code.
        tba_addr: u64,
        /// In: the handler's memory.
        tma_addr: u64,
        gpu_id: u32,
        pad: u32,
    }
}

constants! {
    /// Entries of the old aperture structure.
    NUM_OF_SUPPORTED_GPUS: u32 = 7, "NUM_OF_SUPPORTED_GPUS";
    /// Memory is coherent with the CPU.
    CACHE_POLICY_COHERENT: u32 = 0, "KFD_IOC_CACHE_POLICY_COHERENT";
    /// Memory is cached without coherence.
    CACHE_POLICY_NONCOHERENT: u32 = 1, "KFD_IOC_CACHE_POLICY_NONCOHERENT";
    /// Matrix instructions use high precision.
    PROC_FLAG_MFMA_HIGH_PRECISION: u32 = 1, "KFD_PROC_FLAG_MFMA_HIGH_PRECISION";
}
