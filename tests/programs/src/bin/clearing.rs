// SPDX-License-Identifier: MIT OR Apache-2.0

//! VRAM is zero when a program gets it, and clearing it disturbs nobody.
//!
//! `clearing CASE`:
//!
//! * `owners`: what a process wrote is not there for the next owner of the memory;
//! * `recycled CODE-OBJECT`: memory that a kernel has used is freed and given out again while its process' queues run;
//!   the code object has the kernel `spin(flag, seen)`;
//! * `meanwhile`: while a thread's VRAM is cleared, requests of another and of another process go on;
//! * `killed`: a process is killed while its VRAM is cleared, before that is done, and the memory comes back;
//! * `spread`: buffers reach far into VRAM, and all of them are zero;
//! * `more`: more VRAM is given out than the emulator may take of the host's memory;
//! * `stuck`: the engine that clears hangs: allocations fail.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rkfd::{Gpu, Memory, QueueOptions};
use rkfd_programs::spin::Spin;
use rkfd_programs::{check, raw, report, Failure, BLOCK, PATIENCE};
use rkfd_uapi::{event, memory};
use rustix::io::Errno;

/// A program that comes too late to see the clearing tries again, so often.
const TRIES: usize = 8;
/// What is left of VRAM while buffers change their owner.
const LEFT: u64 = 256 << 20;
/// Sizes of buffers that change their owner: a page, pages that fill no large page, more than the
/// driver clears at once.
const SIZES: [usize; 3] = [4096, (2 << 20) + 4096, 80 << 20];

/// Allocations at once while the engine hangs.
const AT_ONCE: u64 = 16;

/// A buffer that takes the engine longer to clear than others' requests take.
const LARGE: usize = 4 << 30;

/// The largest buffer that is tried: seven eighths of what there is, in whole large pages.
fn most(gpu: &Gpu) -> Result<usize, Failure> {
    Ok((((gpu.available_memory()? / 8 * 7) >> 21) << 21) as usize)
}

/// Waits until so much VRAM is left that `enough` says so.
fn wait_for(gpu: &Gpu, what: &str, enough: impl Fn(u64) -> bool) -> Result<(), Failure> {
    let start = Instant::now();
    while !enough(gpu.available_memory()?) {
        if start.elapsed() > PATIENCE {
            return Err(Failure::new(format_args!("{what}: it doesn't come")));
        }
        std::thread::sleep(Duration::from_micros(200));
    }
    Ok(())
}

/// This program again, in another role, which prints lines.
fn start(role: &str) -> Result<Child, Failure> {
    let program = std::env::current_exe().map_err(Failure::new)?;
    let mut command = Command::new(program);
    command
        .arg(role)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    command.spawn().map_err(Failure::new)
}

/// The lines that it printed, all of them.
fn printed(child: &mut Child) -> Vec<String> {
    let output = child.stdout.take();
    let lines = output.map(|output| BufReader::new(output).lines().map_while(Result::ok));
    lines.into_iter().flatten().collect()
}

fn writer() -> Result<(), Failure> {
    let gpu = Gpu::open()?;
    for size in SIZES {
        let buffer = gpu.alloc_in::<u8>(Memory::Vram, size)?;
        buffer.fill(0xa5)?;
        println!("{} bytes written", buffer.bytes());
        // It goes with the process.
        std::mem::forget(buffer);
    }
    Ok(())
}

fn owners() -> Result<(), Failure> {
    let gpu = Gpu::open()?;
    // The driver goes round its memory: little is left, so that the next owner gets the same.
    let rest = (gpu.available_memory()? - LEFT) >> 21 << 21;
    let _held = gpu.alloc_in::<u8>(Memory::Vram, rest as usize)?;
    let before = gpu.available_memory()?;
    let mut child = start("writer")?;
    let written = printed(&mut child).len();
    let status = child.wait().map_err(Failure::new)?;
    check(
        "a process writes its VRAM",
        status.success() && written == SIZES.len(),
    )?;
    wait_for(&gpu, "the memory comes back", |left| left >= before)?;
    let (mut all, mut used) = (Vec::new(), 0);
    while gpu.available_memory()? > (LEFT / 8) {
        let buffer = gpu.alloc_in::<u8>(Memory::Vram, 4 << 20)?;
        used += buffer.to_vec()?.iter().filter(|&&byte| byte != 0).count();
        all.push(buffer);
    }
    let bytes = all.len() << 22;
    println!("{used} of {bytes} bytes are not zero");
    check("there is no other memory", bytes as u64 > LEFT / 2)?;
    check("the next owner finds zeroes", used == 0)
}

/// The GPU keeps translations of what a kernel has used; the driver clears that memory for its next owner.
fn recycled() -> Result<(), Failure> {
    /// Of VRAM, while the rest is held.
    const LEFT: u64 = 32 << 20;
    const BYTES: usize = 4 << 20;
    let gpu = Gpu::open()?;
    let path = std::env::args().nth(2);
    let path = path.ok_or_else(|| Failure::new("usage: clearing recycled CODE-OBJECT"))?;
    let kernel = gpu.load(&std::fs::read(path).map_err(Failure::new)?)?;
    let kernel = kernel.kernel("spin")?;
    let (busy, queue) = (
        gpu.queue(QueueOptions::default())?,
        gpu.queue(QueueOptions::default())?,
    );
    let running = Spin::start(&busy, &kernel, BLOCK)?;
    let released = gpu.upload(&[1u32])?;
    let rest = (gpu.available_memory()? - LEFT) >> 21 << 21;
    let _held = gpu.alloc_in::<u8>(Memory::Vram, rest as usize)?;
    // Twice round what is left.
    let mut right = 0;
    let times = 2 * LEFT as usize / BYTES;
    for _ in 0..times {
        let buffer = gpu.alloc_in::<u32>(Memory::Vram, BYTES / 4)?;
        let was_zero = buffer.get(0) == Some(0);
        let dispatch = queue.dispatch(&kernel).grid(BLOCK).block(BLOCK);
        let work = dispatch.arg(&released).arg(&buffer).submit()?;
        work.wait_timeout(PATIENCE)?;
        right += usize::from(was_zero && buffer.get(0) == Some(BLOCK));
    }
    println!("{right} of {times} buffers were zero, and have what the kernel counted");
    check("each buffer is the program's own", right == times)?;
    running.release();
    running.work.wait_timeout(PATIENCE)?;
    Ok(())
}

/// Where firmware keeps something, a driver that doesn't know clears it here.
fn spread() -> Result<(), Failure> {
    const BUFFERS: usize = 40;
    const BYTES: usize = 8 << 20;
    let gpu = Gpu::open()?;
    let alloc = || gpu.alloc_in::<u8>(Memory::Vram, BYTES);
    let all: Result<Vec<_>, _> = (0..BUFFERS).map(|_| alloc()).collect();
    let all = all?;
    let used = all.iter().filter(|buffer| {
        let places = [0, BYTES / 2, BYTES - 1].into_iter();
        places.map(|at| buffer.get(at)).any(|byte| byte != Some(0))
    });
    check("all buffers are zero", used.count() == 0)
}

/// Requests of all kinds, among them one for VRAM.
fn requests(gpu: &Gpu, kfd: &File) -> Result<(), Failure> {
    let small = gpu.alloc_in::<u32>(Memory::Vram, 1024)?;
    if small.get(1023) != Some(0) {
        return Err(Failure::new("the small buffer is not zero"));
    }
    gpu.alloc_in::<u32>(Memory::Gtt, 1024)?.set(0, 1);
    raw::event(kfd, event::EVENT_MEMORY).map_err(raw::errno("CREATE_EVENT"))?;
    Ok(())
}

/// Gets ready, makes its requests when it reads a line, and says that they are done: what a process takes
/// to start and to end doesn't count.
fn neighbour() -> Result<(), Failure> {
    let kfd = File::open("/dev/kfd").map_err(Failure::new)?;
    let gpu = Gpu::open()?;
    println!("ready");
    let mut line = String::new();
    std::io::stdin()
        .read_line(&mut line)
        .map_err(Failure::new)?;
    requests(&gpu, &kfd)?;
    println!("done");
    Ok(())
}

/// Waits until the neighbour has said something.
fn neighbour_says(output: &mut impl BufRead, what: &str) -> Result<(), Failure> {
    let mut line = String::new();
    output.read_line(&mut line).map_err(Failure::new)?;
    check(&format!("the neighbour is {what}"), line.trim_end() == what)
}

fn meanwhile() -> Result<(), Failure> {
    let kfd = File::open("/dev/kfd").map_err(Failure::new)?;
    let gpu = Gpu::open()?;
    for n in 1..=TRIES {
        let mut child = start("neighbour")?;
        let pipe = child.stdout.take();
        let pipe = pipe.ok_or_else(|| Failure::new("the neighbour has no output"))?;
        let mut pipe = BufReader::new(pipe);
        neighbour_says(&mut pipe, "ready")?;
        let (before, size) = (gpu.available_memory()?, most(&gpu)?.min(LARGE));
        let done = Arc::new(AtomicBool::new(false));
        let (its, flag) = (gpu.clone(), done.clone());
        let large = std::thread::spawn(move || {
            let large = its.alloc_in::<u8>(Memory::Vram, size);
            flag.store(true, Ordering::Release);
            large
        });
        wait_for(&gpu, "the large buffer", |left| {
            left < before - size as u64 / 2
        })?;
        requests(&gpu, &kfd)?;
        let own = !done.load(Ordering::Acquire);
        drop(child.stdin.take());
        neighbour_says(&mut pipe, "done")?;
        let others = !done.load(Ordering::Acquire);
        let status = child.wait().map_err(Failure::new)?;
        check("another process' requests succeed", status.success())?;
        let large = large
            .join()
            .map_err(|_| Failure::new("the thread panicked"))??;
        println!("try {n}: own {own}, other's {others}");
        check("the large buffer is zero", large.get(size / 2) == Some(0))?;
        drop(large);
        if own && others {
            return check("requests went on while the large buffer was cleared", true);
        }
        wait_for(&gpu, "the memory comes back", |left| left >= before)?;
    }
    check("requests went on while the large buffer was cleared", false)
}

fn large() -> Result<(), Failure> {
    let gpu = Gpu::open()?;
    let size = most(&gpu)?;
    println!("asked for {size} bytes");
    std::io::stdout().flush().map_err(Failure::new)?;
    let _buffer = gpu.alloc_in::<u8>(Memory::Vram, size)?;
    println!("got them");
    Ok(())
}

fn killed() -> Result<(), Failure> {
    let gpu = Gpu::open()?;
    for _ in 0..TRIES {
        let before = gpu.available_memory()?;
        let mut child = start("large")?;
        wait_for(&gpu, "the large buffer", |left| left < before / 2)?;
        child.kill().map_err(Failure::new)?;
        let lines = printed(&mut child);
        lines.iter().for_each(|line| println!("{line}"));
        let status = child.wait().map_err(Failure::new)?;
        wait_for(&gpu, "the memory comes back", |left| left >= before)?;
        let whole = lines.iter().any(|line| line == "got them");
        if !whole {
            return check(
                "it is killed before it has its memory",
                status.signal() == Some(9),
            );
        }
    }
    check("it is killed before it has its memory", false)
}

fn more() -> Result<(), Failure> {
    const SIZE: usize = 4 << 30;
    let gpu = Gpu::open()?;
    for _ in 0..2 {
        let buffer = gpu.alloc_in::<u8>(Memory::Vram, SIZE)?;
        // Some of it is used, and given back.
        let part = buffer.slice(1 << 30..(1 << 30) + (32 << 20))?;
        check("it is zero", part.to_vec()?.iter().all(|&byte| byte == 0))?;
        part.fill(7)?;
    }
    check("4 GiB of VRAM are given out twice", true)
}

fn stuck() -> Result<(), Failure> {
    let kfd = File::open("/dev/kfd").map_err(Failure::new)?;
    let gpu = Gpu::open()?;
    let before = gpu.available_memory()?;
    let flags = memory::ALLOC_VRAM | memory::ALLOC_WRITABLE;
    // Each of them learns of the resets at another moment.
    let alloc = |n: u64| {
        let va = 0x7000_0000_0000 + (n << 20);
        raw::alloc(&kfd, gpu.id(), va, 1 << 20, 0, flags)
    };
    for what in ["allocations fail", "the next ones do, too"] {
        let results: Vec<_> = std::thread::scope(|scope| {
            let alloc = &alloc;
            let threads: Vec<_> = (0..AT_ONCE)
                .map(|n| scope.spawn(move || alloc(n)))
                .collect();
            threads.into_iter().map(|thread| thread.join()).collect()
        });
        println!("ALLOC_MEMORY_OF_GPU: {results:?}");
        let all = results
            .iter()
            .all(|result| matches!(result, Ok(Err(Errno::IO))));
        check(what, all)?;
    }
    // What the engine may still write is kept until it was reset.
    wait_for(&gpu, "the memory comes back", |left| left == before)?;
    let gtt = gpu.alloc_in::<u32>(Memory::Gtt, 1024)?;
    check("system memory is given out", gtt.get(0) == Some(0))
}

fn main() -> ExitCode {
    let quiet = |run: fn() -> Result<(), Failure>| match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            println!("{failure}");
            ExitCode::FAILURE
        }
    };
    match std::env::args().nth(1).as_deref() {
        Some("owners") => report("owners", owners),
        Some("recycled") => report("recycled", recycled),
        Some("meanwhile") => report("meanwhile", meanwhile),
        Some("spread") => report("spread", spread),
        Some("killed") => report("killed", killed),
        Some("more") => report("more", more),
        Some("stuck") => report("stuck", stuck),
        Some("writer") => quiet(writer),
        Some("neighbour") => quiet(neighbour),
        Some("large") => quiet(large),
        _ => report("clearing", || Err(Failure::new("usage: clearing CASE"))),
    }
}
