// SPDX-License-Identifier: MIT OR Apache-2.0

//! Sixty-four queues with one dispatch each, all of them running at the same time. Without numbers then two that are
//! switched off at first, and one more, whose memory can't be unmapped as long as it is there
//! (`kfd_queue_acquire_buffers`).
//!
//! `queues CODE-OBJECT [QUEUES [ELEMENTS]]`

use std::fs::File;
use std::process::ExitCode;

use rkfd::{Gpu, Kernel, Queue, QueueOptions};
use rkfd_programs::raw::{self, call, errno};
use rkfd_programs::{check, code_object, report, Failure, VectorAdd, KERNEL, PATIENCE};
use rkfd_uapi::{ioctl, memory, queue};
use rustix::io::Errno;

/// Where a queue's ring and its pointers lie for the GPU, far from what the library uses.
const PLACES: [u64; 2] = [0x1234_0000_0000, 0x1235_0000_0000];
const PAGE: usize = 4096;

/// The argument at `place`, or `otherwise` if there is none.
fn number(place: usize, otherwise: usize) -> Result<usize, Failure> {
    std::env::args().nth(place).map_or(Ok(otherwise), |text| {
        text.parse()
            .map_err(|_| Failure::new(format_args!("{text} is no number")))
    })
}

fn run() -> Result<(), Failure> {
    let code = code_object()?;
    let (count, elements) = (number(2, 64)?, number(3, 4096)?);
    let gpu = Gpu::open()?;
    let module = gpu.load(&code)?;
    let kernel = module.kernel(KERNEL)?;
    let options = QueueOptions::new().packets(64);
    let queues: Vec<Queue> = (0..count)
        .map(|_| gpu.queue(options))
        .collect::<Result<_, _>>()?;
    println!(
        "{count} queues, ids {:?}",
        queues.iter().map(Queue::id).collect::<Vec<_>>()
    );

    let mut running = Vec::new();
    for (i, queue) in queues.iter().enumerate() {
        let add = VectorAdd::new(&gpu, elements, i)?;
        let work = add.dispatch(queue, &kernel).submit()?;
        running.push((add, work));
    }
    for (add, work) in &running {
        work.wait_timeout(PATIENCE)?;
        add.verify()?;
    }
    println!("all {count} dispatches verified");
    drop(running);
    drop(queues);

    // What those queues and buffers used can be allocated again.
    let queue = gpu.queue(options)?;
    let add = VectorAdd::new(&gpu, elements, count)?;
    add.dispatch(&queue, &kernel)
        .submit()?
        .wait_timeout(PATIENCE)?;
    add.verify()?;
    match std::env::args().nth(2) {
        Some(_) => Ok(()),
        None => {
            come_on(&gpu, &kernel, elements)?;
            keeps_its_memory(&gpu)
        }
    }
}

/// Queues that were off before there was the next one, and are switched on together: all run.
fn come_on(gpu: &Gpu, kernel: &Kernel, elements: usize) -> Result<(), Failure> {
    let kfd = File::open("/dev/kfd").map_err(Failure::new)?;
    let share =
        |queue: &Queue, percent| raw::share(&kfd, queue, percent).map_err(errno("UPDATE_QUEUE"));
    let mut queues = Vec::new();
    for _ in 0..3 {
        let queue = gpu.queue(QueueOptions::new().packets(64))?;
        share(&queue, 0)?;
        queues.push(queue);
    }
    for queue in &queues {
        share(queue, 100)?;
    }
    for (i, queue) in queues.iter().enumerate() {
        let add = VectorAdd::new(gpu, elements, i)?;
        add.dispatch(queue, kernel)
            .submit()?
            .wait_timeout(PATIENCE)?;
        add.verify()?;
    }
    println!("queues that were off run");
    Ok(())
}

/// A queue that nobody gives work: what it uses can be unmapped and freed only when it has gone.
fn keeps_its_memory(gpu: &Gpu) -> Result<(), Failure> {
    let kfd = File::open("/dev/kfd").map_err(Failure::new)?;
    let flags = memory::ALLOC_GTT | memory::ALLOC_WRITABLE | memory::ALLOC_COHERENT;
    let mut handles = [0; 2];
    for (handle, at) in handles.iter_mut().zip(PLACES) {
        *handle =
            raw::alloc(&kfd, gpu.id(), at, PAGE, 0, flags).map_err(errno("ALLOC_MEMORY_OF_GPU"))?;
        raw::map(&kfd, gpu.id(), *handle).map_err(errno("MAP_MEMORY_TO_GPU"))?;
    }
    let mut args = queue::CreateQueueArgs {
        ring_base_address: PLACES[0],
        write_pointer_address: PLACES[1],
        read_pointer_address: PLACES[1] + 8,
        ring_size: PAGE as u32,
        gpu_id: gpu.id(),
        queue_type: queue::QUEUE_TYPE_SDMA,
        queue_percentage: 100,
        queue_priority: 7,
        ..Default::default()
    };
    call(&kfd, &ioctl::CREATE_QUEUE, &mut args).map_err(errno("CREATE_QUEUE"))?;
    let unmap = |handle| raw::unmap(&kfd, gpu.id(), handle);
    check(
        "what a queue uses can't be unmapped",
        handles.map(unmap) == [Err(Errno::BUSY); 2],
    )?;
    raw::destroy_queue(&kfd, args.queue_id).map_err(errno("DESTROY_QUEUE"))?;
    check(
        "and can once it has gone",
        handles.map(unmap) == [Ok(()); 2],
    )?;
    let free = |handle| raw::free(&kfd, handle);
    check("and freed", handles.map(free) == [Ok(()); 2])
}

fn main() -> ExitCode {
    report("queues", run)
}
