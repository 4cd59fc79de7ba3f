// SPDX-License-Identifier: MIT OR Apache-2.0

//! A copy engine hangs in a program's packet: the engine is reset, the program learns it, and what else is on
//! the engine goes on.
//!
//! `hung-copies`: runs on a GPU whose first copy never ends. VRAM is allocated meanwhile, which the driver
//! clears with the same engine; then the queue is destroyed, for which the scheduler takes all queues off.

use std::fs::File;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use rkfd::{Gpu, Memory};
use rkfd_programs::raw::{self, errno};
use rkfd_programs::{check, report, Failure};
use rkfd_uapi::event;

/// Words of a buffer, and of one that takes two pieces to clear (128 MiB).
const N: usize = 1 << 16;
const LARGE: usize = 32 << 20;
/// Bytes of VRAM that are left: two and a half of those.
const LEFT: u64 = 320 << 20;

fn run() -> Result<(), Failure> {
    let gpu = Gpu::open()?;
    // The driver goes round its memory: little is left, so that the next owner of VRAM gets the same.
    let rest = (gpu.available_memory()? - LEFT) >> 21 << 21;
    let _held = gpu.alloc_in::<u8>(Memory::Vram, rest as usize)?;
    let before = gpu.alloc_in::<u32>(Memory::Vram, 2 * LARGE)?;
    let dirty = (0..2 * LARGE)
        .step_by(1023)
        .all(|i| before.set(i, 7).is_some());
    check("VRAM has something to be cleared", dirty)?;
    drop(before);
    let kfd = File::open("/dev/kfd").map_err(Failure::new)?;
    let exceptions = raw::event(&kfd, event::EVENT_HW_EXCEPTION).map_err(errno("CREATE_EVENT"))?;
    let (source, target) = (gpu.alloc_in(Memory::Gtt, N)?, gpu.alloc_in(Memory::Gtt, N)?);
    source.fill(7u32)?;
    target.fill(0u32)?;
    let queue = gpu.copy_queue()?;
    let copy = queue.copy(&target, &source)?;
    std::thread::sleep(Duration::from_millis(300));
    check("the copy hangs", !copy.is_done())?;

    let start = Instant::now();
    let cleared = std::thread::scope(|scope| {
        let cleared = scope.spawn(|| gpu.alloc_in::<u32>(Memory::Vram, LARGE));
        std::thread::sleep(Duration::from_millis(300));
        let waits = !cleared.is_finished();
        let destroyed = raw::destroy_queue(&kfd, queue.id());
        println!("destroyed after {} ms", start.elapsed().as_millis());
        destroyed.map_err(errno("DESTROY_QUEUE"))?;
        check("VRAM isn't cleared while the engine hangs", waits)?;
        match cleared.join() {
            Ok(buffer) => Ok(buffer?),
            Err(_) => Err(Failure::new("the thread panicked")),
        }
    })?;
    let zero = (0..LARGE).step_by(1023).all(|i| cleared.get(i) == Some(0));
    check("VRAM is cleared afterwards", zero)?;

    let data = raw::wait(&kfd, exceptions, 10_000).map_err(errno("WAIT_EVENTS"))?;
    let exception = data.map(|data| data.hw_exception());
    println!("the exception: {exception:x?}");
    check(
        "the exception reports that a queue was reset",
        exception.is_some_and(|d| {
            (d.reset_type, d.reset_cause) == (event::RESET_WHOLE_GPU, event::CAUSE_GPU_HANG)
                && (d.memory_lost, d.gpu_id) == (1, gpu.id())
        }),
    )?;
    check("the copy stays undone", !copy.is_done())
}

fn main() -> ExitCode {
    report("hung_copies", run)
}
