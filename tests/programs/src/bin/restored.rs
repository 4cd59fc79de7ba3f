// SPDX-License-Identifier: MIT OR Apache-2.0

//! A program's own memory (USERPTR) whose pages the driver can't have for a while.
//!
//! `restored CODE-OBJECT addresses`: memory that was taken away is mapped for the GPU at addresses that make
//! no sense, or are taken. Nothing is mapped there yet, and the request fails all the same.
//!
//! `restored CODE-OBJECT later`: when the pages come, VRAM is full, and so there is none for page tables.
//! The process' queues stay off until there is; then its kernel runs, and finds its memory.
//!
//! `restored CODE-OBJECT two`: the same of a GEM object, beside a second one that changes and is there again at once. The
//! queues stay off until both are.

use std::ffi::c_void;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::FromRawFd;
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use rkfd::{Address, Gpu, QueueOptions};
use rkfd_programs::raw::{self, call, errno};
use rkfd_programs::{check, code_object, report, Failure, BLOCK, KERNEL, PATIENCE};
use rkfd_uapi::{gem, ioctl, memory as abi, smi};
use rustix::io::Errno;
use rustix::mm::{Advice, MapFlags, ProtFlags};

const PAGE: usize = 4096;
const N: usize = 4096;
const BYTES: usize = N * 4;
/// Far from other addresses, so that tables of its own are needed.
const VA: u64 = 0x1234_0000_0000;
/// As far, and 2 MiB aligned.
const NEAR: u64 = 0x1235_0000_0000;
/// How often the driver tries in vain: often enough that its messages reach their limit.
const TRIES: usize = 200;
/// Where the memory lies for the CPU.
const PLACE: usize = 0x2345_0000_0000;

/// Puts fresh memory at its place.
fn put(len: usize) -> Result<*mut f32, Failure> {
    let (prot, flags) = (
        ProtFlags::READ | ProtFlags::WRITE,
        MapFlags::PRIVATE | MapFlags::FIXED,
    );
    // SAFETY: Nothing else of this program lies there.
    let at = unsafe { rustix::mm::mmap_anonymous(PLACE as *mut c_void, len, prot, flags) };
    at.map(|at| at.cast::<f32>()).map_err(errno("mmap"))
}

/// Takes it away.
fn take_away(len: usize) -> Result<(), Failure> {
    // SAFETY: No code of this program uses it now.
    unsafe { rustix::mm::munmap(PLACE as *mut c_void, len) }.map_err(errno("munmap"))
}

struct Setup {
    kfd: File,
    gpu: Gpu,
}

impl Setup {
    fn register(&self, at: usize, va: u64, len: usize) -> Result<u64, Failure> {
        let flags = abi::ALLOC_USERPTR | abi::ALLOC_WRITABLE | abi::ALLOC_COHERENT;
        let handle = raw::alloc(&self.kfd, self.gpu.id(), va, len, at as u64, flags);
        handle.map_err(errno("ALLOC_MEMORY_OF_GPU"))
    }

    /// The GPU's management events about evictions and restorations of queues.
    fn events(&self) -> Result<File, Failure> {
        let mut args = smi::SmiEventsArgs {
            gpuid: self.gpu.id(),
            anon_fd: 0,
        };
        call(&self.kfd, &ioctl::SMI_EVENTS, &mut args).map_err(errno("SMI_EVENTS"))?;
        // SAFETY: The request has just made the descriptor for us.
        let mut file = unsafe { File::from_raw_fd(args.anon_fd as i32) };
        let mask = smi::event_mask(smi::SMI_EVENT_QUEUE_RESTORE);
        file.write_all(&mask.to_ne_bytes()).map_err(Failure::new)?;
        Ok(file)
    }

    /// Allocates VRAM until none is left, not even for a table.
    fn fill_vram(&self) -> Result<Vec<u64>, Failure> {
        let (mut handles, mut size) = (Vec::new(), 64 << 20);
        while size >= PAGE {
            let flags = abi::ALLOC_VRAM | abi::ALLOC_WRITABLE;
            match raw::alloc(&self.kfd, self.gpu.id(), VA, size, 0, flags) {
                Ok(handle) => handles.push(handle),
                Err(Errno::NOMEM) => size /= 2,
                Err(error) => return Err(errno("ALLOC_MEMORY_OF_GPU")(error)),
            }
        }
        Ok(handles)
    }
}

/// The next reports about queues that run again, or couldn't yet: the last letter of each says which.
fn next_restores(events: &mut File) -> Result<Vec<char>, Failure> {
    let mut text = [0; 4096];
    loop {
        match events.read(&mut text) {
            Ok(len) => {
                let text = String::from_utf8_lossy(text.get(..len).unwrap_or_default());
                return Ok(text
                    .lines()
                    .filter_map(|line| line.chars().last())
                    .collect());
            }
            Err(e) if e.raw_os_error() == Some(Errno::AGAIN.raw_os_error()) => {
                thread::sleep(Duration::from_millis(5));
            }
            Err(e) => return Err(Failure::new(e)),
        }
    }
}

/// Whether there are no more reports.
fn is_empty(events: &mut File) -> Result<bool, Failure> {
    match events.read(&mut [0; 4096]) {
        Ok(_) => Ok(false),
        Err(e) if e.raw_os_error() == Some(Errno::AGAIN.raw_os_error()) => Ok(true),
        Err(e) => Err(Failure::new(e)),
    }
}

fn addresses(s: &Setup) -> Result<(), Failure> {
    put(4 * PAGE)?;
    let register = |va| s.register(PLACE, va, 2 * PAGE);
    let wrong = [
        VA + 0x123,
        (1 << 48) - PAGE as u64,
        1 << 50,
        u64::MAX - 0xfff,
    ];
    let wrong = wrong
        .map(register)
        .into_iter()
        .collect::<Result<Vec<_>, _>>()?;
    let (first, overlapping) = (register(VA)?, register(VA + PAGE as u64)?);
    let (same, beside) = (register(VA)?, register(VA + 2 * PAGE as u64)?);
    take_away(4 * PAGE)?;
    let map = |handle| raw::map(&s.kfd, s.gpu.id(), handle);
    for handle in wrong {
        check(
            "an address that makes no sense is refused",
            map(handle) == Err(Errno::INVAL),
        )?;
    }
    check("memory that is away can be mapped", map(first) == Ok(()))?;
    check("its address is taken", map(same) == Err(Errno::INVAL))?;
    check(
        "an address within it is, too",
        map(overlapping) == Err(Errno::INVAL),
    )?;
    check("the address behind it is free", map(beside) == Ok(()))
}

fn later(s: &Setup) -> Result<(), Failure> {
    let kernel = s.gpu.load(&code_object()?)?.kernel(KERNEL)?;
    let queue = s.gpu.queue(QueueOptions::default())?;
    let mut events = s.events()?;
    put(3 * BYTES)?;
    let handle = s.register(PLACE, VA, 3 * BYTES)?;
    raw::map(&s.kfd, s.gpu.id(), handle).map_err(errno("MAP_MEMORY_TO_GPU"))?;
    let va = |i: usize| Address(VA + (i * BYTES) as u64);
    let submit = || {
        let dispatch = queue
            .dispatch(&kernel)
            .blocks(N as u32 / BLOCK)
            .block(BLOCK);
        let dispatch = dispatch.arg(va(0)).arg(va(1)).arg(va(2)).arg(N as u32);
        dispatch.submit()
    };
    // What the library needs for a dispatch is there from now on: no VRAM will be left for its tables.
    submit()?.wait_timeout(PATIENCE)?;
    // Its tables go with the memory.
    take_away(3 * BYTES)?;
    while !next_restores(&mut events)?.contains(&'0') {}
    let filled = s.fill_vram()?;
    println!("VRAM was filled by {} buffer objects", filled.len());

    let memory = put(3 * BYTES)?;
    let at = |i: usize| memory.wrapping_add(i);
    // SAFETY: The pages go, which are fresh, and come again as zeros.
    unsafe { rustix::mm::madvise(memory.cast(), 3 * BYTES, Advice::LinuxDontNeed) }
        .map_err(errno("madvise"))?;
    for i in 0..2 * N {
        // SAFETY: In the mapping, and no work of the GPU runs.
        unsafe { at(i).write_volatile(i as f32) };
    }
    let work = submit()?;
    let mut tried = 0;
    while tried < TRIES {
        let restores = next_restores(&mut events)?;
        if restores.contains(&'0') {
            return Err(Failure::new("the queues ran without their memory"));
        }
        tried += restores.len();
    }
    println!("the driver tried {tried} times");
    check("the kernel waits", !work.is_done())?;
    for handle in filled {
        raw::free(&s.kfd, handle).map_err(errno("FREE_MEMORY_OF_GPU"))?;
    }
    work.wait_timeout(PATIENCE)?;
    // SAFETY: In the mapping, and the work has ended.
    let sum = |i: usize| unsafe { at(2 * N + i).read_volatile() };
    let right = (0..N).filter(|i| sum(*i) == (2 * i + N) as f32).count();
    println!("{right} of {N} sums are right");
    check("the kernel found its memory", right == N)
}

fn two(s: &Setup) -> Result<(), Failure> {
    let kernel = s.gpu.load(&code_object()?)?.kernel(KERNEL)?;
    let queue = s.gpu.queue(QueueOptions::default())?;
    let render = raw::render()?;
    let mut events = s.events()?;
    put(3 * BYTES)?;
    let how = (gem::USERPTR_REGISTER, gem::VM_PAGE_WRITEABLE);
    let object = |at: usize, va| {
        raw::gem_user(&render, at as u64, BYTES, va, how).map_err(errno("GEM_USERPTR"))
    };
    let (far, near) = (PLACE, PLACE + BYTES);
    object(far, VA)?;
    object(near, NEAR)?;
    // The tables for the one above stay as long as this does.
    object(near + BYTES, NEAR + BYTES as u64)?;
    let work = |n: u32| {
        let dispatch = queue.dispatch(&kernel).blocks(n / BLOCK).block(BLOCK);
        let [a, b, sum] = [VA, NEAR, NEAR + BYTES as u64].map(Address);
        dispatch.arg(a).arg(b).arg(sum).arg(n).submit()
    };
    work(N as u32)?.wait_timeout(PATIENCE)?;
    take_away(BYTES)?;
    while !next_restores(&mut events)?.contains(&'0') {}
    let filled = s.fill_vram()?;

    put(BYTES)?;
    for at in [far, near] {
        // SAFETY: Nobody uses the pages, which come again as zeros.
        unsafe { rustix::mm::madvise(at as *mut c_void, BYTES, Advice::LinuxDontNeed) }
            .map_err(errno("madvise"))?;
    }
    for i in 0..2 * N {
        // SAFETY: In the mapping, and no work of the GPU runs.
        unsafe { (far as *mut f32).add(i).write_volatile(i as f32) };
    }
    let sums = work(N as u32)?;
    // The second is there again within milliseconds.
    thread::sleep(Duration::from_millis(300));
    check(
        "the queues stay off while one object is away",
        is_empty(&mut events)? && !sums.is_done(),
    )?;
    for handle in filled {
        raw::free(&s.kfd, handle).map_err(errno("FREE_MEMORY_OF_GPU"))?;
    }
    sums.wait_timeout(PATIENCE)?;
    // SAFETY: In the mapping, and the work has ended.
    let sum = |i: usize| unsafe { (far as *const f32).add(2 * N + i).read_volatile() };
    let right = (0..N).filter(|i| sum(*i) == (2 * i + N) as f32).count();
    println!("{right} of {N} sums are right");
    check("the kernel found both", right == N)
}

fn run() -> Result<(), Failure> {
    let gpu = Gpu::open()?;
    let kfd = File::open("/dev/kfd").map_err(Failure::new)?;
    let s = Setup { kfd, gpu };
    match std::env::args().nth(2).as_deref() {
        Some("later") => later(&s),
        Some("two") => two(&s),
        _ => addresses(&s),
    }
}

fn main() -> ExitCode {
    report("restored", run)
}
