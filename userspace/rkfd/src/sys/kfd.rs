// SPDX-License-Identifier: MIT OR Apache-2.0

//! `/dev/kfd`: one safe method for each request this library makes.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rkfd_uapi::device::{
    GetClockCountersArgs, GetProcessAperturesNewArgs, GetVersionArgs, ProcessDeviceApertures,
    SetTrapHandlerArgs,
};
#[cfg(feature = "async")]
use rkfd_uapi::event::SetEventArgs;
use rkfd_uapi::event::{CreateEventArgs, DestroyEventArgs, EventData, WaitEventsArgs};
use rkfd_uapi::memory::{
    AcquireVmArgs, AllocMemoryOfGpuArgs, FreeMemoryOfGpuArgs, GetAvailableMemoryArgs,
    MapMemoryToGpuArgs, UnmapMemoryFromGpuArgs, ALLOC_USERPTR,
};
use rkfd_uapi::queue::{AllocQueueGwsArgs, CreateQueueArgs, DestroyQueueArgs, SetCuMaskArgs};
use rkfd_uapi::svm::SetXnackModeArgs;
use rkfd_uapi::{event, ioctl as requests};
use rustix::fs::{open, Mode, OFlags};
use rustix::io::Errno;

use super::ioctl::{call, plain, Device};
use crate::error::{Error, Result};

/// Opens a device file for reading and writing.
pub(crate) fn open_device(path: &Path) -> Result<OwnedFd> {
    open(path, OFlags::RDWR | OFlags::CLOEXEC, Mode::empty()).map_err(|errno| {
        let path = path.to_path_buf();
        match errno {
            Errno::NOENT => Error::NoDriver { path },
            Errno::ACCESS | Errno::PERM => Error::Permission { path },
            // The driver is opened only while it has a GPU (`kfd_create_process`).
            Errno::INVAL => Error::NoGpu,
            errno => Error::Open { path, errno },
        }
    })
}

/// The driver.
#[derive(Debug)]
pub(crate) struct Kfd(Box<dyn Device>);

impl Kfd {
    /// Opens the driver's file.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        Ok(Self::of_device(open_device(path)?))
    }

    /// Takes whatever answers the driver's requests.
    pub(crate) fn of_device(device: impl Device + 'static) -> Self {
        Self(Box::new(device))
    }

    /// The file that memory and doorbells are mapped from.
    pub(crate) fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }

    fn device(&self) -> &dyn Device {
        &*self.0
    }

    pub(crate) fn version(&self) -> Result<(u32, u32)> {
        let mut args = GetVersionArgs::default();
        plain(self.device(), &requests::GET_VERSION, &mut args)?;
        Ok((args.major_version, args.minor_version))
    }

    /// Apertures of all GPUs.
    pub(crate) fn apertures(&self) -> Result<Vec<ProcessDeviceApertures>> {
        let mut args = GetProcessAperturesNewArgs::default();
        // SAFETY: room for 0 entries: nothing is written through the address.
        unsafe {
            call(
                self.device(),
                &requests::GET_PROCESS_APERTURES_NEW,
                &mut args,
            )
        }?;
        if args.num_of_nodes == 0 {
            return Ok(Vec::new());
        }
        // A driver that counts wildly does not make this process allocate wildly.
        let room = args.num_of_nodes.min(1024);
        let mut entries = vec![ProcessDeviceApertures::default(); room as usize];
        args.num_of_nodes = room;
        args.kfd_process_device_apertures_ptr = entries.as_mut_ptr() as u64;
        // SAFETY: the driver writes at most `num_of_nodes` entries, for which there is room, and
        // nothing else refers to them during the call.
        unsafe {
            call(
                self.device(),
                &requests::GET_PROCESS_APERTURES_NEW,
                &mut args,
            )
        }?;
        entries.truncate(args.num_of_nodes as usize);
        Ok(entries)
    }

    pub(crate) fn acquire_vm(&self, gpu_id: u32, render: BorrowedFd<'_>) -> Result<()> {
        let mut args = AcquireVmArgs {
            drm_fd: render.as_raw_fd() as u32,
            gpu_id,
        };
        plain(self.device(), &requests::ACQUIRE_VM, &mut args)
    }

    pub(crate) fn clocks(&self, gpu_id: u32) -> Result<GetClockCountersArgs> {
        let mut args = GetClockCountersArgs {
            gpu_id,
            ..Default::default()
        };
        plain(self.device(), &requests::GET_CLOCK_COUNTERS, &mut args)?;
        Ok(args)
    }

    pub(crate) fn available_memory(&self, gpu_id: u32) -> Result<u64> {
        let mut args = GetAvailableMemoryArgs {
            gpu_id,
            ..Default::default()
        };
        plain(self.device(), &requests::AVAILABLE_MEMORY, &mut args)?;
        Ok(args.available)
    }

    /// Makes a buffer object: its handle and mmap offset.
    pub(crate) fn alloc(&self, gpu_id: u32, va: u64, size: u64, flags: u32) -> Result<(u64, u64)> {
        let flags = flags & !ALLOC_USERPTR;
        let mut args = AllocMemoryOfGpuArgs {
            va_addr: va,
            size,
            gpu_id,
            flags,
            ..Default::default()
        };
        // SAFETY: without USERPTR no memory of this process is accessed: the address becomes that
        // of the object in the GPU's page tables.
        unsafe { call(self.device(), &requests::ALLOC_MEMORY_OF_GPU, &mut args) }?;
        Ok((args.handle, args.mmap_offset))
    }

    pub(crate) fn free(&self, handle: u64) -> Result<()> {
        let mut args = FreeMemoryOfGpuArgs { handle };
        plain(self.device(), &requests::FREE_MEMORY_OF_GPU, &mut args)
    }

    pub(crate) fn map(&self, handle: u64, gpu_id: u32) -> Result<()> {
        let ids = [gpu_id];
        let mut args = MapMemoryToGpuArgs {
            handle,
            device_ids_array_ptr: ids.as_ptr() as u64,
            n_devices: 1,
            n_success: 0,
        };
        // SAFETY: the driver reads one id, which outlives the call.
        unsafe { call(self.device(), &requests::MAP_MEMORY_TO_GPU, &mut args) }
    }

    pub(crate) fn unmap(&self, handle: u64, gpu_id: u32) -> Result<()> {
        let ids = [gpu_id];
        let mut args = UnmapMemoryFromGpuArgs {
            handle,
            device_ids_array_ptr: ids.as_ptr() as u64,
            n_devices: 1,
            n_success: 0,
        };
        // SAFETY: the driver reads one id, which outlives the call.
        unsafe { call(self.device(), &requests::UNMAP_MEMORY_FROM_GPU, &mut args) }
    }

    /// Makes a queue. Its memory must stay until the queue is destroyed.
    pub(crate) fn create_queue(&self, args: &mut CreateQueueArgs) -> Result<()> {
        // SAFETY: the addresses are those of buffer objects, which the driver and the GPU access
        // through the GPU's page tables. The driver also writes the header of the save area
        // through the process' address; it lies in a buffer object that is only accessed by
        // atomic copies.
        unsafe { call(self.device(), &requests::CREATE_QUEUE, args) }
    }

    pub(crate) fn destroy_queue(&self, queue_id: u32) -> Result<()> {
        let mut args = DestroyQueueArgs { queue_id, pad: 0 };
        plain(self.device(), &requests::DESTROY_QUEUE, &mut args)
    }

    /// Chooses the compute units of a queue by the bits of these words.
    pub(crate) fn set_cu_mask(&self, queue_id: u32, mask: &[u32]) -> Result<()> {
        let mut args = SetCuMaskArgs {
            queue_id,
            num_cu_mask: u32::try_from(mask.len().saturating_mul(32)).unwrap_or(u32::MAX & !31),
            cu_mask_ptr: mask.as_ptr().addr() as u64,
        };
        // SAFETY: the driver reads no more bits at the address than it is told, which are those of `mask`.
        unsafe { call(self.device(), &requests::SET_CU_MASK, &mut args) }
    }

    /// Gives a queue so many semaphores and barriers; the first one's number.
    pub(crate) fn alloc_queue_gws(&self, queue_id: u32, num_gws: u32) -> Result<u32> {
        let mut args = AllocQueueGwsArgs {
            queue_id,
            num_gws,
            ..Default::default()
        };
        plain(self.device(), &requests::ALLOC_QUEUE_GWS, &mut args)?;
        Ok(args.first_gws)
    }

    /// Names the trap handler of queues that are made from now on, and its memory.
    pub(crate) fn set_trap_handler(&self, gpu_id: u32, entry: u64, memory: u64) -> Result<()> {
        let mut args = SetTrapHandlerArgs {
            tba_addr: entry,
            tma_addr: memory,
            gpu_id,
            ..Default::default()
        };
        plain(self.device(), &requests::SET_TRAP_HANDLER, &mut args)
    }

    /// Makes an event; `page` is the handle of the signal page or 0.
    pub(crate) fn create_event(
        &self,
        kind: u32,
        auto_reset: bool,
        page: u64,
    ) -> Result<CreateEventArgs> {
        let mut args = CreateEventArgs {
            event_page_offset: page,
            event_type: kind,
            auto_reset: auto_reset.into(),
            ..Default::default()
        };
        plain(self.device(), &requests::CREATE_EVENT, &mut args)?;
        Ok(args)
    }

    /// Signals an event, as the GPU would.
    #[cfg(feature = "async")]
    pub(crate) fn set_event(&self, event_id: u32) -> Result<()> {
        let mut args = SetEventArgs { event_id, pad: 0 };
        plain(self.device(), &requests::SET_EVENT, &mut args)
    }

    /// Whether the GPUs of this process retry accesses of memory that is not mapped, which makes
    /// the driver map any memory of the process. A driver that does not know the request, or
    /// refuses it, has no such mode.
    pub(crate) fn xnack(&self) -> bool {
        let mut args = SetXnackModeArgs { xnack_enabled: -1 };
        let asked = plain(self.device(), &requests::SET_XNACK_MODE, &mut args);
        asked.is_ok() && args.xnack_enabled > 0
    }

    pub(crate) fn destroy_event(&self, event_id: u32) -> Result<()> {
        let mut args = DestroyEventArgs { event_id, pad: 0 };
        plain(self.device(), &requests::DESTROY_EVENT, &mut args)
    }

    /// Waits until one of the events is signalled: false when the time ran out.
    pub(crate) fn wait(&self, events: &mut [EventData], millis: u32) -> Result<bool> {
        let mut args = WaitEventsArgs {
            events_ptr: events.as_mut_ptr() as u64,
            num_events: events.len() as u32,
            wait_for_all: 0,
            timeout: millis,
            wait_result: 0,
        };
        // SAFETY: the driver reads and writes `num_events` entries, which are exclusively borrowed
        // during the call.
        unsafe { call(self.device(), &requests::WAIT_EVENTS, &mut args) }?;
        Ok(args.wait_result == event::WAIT_RESULT_COMPLETE)
    }
}
