// SPDX-License-Identifier: MIT OR Apache-2.0

//! `rkfd why` explains why this program's queues do not move: each reason is made to happen, and the line compared
//! with what the program did.
//!
//! `why CODE-OBJECT SPIN ILLEGAL`: kernels `vadd`, `spin(flag, seen)` and `illegal(reached)`

use std::fs::File;
use std::process::{Command, ExitCode};
use std::sync::atomic::{AtomicU16, AtomicU64, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use object::{Object, ObjectSection, ObjectSymbol};
use rkfd::{Address, Gpu, Kernel, Queue, QueueOptions};
use rkfd_programs::raw::{self, errno};
use rkfd_programs::spin::Spin;
use rkfd_programs::{check, code_object, report, Failure, VectorAdd, BLOCK, KERNEL, PATIENCE};

const ELEMENTS: usize = BLOCK as usize;
/// An address at which nothing is mapped.
const NOWHERE: u64 = 0x1234_0000_0000;
const PACKET: u64 = 64;
/// What `rkfd why` reads.
const QUEUES: &str = "/sys/kernel/debug/rkfd/queues";
/// The word of `illegal` in tests/kernels/illegal.hip that is no instruction.
const ILLEGAL: u32 = 0xbfff_0000;
/// The type of a packet whose slot is free.
const INVALID: u16 = 1;

struct Setup {
    kfd: File,
    gpu: Gpu,
    add: Kernel,
}

impl Setup {
    fn queue(&self) -> Result<Queue, Failure> {
        Ok(self.gpu.queue(QueueOptions::new().packets(64))?)
    }

    fn kernel(&self, place: usize, name: &str) -> Result<Kernel, Failure> {
        let path = std::env::args().nth(place);
        let path = path.ok_or_else(|| Failure::new("a code object is missing"))?;
        let code = std::fs::read(&path).map_err(Failure::new)?;
        Ok(self.gpu.load(&code)?.kernel(name)?)
    }
}

/// What `rkfd why` prints, and whether it succeeds.
fn why(queue: &str) -> Result<(bool, String), Failure> {
    let ran = Command::new("/bin/rkfd").args(["why", queue]).output();
    let ran = ran.map_err(Failure::new)?;
    let text = String::from_utf8_lossy(&ran.stdout).trim_end().to_owned();
    Ok((ran.status.success(), text))
}

/// What stands behind the queue's name in its line.
fn reason(queue: &Queue) -> Result<String, Failure> {
    let (process, gpu) = (std::process::id(), queue.gpu().id());
    let name = format!("{process}/{}", queue.id());
    let (_, line) = why(&name)?;
    let start = format!("{name} (why, AQL, GPU {gpu}): ");
    line.strip_prefix(&start)
        .map(str::to_owned)
        .ok_or_else(|| Failure::new(format_args!("'{line}' does not begin with '{start}'")))
}

/// Asks until the reason is right: the GPU and the driver need a while.
fn expect(what: &str, queue: &Queue, right: impl Fn(&str) -> bool) -> Result<(), Failure> {
    let (start, mut last) = (Instant::now(), String::new());
    loop {
        let now = reason(queue)?;
        if now != last {
            println!("{what}: {now}");
            last = now;
        }
        if right(&last) {
            return check(what, true);
        }
        if start.elapsed() > PATIENCE {
            return check(what, false);
        }
        sleep(Duration::from_millis(20));
    }
}

/// Where the packet with a number is.
fn slot(queue: &Queue, index: u64) -> u64 {
    queue.addresses().0 + index % u64::from(queue.packets()) * PACKET
}

/// Words of a packet as they are in the ring.
fn word64(queue: &Queue, index: u64, byte: u64) -> u64 {
    // SAFETY: Inside the queue's ring, which is mapped at its address and aligned.
    unsafe { ((slot(queue, index) + byte) as *const u64).read_volatile() }
}

fn header(queue: &Queue, index: u64) -> &AtomicU16 {
    // SAFETY: As above; the ring lives as long as the queue.
    unsafe { AtomicU16::from_ptr(slot(queue, index) as *mut u16) }
}

fn write_index(queue: &Queue) -> &AtomicU64 {
    // SAFETY: The write index is mapped at its address, and lives as long as the queue.
    unsafe { AtomicU64::from_ptr(queue.addresses().1 as *mut u64) }
}

fn driver(s: &Setup) -> Result<(), Failure> {
    let queue = s.queue()?;
    expect("a new queue is empty", &queue, |line| {
        line == "it is empty: all of its 0 packets are done"
    })?;
    let add = VectorAdd::new(&s.gpu, ELEMENTS, 1)?;
    add.dispatch(&queue, &s.add)
        .submit()?
        .wait_timeout(PATIENCE)?;
    expect("so is one that has run a kernel", &queue, |line| {
        line == "it is empty: all of its 1 packets are done"
    })?;
    // A producer took a slot, and says nothing of it to the hardware.
    write_index(&queue).store(2, Ordering::Release);
    expect("the doorbell is behind", &queue, |line| {
        line.starts_with("its doorbell is behind: the write pointer is 2, and the doorbell told of 1 (on XCC 0 pipe ")
    })?;
    write_index(&queue).store(1, Ordering::Release);
    raw::share(&s.kfd, &queue, 0).map_err(errno("UPDATE_QUEUE"))?;
    expect("a share of 0 disables it", &queue, |line| {
        line == "it is disabled: its share of time is 0"
    })?;
    raw::share(&s.kfd, &queue, 100).map_err(errno("UPDATE_QUEUE"))?;
    expect("it is empty again", &queue, |line| {
        line == "it is empty: all of its 1 packets are done"
    })
}

fn barriers(s: &Setup) -> Result<(), Failure> {
    let queue = s.queue()?;
    let (first, second) = (s.gpu.signal(1)?, s.gpu.signal(7)?);
    let _all = queue.barrier_and(&[&first, &second])?;
    let add = VectorAdd::new(&s.gpu, ELEMENTS, 2)?;
    let work = add.dispatch(&queue, &s.add).submit()?;
    let names = [first.address(), second.address()];
    let both = format!(
        "packet 0 is a barrier-AND that waits for signal {:#x} (value 1), {:#x} (value 7) (on XCC 0 pipe ",
        names[0], names[1]
    );
    expect("a barrier waits for two signals", &queue, |line| {
        line.starts_with(&both)
    })?;
    first.set(0);
    let one = format!(
        "packet 0 is a barrier-AND that waits for signal {:#x} (value 7) (on ",
        names[1]
    );
    expect("then for one", &queue, |line| line.starts_with(&one))?;
    let whole = header(&queue, 1).swap(INVALID, Ordering::AcqRel);
    second.set(0);
    expect("the next packet is invalid", &queue, |line| {
        line.starts_with("packet 1 is INVALID: ")
    })?;
    header(&queue, 1).store(whole, Ordering::Release);
    work.wait_timeout(PATIENCE)?;
    add.verify()?;

    let either = [s.gpu.signal(3)?, s.gpu.signal(-4)?];
    let _or = queue.barrier_or(&[&either[0], &either[1]])?;
    let one_of = format!(
        "packet 2 is a barrier-OR that waits for one of signal {:#x} (value 3), {:#x} (value -4) (on ",
        either[0].address(),
        either[1].address()
    );
    expect("a barrier waits for one of two", &queue, |line| {
        line.starts_with(&one_of)
    })?;
    either[1].set(0);
    expect("all is done", &queue, |line| {
        line == "it is empty: all of its 3 packets are done"
    })?;
    // The fourth signal is where a dispatch names its kernel.
    let four: Result<Vec<_>, _> = (0..4).map(|_| s.gpu.signal(1)).collect();
    let four = four?;
    let _four = queue.barrier_and(&four.iter().collect::<Vec<_>>())?;
    expect("a barrier waits for four", &queue, |line| {
        line.starts_with("packet 3 is a barrier-AND that waits for signal ")
    })?;
    let shown = std::fs::read_to_string(QUEUES).map_err(Failure::new)?;
    check(
        "it has no kernel to begin",
        shown.matches("    signal ").count() == four.len() && !shown.contains("    entry "),
    )?;
    four.iter().for_each(|signal| signal.set(0));
    expect("all is done again", &queue, |line| {
        line == "it is empty: all of its 4 packets are done"
    })
}

fn running(s: &Setup) -> Result<(), Failure> {
    let spin = s.kernel(2, "spin")?;
    let queue = s.queue()?;
    let waves = Spin::start(&queue, &spin, BLOCK)?;
    let runs = format!(
        "packet 0 is a kernel whose waves have not all ended: descriptor {:#x}, grid {BLOCK} x 1 x 1 (on ",
        word64(&queue, 0, 32)
    );
    expect("a kernel runs", &queue, |line| line.starts_with(&runs))?;
    waves.release();
    waves.work.wait_timeout(PATIENCE)?;
    Ok(())
}

/// One queue more than the hardware has, each of which waits for a signal.
fn too_many(s: &Setup) -> Result<(), Failure> {
    let most = s.gpu.node().property("num_cp_queues") as usize;
    let gate = s.gpu.signal(1)?;
    let queues: Result<Vec<Queue>, Failure> = (0..=most).map(|_| s.queue()).collect();
    let queues = queues?;
    let barriers: Result<Vec<_>, _> = queues.iter().map(|q| q.barrier_and(&[&gate])).collect();
    let _barriers = barriers?;
    let start = Instant::now();
    loop {
        let (_, text) = why(&std::process::id().to_string())?;
        let count = |what: &str| text.lines().filter(|line| line.contains(what)).count();
        let (off, on) = (
            count(": it waits for its turn: "),
            count(" that waits for signal "),
        );
        println!("of {} queues {on} are on HQDs and {off} wait", most + 1);
        // Queues change places while the driver looks at one HQD after the other.
        if off >= 1 && on >= most / 2 && off + on == most + 1 {
            break;
        }
        if start.elapsed() > PATIENCE {
            return check("a queue waits for its turn", false);
        }
    }
    check("a queue waits for its turn", true)?;
    gate.set(0);
    let done = "): it is empty: all of its 1 packets are done";
    loop {
        let (_, text) = why(&std::process::id().to_string())?;
        if text.lines().filter(|line| line.ends_with(done)).count() == most + 1 {
            return check("each had its turn", true);
        }
        if start.elapsed() > PATIENCE {
            return check("each had its turn", false);
        }
    }
}

fn errors(s: &Setup) -> Result<(), Failure> {
    let queue = s.queue()?;
    let gate = s.gpu.signal(1)?;
    let _barrier = queue.barrier_and(&[&gate])?;
    let add = VectorAdd::new(&s.gpu, ELEMENTS, 3)?;
    let _work = add.dispatch(&queue, &s.add).submit()?;
    // SAFETY: The packet's second half word, its dimensions, inside the queue's ring.
    unsafe { ((slot(&queue, 1) + 2) as *mut u16).write_volatile(0) };
    gate.set(0);
    // MES takes such a queue off; run lists leave it where it is.
    let wanted = match s.gpu.target().starts_with("gfx9") {
        true => "it stopped at packet 1: a packet's dimensions are wrong",
        false => "it is evicted: a packet's dimensions are wrong",
    };
    expect("a packet is bad", &queue, |line| line == wanted)?;

    let illegal = s.kernel(3, "illegal")?;
    let offset = offset_in(3, "illegal", ILLEGAL)?;
    let queue = s.queue()?;
    let reached = s.gpu.upload(&[0u32])?;
    let dispatch = queue.dispatch(&illegal).grid(32).block(32);
    let _work = dispatch.arg(&reached).submit()?;
    // The packet's kernel object is its descriptor, in which byte 16 has how far behind it the code begins.
    let object = word64(&queue, 0, 32);
    // SAFETY: The descriptor lies in the code object, which is mapped at its address as long as the kernel is.
    let entry = object.wrapping_add(unsafe { ((object + 16) as *const u64).read_volatile() });
    let begin = "it stopped at packet 0: a wave met an illegal instruction; wave on XCC ";
    let end = format!(
        " halted at {:#x} (the kernel's entry + {offset:#x}), instruction {ILLEGAL:#x}",
        entry + offset
    );
    expect("a wave halts", &queue, |line| {
        line.starts_with(begin) && line.ends_with(&end)
    })
}

/// How far behind a kernel's entry a word is, by the symbols of its code object's file.
fn offset_in(place: usize, name: &str, word: u32) -> Result<u64, Failure> {
    let path = std::env::args().nth(place);
    let path = path.ok_or_else(|| Failure::new("a code object is missing"))?;
    let bytes = std::fs::read(&path).map_err(Failure::new)?;
    let file = object::File::parse(&*bytes).map_err(Failure::new)?;
    let symbol = file.symbols().find(|symbol| symbol.name() == Ok(name));
    let symbol = symbol.ok_or_else(|| Failure::new(format_args!("no symbol {name}")))?;
    let section = symbol
        .section_index()
        .and_then(|index| file.section_by_index(index).ok());
    let section = section.ok_or_else(|| Failure::new("the symbol has no section"))?;
    let code = section.data_range(symbol.address(), symbol.size());
    let code = code.map_err(Failure::new)?.unwrap_or_default();
    let mut words = code.chunks_exact(4);
    let at = words.position(|bytes| bytes == word.to_le_bytes());
    let at = at.ok_or_else(|| Failure::new(format_args!("{name} has no word {word:#x}")))?;
    Ok(at as u64 * 4)
}

fn fault(s: &Setup) -> Result<(), Failure> {
    let queue = s.queue()?;
    let add = VectorAdd::new(&s.gpu, ELEMENTS, 4)?;
    let dispatch = queue.dispatch(&s.add).blocks(1).block(BLOCK);
    let dispatch = dispatch.arg(&add.a).arg(&add.b).arg(Address(NOWHERE));
    let _work = dispatch.arg(ELEMENTS as u32).submit()?;
    let wanted = format!(
        "it is evicted: its process wrote to the page of {NOWHERE:#x}, where nothing is mapped"
    );
    expect("a page fault evicts it", &queue, |line| line == wanted)
}

fn run() -> Result<(), Failure> {
    let gpu = Gpu::open()?;
    let s = Setup {
        kfd: File::open("/dev/kfd").map_err(Failure::new)?,
        add: gpu.load(&code_object()?)?.kernel(KERNEL)?,
        gpu,
    };
    driver(&s)?;
    barriers(&s)?;
    running(&s)?;
    too_many(&s)?;
    errors(&s)?;
    // The process' queues never run again.
    fault(&s)?;
    let (found, _) = why(&format!("{}/1000000", std::process::id()))?;
    check("a queue that there isn't is an error", !found)
}

fn main() -> ExitCode {
    report("why", run)
}
