// SPDX-License-Identifier: MIT OR Apache-2.0

//! Measures what the steps around a dispatch cost. Their unit is the driver's cheapest system call,
//! GET_VERSION: times of one machine mean little, above all under emulation, but the ratios of one
//! run show which path is short.
//!
//! `bench CODE-OBJECT COPY`: prints `bench NAME NANOSECONDS` lines. The second code object has a
//! kernel `copy(in, out, n)`.

use std::hint::black_box;
use std::process::ExitCode;
use std::time::Instant;

use rkfd::{Gpu, Memory, Queue, QueueOptions};
use rkfd_programs::{code_object, report, Failure, VectorAdd, KERNEL};
use rkfd_uapi::device::GetVersionArgs;
use rkfd_uapi::ioctl;
use rustix::ioctl::{Getter, Opcode};

const ELEMENTS: usize = 256;
/// The sizes of a small page and of a large one.
const SMALL: usize = 4 << 10;
const LARGE: usize = 2 << 20;
/// Words that are copied; they are 1 MiB.
const COPIED: usize = 1 << 18;

/// Measures `rounds` times how long `times` calls of `work` take, and prints the median for one call.
fn measure(
    name: &str,
    rounds: usize,
    times: u32,
    mut work: impl FnMut() -> Result<(), Failure>,
) -> Result<f64, Failure> {
    work()?;
    let mut samples = Vec::with_capacity(rounds);
    for _ in 0..rounds {
        let start = Instant::now();
        for _ in 0..times {
            work()?;
        }
        samples.push(start.elapsed().as_nanos() as f64 / f64::from(times));
    }
    samples.sort_by(f64::total_cmp);
    let median = samples.get(rounds / 2).copied().unwrap_or(0.0);
    println!("bench {name} {median:.1}");
    Ok(median)
}

fn run() -> Result<(), Failure> {
    let gpu = Gpu::open()?;
    let module = gpu.load(&code_object()?)?;
    let kernel = module.kernel(KERNEL)?;
    let options = QueueOptions::default();
    let kfd = std::fs::File::open("/dev/kfd").map_err(Failure::new)?;

    measure("get-version", 9, 2000, || version(&kfd))?;
    traced(&kfd)?;

    // An enqueue reserves a slot, writes the packet and rings the doorbell. The ring has room for one
    // round, and the queue is emptied between the rounds.
    let queue = gpu.queue(options)?;
    let add = VectorAdd::new(&gpu, ELEMENTS, 0)?;
    const BATCH: usize = 64;
    let mut batch = Vec::new();
    for _ in 0..BATCH {
        let mut work = add.dispatch(&queue, &kernel).polled().prepare()?;
        work.submit()?;
        work.spin()?;
        batch.push(work);
    }
    let mut samples = Vec::new();
    for _ in 0..15 {
        let start = Instant::now();
        for work in &mut batch {
            work.submit()?;
        }
        samples.push(start.elapsed().as_nanos() as f64 / BATCH as f64);
        batch.iter().try_for_each(|work| work.spin())?;
    }
    samples.sort_by(f64::total_cmp);
    let median = samples.get(samples.len() / 2).copied().unwrap_or(0.0);
    println!("bench enqueue {median:.1}");

    let mut polled = add.dispatch(&queue, &kernel).polled().prepare()?;
    measure("round-trip-polled", 9, 50, || {
        polled.submit()?;
        Ok(polled.spin()?)
    })?;
    let mut slept = add.dispatch(&queue, &kernel).prepare()?;
    measure("round-trip-event", 9, 50, || {
        slept.submit()?;
        Ok(slept.wait()?)
    })?;
    add.verify()?;
    let mut host = [0u32; 1];
    measure("read-result", 9, 2000, || {
        black_box(&mut host);
        black_box(add.c.get(0));
        Ok(())
    })?;

    measure("create-destroy-queue", 7, 5, || {
        drop(gpu.queue(options)?);
        Ok(())
    })?;
    for (name, bytes, memory) in [
        ("map-4k-gtt", SMALL, Memory::Gtt),
        ("map-2m-gtt", LARGE, Memory::Gtt),
        ("map-4k-vram", SMALL, Memory::Vram),
        ("map-2m-vram", LARGE, Memory::Vram),
    ] {
        measure(name, 9, 5, || {
            drop(gpu.alloc_in::<u8>(memory, bytes)?);
            Ok(())
        })?;
    }
    copies(&gpu, &queue)
}

/// The cheapest request again, with two tracepoints listened to at a time: the kernel's own for a system call's begin and
/// end, and the driver's for a request's.
fn traced(kfd: &std::fs::File) -> Result<(), Failure> {
    for (name, events) in [
        (
            "get-version-syscalls",
            ["syscalls/sys_enter_ioctl", "syscalls/sys_exit_ioctl"],
        ),
        (
            "get-version-traced",
            ["rkfd/rkfd_ioctl_enter", "rkfd/rkfd_ioctl_exit"],
        ),
    ] {
        let listen = |on: &str| {
            events.iter().try_for_each(|event| {
                let path = format!("/sys/kernel/tracing/events/{event}/enable");
                std::fs::write(path, on).map_err(Failure::new)
            })
        };
        listen("1")?;
        let measured = measure(name, 9, 2000, || version(kfd));
        listen("0")?;
        measured?;
    }
    Ok(())
}

/// Copies the same words within device memory in three ways: by a copy engine, by a kernel, and by
/// the CPU through the BAR. The first two are waited for by their events; every result is compared.
fn copies(gpu: &Gpu, queue: &Queue) -> Result<(), Failure> {
    let path = std::env::args().nth(2);
    let path =
        path.ok_or_else(|| Failure::new("no code object with the kernel `copy` was given"))?;
    let module = gpu.load(&std::fs::read(&path).map_err(Failure::new)?)?;
    let kernel = module.kernel("copy")?;
    let buffer = || gpu.alloc_in::<u32>(Memory::Vram, COPIED);
    let (source, target) = (buffer()?, buffer()?);
    source.fill_with(|i| (i as u32).wrapping_mul(0x9e37_79b1))?;
    let wanted = source.to_vec()?;
    let check = |by: &str| -> Result<(), Failure> {
        match target.to_vec()? == wanted {
            true => Ok(target.fill(0)?),
            false => Err(Failure::new(format_args!("a copy by {by} is wrong"))),
        }
    };
    target.fill(0)?;
    let engine = gpu.copy_queue()?;
    measure("copy-sdma", 9, 5, || {
        Ok(engine.copy(&target, &source)?.wait()?)
    })?;
    check("the engine")?;
    let n = COPIED as u32;
    let dispatch = queue.dispatch(&kernel).grid(n).block(256);
    let mut work = dispatch.arg(&source).arg(&target).arg(n).prepare()?;
    measure("copy-kernel", 9, 5, || {
        work.submit()?;
        Ok(work.wait()?)
    })?;
    check("a kernel")?;
    let mut host = vec![0; COPIED];
    measure("copy-cpu", 9, 5, || {
        source.read_at(0, &mut host)?;
        Ok(target.write(&host)?)
    })?;
    check("the CPU")
}

/// The cheapest request: GET_VERSION.
fn version(kfd: &std::fs::File) -> Result<(), Failure> {
    const COMMAND: Opcode = ioctl::GET_VERSION.info.command as Opcode;
    // SAFETY: the request writes a `GetVersionArgs`, whose size it encodes, and reads nothing.
    let answer = unsafe { rustix::ioctl::ioctl(kfd, Getter::<COMMAND, GetVersionArgs>::new()) };
    black_box(answer).map(drop).map_err(Failure::new)
}

fn main() -> ExitCode {
    report("bench", run)
}
