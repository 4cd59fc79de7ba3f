// SPDX-License-Identifier: MIT OR Apache-2.0

//! The topology in sysfs: bits of a GPU's `capability` and `debug_prop`.
//!
//! Source: Linux 7.3, `include/uapi/linux/kfd_sysfs.h`.

constants! {
    /// Kind of doorbells in these bits; the kind with 64 bits, which hold the index of a packet.
    CAP_DOORBELL_TYPE_MASK: u32 = 3 << 12, "HSA_CAP_DOORBELL_TYPE_TOTALBITS_MASK";
    CAP_DOORBELL_TYPE_SHIFT: u32 = 12, "HSA_CAP_DOORBELL_TYPE_TOTALBITS_SHIFT";
    CAP_DOORBELL_TYPE_2_0: u32 = 2, "HSA_CAP_DOORBELL_TYPE_2_0";
    /// Addresses can be watched: the logarithm of how many in these bits.
    CAP_WATCH_POINTS: u32 = 1 << 7, "HSA_CAP_WATCH_POINTS_SUPPORTED";
    CAP_WATCH_POINTS_SHIFT: u32 = 8, "HSA_CAP_WATCH_POINTS_TOTALBITS_SHIFT";
    /// A debugger chooses what makes waves trap, and how they begin.
    CAP_LAUNCH_OVERRIDE: u32 = 1 << 16, "HSA_CAP_TRAP_DEBUG_WAVE_LAUNCH_TRAP_OVERRIDE_SUPPORTED";
    CAP_LAUNCH_MODE: u32 = 1 << 17, "HSA_CAP_TRAP_DEBUG_WAVE_LAUNCH_MODE_SUPPORTED";
    /// The lowest and the highest bit of addresses that a watch's mask has.
    DBG_WATCH_MASK_LOW_SHIFT: u32 = 0, "HSA_DBG_WATCH_ADDR_MASK_LO_BIT_SHIFT";
    DBG_WATCH_MASK_HIGH_SHIFT: u32 = 4, "HSA_DBG_WATCH_ADDR_MASK_HI_BIT_SHIFT";
    /// A debugger can have traps.
    CAP_TRAP_DEBUG_SUPPORT: u32 = 1 << 15, "HSA_CAP_TRAP_DEBUG_SUPPORT";
    /// Revision of the chip in these bits.
    CAP_ASIC_REVISION_MASK: u32 = 0xf << 22, "HSA_CAP_ASIC_REVISION_MASK";
    CAP_ASIC_REVISION_SHIFT: u32 = 22, "HSA_CAP_ASIC_REVISION_SHIFT";
    /// Local memory and registers have error correction, by which compilers know how loads of half
    /// a register behave.
    CAP_SRAM_ECC: u32 = 1 << 26, "HSA_CAP_SRAM_EDCSUPPORTED";
    /// There is shared virtual memory.
    CAP_SVM_API: u32 = 1 << 27, "HSA_CAP_SVMAPI_SUPPORTED";
    /// The firmware supports debuggers, and runtimes that are told of exceptions (RUNTIME_ENABLE).
    CAP_DEBUG_FIRMWARE: u32 = 1 << 29, "HSA_CAP_TRAP_DEBUG_FIRMWARE_SUPPORTED";
    /// A queue that hangs is reset, and the others go on.
    CAP_QUEUE_RESET: u32 = 1 << 31, "HSA_CAP_PER_QUEUE_RESET_SUPPORTED";
}
