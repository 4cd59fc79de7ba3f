// SPDX-License-Identifier: MIT OR Apache-2.0

//! The ioctl numbers of `/dev/kfd`: type `'K'`, 0x01 to 0x28.
//!
//! The driver looks a call up by its number alone: it copies as many bytes as the larger of its
//! own and the caller's size names, and takes the missing ones as zero, so that structures can
//! grow (`kfd_ioctl`, kfd_chardev.c).

use core::marker::PhantomData;

use super::{criu, debug, device, event, memory, queue, smi, svm};

/// Type byte of the KFD ioctls.
pub const TYPE: u8 = b'K';

/// The caller's structure isn't transferred.
pub const NONE: u32 = 0;
/// The kernel reads the caller's structure.
pub const WRITE: u32 = 1;
/// The kernel writes the caller's structure.
pub const READ: u32 = 2;
/// The kernel reads it and writes it back.
pub const READ_WRITE: u32 = READ | WRITE;

/// Largest size that the encoding holds.
pub const SIZE_MAX: usize = (1 << 14) - 1;

/// `_IOC`: direction in bits 31:30, size in 29:16, type in 15:8, number in 7:0.
pub const fn ioc(direction: u32, kind: u8, number: u8, size: usize) -> u32 {
    ((direction & 3) << 30) | ((size as u32 & 0x3fff) << 16) | ((kind as u32) << 8) | number as u32
}

/// Direction of an encoded command.
pub const fn ioc_direction(cmd: u32) -> u32 {
    cmd >> 30
}

/// Type byte of an encoded command.
pub const fn ioc_type(cmd: u32) -> u8 {
    (cmd >> 8) as u8
}

/// Number of an encoded command.
pub const fn ioc_number(cmd: u32) -> u8 {
    cmd as u8
}

/// Size in bytes of an encoded command's argument.
pub const fn ioc_size(cmd: u32) -> usize {
    ((cmd >> 16) & 0x3fff) as usize
}

/// A request whose argument is a `T`.
pub struct Request<T> {
    /// What it is called and how it is encoded.
    pub info: IoctlInfo,
    _argument: PhantomData<fn(&mut T)>,
}

impl<T> Request<T> {
    /// The request of type `kind`, number `number` and the given direction.
    pub const fn new(
        name: &'static str,
        c: &'static str,
        argument: &'static str,
        direction: u32,
        kind: u8,
        number: u8,
    ) -> Self {
        let size = core::mem::size_of::<T>();
        assert!(size <= SIZE_MAX); // PANIC: only constants are made with this, so the compiler reports it.
        let command = ioc(direction, kind, number, size);
        Self {
            info: IoctlInfo {
                name,
                c,
                argument,
                number,
                command,
            },
            _argument: PhantomData,
        }
    }

    /// The encoded command.
    pub const fn command(&self) -> u32 {
        self.info.command
    }
}

/// A request by name and number, for printing and for the ABI test.
#[derive(Clone, Copy, Debug)]
pub struct IoctlInfo {
    /// The request's name here.
    pub name: &'static str,
    /// The C macro.
    pub c: &'static str,
    /// The type of its argument here.
    pub argument: &'static str,
    /// Number within its type.
    pub number: u8,
    /// The encoded command.
    pub command: u32,
}

macro_rules! ioctls {
    ($( $(#[$m:meta])* $name:ident : $direction:ident $number:literal $t:ty = $c:literal ; )*) => {
        $(
            $(#[$m])*
            pub const $name: Request<$t> =
                Request::new(stringify!($name), $c, stringify!($t), $direction, TYPE, $number);
        )*

        /// The bare numbers, for use as patterns.
        pub mod nr {
            $( $(#[$m])* pub const $name: u8 = $number; )*
        }

        /// All requests, in order of their numbers.
        pub const IOCTLS: &[IoctlInfo] = &[ $( $name.info, )* ];
    };
}

ioctls! {
    /// Version of the interface.
    GET_VERSION: READ 0x01 device::GetVersionArgs = "AMDKFD_IOC_GET_VERSION";
    /// Makes a queue and allots its doorbell.
    CREATE_QUEUE: READ_WRITE 0x02 queue::CreateQueueArgs = "AMDKFD_IOC_CREATE_QUEUE";
    /// Stops a queue and frees it.
    DESTROY_QUEUE: READ_WRITE 0x03 queue::DestroyQueueArgs = "AMDKFD_IOC_DESTROY_QUEUE";
    /// Default and alternate cache policy of a process on a GPU.
    SET_MEMORY_POLICY: WRITE 0x04 device::SetMemoryPolicyArgs = "AMDKFD_IOC_SET_MEMORY_POLICY";
    /// GPU, CPU and system clocks, read together.
    GET_CLOCK_COUNTERS: READ_WRITE 0x05 device::GetClockCountersArgs = "AMDKFD_IOC_GET_CLOCK_COUNTERS";
    /// Apertures of up to 7 GPUs; superseded by [`GET_PROCESS_APERTURES_NEW`].
    GET_PROCESS_APERTURES: READ 0x06 device::GetProcessAperturesArgs = "AMDKFD_IOC_GET_PROCESS_APERTURES";
    /// Changes a queue's ring, share or priority.
    UPDATE_QUEUE: WRITE 0x07 queue::UpdateQueueArgs = "AMDKFD_IOC_UPDATE_QUEUE";
    /// Makes an event; the first call also hands over the signal page.
    CREATE_EVENT: READ_WRITE 0x08 event::CreateEventArgs = "AMDKFD_IOC_CREATE_EVENT";
    /// Destroys an event; its waiters fail.
    DESTROY_EVENT: WRITE 0x09 event::DestroyEventArgs = "AMDKFD_IOC_DESTROY_EVENT";
    /// Signals an event from the CPU.
    SET_EVENT: WRITE 0x0a event::SetEventArgs = "AMDKFD_IOC_SET_EVENT";
    /// Makes an event unsignalled.
    RESET_EVENT: WRITE 0x0b event::ResetEventArgs = "AMDKFD_IOC_RESET_EVENT";
    /// Waits for one or all of some events.
    WAIT_EVENTS: READ_WRITE 0x0c event::WaitEventsArgs = "AMDKFD_IOC_WAIT_EVENTS";
    /// Deprecated: -EPERM.
    DBG_REGISTER_DEPRECATED: WRITE 0x0d debug::DbgRegisterArgs = "AMDKFD_IOC_DBG_REGISTER_DEPRECATED";
    /// Deprecated: -EPERM.
    DBG_UNREGISTER_DEPRECATED: WRITE 0x0e debug::DbgUnregisterArgs = "AMDKFD_IOC_DBG_UNREGISTER_DEPRECATED";
    /// Deprecated: -EPERM.
    DBG_ADDRESS_WATCH_DEPRECATED: WRITE 0x0f debug::DbgAddressWatchArgs = "AMDKFD_IOC_DBG_ADDRESS_WATCH_DEPRECATED";
    /// Deprecated: -EPERM.
    DBG_WAVE_CONTROL_DEPRECATED: WRITE 0x10 debug::DbgWaveControlArgs = "AMDKFD_IOC_DBG_WAVE_CONTROL_DEPRECATED";
    /// Where scratch memory lies; acts only without a hardware scheduler.
    SET_SCRATCH_BACKING_VA: READ_WRITE 0x11 memory::SetScratchBackingVaArgs = "AMDKFD_IOC_SET_SCRATCH_BACKING_VA";
    /// Tiling registers, for images.
    GET_TILE_CONFIG: READ_WRITE 0x12 device::GetTileConfigArgs = "AMDKFD_IOC_GET_TILE_CONFIG";
    /// The user's second-level trap handler.
    SET_TRAP_HANDLER: WRITE 0x13 device::SetTrapHandlerArgs = "AMDKFD_IOC_SET_TRAP_HANDLER";
    /// Apertures of all GPUs, which is also how they are counted.
    GET_PROCESS_APERTURES_NEW: READ_WRITE 0x14 device::GetProcessAperturesNewArgs = "AMDKFD_IOC_GET_PROCESS_APERTURES_NEW";
    /// Takes the address space of a render node's file for compute.
    ACQUIRE_VM: WRITE 0x15 memory::AcquireVmArgs = "AMDKFD_IOC_ACQUIRE_VM";
    /// Makes a buffer object at an address.
    ALLOC_MEMORY_OF_GPU: READ_WRITE 0x16 memory::AllocMemoryOfGpuArgs = "AMDKFD_IOC_ALLOC_MEMORY_OF_GPU";
    /// Frees a buffer object that is mapped nowhere.
    FREE_MEMORY_OF_GPU: WRITE 0x17 memory::FreeMemoryOfGpuArgs = "AMDKFD_IOC_FREE_MEMORY_OF_GPU";
    /// Maps a buffer object into the page tables of GPUs.
    MAP_MEMORY_TO_GPU: READ_WRITE 0x18 memory::MapMemoryToGpuArgs = "AMDKFD_IOC_MAP_MEMORY_TO_GPU";
    /// Takes it out again.
    UNMAP_MEMORY_FROM_GPU: READ_WRITE 0x19 memory::UnmapMemoryFromGpuArgs = "AMDKFD_IOC_UNMAP_MEMORY_FROM_GPU";
    /// Which CUs a queue may use.
    SET_CU_MASK: WRITE 0x1a queue::SetCuMaskArgs = "AMDKFD_IOC_SET_CU_MASK";
    /// How much of the save area a preempted queue used.
    GET_QUEUE_WAVE_STATE: READ_WRITE 0x1b queue::GetQueueWaveStateArgs = "AMDKFD_IOC_GET_QUEUE_WAVE_STATE";
    /// What a DMA-buf is.
    GET_DMABUF_INFO: READ_WRITE 0x1c memory::GetDmabufInfoArgs = "AMDKFD_IOC_GET_DMABUF_INFO";
    /// Makes a DMA-buf a buffer object.
    IMPORT_DMABUF: READ_WRITE 0x1d memory::ImportDmabufArgs = "AMDKFD_IOC_IMPORT_DMABUF";
    /// Global wave sync for a queue.
    ALLOC_QUEUE_GWS: READ_WRITE 0x1e queue::AllocQueueGwsArgs = "AMDKFD_IOC_ALLOC_QUEUE_GWS";
    /// A file of management events.
    SMI_EVENTS: READ_WRITE 0x1f smi::SmiEventsArgs = "AMDKFD_IOC_SMI_EVENTS";
    /// Attributes of shared virtual memory; attributes follow the structure.
    SVM: READ_WRITE 0x20 svm::SvmArgs = "AMDKFD_IOC_SVM";
    /// Sets or asks for the retry mode of page faults.
    SET_XNACK_MODE: READ_WRITE 0x21 svm::SetXnackModeArgs = "AMDKFD_IOC_SET_XNACK_MODE";
    /// Checkpoint and restore.
    CRIU_OP: READ_WRITE 0x22 criu::CriuArgs = "AMDKFD_IOC_CRIU_OP";
    /// Bytes of VRAM that can still be had.
    AVAILABLE_MEMORY: READ_WRITE 0x23 memory::GetAvailableMemoryArgs = "AMDKFD_IOC_AVAILABLE_MEMORY";
    /// A buffer object as a DMA-buf.
    EXPORT_DMABUF: READ_WRITE 0x24 memory::ExportDmabufArgs = "AMDKFD_IOC_EXPORT_DMABUF";
    /// Declares that the program has a runtime, which cooperates with a debugger.
    RUNTIME_ENABLE: READ_WRITE 0x25 debug::RuntimeEnableArgs = "AMDKFD_IOC_RUNTIME_ENABLE";
    /// A debugger's requests.
    DBG_TRAP: READ_WRITE 0x26 debug::DbgTrapArgs = "AMDKFD_IOC_DBG_TRAP";
    /// Makes the file a further, secondary compute process.
    CREATE_PROCESS: NONE 0x27 () = "AMDKFD_IOC_CREATE_PROCESS";
    /// Profiler control.
    PROFILER: READ_WRITE 0x28 smi::ProfilerArgs = "AMDKFD_IOC_PROFILER";
}

/// The request with a number, if there is one.
pub fn find(number: u8) -> Option<&'static IoctlInfo> {
    IOCTLS.get(usize::from(number).checked_sub(1)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_match_the_known_encodings() {
        assert_eq!(GET_VERSION.command(), 0x8008_4b01);
        assert_eq!(CREATE_QUEUE.command(), 0xc060_4b02);
        assert_eq!(GET_PROCESS_APERTURES.command(), 0x8190_4b06);
        assert_eq!(CRIU_OP.command(), 0xc038_4b22);
        assert_eq!(DBG_TRAP.command(), 0xc020_4b26);
        assert_eq!(CREATE_PROCESS.command(), 0x0000_4b27);
        assert_eq!(PROFILER.command(), 0xc010_4b28);
    }

    #[test]
    fn the_table_is_indexed_by_number() {
        for (i, ioctl) in IOCTLS.iter().enumerate() {
            assert_eq!(usize::from(ioctl.number), i + 1);
            assert_eq!(ioc_number(ioctl.command), ioctl.number);
            assert_eq!(ioc_type(ioctl.command), TYPE);
            assert_eq!(find(ioctl.number).map(|found| found.name), Some(ioctl.name));
        }
        assert_eq!(IOCTLS.len(), 0x28);
        assert!(find(0).is_none() && find(0x29).is_none());
    }
}
