// SPDX-License-Identifier: MIT OR Apache-2.0

//! A program's own memory on the GPU (USERPTR), at other addresses than the CPU's, while its pages
//! change.
//!
//! The operands and sums of a vector addition lie in ordinary mappings. Between dispatches their
//! pages are thrown away or copied by a fork; each time the GPU must see the new ones. In the end
//! one mapping is removed; with `gone` a kernel then writes there, and must fault.
//!
//! With `many` more objects than a work queue runs items at once are made of one mapping, which is then removed:
//! munmap waits for each of them, and must not wait for those that are to come back.
//!
//! With `gem` the render node makes and maps the memory (GEM_USERPTR, GEM_VA), the second operand only to be read.
//!
//! `userptr CODE-OBJECT [gone | gem | gem-gone | many]`

use std::ffi::c_void;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::FromRawFd;
use std::process::{Command, ExitCode};
use std::ptr::null_mut;

use rkfd::{Address, Gpu, Kernel, Queue, QueueOptions};
use rkfd_programs::raw::{self, call, free, map, unmap};
use rkfd_programs::{code_object, render_node, report, Failure, BLOCK, KERNEL, PATIENCE};
use rkfd_uapi::{gem, ioctl, memory as abi, smi};
use rustix::io::Errno;
use rustix::mm::{Advice, MapFlags, MprotectFlags, ProtFlags};

const N: usize = 1 << 16;
const BYTES: usize = N * 4;
/// The memory's GPU address, far from its CPU address.
const GPU_VA: u64 = 0x1234_0000_0000;

/// Anonymous memory.
struct Memory(*mut c_void);

impl Memory {
    fn new() -> Result<Self, Errno> {
        let (prot, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE);
        // SAFETY: The kernel chooses the address, so no mapping is replaced.
        unsafe { rustix::mm::mmap_anonymous(null_mut(), BYTES, prot, flags) }.map(Self)
    }

    fn at(&self, index: usize) -> *mut f32 {
        self.0.cast::<f32>().wrapping_add(index)
    }

    fn fill(&self, value: impl Fn(usize) -> f32) {
        for i in 0..N {
            // SAFETY: `i` is inside the mapping, and no work of the GPU is running.
            unsafe { self.at(i).write_volatile(value(i)) };
        }
    }

    fn get(&self, index: usize) -> f32 {
        // SAFETY: As above.
        unsafe { self.at(index).read_volatile() }
    }
}

/// Registers the CPU memory at `address` for the GPU address `va`; returns the handle.
fn register(kfd: &File, gpu_id: u32, address: u64, va: u64) -> Result<u64, Errno> {
    let flags = abi::ALLOC_USERPTR | abi::ALLOC_WRITABLE | abi::ALLOC_COHERENT;
    raw::alloc(kfd, gpu_id, va, BYTES, address, flags)
}

fn expect<T: std::fmt::Debug>(
    what: &str,
    result: Result<T, Errno>,
    errno: Errno,
) -> Result<(), Failure> {
    match result {
        Err(e) if e == errno => Ok(()),
        other => Err(Failure::new(format_args!(
            "{what}: {other:?} instead of {errno:?}"
        ))),
    }
}

/// Opens the GPU's management events (SMI), for evictions and restorations of queues.
fn events(kfd: &File, gpu_id: u32) -> Result<File, Failure> {
    let mut args = smi::SmiEventsArgs {
        gpuid: gpu_id,
        anon_fd: 0,
    };
    call(kfd, &ioctl::SMI_EVENTS, &mut args).map_err(Failure::new)?;
    // SAFETY: The request has just made the descriptor for us.
    let mut file = unsafe { File::from_raw_fd(args.anon_fd as i32) };
    let empty = file.read(&mut [0; 64]).map_err(|e| e.raw_os_error());
    expect("no event yet", empty.map_err(errno_of), Errno::AGAIN)?;
    let mask = smi::event_mask(smi::SMI_EVENT_QUEUE_EVICTION)
        | smi::event_mask(smi::SMI_EVENT_QUEUE_RESTORE);
    file.write_all(&mask.to_ne_bytes()).map_err(Failure::new)?;
    Ok(file)
}

fn errno_of(raw: Option<i32>) -> Errno {
    Errno::from_raw_os_error(raw.unwrap_or_default())
}

/// The file must report more than 20 evictions, as many restorations, and nothing of another process or GPU.
fn check_events(mut file: File, gpu_id: u32) -> Result<(), Failure> {
    let mut text = [0; 8192];
    let len = file.read(&mut text).map_err(Failure::new)?;
    let text = String::from_utf8_lossy(&text[..len]);
    let who = format!(" -{} {gpu_id:x} ", std::process::id());
    let count = |kind: &str, end: &str| {
        let ours = |line: &&str| line.starts_with(kind) && line.ends_with(&(who.clone() + end));
        text.lines().filter(ours).count()
    };
    let (evicted, restored) = (count("9 ", "1"), count("a ", "0"));
    println!("queues were evicted {evicted} times and restored {restored} times");
    match evicted > 20 && evicted - restored < 2 && evicted + restored == text.lines().count() {
        true => Ok(()),
        false => Err(Failure::new(format_args!("events are wrong: {text}"))),
    }
}

struct Test {
    queue: Queue,
    kernel: Kernel,
    memory: [Memory; 3],
}

impl Test {
    fn va(index: usize) -> u64 {
        GPU_VA + (2 * index * BYTES) as u64
    }

    fn add(&self) -> rkfd::Result<()> {
        let dispatch = self.queue.dispatch(&self.kernel).blocks(N as u32 / BLOCK);
        let dispatch = (0..3).fold(dispatch.block(BLOCK), |d, i| d.arg(Address(Self::va(i))));
        let work = dispatch.arg(N as u32).submit()?;
        work.wait_timeout(PATIENCE)
    }

    /// Adds and checks all sums; `change` happens after the operands were written.
    fn round(&self, name: &str, seed: f32, change: impl FnOnce()) -> Result<(), Failure> {
        let [a, b, c] = &self.memory;
        a.fill(|i| i as f32 + seed);
        b.fill(|i| (i % 127) as f32 * 0.25);
        c.fill(|_| f32::NAN);
        change();
        self.add()?;
        let right = (0..N).filter(|&i| c.get(i) == a.get(i) + b.get(i)).count();
        println!("{name}: {right} of {N} sums are right");
        match right == N {
            true => Ok(()),
            false => Err(Failure::new(format_args!("{name}: sums are wrong"))),
        }
    }
}

fn run() -> Result<(), Failure> {
    let errno = |e: Errno| Failure::new(format_args!("{e}"));
    let gpu = Gpu::open()?;
    let module = gpu.load(&code_object()?)?;
    let test = Test {
        queue: gpu.queue(QueueOptions::default())?,
        kernel: module.kernel(KERNEL)?,
        memory: [
            Memory::new().map_err(errno)?,
            Memory::new().map_err(errno)?,
            Memory::new().map_err(errno)?,
        ],
    };
    let kfd = File::open("/dev/kfd").map_err(Failure::new)?;
    let id = gpu.id();

    let mode = std::env::args().nth(2).unwrap_or_default();
    let events = events(&kfd, id)?;
    let held = match mode.starts_with("gem") {
        true => Held::by_gem(&test.memory).map_err(errno)?,
        false => Held::by_kfd(kfd, id, &test.memory)?,
    };
    // Nothing of it has changed yet.
    let none = (&events).read(&mut [0; 64]).map_err(|e| e.raw_os_error());
    expect(
        "no queue was evicted for it",
        none.map_err(errno_of),
        Errno::AGAIN,
    )?;
    let [a, _, c] = &test.memory;
    test.round("registered", 1.0, || {})?;
    test.round("sums' pages thrown away", 2.0, || {
        // SAFETY: The memory reads as zeros from here on, which is fine for floats.
        let _ = unsafe { rustix::mm::madvise(c.0, BYTES, Advice::LinuxDontNeed) };
    })?;
    // SAFETY: As above.
    unsafe { rustix::mm::madvise(a.0, BYTES, Advice::LinuxDontNeed) }.map_err(errno)?;
    test.round("operand's pages thrown away", 3.0, || {})?;
    let child = Command::new("/bin/true").status();
    println!("fork and exec: {child:?}");
    test.round("after a fork", 4.0, || {})?;
    for turn in 0..20u8 {
        let advice = || {
            // SAFETY: As above.
            let _ = unsafe { rustix::mm::madvise(c.0, BYTES / 2, Advice::LinuxDontNeed) };
        };
        test.round("again", f32::from(turn), advice)?;
    }

    check_events(events, id)?;
    held.is_mapped()?;
    // SAFETY: No code of this program uses the memory any more.
    unsafe { rustix::mm::munmap(c.0, BYTES) }.map_err(errno)?;
    if mode.ends_with("gone") {
        let fault = test.add();
        println!("after munmap: {fault:?}");
        if !matches!(fault, Err(rkfd::Error::MemoryFault { address, .. })
            if (Test::va(2)..Test::va(2) + BYTES as u64).contains(&address))
        {
            return Err(Failure::new("the GPU did not fault at memory that is gone"));
        }
    }
    held.free().map_err(errno)
}

/// Who has the memory for the GPU.
enum Held {
    Kfd {
        kfd: File,
        gpu_id: u32,
        handles: Vec<u64>,
    },
    Gem {
        render: File,
        handles: Vec<u32>,
    },
}

impl Held {
    fn by_kfd(kfd: File, gpu_id: u32, memory: &[Memory; 3]) -> Result<Self, Failure> {
        let errno = |e: Errno| Failure::new(format_args!("{e}"));
        let spare = Memory::new().map_err(errno)?;
        let address = spare.0 as u64;
        let reg = |address| register(&kfd, gpu_id, address, GPU_VA + (1 << 30));
        expect("address 0", reg(0), Errno::INVAL)?;
        expect("no mapping", reg(0x10000), Errno::FAULT)?;
        expect("kernel address", reg(1 << 63), Errno::FAULT)?;
        // SAFETY: Nothing uses the memory.
        unsafe { rustix::mm::mprotect(spare.0, BYTES, MprotectFlags::READ) }.map_err(errno)?;
        expect("read-only", reg(address), Errno::PERM)?;
        // SAFETY: As above.
        unsafe { rustix::mm::munmap(spare.0, BYTES) }.map_err(errno)?;

        let mut handles = Vec::new();
        for (i, memory) in memory.iter().enumerate() {
            let handle = register(&kfd, gpu_id, memory.0 as u64, Test::va(i)).map_err(errno)?;
            map(&kfd, gpu_id, handle).map_err(errno)?;
            handles.push(handle);
        }
        Ok(Self::Kfd {
            kfd,
            gpu_id,
            handles,
        })
    }

    fn by_gem(memory: &[Memory; 3]) -> Result<Self, Errno> {
        let render = raw::render().map_err(|_| Errno::NODEV)?;
        // The last is looked up when it is mapped.
        let flags = [
            (gem::USERPTR_REGISTER | gem::USERPTR_VALIDATE, 0),
            (gem::USERPTR_READONLY | gem::USERPTR_VALIDATE, 0),
            (gem::USERPTR_REGISTER, gem::VM_PAGE_WRITEABLE),
        ];
        // What is only read has pages of its own before: each that the CPU stores to first later is a change.
        memory[1].fill(|_| 0.0);
        let mut handles = Vec::new();
        for (i, (memory, (flags, rights))) in memory.iter().zip(flags).enumerate() {
            let handle = raw::gem_user(
                &render,
                memory.0 as u64,
                BYTES,
                Test::va(i),
                (flags, rights),
            )?;
            handles.push(handle);
        }
        Ok(Self::Gem { render, handles })
    }

    /// What is mapped can't be freed; a GEM handle can be closed at any time.
    fn is_mapped(&self) -> Result<(), Failure> {
        match self {
            Self::Kfd { kfd, handles, .. } => {
                expect("free while mapped", free(kfd, handles[1]), Errno::BUSY)
            }
            Self::Gem { .. } => Ok(()),
        }
    }

    fn free(self) -> Result<(), Errno> {
        match self {
            Self::Kfd {
                kfd,
                gpu_id,
                handles,
            } => handles.into_iter().try_for_each(|handle| {
                unmap(&kfd, gpu_id, handle)?;
                free(&kfd, handle)
            }),
            Self::Gem { render, handles } => handles.into_iter().try_for_each(|handle| {
                call(
                    &render,
                    &gem::GEM_CLOSE,
                    &mut gem::GemClose { handle, pad: 0 },
                )
            }),
        }
    }
}

/// Objects of `many`: more than `WQ_DFL_ACTIVE`, 1024.
const MANY: usize = 1200;
const PAGE: usize = 4096;

/// Makes an object of each page of a mapping, and removes the mapping.
fn many() -> Result<(), Failure> {
    let errno = |e: Errno| Failure::new(format_args!("{e}"));
    let render = render_node()?;
    let (prot, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE);
    // SAFETY: The kernel chooses the address, so no mapping is replaced.
    let start = unsafe { rustix::mm::mmap_anonymous(null_mut(), MANY * PAGE, prot, flags) };
    let start = start.map_err(errno)?;
    let mut handles = Vec::new();
    for n in 0..MANY {
        let mut args = gem::GemUserptr {
            addr: (start as usize + n * PAGE) as u64,
            size: PAGE as u64,
            flags: gem::USERPTR_REGISTER | gem::USERPTR_VALIDATE,
            handle: 0,
        };
        call(&render, &gem::GEM_USERPTR, &mut args).map_err(errno)?;
        handles.push(args.handle);
    }
    // SAFETY: Nothing uses the memory.
    unsafe { rustix::mm::munmap(start, MANY * PAGE) }.map_err(errno)?;
    println!("a mapping with {} objects is gone", handles.len());
    handles.into_iter().try_for_each(|handle| {
        let mut args = gem::GemClose { handle, pad: 0 };
        call(&render, &gem::GEM_CLOSE, &mut args).map_err(errno)
    })
}

fn main() -> ExitCode {
    report("userptr", || match std::env::args().nth(2).as_deref() {
        Some("many") => many(),
        _ => run(),
    })
}
