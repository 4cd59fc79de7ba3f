// SPDX-License-Identifier: MIT OR Apache-2.0

//! Bare requests to `/dev/kfd`, where the library has no method.

use std::fs::{self, File};
use std::os::fd::AsFd;

use crate::Failure;
use rkfd::Queue;
use rkfd_uapi::device::GetVersionArgs;
use rkfd_uapi::ioctl::{self, Request, READ_WRITE, TYPE};
use rkfd_uapi::{abi::Abi, event, gem, memory, queue};
use rustix::io::Errno;

/// Makes a failure that names the request.
pub fn errno(what: &'static str) -> impl Fn(Errno) -> Failure {
    move |e| Failure::new(format_args!("{what}: {e}"))
}

/// A number that no request has.
pub const NOTHING: Request<GetVersionArgs> = Request::new(
    "NOTHING",
    "",
    "device::GetVersionArgs",
    READ_WRITE,
    TYPE,
    0x7f,
);

/// Makes a request. Whatever `args` points at must live until the request returns.
pub fn call<T: Abi>(kfd: &File, request: &Request<T>, args: &mut T) -> Result<(), Errno> {
    // SAFETY: `args` points only at arrays of the callers, which outlive the request.
    unsafe { rkfd::raw::request(kfd.as_fd(), request, args) }
}

/// ALLOC_MEMORY_OF_GPU; returns the handle. `user` is the CPU address of USERPTR memory.
pub fn alloc(
    kfd: &File,
    gpu_id: u32,
    va: u64,
    size: usize,
    user: u64,
    flags: u32,
) -> Result<u64, Errno> {
    let mut args = memory::AllocMemoryOfGpuArgs {
        va_addr: va,
        size: size as u64,
        mmap_offset: user,
        gpu_id,
        flags,
        ..Default::default()
    };
    call(kfd, &ioctl::ALLOC_MEMORY_OF_GPU, &mut args)?;
    Ok(args.handle)
}

/// MAP_MEMORY_TO_GPU.
pub fn map(kfd: &File, gpu_id: u32, handle: u64) -> Result<(), Errno> {
    let ids = [gpu_id];
    let mut args = memory::MapMemoryToGpuArgs {
        handle,
        device_ids_array_ptr: ids.as_ptr() as u64,
        n_devices: 1,
        n_success: 0,
    };
    call(kfd, &ioctl::MAP_MEMORY_TO_GPU, &mut args)
}

/// UNMAP_MEMORY_FROM_GPU.
pub fn unmap(kfd: &File, gpu_id: u32, handle: u64) -> Result<(), Errno> {
    let ids = [gpu_id];
    let mut args = memory::UnmapMemoryFromGpuArgs {
        handle,
        device_ids_array_ptr: ids.as_ptr() as u64,
        n_devices: 1,
        n_success: 0,
    };
    call(kfd, &ioctl::UNMAP_MEMORY_FROM_GPU, &mut args)
}

/// GEM_USERPTR of `len` bytes at `address`, and GEM_VA of it at `va`; the handle. `flags` are the first's, `rights` the
/// second's beside reading.
pub fn gem_user(
    render: &File,
    address: u64,
    len: usize,
    va: u64,
    (flags, rights): (u32, u32),
) -> Result<u32, Errno> {
    let mut args = gem::GemUserptr {
        addr: address,
        size: len as u64,
        flags,
        handle: 0,
    };
    call(render, &gem::GEM_USERPTR, &mut args)?;
    let mut mapping = gem::GemVa {
        handle: args.handle,
        operation: gem::VA_OP_MAP,
        flags: gem::VM_PAGE_READABLE | rights,
        va_address: va,
        map_size: len as u64,
        ..Default::default()
    };
    call(render, &gem::GEM_VA, &mut mapping)?;
    Ok(args.handle)
}

/// FREE_MEMORY_OF_GPU.
pub fn free(kfd: &File, handle: u64) -> Result<(), Errno> {
    let mut args = memory::FreeMemoryOfGpuArgs { handle };
    call(kfd, &ioctl::FREE_MEMORY_OF_GPU, &mut args)
}

/// DESTROY_QUEUE.
pub fn destroy_queue(kfd: &File, queue_id: u32) -> Result<(), Errno> {
    let mut args = queue::DestroyQueueArgs {
        queue_id,
        ..Default::default()
    };
    call(kfd, &ioctl::DESTROY_QUEUE, &mut args)
}

/// UPDATE_QUEUE with another share of the GPU; a share of 0 switches the queue off.
pub fn share(kfd: &File, queue: &Queue, percent: u32) -> Result<(), Errno> {
    let mut args = queue::UpdateQueueArgs {
        ring_base_address: queue.addresses().0,
        queue_id: queue.id(),
        ring_size: queue.packets() * 64,
        queue_percentage: percent,
        queue_priority: 7,
    };
    call(kfd, &ioctl::UPDATE_QUEUE, &mut args)
}

/// CREATE_EVENT for an event of any type but a signal; returns its id.
pub fn event(kfd: &File, event_type: u32) -> Result<u32, Errno> {
    let mut args = event::CreateEventArgs {
        event_type,
        ..Default::default()
    };
    call(kfd, &ioctl::CREATE_EVENT, &mut args)?;
    Ok(args.event_id)
}

/// WAIT_EVENTS for one event; returns its data, or `None` when the time ran out.
pub fn wait(kfd: &File, id: u32, millis: u32) -> Result<Option<event::EventData>, Errno> {
    let mut events = [event::EventData::wait_for(id, 0)];
    let mut args = event::WaitEventsArgs {
        events_ptr: events.as_mut_ptr() as u64,
        num_events: 1,
        wait_for_all: 0,
        timeout: millis,
        wait_result: event::WAIT_RESULT_FAIL,
    };
    call(kfd, &ioctl::WAIT_EVENTS, &mut args)?;
    Ok((args.wait_result == event::WAIT_RESULT_COMPLETE).then_some(events[0]))
}

/// The render node's file among ours. A second one would have an address space of its own.
pub fn render() -> Result<File, Failure> {
    for entry in fs::read_dir("/proc/self/fd")
        .map_err(Failure::new)?
        .flatten()
    {
        let target = fs::read_link(entry.path()).unwrap_or_default();
        if !target.to_string_lossy().starts_with("/dev/dri/renderD") {
            continue;
        }
        let number: i32 = entry
            .file_name()
            .to_string_lossy()
            .parse()
            .map_err(Failure::new)?;
        // SAFETY: The library keeps it open, and the duplicate is ours.
        let borrowed = unsafe { std::os::fd::BorrowedFd::borrow_raw(number) };
        return Ok(File::from(
            borrowed.try_clone_to_owned().map_err(Failure::new)?,
        ));
    }
    Err(Failure::new("the library has no render node open"))
}
