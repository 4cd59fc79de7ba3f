// SPDX-License-Identifier: MIT OR Apache-2.0
//! Memory from other sides: mapped memory as debuggers read and write it, and another driver's as the GPU's.

use crate::counted::{self, Memory};
use crate::process::Process;
use crate::value;
use rkfd_bare::rng::Rng;
use rkfd_bare::sys;
use rkfd_uapi::ioctl::{self as requests, Request};
use rkfd_uapi::{abi::Abi, memory};
use std::fs::OpenOptions;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::time::Instant;

/// Bytes of memory that another driver exports.
const EXPORTED: u64 = 8192;

/// One of them.
pub fn one(process: &Process, rng: &mut Rng) {
    let start = Instant::now();
    let (what, works) = match rng.below(3) {
        0 => (Memory::Read, read(process, rng).is_some()),
        1 => (Memory::Written, write(process, rng).is_some()),
        _ => (Memory::Imported, import(process, rng).is_some()),
    };
    let slot = counted::memory(what);
    process.shared.count(slot, works, start.elapsed());
}

/// Reads from a mapping, or across its end, by `/proc/self/mem`.
fn read(process: &Process, rng: &mut Rng) -> Option<usize> {
    let (start, len) = {
        let pool = process.pool();
        let mapping = rng.maybe(&pool.maps)?;
        (mapping.map.address, mapping.len as u64)
    };
    let mut bytes = [0; 5000];
    let count = rng.pick(&[1, 8, 100, 4096, bytes.len()]);
    let memory = std::fs::File::open("/proc/self/mem").ok()?;
    // The mapping may be gone meanwhile, or another's.
    let at = start + rng.below(len);
    memory.read_at(&mut bytes[..count], at).ok()
}

/// Writes to a mapping, which may be one for reading, by `/proc/self/mem`.
fn write(process: &Process, rng: &mut Rng) -> Option<usize> {
    let memory = OpenOptions::new().write(true).open("/proc/self/mem").ok()?;
    let bytes = [rng.bits() as u8; 5000];
    // Nobody removes a mapping meanwhile, so that what lies there then isn't written.
    let pool = process.pool();
    let mapping = rng.maybe(&pool.maps)?;
    let within = rng.below(mapping.len as u64);
    let count = bytes.len().min(mapping.len - within as usize);
    let count = rng.pick(&[1, 8.min(count), count]);
    memory
        .write_at(&bytes[..count], mapping.map.address + within)
        .ok()
}

/// Has the GPU map what another driver exports, and leaves it to the others.
fn import(process: &Process, rng: &mut Rng) -> Option<()> {
    let file = sys::udmabuf(EXPORTED).ok()?;
    let va = value::va(rng, &process.pool()) & !0xfff;
    let mut import = memory::ImportDmabufArgs {
        va_addr: va,
        handle: 0,
        gpu_id: process.node.gpu,
        dmabuf_fd: file.as_raw_fd() as u32,
    };
    send(process, &requests::IMPORT_DMABUF, &mut import)?;
    process.pool().bos.add(crate::pool::Bo {
        handle: import.handle,
        va,
        size: EXPORTED,
        offset: 0,
        flags: memory::ALLOC_GTT,
    });
    let mut map = memory::MapMemoryToGpuArgs {
        handle: import.handle,
        device_ids_array_ptr: process.gpu_ids(),
        n_devices: 1,
        n_success: 0,
    };
    send(process, &requests::MAP_MEMORY_TO_GPU, &mut map)
}

/// Sends a request of /dev/kfd that counts as such.
fn send<T: Abi>(process: &Process, request: &Request<T>, args: &mut T) -> Option<()> {
    let start = Instant::now();
    let errno = sys::ioctl(&process.kfd, request.command(), sys::address(args));
    let slot = usize::from(request.info.number);
    process.shared.count(slot, errno == 0, start.elapsed());
    (errno == 0).then_some(())
}
