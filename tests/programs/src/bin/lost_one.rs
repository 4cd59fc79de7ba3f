// SPDX-License-Identifier: MIT OR Apache-2.0

//! One of two GPUs falls off the bus at a program's first dispatch, and the program asks both for more.
//!
//! The process has a GPU left, so its requests come as far as those that are about the lost one: each is refused with
//! ENODEV, its doorbells and VRAM can't be touched any more, and the other GPU goes on.
//!
//! `lost_one CODE-OBJECT`

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::process::ExitCode;
use std::ptr::null_mut;
use std::slice::from_raw_parts;
use std::thread::sleep;
use std::time::Duration;

use rkfd::{Buffer, Gpu, Memory, Queue, QueueOptions};
use rkfd_programs::raw::{self, errno};
use rkfd_programs::{check, code_object, report, Failure, VectorAdd, KERNEL};
use rkfd_uapi::ioctl;
use rkfd_uapi::memory::{
    ALLOC_DOORBELL, ALLOC_GTT, ALLOC_MMIO_REMAP, ALLOC_USERPTR, ALLOC_VRAM, ALLOC_WRITABLE,
};
use rkfd_uapi::mmap::{Kind, Offset};
use rkfd_uapi::queue::{CreateQueueArgs, GetQueueWaveStateArgs, QUEUE_TYPE_SDMA};
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags};

const ELEMENTS: usize = 4096;
const PAGE: usize = 4096;
/// Bytes of a process' doorbells (`kfd_doorbell_process_slice`).
const DOORBELLS: usize = 8192;
/// Where nothing is mapped.
const VA: u64 = 0x1236_0000_0000;
/// By then the device has got the dispatch.
const SOON: Duration = Duration::from_secs(2);

/// Maps the process' doorbells of a GPU once more; nobody has touched them there.
fn doorbells<'a>(kfd: &File, gpu: &Gpu) -> Result<&'a [u8], Failure> {
    let at = Offset {
        kind: Kind::Doorbell,
        gpu_id: gpu.id() as u16,
        offset: 0,
    };
    let (prot, shared) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED);
    // SAFETY: The kernel chooses the place, where nothing is.
    let place = unsafe { rustix::mm::mmap(null_mut(), DOORBELLS, prot, shared, kfd, at.bits()) };
    let place = place.map_err(errno("mmap of the doorbells"))?;
    // SAFETY: So many bytes are mapped, until the process ends. Only the kernel reads them.
    Ok(unsafe { from_raw_parts(place.cast(), DOORBELLS) })
}

/// GET_QUEUE_WAVE_STATE.
fn saved(kfd: &File, queue: &Queue) -> Result<(), Errno> {
    let mut stack = vec![0u8; 1 << 16];
    let mut args = GetQueueWaveStateArgs {
        ctl_stack_address: stack.as_mut_ptr() as u64,
        queue_id: queue.id(),
        ..Default::default()
    };
    raw::call(kfd, &ioctl::GET_QUEUE_WAVE_STATE, &mut args)
}

/// CREATE_QUEUE of a copy engine's queue, with its ring and pointers, of a page each.
fn create(kfd: &File, gpu: &Gpu, [ring, pointers]: &[Buffer<u32>; 2]) -> Result<(), Errno> {
    let mut args = CreateQueueArgs {
        ring_base_address: ring.address(),
        ring_size: PAGE as u32,
        write_pointer_address: pointers.address(),
        read_pointer_address: pointers.address() + 8,
        gpu_id: gpu.id(),
        queue_type: QUEUE_TYPE_SDMA,
        queue_percentage: 100,
        queue_priority: 7,
        ..Default::default()
    };
    raw::call(kfd, &ioctl::CREATE_QUEUE, &mut args)
}

/// The other GPU is there: it maps memory, and takes a queue.
fn goes_on(gpu: &Gpu) -> Result<(), Failure> {
    gpu.alloc_in::<u32>(Memory::Gtt, ELEMENTS)?;
    gpu.queue(QueueOptions::default())?;
    Ok(())
}

/// Memory of the GPU's own, and system memory that it would reach, can't be had. What is the program's own needs
/// nothing of the GPU until it is mapped.
fn memory(kfd: &File, gpu: &Gpu) -> [(&'static str, Result<(), Errno>, Errno); 5] {
    let own = vec![0u8; 2 * PAGE].leak();
    let page = (own.as_ptr() as usize).next_multiple_of(PAGE) as u64;
    let alloc =
        |size, user, flags| raw::alloc(kfd, gpu.id(), VA, size, user, flags | ALLOC_WRITABLE);
    let refused = |size, flags| alloc(size, 0, flags).map(drop);
    let own = alloc(PAGE, page, ALLOC_USERPTR).and_then(|own| raw::map(kfd, gpu.id(), own));
    // That registers can't be had is ENOMEM, whatever the reason (`kfd_ioctl_alloc_memory_of_gpu`).
    [
        ("VRAM", refused(PAGE, ALLOC_VRAM), Errno::NODEV),
        ("system memory", refused(PAGE, ALLOC_GTT), Errno::NODEV),
        ("its own memory", own, Errno::NODEV),
        (
            "doorbells",
            refused(DOORBELLS, ALLOC_DOORBELL),
            Errno::NODEV,
        ),
        ("registers", refused(PAGE, ALLOC_MMIO_REMAP), Errno::NOMEM),
    ]
}

fn run() -> Result<(), Failure> {
    let (gpu, left) = (Gpu::open_index(0)?, Gpu::open_index(1)?);
    let kernel = gpu.load(&code_object()?)?.kernel(KERNEL)?;
    let queue = gpu.queue(QueueOptions::default())?;
    let off = gpu.queue(QueueOptions::default())?;
    let sums = VectorAdd::new(&gpu, ELEMENTS, 1)?;
    let vram = gpu.alloc_in::<u32>(Memory::Vram, ELEMENTS)?;
    let kfd = File::options().read(true).write(true).open("/dev/kfd");
    let kfd = kfd.map_err(Failure::new)?;
    raw::share(&kfd, &off, 0).map_err(errno("UPDATE_QUEUE"))?;
    let flags = ALLOC_GTT | ALLOC_WRITABLE;
    let system =
        raw::alloc(&kfd, gpu.id(), VA - (1 << 32), PAGE, 0, flags).map_err(Failure::new)?;
    let page = || gpu.alloc_in::<u32>(Memory::Gtt, PAGE / 4);
    let pages = [page()?, page()?];
    let bells = doorbells(&kfd, &gpu)?;
    let own = File::open("/proc/self/mem").map_err(Failure::new)?;
    let _work = sums.dispatch(&queue, &kernel).submit()?;
    sleep(SOON);

    for (what, answer) in [
        ("mapping", raw::map(&kfd, gpu.id(), system)),
        ("a queue that is off", raw::share(&kfd, &off, 50)),
        ("its waves", saved(&kfd, &off)),
        ("a queue of a copy engine", create(&kfd, &gpu, &pages)),
    ] {
        println!("{what}: {answer:?}");
        check("it is refused", answer == Err(Errno::NODEV))?;
    }
    for (what, answer, wanted) in memory(&kfd, &gpu) {
        println!("{what}: {answer:?}");
        check("it is refused", answer == Err(wanted))?;
    }
    let node = File::open(gpu.node().render_node()?).map_err(|e| e.raw_os_error());
    check(
        "no node is opened",
        node.err() == Some(Some(Errno::NODEV.raw_os_error())),
    )?;
    let mut file = File::create("/tmp/bells").map_err(Failure::new)?;
    check("no doorbell is read", file.write(&bells[..8]).is_err())?;
    let peek = own.read_exact_at(&mut [0; 4], vram.address());
    check("no VRAM is read", peek.is_err())?;
    fs::remove_file("/tmp/bells").map_err(Failure::new)?;
    goes_on(&left)
}

fn main() -> ExitCode {
    report("lost-one", run)
}
