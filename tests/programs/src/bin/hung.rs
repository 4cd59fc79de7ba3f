// SPDX-License-Identifier: MIT OR Apache-2.0

//! A queue hangs: it is reset, its program learns it, and all other queues go on.
//!
//! `hung CODE-OBJECT SPIN`: runs on a GPU whose first user queue can't be taken off once it has waves.
//! That queue is destroyed while its own waves, those of another queue of the program and those of
//! another program's queue run. `SPIN` has a kernel `spin(flag, seen)`.
//!
//! `hung CODE-OBJECT SPIN bystander`: the other program. It prints a line when its waves run, and goes
//! on when its standard input is closed.
//!
//! `hung CODE-OBJECT SPIN kept`: runs where MES refuses to give the first queue back. The program makes another one, of
//! the same process as MES knows it, which runs. With `changed` it is a change that the queue is taken off for: no further
//! change is tried.
//!
//! `hung CODE-OBJECT SPIN clock`: the same on a GPU whose queue goes on in spite of its reset. The other program reads the
//! GPU's clock meanwhile. By order, not by time: the driver's messages in the kernel's log say when it begins to
//! wait for the queue, and when it gives that up.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use rkfd::{Gpu, Kernel, Queue, QueueOptions};
use rkfd_programs::context::Context;
use rkfd_programs::raw::{self, errno};
use rkfd_programs::spin::Spin;
use rkfd_programs::{check, code_object, report, Failure, VectorAdd, BLOCK, KERNEL, PATIENCE};
use rkfd_uapi::{ctx, event};
use rustix::io::Errno;

const ELEMENTS: usize = 4096;
const RUNNING: &str = "bystander: waves run";
/// What the driver says when it begins to wait for a queue that it resets, and when it gives that up.
const BEGINS: &str = "hangs on pipe";
const ENDS: &str = "it doesn't end; resetting pipe";
/// What the driver shows of all queues.
const QUEUES: &str = "/sys/kernel/debug/rkfd/queues";
/// Readings of the clock in between. One of them may have come before the driver took its lock.
const READINGS: usize = 3;

struct Setup {
    kfd: File,
    gpu: Gpu,
    add: Kernel,
    spin: Kernel,
    /// The event of hardware exceptions.
    exceptions: u32,
}

impl Setup {
    fn new() -> Result<Self, Failure> {
        let path = std::env::args()
            .nth(2)
            .ok_or_else(|| Failure::new("the code object with the kernel `spin` is missing"))?;
        let code = std::fs::read(&path).map_err(Failure::new)?;
        let gpu = Gpu::open()?;
        let kfd = File::open("/dev/kfd").map_err(Failure::new)?;
        let exceptions = raw::event(&kfd, event::EVENT_HW_EXCEPTION);
        Ok(Self {
            add: gpu.load(&code_object()?)?.kernel(KERNEL)?,
            spin: gpu.load(&code)?.kernel("spin")?,
            exceptions: exceptions.map_err(errno("CREATE_EVENT"))?,
            kfd,
            gpu,
        })
    }

    fn queue(&self) -> Result<Queue, Failure> {
        Ok(self.gpu.queue(QueueOptions::default())?)
    }

    fn spin(&self, queue: &Queue) -> Result<Spin, Failure> {
        Spin::start(queue, &self.spin, BLOCK)
    }

    /// Ends the waves, and adds vectors on their queue. It polls: in a process that has lost a queue, every
    /// wait by an event ends with that error.
    fn finish(&self, queue: &Queue, spin: &Spin) -> Result<(), Failure> {
        let done = |what: &str, work: &rkfd::Submission| {
            let start = Instant::now();
            while !work.is_done() {
                if start.elapsed() > PATIENCE {
                    return Err(Failure::new(format_args!("{what} does not end")));
                }
                std::thread::sleep(Duration::from_millis(1));
            }
            Ok(())
        };
        spin.release();
        done("the kernel", &spin.work)?;
        let addition = VectorAdd::new(&self.gpu, ELEMENTS, 7)?;
        let work = addition.dispatch(queue, &self.add).submit()?;
        done("the addition", &work)?;
        addition.verify()
    }

    fn exception(&self, millis: u32) -> Result<Option<event::HwExceptionData>, Failure> {
        let data = raw::wait(&self.kfd, self.exceptions, millis).map_err(errno("WAIT_EVENTS"))?;
        Ok(data.map(|data| data.hw_exception()))
    }
}

fn is_argument(word: &str) -> bool {
    std::env::args().skip(3).any(|argument| argument == word)
}

/// What is added to the kernel's log.
struct Log {
    file: File,
    text: String,
}

impl Log {
    fn new() -> Result<Self, Failure> {
        let mut options = File::options();
        let options = options.read(true).custom_flags(libc::O_NONBLOCK);
        let mut file = options.open("/dev/kmsg").map_err(Failure::new)?;
        file.seek(SeekFrom::End(0)).map_err(Failure::new)?;
        let text = String::new();
        Ok(Self { file, text })
    }

    /// Whether it has such a message by now.
    fn says(&mut self, message: &str) -> bool {
        // Each read gives one record; behind the last one it fails.
        let mut record = [0; 8192];
        while let Ok(bytes @ 1..) = self.file.read(&mut record) {
            self.text
                .push_str(&String::from_utf8_lossy(&record[..bytes]));
        }
        self.text.contains(message)
    }
}

/// Reads the clock while the driver waits for a queue; how often that was before it gave the waiting up.
fn read_the_clock(gpu: &Gpu, mut log: Log) -> Result<usize, Failure> {
    let start = Instant::now();
    while !log.says(BEGINS) {
        if start.elapsed() > PATIENCE {
            return Err(Failure::new("no queue is reset"));
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    for n in 0..READINGS {
        gpu.clocks()?;
        if log.says(ENDS) {
            return Ok(n);
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    Ok(READINGS)
}

fn bystander() -> Result<(), Failure> {
    let s = Setup::new()?;
    let queue = s.queue()?;
    let spin = s.spin(&queue)?;
    let log = Log::new()?;
    println!("{RUNNING}");
    if is_argument("clock") {
        let readings = read_the_clock(&s.gpu, log)?;
        println!("bystander: it read the clock {readings} times meanwhile");
        check(
            "bystander: the clock is read meanwhile",
            readings == READINGS,
        )?;
    }
    let mut end = Vec::new();
    std::io::stdin()
        .read_to_end(&mut end)
        .map_err(Failure::new)?;
    check("bystander: its waves still run", !spin.work.is_done())?;
    s.finish(&queue, &spin)?;
    check("bystander: it gets no exception", s.exception(0)?.is_none())
}

/// Starts the bystander, and waits until its waves run.
fn start_bystander() -> Result<Child, Failure> {
    let program = std::env::current_exe().map_err(Failure::new)?;
    let mut child = Command::new(program)
        .args(std::env::args().skip(1))
        .arg("bystander")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(Failure::new)?;
    let output = child.stdout.take();
    let mut lines = BufReader::new(output.ok_or_else(|| Failure::new("no pipe"))?);
    let mut line = String::new();
    lines.read_line(&mut line).map_err(Failure::new)?;
    // A thread passes on what the bystander prints later.
    std::thread::spawn(move || {
        lines
            .lines()
            .map_while(Result::ok)
            .for_each(|l| println!("{l}"))
    });
    match line.trim_end() == RUNNING {
        true => Ok(child),
        false => Err(Failure::new(format_args!("the bystander printed '{line}'"))),
    }
}

fn victim() -> Result<(), Failure> {
    let s = Setup::new()?;
    let context = Context::new()?;
    let (bad, good) = (s.queue()?, s.queue()?);
    let going_on = s.spin(&good)?;
    let mut bystander = start_bystander()?;
    // This queue starts last: with run lists, every new queue makes the scheduler take all others off.
    let lost = s.spin(&bad)?;
    check("there is no exception before", s.exception(0)?.is_none())?;

    let start = Instant::now();
    raw::destroy_queue(&s.kfd, bad.id()).map_err(errno("DESTROY_QUEUE"))?;
    println!("destroyed after {} ms", start.elapsed().as_millis());
    let exception = s.exception(10_000)?;
    println!("the exception: {exception:x?}");
    check(
        "the exception reports that a queue was reset",
        exception.is_some_and(|d| {
            (d.reset_type, d.reset_cause) == (event::RESET_WHOLE_GPU, event::CAUSE_GPU_HANG)
                && (d.memory_lost, d.gpu_id) == (1, s.gpu.id())
        }),
    )?;
    // With MES a queue's reset counts as one of the GPU (`reset_queues_mes`), with run lists it doesn't.
    let with_mes = !s.gpu.target().starts_with("gfx9");
    let wanted = if with_mes { ctx::QUERY2_RESET } else { 0 };
    check(
        "a context reports it as upstream's does",
        context.flags()? == wanted,
    )?;
    lost.release();
    std::thread::sleep(Duration::from_millis(100));
    check("the waves of the queue are gone", !lost.work.is_done())?;
    check("those of another queue are not", !going_on.work.is_done())?;
    s.finish(&good, &going_on)?;
    check("another queue of the program goes on", true)?;
    check(
        "its queues can't be changed any more",
        raw::share(&s.kfd, &good, 50) == Err(Errno::ACCESS),
    )?;
    drop(bystander.stdin.take());
    let status = bystander.wait().map_err(Failure::new)?;
    check("another program goes on", status.success())
}

fn kept() -> Result<(), Failure> {
    let s = Setup::new()?;
    let first = s.queue()?;
    let given_back = match is_argument("changed") {
        true => raw::share(&s.kfd, &first, 50),
        false => raw::destroy_queue(&s.kfd, first.id()),
    };
    check(
        "the queue isn't given back",
        given_back == Err(Errno::TIMEDOUT),
    )?;
    if is_argument("changed") {
        check(
            "it can't be changed any more",
            raw::share(&s.kfd, &first, 60) == Err(Errno::ACCESS),
        )?;
        let queues = std::fs::read_to_string(QUEUES).map_err(Failure::new)?;
        check("and is shown as hung", queues.contains("state hung"))?;
    }
    let next = s.queue()?;
    let spin = s.spin(&next)?;
    s.finish(&next, &spin)?;
    check("the program's next queue runs", true)
}

fn main() -> ExitCode {
    if is_argument("kept") {
        return report("kept", kept);
    }
    match is_argument("bystander") {
        true => report("bystander", bystander),
        false => report("hung", victim),
    }
}
