// SPDX-License-Identifier: MIT OR Apache-2.0

//! Takes a kernel off the GPU while it runs, and lets it go on.
//!
//! All waves of a dispatch wait for a flag when its queue is disabled. The state that the driver then
//! returns (GET_QUEUE_WAVE_STATE) must be at least as large as their registers, and its sizes must
//! equal those in the save area's headers. While the queue is off the flag must not end the waves;
//! when it is on again they must see the flag. A second queue is destroyed while it is off, and the
//! first must go on.
//!
//! `preempted CODE-OBJECT`: with a kernel `spin(flag, seen)`, each of whose work-items counts `seen`
//! up and then waits for the flag.

use std::fs::File;
use std::process::ExitCode;
use std::time::Duration;

use rkfd::{Gpu, Queue, QueueOptions};
use rkfd_programs::raw::{self, errno};
use rkfd_programs::spin::Spin;
use rkfd_programs::{code_object, report, Failure, BLOCK, PATIENCE};
use rkfd_uapi::ioctl;
use rkfd_uapi::queue::GetQueueWaveStateArgs;

/// Work-items of a dispatch.
const ITEMS: u32 = 4096;
/// Room for a control stack.
const STACK: usize = 1 << 16;

fn share(kfd: &File, queue: &Queue, percent: u32) -> Result<(), Failure> {
    raw::share(kfd, queue, percent).map_err(errno("UPDATE_QUEUE"))
}

/// Compares what the driver returns for a queue that is off with the save area's headers and with the
/// number of waves.
fn check_saved(kfd: &File, gpu: &Gpu, queue: &Queue) -> Result<(), Failure> {
    // The parts of successive XCCs are as far apart as in the save area.
    let stride = gpu.node().property("cwsr_size") as usize / 4;
    let parts = gpu.node().xccs().max(1) as usize;
    let mut stack = vec![0u32; stride * (parts - 1) + STACK / 4];
    let mut args = GetQueueWaveStateArgs {
        ctl_stack_address: stack.as_mut_ptr() as u64,
        queue_id: queue.id(),
        ..Default::default()
    };
    raw::call(kfd, &ioctl::GET_QUEUE_WAVE_STATE, &mut args)
        .map_err(errno("GET_QUEUE_WAVE_STATE"))?;
    // The call returns the first XCC's sizes; the sizes of all are in their headers.
    let first = (args.ctl_stack_used_size, args.save_area_used_size);
    let (mut stack_used, mut waves_used) = (0, 0);
    for (xcc, part) in stack.chunks(stride).enumerate() {
        let [offset, size, end, state] = [0, 1, 2, 3].map(|n| part[n]);
        println!(
            "saved on XCC {xcc}: control stack {size} bytes, waves {state} bytes, up to {end:#x}"
        );
        if xcc == 0 && (size, state) != first || end != offset + size + state {
            return Err(Failure::new(format_args!(
                "the header {offset:#x} {size:#x} {end:#x} {state:#x} is not what the call returned"
            )));
        }
        if state < ITEMS * 4 / parts as u32 {
            return Err(Failure::new("an XCC saved less than its waves have"));
        }
        stack_used += size;
        waves_used += state;
    }
    // At least one vector register of every work-item, and an entry for every work-group.
    if waves_used < ITEMS * 4 || stack_used < ITEMS / BLOCK * 8 {
        return Err(Failure::new("less was saved than the waves have"));
    }
    // The driver copies only gfx9's control stacks; later chips' stay in the save area (`get_wave_state`).
    if !gpu.target().starts_with("gfx9") {
        return Ok(());
    }
    let empty = |part: &[u32]| {
        let [offset, size] = [0, 1].map(|n| part[n] as usize / 4);
        part[offset..offset + size].iter().all(|&word| word == 0)
    };
    match stack.chunks(stride).any(empty) {
        true => Err(Failure::new("a control stack is empty")),
        false => Ok(()),
    }
}

fn run() -> Result<(), Failure> {
    let code = code_object()?;
    let kfd = File::options().read(true).write(true).open("/dev/kfd");
    let kfd = kfd.map_err(Failure::new)?;
    let gpu = Gpu::open()?;
    let module = gpu.load(&code)?;
    let kernel = module.kernel("spin")?;
    let queue = gpu.queue(QueueOptions::default())?;
    for round in 0..3 {
        let spin = Spin::start(&queue, &kernel, ITEMS)?;
        share(&kfd, &queue, 0)?;
        check_saved(&kfd, &gpu, &queue)?;
        spin.release();
        std::thread::sleep(Duration::from_millis(100));
        if spin.work.is_done() {
            return Err(Failure::new("waves went on while their queue was off"));
        }
        share(&kfd, &queue, 100)?;
        spin.work.wait_timeout(PATIENCE)?;
        println!("round {round}: went on and ended");
    }
    let other = gpu.queue(QueueOptions::default())?;
    let spin = Spin::start(&other, &kernel, ITEMS)?;
    share(&kfd, &other, 0)?;
    drop(spin);
    drop(other);
    let spin = Spin::start(&queue, &kernel, ITEMS)?;
    spin.release();
    spin.work.wait_timeout(PATIENCE)?;
    Ok(())
}

fn main() -> ExitCode {
    report("preempted", run)
}
