// SPDX-License-Identifier: MIT OR Apache-2.0

//! The scheduler doesn't answer, and the GPU is reset under two programs.
//!
//! `reset CODE-OBJECT`: runs on a GPU whose scheduler hangs once a queue is taken off. Both programs get
//! a hardware exception, management events report the reset, memory keeps its content, and queues are
//! gone: new ones of these programs can be made and never run, as upstream's ("Fix me. KFD won't be able
//! to resume existing process for now", `kgd2kfd_post_reset`). Programs that start afterwards run.
//!
//! `reset CODE-OBJECT bystander`: the other program. It prints a line when its queue has run.
//!
//! While the GPU is reset, pages that the first program has lent it are thrown away again and again. Each time its queues
//! are evicted until the new pages are there, and whatever of that comes before the reset and what behind it, its new
//! queues don't run.
//!
//! The program has declared a runtime (RUNTIME_ENABLE), and takes that back once its GPU is lost: firmware that was
//! started anew is told nothing of it, as the device's trace shows.
//!
//! A context of the render node's, in whose name nothing was submitted, reports the reset too (`amdgpu_ctx_query`).
//!
//! `reset CODE-OBJECT whole`: the whole device is reset, and VRAM loses its content (`amdgpu_device_check_vram_lost`).
//! The emulated device changes all of it.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::FromRawFd;
use std::process::{Child, Command, ExitCode};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rkfd::{Gpu, Kernel, Queue, QueueOptions};
use rkfd_programs::context::Context;
use rkfd_programs::raw::{self, call, errno};
use rkfd_programs::{bystander, check, code_object, report, Failure, VectorAdd, KERNEL, PATIENCE};
use rkfd_uapi::{ctx, debug, event, ioctl, memory as abi, smi};
use rustix::io::Errno;
use rustix::mm::{Advice, MapFlags, ProtFlags};

const ELEMENTS: usize = 4096;
const RUNNING: &str = "bystander: its queue has run";
const CONTENT: [u32; 4] = [0xfeed_0001, 0xfeed_0002, 0xfeed_0003, 0xfeed_0004];

/// Lent memory, and its GPU address, which nothing uses.
const LENT: usize = 1 << 16;
const LENT_VA: u64 = 0x1234_0000_0000;

struct Setup {
    kfd: File,
    gpu: Gpu,
    kernel: Kernel,
    /// The event of hardware exceptions.
    exceptions: u32,
}

impl Setup {
    fn new() -> Result<Self, Failure> {
        let gpu = Gpu::open()?;
        let kernel = gpu.load(&code_object()?)?.kernel(KERNEL)?;
        let kfd = File::open("/dev/kfd").map_err(Failure::new)?;
        let exceptions = raw::event(&kfd, event::EVENT_HW_EXCEPTION);
        Ok(Self {
            exceptions: exceptions.map_err(errno("CREATE_EVENT"))?,
            kfd,
            gpu,
            kernel,
        })
    }

    /// A queue that has run.
    fn used_queue(&self, seed: usize) -> Result<Queue, Failure> {
        let queue = self.gpu.queue(QueueOptions::default())?;
        let add = VectorAdd::new(&self.gpu, ELEMENTS, seed)?;
        let work = add.dispatch(&queue, &self.kernel).submit()?;
        work.wait_timeout(PATIENCE)?;
        add.verify()?;
        Ok(queue)
    }

    /// Lends memory to the GPU; its address.
    fn lend(&self) -> Result<usize, Failure> {
        let rights = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: The kernel chooses the address, so no mapping is replaced; this one is never removed.
        let memory =
            unsafe { rustix::mm::mmap_anonymous(null_mut(), LENT, rights, MapFlags::PRIVATE) };
        let at = memory.map_err(errno("mmap"))? as usize;
        let flags = abi::ALLOC_USERPTR | abi::ALLOC_WRITABLE | abi::ALLOC_COHERENT;
        let handle = raw::alloc(&self.kfd, self.gpu.id(), LENT_VA, LENT, at as u64, flags);
        let handle = handle.map_err(errno("ALLOC_MEMORY_OF_GPU"))?;
        raw::map(&self.kfd, self.gpu.id(), handle).map_err(errno("MAP_MEMORY_TO_GPU"))?;
        Ok(at)
    }

    /// Declares that the program has a runtime, for which there must be no queues yet, or that it has none any more.
    fn set_runtime(&self, mode_mask: u32) -> Result<(), Failure> {
        let mut args = debug::RuntimeEnableArgs {
            mode_mask,
            ..Default::default()
        };
        call(&self.kfd, &ioctl::RUNTIME_ENABLE, &mut args).map_err(errno("RUNTIME_ENABLE"))
    }

    fn hears_of_the_reset(&self) -> Result<(), Failure> {
        let data = raw::wait(&self.kfd, self.exceptions, 60_000).map_err(errno("WAIT_EVENTS"))?;
        let data = data.map(|data| data.hw_exception());
        println!("the exception: {data:x?}");
        check(
            "the whole GPU is reset, and memory is lost",
            data.is_some_and(|d| {
                (d.reset_type, d.reset_cause) == (event::RESET_WHOLE_GPU, event::CAUSE_GPU_HANG)
                    && (d.memory_lost, d.gpu_id) == (1, self.gpu.id())
            }),
        )
    }

    /// The GPU's management events of these kinds.
    fn events(&self, kinds: &[u32]) -> Result<File, Failure> {
        let mut args = smi::SmiEventsArgs {
            gpuid: self.gpu.id(),
            anon_fd: 0,
        };
        call(&self.kfd, &ioctl::SMI_EVENTS, &mut args).map_err(errno("SMI_EVENTS"))?;
        // SAFETY: The request has just made the descriptor for us.
        let mut file = unsafe { File::from_raw_fd(args.anon_fd as i32) };
        let masks = kinds.iter().map(|kind| smi::event_mask(*kind));
        let mask = masks.fold(0, |all, mask| all | mask);
        file.write_all(&mask.to_ne_bytes()).map_err(Failure::new)?;
        Ok(file)
    }
}

/// Checks what a context reports once the GPU works again.
fn reports_the_reset(context: &Context) -> Result<(), Failure> {
    let lost = match is_argument("whole") {
        true => ctx::QUERY2_VRAMLOST,
        false => 0,
    };
    check(
        "a context reports the reset, and whether VRAM is lost",
        context.flags()? == ctx::QUERY2_RESET | lost,
    )?;
    check(
        "and once that there was one since the last question",
        (context.since()?, context.since()?) == (ctx::UNKNOWN_RESET, ctx::NO_RESET),
    )?;
    check(
        "a context that is made afterwards reports none",
        Context::new()?.flags()? == 0,
    )
}

/// Waits until the events report a line.
fn see(events: &mut File, line: &str) -> Result<(), Failure> {
    let (start, mut text) = (Instant::now(), String::new());
    while !text.lines().any(|l| l == line) {
        let mut bytes = [0; 256];
        match events.read(&mut bytes) {
            Ok(len) => text += &String::from_utf8_lossy(&bytes[..len]),
            Err(_) if start.elapsed() < PATIENCE => {
                std::thread::sleep(Duration::from_millis(1));
            }
            Err(error) => {
                println!("management events: {text:?}, without {line:?}");
                return Err(Failure::new(error));
            }
        }
    }
    Ok(())
}

/// Waits until the events report that the reset is over, and checks their text.
fn see_the_end(mut events: File) -> Result<(), Failure> {
    let (start, mut text) = (Instant::now(), String::new());
    while !text.lines().any(|line| line.starts_with("4 ")) {
        let mut bytes = [0; 256];
        match events.read(&mut bytes) {
            Ok(len) => text += &String::from_utf8_lossy(&bytes[..len]),
            Err(_) if start.elapsed() < PATIENCE => {
                std::thread::sleep(Duration::from_millis(1));
            }
            Err(error) => return Err(Failure::new(error)),
        }
    }
    println!("management events: {text:?}");
    check(
        "they report the first reset, its cause, and its end",
        ["3 1 HWS hang\n4 1 \n", "3 1 MES hang\n4 1 \n"].contains(&text.as_str()),
    )
}

fn stand_by() -> Result<(), Failure> {
    let s = Setup::new()?;
    let memory = s.gpu.upload(&CONTENT)?;
    let _queue = s.used_queue(2)?;
    println!("{RUNNING}");
    s.hears_of_the_reset()?;
    // A reset of the whole device has only begun.
    check(
        "bystander: its memory is as it was",
        is_argument("whole") || memory.get(3) == Some(CONTENT[3]),
    )
}

fn is_argument(word: &str) -> bool {
    std::env::args().skip(2).any(|argument| argument == word)
}

/// Starts the bystander, and waits until its queue has run.
fn start_bystander() -> Result<Child, Failure> {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    arguments.push("bystander".to_owned());
    bystander::start(&arguments, RUNNING)
}

/// Throws lent pages away as long as `goes_on`; how often.
fn change(lent: usize, goes_on: &AtomicBool) -> usize {
    let mut times = 0;
    while goes_on.load(Ordering::Relaxed) {
        // SAFETY: The mapping is whole and this program's own, and nothing in it is used.
        if unsafe { rustix::mm::madvise(lent as *mut _, LENT, Advice::LinuxDontNeed) }.is_err() {
            break;
        }
        times += 1;
    }
    times
}

/// Another program adds vectors.
fn new_program() -> Result<(), Failure> {
    let status = Command::new("/bin/vectoradd")
        .args(std::env::args().nth(1))
        .arg(ELEMENTS.to_string())
        .status()
        .map_err(Failure::new)?;
    check("a program that starts afterwards runs", status.success())
}

fn victim() -> Result<(), Failure> {
    let s = Setup::new()?;
    let events = s.events(&[smi::SMI_EVENT_GPU_PRE_RESET, smi::SMI_EVENT_GPU_POST_RESET])?;
    let mut processes = s.events(&[
        smi::SMI_EVENT_PROCESS_START,
        smi::SMI_EVENT_PROCESS_END,
        smi::SMI_EVENT_ALL_PROCESS,
    ])?;
    let context = Context::new()?;
    check(
        "a context reports no reset yet",
        (context.flags()?, context.since()?) == (0, ctx::NO_RESET),
    )?;
    s.set_runtime(debug::RUNTIME_ENABLE_MODE_ENABLE_MASK)?;
    let memory = s.gpu.upload(&CONTENT)?;
    let lent = s.lend()?;
    let (first, second) = (s.used_queue(0)?, s.used_queue(1)?);
    let mut bystander = start_bystander()?;
    see(&mut processes, &format!("c {:x} reset", bystander.id()))?;

    let refused = raw::destroy_queue(&s.kfd, first.id());
    println!("DESTROY_QUEUE: {refused:?}");
    check(
        "the scheduler doesn't take a queue off",
        [Err(Errno::TIME), Err(Errno::TIMEDOUT)].contains(&refused),
    )?;
    let goes_on = AtomicBool::new(true);
    let (over, changed) = thread::scope(|threads| {
        let changing = threads.spawn(|| change(lent, &goes_on));
        let over = s.hears_of_the_reset().and_then(|()| see_the_end(events));
        goes_on.store(false, Ordering::Relaxed);
        (over, changing.join().unwrap_or(0))
    });
    over?;
    println!("lent pages went {changed} times");
    check("lent pages went meanwhile", changed > 0)?;
    reports_the_reset(&context)?;
    let status = bystander.wait().map_err(Failure::new)?;
    check("the other program hears of it", status.success())?;
    see(&mut processes, &format!("d {:x} reset", bystander.id()))?;

    s.set_runtime(0)?;
    check(
        "memory is as it was, or lost",
        memory.get(0).map(|word| word == CONTENT[0]) == Some(!is_argument("whole")),
    )?;
    let more = s.gpu.upload(&CONTENT)?;
    check("there is more memory", more.get(1) == Some(CONTENT[1]))?;
    check(
        "a queue from before can be destroyed",
        raw::destroy_queue(&s.kfd, second.id()) == Ok(()),
    )?;
    let late = s.gpu.queue(QueueOptions::default())?;
    let add = VectorAdd::new(&s.gpu, ELEMENTS, 3)?;
    let work = add.dispatch(&late, &s.kernel).submit()?;
    new_program()?;
    new_program()?;
    check("this program's new queue doesn't run", !work.is_done())?;
    check(
        "and can be destroyed",
        raw::destroy_queue(&s.kfd, late.id()) == Ok(()),
    )
}

fn main() -> ExitCode {
    match is_argument("bystander") {
        true => report("bystander", stand_by),
        false => report("reset", victim),
    }
}
