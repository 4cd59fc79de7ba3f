// SPDX-License-Identifier: MIT OR Apache-2.0

//! Processes that have things, beside the one that measures.
//!
//! `costs CODE-OBJECT beside KIND [FD]` reads lines `NUMBER SHARE` and answers each, once it has so many things, with
//! how many it has: as many as are wanted, or as many as it got. It ends with its input, or is killed.

use std::io::{BufRead, BufReader, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::argument;
use crate::process::{Kit, Objects, Process};
use rkfd::{Gpu, QueueOptions};
use rkfd_bare::sys;
use rkfd_programs::{code_object, Failure, VectorAdd, KERNEL};
use rustix::io::Errno;

/// What a process has.
#[derive(Clone, Copy)]
pub enum Kind {
    /// Queues, that are saved to shared memory.
    Queues,
    /// Objects of a page, mapped.
    Objects,
    /// Signals with events.
    Events,
    /// The GPU, opened as the library does, and one signal.
    Gpu,
    /// A queue that computes, one dispatch after the other.
    Working,
    /// Nothing, and hasn't opened the driver.
    Idle,
}

impl Kind {
    const NAMES: [(Self, &'static str); 6] = [
        (Self::Queues, "queues"),
        (Self::Objects, "objects"),
        (Self::Events, "events"),
        (Self::Gpu, "gpu"),
        (Self::Working, "working"),
        (Self::Idle, "idle"),
    ];
}

/// A process that was started.
pub struct Beside {
    child: Child,
    answers: BufReader<ChildStdout>,
}

impl Beside {
    /// Starts one. `save` is for those with queues.
    pub fn new(kind: Kind, save: Option<&OwnedFd>) -> Result<Self, Failure> {
        let program = std::env::current_exe().map_err(Failure::new)?;
        let name = Kind::NAMES.iter().find(|(k, _)| *k as u8 == kind as u8);
        let mut command = Command::new(program);
        command
            .arg(argument(1)?)
            .args(["beside", name.map_or("", |(_, name)| name)])
            .args(save.map(|fd| fd.as_raw_fd().to_string()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut child = command.spawn().map_err(Failure::new)?;
        let out = child.stdout.take();
        let out = out.ok_or_else(|| Failure::new("a process has no output"))?;
        Ok(Self {
            child,
            answers: BufReader::new(out),
        })
    }

    /// Tells it to have `n` things.
    pub fn tell(&mut self, n: usize, percent: u32) -> Result<(), Failure> {
        let stdin = self.child.stdin.as_mut();
        let stdin = stdin.ok_or_else(|| Failure::new("a process has no input"))?;
        writeln!(stdin, "{n} {percent}").map_err(Failure::new)
    }

    /// How many it has then.
    pub fn answer(&mut self) -> Result<usize, Failure> {
        let mut line = String::new();
        self.answers.read_line(&mut line).map_err(Failure::new)?;
        let number = line.trim().parse();
        number.map_err(|_| Failure::new(format_args!("a process beside said '{}'", line.trim())))
    }

    /// Has it have `n` things; how many it has.
    pub fn have(&mut self, n: usize, percent: u32) -> Result<usize, Failure> {
        self.tell(n, percent)?;
        self.answer()
    }

    /// Ends it, which must be well.
    pub fn end(mut self) -> Result<(), Failure> {
        drop(self.child.stdin.take());
        let status = self.child.wait().map_err(Failure::new)?;
        match status.success() {
            true => Ok(()),
            false => Err(Failure::new(format_args!(
                "a process beside ended with {status}"
            ))),
        }
    }

    /// Kills it, and waits until it has ended.
    pub fn kill(mut self) -> Result<(), Failure> {
        self.child.kill().map_err(Failure::new)?;
        self.child.wait().map(drop).map_err(Failure::new)
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

/// Calls `have` with the numbers of each line, and answers with what it returns.
fn serve(mut have: impl FnMut(usize, u32) -> Result<usize, Failure>) -> Result<(), Failure> {
    for line in std::io::stdin().lines() {
        let line = line.map_err(Failure::new)?;
        let numbers = line.split_once(' ');
        let numbers = numbers.and_then(|(n, share)| Some((n.parse().ok()?, share.parse().ok()?)));
        let (n, share) = numbers.ok_or_else(|| Failure::new("a line without two numbers"))?;
        println!("{}", have(n, share)?);
        std::io::stdout().flush().map_err(Failure::new)?;
    }
    Ok(())
}

/// Adds vectors until its input ends. It answers once the first are added.
fn work() -> Result<(), Failure> {
    /// Elements: enough that the queue has waves most of the time.
    const N: usize = 1 << 18;
    let gpu = Gpu::open()?;
    let kernel = gpu.load(&code_object()?)?.kernel(KERNEL)?;
    let queue = gpu.queue(QueueOptions::default())?;
    let add = VectorAdd::new(&gpu, N, 1)?;
    let (over, done) = (AtomicBool::new(false), AtomicBool::new(false));
    thread::scope(|scope| {
        let worker = scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                add.dispatch(&queue, &kernel).submit()?.wait()?;
                done.store(true, Ordering::Relaxed);
            }
            add.verify()
        });
        let served = serve(|n, _| {
            while !done.load(Ordering::Relaxed) && !worker.is_finished() {
                thread::sleep(Duration::from_millis(1));
            }
            Ok(n)
        });
        over.store(true, Ordering::Relaxed);
        let worked = worker.join();
        worked.map_err(|_| Failure::new("a thread panicked"))??;
        served
    })
}

/// Is a process beside.
pub fn run() -> Result<(), Failure> {
    let name = argument(3)?;
    let kind = Kind::NAMES.iter().find(|(_, known)| *known == name);
    let Some((kind, _)) = kind else {
        return Err(Failure::new(format_args!("there is no kind '{name}'")));
    };
    if let Kind::Gpu = kind {
        let gpu = Gpu::open()?;
        let mut signals = Vec::new();
        return serve(|n, _| {
            while signals.len() < n {
                signals.push(gpu.signal(1)?);
            }
            Ok(signals.len())
        });
    }
    match kind {
        Kind::Working => return work(),
        Kind::Idle => return serve(|_, _| Ok(0)),
        _ => {}
    }
    let process = Process::new()?;
    match kind {
        Kind::Queues => {
            let fd = argument(4)?.parse().map_err(Failure::new)?;
            let kit = Kit::new(&process, &sys::own(fd), 0)?;
            let mut queues = Vec::new();
            let served = serve(|n, percent| {
                while queues.len() < n {
                    match kit.create(percent) {
                        Ok(queue) => queues.push(queue),
                        Err(Errno::NOMEM | Errno::NOSPC | Errno::PERM) => break,
                        Err(e) => return Err(Failure::new(format_args!("CREATE_QUEUE: {e}"))),
                    }
                }
                Ok(queues.len())
            });
            queues
                .into_iter()
                .try_for_each(|queue| kit.destroy(queue))?;
            served
        }
        Kind::Objects => {
            // Whoever measures decides when it is late; this is for who waits for an answer.
            const LATE: Duration = Duration::from_secs(100);
            let mut objects = Objects::default();
            serve(|n, _| {
                let begin = Instant::now();
                objects.grow(&process, n, || begin.elapsed() > LATE)
            })
        }
        Kind::Events => {
            process.signal_page(0)?;
            let mut events = Vec::new();
            serve(|n, _| {
                while events.len() < n {
                    events.push(process.signal(false)?);
                }
                Ok(events.len())
            })
        }
        Kind::Gpu | Kind::Working | Kind::Idle => Ok(()),
    }
}
