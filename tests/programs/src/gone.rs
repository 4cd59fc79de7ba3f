// SPDX-License-Identifier: MIT OR Apache-2.0

//! What requests answer whose GPU has no driver any more.

use std::fs::File;

use rkfd_uapi::memory;
use rustix::io::Errno;

use crate::{check, raw, Failure};

const PAGE: usize = 4096;
/// Bytes of a process' doorbells (`kfd_doorbell_process_slice`).
const DOORBELLS: usize = 8192;
/// Where nothing is mapped.
const VA: u64 = 0x1234_0000_0000;

/// A request that must fail with ENODEV.
pub fn refused<T>(what: &str, result: rkfd::Result<T>) -> Result<(), Failure> {
    match result {
        Err(rkfd::Error::Ioctl { errno, .. }) if errno == Errno::NODEV => Ok(()),
        Err(error) => Err(Failure::new(format_args!("{what}: {error}, wanted ENODEV"))),
        Ok(_) => Err(Failure::new(format_args!("{what} works without a driver"))),
    }
}

/// Memory of every kind is refused with ENODEV, doorbells and registers with this error.
pub fn no_memory(kfd: &File, gpu_id: u32, pages: Errno) -> Result<(), Failure> {
    let own = vec![0u8; 2 * PAGE];
    let page = (own.as_ptr() as usize).next_multiple_of(PAGE) as u64;
    let gone = Errno::NODEV;
    for (what, size, flags, user, errno) in [
        ("VRAM", PAGE, memory::ALLOC_VRAM, 0, gone),
        ("system memory", PAGE, memory::ALLOC_GTT, 0, gone),
        ("its own memory", PAGE, memory::ALLOC_USERPTR, page, gone),
        ("doorbells", DOORBELLS, memory::ALLOC_DOORBELL, 0, pages),
        ("registers", PAGE, memory::ALLOC_MMIO_REMAP, 0, pages),
    ] {
        let flags = flags | memory::ALLOC_WRITABLE;
        let result = raw::alloc(kfd, gpu_id, VA, size, user, flags);
        println!("{what}: {result:?}");
        check("it is refused", result == Err(errno))?;
    }
    Ok(())
}
