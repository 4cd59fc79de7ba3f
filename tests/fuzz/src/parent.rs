// SPDX-License-Identifier: MIT OR Apache-2.0
//! Starts processes, kills some of them at any moment, sees that none gets stuck, and sums up.

use crate::options::{Options, Until};
use crate::process::{end, Process, KITS, NO_MEMORY};
use crate::shared::Shared;
use crate::table::{self, Entry};
use crate::{counted, coverage};
use rkfd_bare::node::Node;
use rkfd_bare::rng::Rng;
use rkfd_bare::sys;
use rkfd_uapi::ioctl::nr;
use rkfd_uapi::{gem, syncobj};
use std::time::{Duration, Instant};

/// Steps of a thread in the life of a process.
const STEPS: u64 = 1500;
/// Without any call begun for so long, a thread is stuck. Nothing in the driver waits longer: the
/// longest wait for hardware is 9 s, and a call may wait behind several.
const STUCK: Duration = Duration::from_secs(120);
/// A program that is its own debugger waits for itself when it declares a runtime, as upstream's does
/// (`runtime_enable` waits for the debugger's answer without a limit). When all of its threads do for so long, only
/// a signal ends that.
const OWN_DEBUGGER: Duration = Duration::from_secs(5);
const TICK: Duration = Duration::from_millis(20);
/// Calls from which on each of [`MUST_WORK`] has to have worked.
const ENOUGH: u64 = 30_000;
/// The same for acts, some of which are seldom.
const ENOUGH_FOR_ACTS: u64 = 100_000;
/// Of /dev/kfd, requests that work now and then if the fuzzer is any good.
const MUST_WORK: [u8; 17] = [
    nr::GET_VERSION,
    nr::CREATE_QUEUE,
    nr::DESTROY_QUEUE,
    nr::UPDATE_QUEUE,
    nr::CREATE_EVENT,
    nr::DESTROY_EVENT,
    nr::SET_EVENT,
    nr::WAIT_EVENTS,
    nr::ALLOC_MEMORY_OF_GPU,
    nr::FREE_MEMORY_OF_GPU,
    nr::MAP_MEMORY_TO_GPU,
    nr::UNMAP_MEMORY_FROM_GPU,
    nr::EXPORT_DMABUF,
    nr::SMI_EVENTS,
    nr::IMPORT_DMABUF,
    nr::RUNTIME_ENABLE,
    nr::DBG_TRAP,
];

/// One seed in a line, and why it is kept.
const CORPUS: &str = include_str!("../corpus");

/// A process that runs.
struct Child {
    pid: i32,
    seed: u64,
    /// The parent kills it after so many calls of its first thread.
    kill_after: Option<u64>,
    began: u64,
    /// It was killed since it waits for itself.
    left: bool,
    last: Vec<u64>,
    moved: Instant,
}

struct Run<'a> {
    options: &'a Options,
    node: Node,
    shared: &'static Shared,
    children: Vec<Option<Child>>,
    troubles: Vec<String>,
}

/// The whole run.
///
/// # Errors
///
/// What was found, in lines.
pub fn run(options: &Options) -> Result<(), String> {
    if options.coverage {
        coverage::begin()?;
    }
    let shared = Shared::new(options.processes * options.threads)
        .map_err(|e| format!("memory: errno {e}"))?;
    let mut run = Run {
        options,
        node: Node::find()?,
        shared: Box::leak(Box::new(shared)),
        children: (0..options.processes).map(|_| None).collect(),
        troubles: Vec::new(),
    };
    let start = Instant::now();
    println!("seed {}", options.seed);
    let mut seeds = corpus(options);
    let mut rng = Rng::new(options.seed);
    loop {
        for slot in 0..run.children.len() {
            if run.children[slot].is_none() {
                let seed = seeds.next().unwrap_or_else(|| rng.bits());
                let kill = rng.chance(1, 2).then(|| 1 + rng.below(STEPS));
                run.start(slot, seed, kill);
            }
        }
        let over = match options.until {
            Until::Calls(calls) => run.shared.calls() >= calls,
            Until::Time(time) => start.elapsed() >= time,
        };
        if over || !run.troubles.is_empty() {
            break;
        }
        std::thread::sleep(TICK);
        run.look();
    }
    run.end();
    run.report(start.elapsed())
}

fn corpus(options: &Options) -> impl Iterator<Item = u64> {
    let lines = if options.corpus { CORPUS } else { "" };
    lines
        .lines()
        .filter_map(|line| line.split('#').next()?.trim().parse().ok())
}

impl Run<'_> {
    fn start(&mut self, slot: usize, seed: u64, kill_after: Option<u64>) {
        let first = slot * self.options.threads;
        let Some(pid) = sys::fork() else {
            // FREE takes a buffer's pages away from the program's mappings.
            sys::replace_lost_pages();
            // The signals of threads' timers end waits, and do nothing else.
            sys::ignore_by_handler(libc::SIGUSR1, false);
            match self.live(seed, first) {
                Ok(()) => sys::exit(0),
                Err(e) => end(&format!("seed {seed}: {e}")),
            }
        };
        self.children[slot] = (pid > 0).then(|| Child {
            pid,
            seed,
            kill_after,
            began: self.shared.progress(first).0,
            left: false,
            last: Vec::new(),
            moved: Instant::now(),
        });
    }

    /// The life of a process.
    fn live(&self, seed: u64, first: usize) -> Result<(), String> {
        let process = Process::new(&self.node, self.shared, seed, KITS)?;
        process.run(seed, first, self.options.threads, STEPS);
        Ok(())
    }

    /// Takes note of ends, kills, and finds who is stuck.
    fn look(&mut self) {
        for slot in 0..self.children.len() {
            let first = slot * self.options.threads;
            let threads = first..first + self.options.threads;
            let Some(child) = &mut self.children[slot] else {
                continue;
            };
            if let Some(status) = sys::ended(child.pid) {
                let killed = libc::WIFSIGNALED(status) && libc::WTERMSIG(status) == libc::SIGKILL;
                let good =
                    libc::WIFEXITED(status) && [0, NO_MEMORY].contains(&libc::WEXITSTATUS(status));
                if !(good || killed && child.kill_after.is_some()) {
                    let text = format!("seed {}: ended with status {status:#x}", child.seed);
                    self.troubles.push(text);
                }
                self.children[slot] = None;
                continue;
            }
            let now: Vec<u64> = threads.clone().map(|t| self.shared.progress(t).0).collect();
            let done = now
                .first()
                .map_or(0, |calls| calls.wrapping_sub(child.began));
            if child.kill_after.is_some_and(|after| done >= 2 * after) {
                sys::kill(child.pid, libc::SIGKILL);
            }
            if now != child.last {
                child.last = now;
                child.moved = Instant::now();
                continue;
            }
            let at: Vec<_> = threads.filter_map(|t| self.shared.progress(t).1).collect();
            let declares = |slot: &usize| *slot == usize::from(nr::RUNTIME_ENABLE);
            let waits_for_itself = !at.is_empty() && at.iter().all(declares);
            if waits_for_itself && !child.left && child.moved.elapsed() > OWN_DEBUGGER {
                // Does it not end by that, it is stuck.
                child.left = true;
                child.kill_after = Some(0);
                sys::kill(child.pid, libc::SIGKILL);
                child.moved = Instant::now();
            } else if child.moved.elapsed() > STUCK {
                let text = format!(
                    "seed {}: stuck in {at:?}\n{}",
                    child.seed,
                    stacks(child.pid)
                );
                self.troubles.push(text);
                child.moved = Instant::now();
            }
        }
    }

    /// Kills everyone, and waits until they are gone.
    fn end(&mut self) {
        for child in self.children.iter_mut().flatten() {
            child.kill_after = Some(0);
            sys::kill(child.pid, libc::SIGKILL);
            child.moved = Instant::now();
        }
        while self.children.iter().any(Option::is_some) && self.troubles.is_empty() {
            self.look();
            std::thread::sleep(TICK);
        }
    }

    fn report(&self, time: Duration) -> Result<(), String> {
        let mut troubles = self.troubles.clone();
        println!(
            "{:<28} {:>9} {:>9} {:>9}",
            "request", "worked", "failed", "ms"
        );
        let (worked, failed) = self.shared.counts(0);
        let ms = self.shared.time(0).as_millis();
        println!("{:<28} {worked:>9} {failed:>9} {ms:>9}", "(other acts)");
        for entry in table::all() {
            let (worked, failed) = self.shared.counts(entry.slot());
            let ms = self.shared.time(entry.slot()).as_millis();
            println!("{:<28} {worked:>9} {failed:>9} {ms:>9}", entry.info.name);
            if worked == 0 && self.shared.calls() >= ENOUGH && must_work(&entry) {
                troubles.push(format!("{} never worked", entry.info.name));
            }
        }
        for (slot, name) in counted::all() {
            let (worked, failed) = self.shared.counts(slot);
            let ms = self.shared.time(slot).as_millis();
            println!("{name:<28} {worked:>9} {failed:>9} {ms:>9}");
            if worked == 0 && self.shared.calls() >= ENOUGH_FOR_ACTS {
                troubles.push(format!("{name} never worked"));
            }
        }
        if self.options.coverage {
            coverage::print()?;
        }
        let calls = self.shared.calls();
        println!(
            "{calls} calls, {} a second",
            calls * 1000 / (time.as_millis() as u64).max(1)
        );
        match troubles.is_empty() {
            true => Ok(()),
            false => Err(troubles.join("\n")),
        }
    }
}

/// Whether a request works now and then if the fuzzer is any good.
fn must_work(entry: &Entry) -> bool {
    match entry.node {
        table::Node::Kfd => MUST_WORK.contains(&entry.info.number),
        table::Node::Render => [
            &gem::GEM_CREATE.info,
            &gem::GEM_CLOSE.info,
            &gem::GEM_MMAP.info,
            &gem::GEM_VA.info,
            &gem::PRIME_HANDLE_TO_FD.info,
            &syncobj::CREATE.info,
            &syncobj::SIGNAL.info,
            &syncobj::WAIT.info,
        ]
        .iter()
        .any(|info| info.number == entry.info.number),
    }
}

/// Where the threads of a process are in the kernel.
fn stacks(pid: i32) -> String {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task"));
    let mut text = String::new();
    for task in tasks.into_iter().flatten().flatten() {
        let stack = std::fs::read_to_string(task.path().join("stack")).unwrap_or_default();
        text += &format!("thread {:?}:\n{stack}", task.file_name());
    }
    text
}
