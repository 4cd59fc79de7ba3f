// SPDX-License-Identifier: MIT OR Apache-2.0

//! A kernel enqueues work by itself: it writes a packet into another queue's ring and rings that queue's doorbell, which
//! the host never touches.
//!
//! `enqueues CODE-OBJECT`: the code object has the kernel `enqueue(slot, write index, doorbell, index, packet)`.

use std::fs::File;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use rkfd::{Gpu, QueueOptions};
use rkfd_programs::raw::{self, errno};
use rkfd_programs::{check, code_object, report, Failure, PATIENCE};
use rkfd_uapi::memory::{ALLOC_DOORBELL, ALLOC_WRITABLE};
use rkfd_uapi::mmap::DOORBELL_SLICE;

/// Where the GPU finds the process' doorbells: nothing else is there.
const VA: u64 = 0x1234_0000_0000;
/// BARRIER_AND (type 3) with the barrier bit and fences of the system's scope.
const HEADER: u32 = 3 | (1 << 8) | (2 << 9) | (2 << 11);
/// Slots of the other queue's ring.
const SLOTS: u64 = 64;
/// Packets, one after the other: more than the ring has slots.
const PACKETS: u64 = 100;

fn run() -> Result<(), Failure> {
    let gpu = Gpu::open()?;
    let kfd = File::open("/dev/kfd").map_err(Failure::new)?;
    let flags = ALLOC_DOORBELL | ALLOC_WRITABLE;
    let doorbells = raw::alloc(&kfd, gpu.id(), VA, DOORBELL_SLICE, 0, flags);
    let doorbells = doorbells.map_err(errno("ALLOC_MEMORY_OF_GPU of doorbells"))?;
    raw::map(&kfd, gpu.id(), doorbells).map_err(errno("MAP_MEMORY_TO_GPU of doorbells"))?;

    let kernel = gpu.load(&code_object()?)?.kernel("enqueue")?;
    let queue = gpu.queue(QueueOptions::default())?;
    let other = gpu.queue(QueueOptions::new().packets(SLOTS as u32))?;
    let (ring, write, _) = other.addresses();
    let doorbell = VA + other.doorbell_offset() as u64;
    for index in 0..PACKETS {
        let done = gpu.signal(1)?;
        let mut packet = [0u32; 16];
        packet[0] = HEADER;
        packet[14] = done.address() as u32;
        packet[15] = (done.address() >> 32) as u32;
        let packet = gpu.upload(&packet)?;
        let slot = ring + index % SLOTS * 64;
        let dispatch = queue.dispatch(&kernel).blocks(1u32).block(1u32);
        let dispatch = dispatch.arg(slot).arg(write).arg(doorbell).arg(index);
        dispatch.arg(&packet).submit()?.wait_timeout(PATIENCE)?;
        let start = Instant::now();
        while done.value() != 0 {
            if start.elapsed() > PATIENCE {
                return Err(Failure::new(format_args!("packet {index} isn't done")));
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    let indices = other.indices();
    println!("write and read index of the other queue: {indices:?}");
    check("each packet was taken", indices == (PACKETS, PACKETS))?;

    raw::unmap(&kfd, gpu.id(), doorbells).map_err(errno("UNMAP_MEMORY_FROM_GPU"))?;
    raw::free(&kfd, doorbells).map_err(errno("FREE_MEMORY_OF_GPU"))
}

fn main() -> ExitCode {
    report("enqueues", run)
}
