// SPDX-License-Identifier: MIT OR Apache-2.0

//! What one program asks for makes no other wait, fail or end, and the kernel never warns.
//!
//! `neighbours sleepers`: an ordinary user's 140 threads each wait for one event that they name 4,096
//! times. `neighbours events`: events until there are no more. `neighbours files`: an ordinary user
//! opens files of management events until there are no more. `neighbours limit`: others ask for
//! 2^62 bytes of system memory all the time, and 4 KiB are had each time. `neighbours objects`: what a
//! buffer object takes to be freed while there are few and while there are many.
//! `neighbours charged KIND GROUP`: what is made is counted to the memory cgroup in that folder.
//! `neighbours hoard`: buffer objects, until the memory cgroup's limit ends the program.

use std::fs::{self, File};
use std::os::fd::{FromRawFd, OwnedFd};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rkfd::Gpu;
use rkfd_bare::sys::{drop_privileges, limit_files};
use rkfd_programs::raw::{self, call, errno};
use rkfd_programs::{check, report, Failure};
use rkfd_uapi::{ctx, event, ioctl, memory, smi};
use rustix::io::Errno;

/// Threads of `sleepers`: together they name their event more often than one kernel allocation of
/// pointers, 4 MiB, has room for.
const THREADS: usize = 140;
/// Events of one wait at most.
const MENTIONS: u32 = 4096;
/// Events of a kind that a process can have (docs/status.md).
const MAX_EVENTS: usize = 1 << 16;
/// Files of management events of a program (docs/status.md).
const MAX_FILES: usize = 1024;
/// Where buffer objects would be mapped. None is.
const VA: u64 = 0x1234_0000_0000;
const PAGE: usize = 4096;

struct Setup {
    kfd: File,
    gpu: Gpu,
}

impl Setup {
    fn new() -> Result<Self, Failure> {
        let gpu = Gpu::open()?;
        let kfd = File::open("/dev/kfd").map_err(Failure::new)?;
        Ok(Self { kfd, gpu })
    }

    /// A page of the system's memory, as a buffer object; returns its handle.
    fn page(&self) -> Result<u64, Errno> {
        let flags = memory::ALLOC_GTT | memory::ALLOC_WRITABLE;
        raw::alloc(&self.kfd, self.gpu.id(), VA, PAGE, 0, flags)
    }

    /// The page of HDP flush registers, as another buffer object: it takes no memory but the kernel's.
    fn flush_page(&self) -> Result<u64, Errno> {
        let flags = memory::ALLOC_MMIO_REMAP | memory::ALLOC_WRITABLE;
        raw::alloc(&self.kfd, self.gpu.id(), VA, PAGE, 0, flags)
    }

    fn smi_file(&self) -> Result<OwnedFd, Errno> {
        let mut args = smi::SmiEventsArgs {
            gpuid: self.gpu.id(),
            anon_fd: 0,
        };
        call(&self.kfd, &ioctl::SMI_EVENTS, &mut args)?;
        // SAFETY: The request has just made the descriptor for us.
        Ok(unsafe { OwnedFd::from_raw_fd(args.anon_fd as i32) })
    }
}

/// The nodes are open: from here on the program is one of `nobody`'s.
fn become_nobody() -> Result<(), Failure> {
    match drop_privileges() {
        0 => Ok(()),
        error => Err(Failure::new(format_args!("setresuid: errno {error}"))),
    }
}

/// Whether all of so many threads sleep, by the kernel's word.
fn all_sleep(threads: usize) -> Result<bool, Failure> {
    let tasks = fs::read_dir("/proc/self/task").map_err(Failure::new)?;
    let asleep = |task: &fs::DirEntry| {
        let stat = fs::read_to_string(task.path().join("stat")).unwrap_or_default();
        stat.rsplit(") ").next().is_some_and(|s| s.starts_with('S'))
    };
    Ok(tasks.flatten().filter(asleep).count() == threads)
}

fn sleepers() -> Result<(), Failure> {
    let s = Setup::new()?;
    let id = raw::event(&s.kfd, event::EVENT_MEMORY).map_err(errno("CREATE_EVENT"))?;
    become_nobody()?;
    let wait = || {
        let mut events = vec![event::EventData::wait_for(id, 0); MENTIONS as usize];
        let mut args = event::WaitEventsArgs {
            events_ptr: events.as_mut_ptr() as u64,
            num_events: MENTIONS,
            wait_for_all: 0,
            timeout: event::TIMEOUT_INFINITE,
            wait_result: 0,
        };
        call(&s.kfd, &ioctl::WAIT_EVENTS, &mut args)
    };
    let woken = thread::scope(|scope| {
        let waits: Vec<_> = (0..THREADS).map(|_| scope.spawn(wait)).collect();
        while !all_sleep(THREADS)? && !waits.iter().any(|wait| wait.is_finished()) {
            thread::sleep(Duration::from_millis(20));
        }
        // Who waits for an event that goes gets EIO.
        let mut args = event::DestroyEventArgs {
            event_id: id,
            ..Default::default()
        };
        call(&s.kfd, &ioctl::DESTROY_EVENT, &mut args).map_err(errno("DESTROY_EVENT"))?;
        let ends = waits.into_iter().map(|wait| wait.join());
        let woken = ends.filter(|end| matches!(end, Ok(Err(Errno::IO))));
        Ok::<_, Failure>(woken.count())
    })?;
    println!("{woken} of {THREADS} threads slept until the event went");
    check("each thread's wait began and ended", woken == THREADS)
}

/// Makes things until an error, but not for ever; returns how many, and the error.
fn until_error<T>(most: usize, make: impl Fn() -> Result<T, Errno>) -> (Vec<T>, Option<Errno>) {
    let mut made = Vec::new();
    while made.len() < most {
        match make() {
            Ok(one) => made.push(one),
            Err(error) => return (made, Some(error)),
        }
    }
    (made, None)
}

fn events() -> Result<(), Failure> {
    let s = Setup::new()?;
    let before = raw::event(&s.kfd, event::EVENT_MEMORY).map_err(errno("CREATE_EVENT"))?;
    let most = MAX_EVENTS + 1000;
    let (made, error) = until_error(most, || raw::event(&s.kfd, event::EVENT_MEMORY));
    println!("{} more events, then {error:?}", made.len());
    check("the limit is kept", error == Some(Errno::NOSPC))?;
    check(
        "it is no lower",
        made.len() < MAX_EVENTS && made.len() > MAX_EVENTS - 16,
    )?;
    let mut args = event::DestroyEventArgs {
        event_id: before,
        ..Default::default()
    };
    call(&s.kfd, &ioctl::DESTROY_EVENT, &mut args).map_err(errno("DESTROY_EVENT"))?;
    let again = raw::event(&s.kfd, event::EVENT_MEMORY).map_err(errno("CREATE_EVENT"))?;
    check("an event that went makes room", again == before)
}

fn files() -> Result<(), Failure> {
    let s = Setup::new()?;
    limit_files(2 * MAX_FILES as u64);
    become_nobody()?;
    let (made, error) = until_error(2 * MAX_FILES, || s.smi_file());
    println!("{} files, then {error:?}", made.len());
    let full = made.len() == MAX_FILES && error == Some(Errno::MFILE);
    check("the limit is kept", full)?;
    drop(made);
    check("files that are closed make room", s.smi_file().is_ok())
}

fn limit() -> Result<(), Failure> {
    let s = Setup::new()?;
    let over = AtomicBool::new(false);
    let greedy = || {
        let (mut refused, flags) = (0u32, memory::ALLOC_GTT | memory::ALLOC_WRITABLE);
        while !over.load(Ordering::Relaxed) {
            let huge = raw::alloc(&s.kfd, s.gpu.id(), VA, 1 << 62, 0, flags);
            refused += u32::from(huge == Err(Errno::NOMEM));
        }
        refused
    };
    let (failed, refused) = thread::scope(|scope| {
        let others = [scope.spawn(greedy), scope.spawn(greedy)];
        let small = || s.page().and_then(|handle| raw::free(&s.kfd, handle));
        let failed = (0..5000).filter(|_| small().is_err()).count();
        over.store(true, Ordering::Relaxed);
        (failed, others.map(|other| other.join().unwrap_or_default()))
    });
    println!("huge requests refused: {refused:?}; small ones that failed: {failed} of 5000");
    check("others asked meanwhile", refused.iter().all(|n| *n > 0))?;
    check("every small request is served", failed == 0)
}

/// The least time that freeing one of some pages takes. The least is that of the driver's own work,
/// however busy the machine is.
fn least(s: &Setup, pages: Vec<u64>) -> Result<Duration, Failure> {
    let mut least = Duration::MAX;
    for handle in pages {
        let start = Instant::now();
        raw::free(&s.kfd, handle).map_err(errno("FREE_MEMORY_OF_GPU"))?;
        least = least.min(start.elapsed());
    }
    Ok(least)
}

fn objects() -> Result<(), Failure> {
    const MANY: usize = 20_000;
    let s = Setup::new()?;
    let pages = || -> Result<Vec<u64>, Failure> {
        let made: Result<_, Errno> = (0..100).map(|_| s.page()).collect();
        made.map_err(errno("ALLOC_MEMORY_OF_GPU"))
    };
    let few = least(&s, pages()?)?;
    let old = pages()?;
    for _ in 0..MANY {
        s.flush_page().map_err(errno("ALLOC_MEMORY_OF_GPU"))?;
    }
    let many = least(&s, old)?;
    println!("freeing an object took {few:?}, and {many:?} with {MANY} younger ones");
    check("what it takes doesn't grow with them", many < few * 4)
}

/// A new context of a file of the render node.
fn context(render: &File) -> Result<u32, Errno> {
    let mut args = ctx::Ctx {
        op: ctx::OP_ALLOC_CTX,
        ..Default::default()
    };
    call(render, &ctx::CTX, &mut args)?;
    Ok(args.number())
}

fn charged() -> Result<(), Failure> {
    const MADE: usize = 20_000;
    let mut args = std::env::args().skip(2);
    let (kind, group) = (args.next(), args.next().unwrap_or_default());
    let s = Setup::new()?;
    let pid = std::process::id().to_string();
    fs::write(format!("{group}/cgroup.procs"), pid).map_err(Failure::new)?;
    let kernel = || {
        let stat = fs::read_to_string(format!("{group}/memory.stat")).map_err(Failure::new)?;
        let line = stat.lines().find_map(|line| line.strip_prefix("kernel "));
        let bytes: Option<usize> = line.and_then(|bytes| bytes.parse().ok());
        bytes.ok_or_else(|| Failure::new("memory.stat has no kernel memory"))
    };
    let render = rkfd_programs::render_node()?;
    let before = kernel()?;
    for _ in 0..MADE {
        let made = match kind.as_deref() {
            Some("events") => raw::event(&s.kfd, event::EVENT_MEMORY).map(u64::from),
            Some("contexts") => context(&render).map(u64::from),
            _ => s.flush_page(),
        };
        made.map_err(errno("making it"))?;
    }
    let each = (kernel()? - before) / MADE;
    println!("{MADE} {kind:?}: {each} bytes of kernel memory each are counted to the group");
    // The least of them is a context: the node of a tree, 24 bytes (`struct rb_node`), and what it notes. A group is
    // charged in batches, which may lag behind.
    check("they are counted to their program", each >= 40)
}

fn hoard() -> Result<(), Failure> {
    let s = Setup::new()?;
    // The group's limit is far below what these take.
    for _ in 0..200_000 {
        s.flush_page().map_err(errno("ALLOC_MEMORY_OF_GPU"))?;
    }
    Err(Failure::new(
        "200,000 objects were made, and nothing ended the program",
    ))
}

fn main() -> ExitCode {
    match std::env::args().nth(1).as_deref() {
        Some("sleepers") => report("sleepers", sleepers),
        Some("events") => report("events", events),
        Some("files") => report("files", files),
        Some("limit") => report("limit", limit),
        Some("objects") => report("objects", objects),
        Some("charged") => report("charged", charged),
        _ => report("hoard", hoard),
    }
}
