// SPDX-License-Identifier: MIT OR Apache-2.0

//! Many at once, and many that die.
//!
//! `storm CODE-OBJECT CASE N [M]`:
//!
//! * `kills`: N processes are killed at random moments of their requests, some at a time;
//! * `processes`: N processes have a GPU open, with memory and an event each, and M of them add vectors;
//! * `queues`: processes make queues until N are there or one is refused, which must be for want of
//!   memory or of queues; those that were made run;
//! * `events`: a process has N events and M threads that wait for one each; each wakes;
//! * `vram`: VRAM is taken until it is refused, given back, and taken again, N times.
//!
//! What is left afterwards the counts in debugfs show.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rkfd::{Error, Gpu, Kernel, Memory, Queue, QueueOptions, Signal};
use rkfd_bare::rng::Rng;
use rkfd_programs::raw::{self, call, errno};
use rkfd_programs::{check, code_object, report, Failure, VectorAdd, BLOCK, KERNEL, PATIENCE};
use rkfd_uapi::{event, ioctl};
use rustix::io::Errno;

/// Processes that are killed at the same time.
const AT_ONCE: u64 = 8;
const ELEMENTS: usize = BLOCK as usize;
/// Milliseconds after which a thread no longer waits for its event.
const LONG: u32 = 120_000;
/// Queues of one process (`KFD_MAX_NUM_OF_QUEUES_PER_PROCESS` is more).
const QUEUES_EACH: usize = 32;

fn number(n: usize) -> Result<u64, Failure> {
    let text = std::env::args().nth(n);
    let number = text.and_then(|text| text.parse().ok());
    number.ok_or_else(|| Failure::new(format_args!("argument {n} is no number")))
}

/// This program again, in another role, with pipes to it and from it.
fn start(role: &str, n: u64) -> Result<Child, Failure> {
    let program = std::env::current_exe().map_err(Failure::new)?;
    let mut command = Command::new(program);
    command
        .args(std::env::args().nth(1))
        .args([role, &n.to_string()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    command.spawn().map_err(Failure::new)
}

/// The next line that a child prints; empty at its end.
fn line(child: &mut Child) -> String {
    let mut text = String::new();
    if let Some(out) = &mut child.stdout {
        // One at a time: nothing of the next line may be lost.
        let bytes = out.bytes().map_while(Result::ok);
        text.extend(bytes.take_while(|&byte| byte != b'\n').map(char::from));
    }
    text
}

/// Tells whoever started this process.
fn say(what: &str) -> Result<(), Failure> {
    println!("{what}");
    std::io::stdout().flush().map_err(Failure::new)
}

/// Waits until the other side has a line for this process, or has gone.
fn told() {
    let _ = BufReader::new(std::io::stdin()).read_line(&mut String::new());
}

fn kernel(gpu: &Gpu) -> Result<Kernel, Failure> {
    Ok(gpu.load(&code_object()?)?.kernel(KERNEL)?)
}

fn add(queue: &Queue, kernel: &Kernel, seed: usize) -> Result<(), Failure> {
    let add = VectorAdd::new(queue.gpu(), ELEMENTS, seed)?;
    let work = add.dispatch(queue, kernel).submit()?;
    work.wait_timeout(PATIENCE)?;
    add.verify()
}

/// Asks for one thing after the other until it is killed.
fn victim() -> Result<(), Failure> {
    let mut rng = Rng::new(number(3)?);
    let kfd = File::open("/dev/kfd").map_err(Failure::new)?;
    let gpu = Gpu::open()?;
    let kernel = kernel(&gpu)?;
    let (mut queues, mut buffers) = (Vec::new(), Vec::new());
    say("ready")?;
    loop {
        match rng.below(8) {
            0 => queues.push(gpu.queue(QueueOptions::new().packets(64))?),
            1 => drop(queues.pop()),
            2 => buffers.push(gpu.alloc_in::<u8>(Memory::Vram, 1 << (12 + rng.below(10)))?),
            3 => buffers.push(gpu.alloc_in::<u8>(Memory::Gtt, 1 << (12 + rng.below(8)))?),
            4 => drop(buffers.pop()),
            5 => {
                raw::event(&kfd, event::EVENT_MEMORY).map_err(errno("CREATE_EVENT"))?;
            }
            _ => match rng.maybe(&queues) {
                Some(queue) => add(queue, &kernel, 1)?,
                None => drop(gpu.signal(1)?),
            },
        }
        if queues.len() + buffers.len() > 16 {
            (queues, buffers) = (Vec::new(), Vec::new());
        }
    }
}

fn kills() -> Result<(), Failure> {
    let all = number(3)?;
    let (next, early) = (AtomicU64::new(0), AtomicU64::new(0));
    let kill = || -> Result<(), Failure> {
        loop {
            let n = next.fetch_add(1, Ordering::Relaxed);
            if n >= all {
                return Ok(());
            }
            let mut rng = Rng::new(n);
            let mut child = start("victim", n)?;
            // Half of them die at any moment, from the first on; the others in the midst of requests.
            if rng.chance(1, 2) {
                line(&mut child);
            }
            std::thread::sleep(Duration::from_micros(rng.below(20_000)));
            let ended = child.try_wait().map_err(Failure::new)?.is_some();
            early.fetch_add(ended.into(), Ordering::Relaxed);
            child.kill().map_err(Failure::new)?;
            child.wait().map_err(Failure::new)?;
        }
    };
    std::thread::scope(|scope| {
        let killers: Vec<_> = (0..AT_ONCE).map(|_| scope.spawn(kill)).collect();
        let ended = killers.into_iter().map(|killer| killer.join());
        ended.into_iter().try_for_each(|end| {
            end.map_err(|_| Failure::new("a thread panicked"))
                .and_then(|result| result)
        })
    })?;
    println!("{all} processes were killed");
    let early = early.load(Ordering::Relaxed);
    check("none had ended by itself", early == 0)
}

/// One of many: it has something of everything, and adds vectors if it has a queue.
fn one() -> Result<(), Failure> {
    let with_queue = number(3)? != 0;
    let kfd = File::open("/dev/kfd").map_err(Failure::new)?;
    let gpu = Gpu::open()?;
    let _buffer = gpu.alloc_in::<u8>(Memory::Vram, 64 << 10)?;
    raw::event(&kfd, event::EVENT_MEMORY).map_err(errno("CREATE_EVENT"))?;
    let ready = match with_queue {
        true => Some((gpu.queue(QueueOptions::new().packets(64))?, kernel(&gpu)?)),
        false => None,
    };
    say("ready")?;
    told();
    match ready {
        Some((queue, kernel)) => add(&queue, &kernel, 3),
        None => Ok(()),
    }
}

/// Starts children of a role and waits until each has said something, which it returns.
fn crowd(role: &str, all: u64, n: impl Fn(u64) -> u64) -> Result<Vec<(Child, String)>, Failure> {
    let children: Vec<Child> = (0..all)
        .map(|i| start(role, n(i)))
        .collect::<Result<_, _>>()?;
    let said = children.into_iter().map(|mut child| {
        let said = line(&mut child);
        (child, said)
    });
    Ok(said.collect())
}

/// Lets all go on; how many of them end well.
fn let_go(children: Vec<(Child, String)>) -> Result<u64, Failure> {
    let mut children = children;
    for (child, _) in &mut children {
        drop(child.stdin.take());
    }
    let ends = children.into_iter().map(|(mut child, _)| {
        let status = child.wait().map_err(Failure::new)?;
        Ok(u64::from(status.success()))
    });
    ends.sum()
}

fn processes() -> Result<(), Failure> {
    let (all, working) = (number(3)?, number(4)?);
    let children = crowd("one", all, |i| u64::from(i < working))?;
    let ready = children.iter().filter(|(_, said)| said == "ready").count() as u64;
    println!("{ready} processes at once");
    check("all have their parts", ready == all)?;
    let well = let_go(children)?;
    check("all end well", well == all)
}

/// Makes queues until enough are there, or one is refused; reports how many, and then uses them.
fn maker() -> Result<(), Failure> {
    let wanted = number(3)? as usize;
    let gpu = Gpu::open()?;
    let kernel = kernel(&gpu)?;
    let mut queues = Vec::new();
    let refused = loop {
        if queues.len() == wanted {
            break None;
        }
        match gpu.queue(QueueOptions::new().packets(64)) {
            Ok(queue) => queues.push(queue),
            Err(Error::Ioctl { errno, .. }) => break Some(errno),
            Err(error) => return Err(error.into()),
        }
    };
    match refused {
        None | Some(Errno::NOMEM | Errno::NOSPC) => say(&queues.len().to_string())?,
        Some(errno) => return Err(Failure::new(format_args!("a queue: {errno}"))),
    }
    told();
    for (n, queue) in queues.iter().enumerate() {
        add(queue, &kernel, n)?;
    }
    Ok(())
}

fn queues() -> Result<(), Failure> {
    let wanted = number(3)?;
    let processes = wanted.div_ceil(QUEUES_EACH as u64);
    let (mut children, mut made) = (Vec::new(), 0);
    for _ in 0..processes {
        let mut child = start("maker", QUEUES_EACH as u64)?;
        let said = line(&mut child);
        let its: u64 = said
            .parse()
            .map_err(|_| Failure::new("a process has no queues"))?;
        children.push((child, said));
        made += its;
        if its < QUEUES_EACH as u64 {
            break;
        }
    }
    let all = children.len() as u64;
    println!("{made} queues of {all} processes at once");
    check("there are many", made >= 2 * QUEUES_EACH as u64)?;
    let well = let_go(children)?;
    check("each queue runs", well == all)
}

fn events() -> Result<(), Failure> {
    let (all, waiting) = (number(3)? as usize, number(4)? as usize);
    let kfd = File::open("/dev/kfd").map_err(Failure::new)?;
    let gpu = Gpu::open()?;
    let made = (0..all).map(|_| gpu.signal(1));
    let signals: Vec<Signal> = made.collect::<Result<_, _>>()?;
    let ids: Vec<u32> = signals.iter().filter_map(Signal::event_id).collect();
    check("each signal has an event", ids.len() == all)?;
    println!("{} events", ids.len());
    let woken = AtomicU64::new(0);
    let (kfd, counted) = (&kfd, &woken);
    std::thread::scope(|scope| {
        for &id in ids.iter().cycle().step_by(3).take(waiting) {
            let wait = move || {
                if let Ok(Some(_)) = raw::wait(kfd, id, LONG) {
                    counted.fetch_add(1, Ordering::Relaxed);
                }
            };
            let thread = std::thread::Builder::new().stack_size(64 << 10);
            thread.spawn_scoped(scope, wait).map_err(Failure::new)?;
        }
        for &event_id in &ids {
            let mut args = event::SetEventArgs {
                event_id,
                ..Default::default()
            };
            call(kfd, &ioctl::SET_EVENT, &mut args).map_err(errno("SET_EVENT"))?;
        }
        Ok::<(), Failure>(())
    })?;
    let woken = woken.load(Ordering::Relaxed);
    println!("{woken} threads woke");
    check("each thread wakes", woken == waiting as u64)
}

fn vram() -> Result<(), Failure> {
    const EACH: usize = 256 << 20;
    let gpu = Gpu::open()?;
    let (mut first, mut queue) = (None, None);
    for _ in 0..number(3)? {
        let mut all = Vec::new();
        let refused = loop {
            match gpu.alloc_in::<u8>(Memory::Vram, EACH) {
                Ok(buffer) => all.push(buffer),
                Err(Error::Ioctl { errno, .. }) => break errno,
                Err(error) => return Err(error.into()),
            }
        };
        println!("{} times {EACH} bytes, then {refused}", all.len());
        check("it is refused for want of memory", refused == Errno::NOMEM)?;
        check(
            "all of it comes back",
            *first.get_or_insert(all.len()) == all.len(),
        )?;
        // Others' memory is system memory: a queue can be made.
        queue = Some(gpu.queue(QueueOptions::new().packets(64))?);
    }
    match queue {
        Some(queue) => add(&queue, &kernel(&gpu)?, 5),
        None => Err(Failure::new("nothing was done")),
    }
}

fn run() -> Result<(), Failure> {
    match std::env::args().nth(2).as_deref() {
        Some("kills") => kills(),
        Some("victim") => victim(),
        Some("processes") => processes(),
        Some("one") => one(),
        Some("queues") => queues(),
        Some("maker") => maker(),
        Some("events") => events(),
        Some("vram") => vram(),
        _ => Err(Failure::new(
            "the second argument must be kills, processes, queues, events or vram",
        )),
    }
}

fn main() -> ExitCode {
    report("storm", run)
}
