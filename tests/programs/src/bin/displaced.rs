// SPDX-License-Identifier: MIT OR Apache-2.0

//! Two programs that together want more VRAM than there is: this one has GEM objects, the other one buffers of KFD's.
//!
//! This one's objects fill most of VRAM, and a kernel adds two of them again and again, with other values each time.
//! Then the other program asks for more than is left. It gets that, this one's objects go to system memory, and each sum
//! is right all the time; management events tell of the queues. When the other one has gone, objects that are mapped
//! anew or that KFD imports are in VRAM again; what KFD imported when there was no room stays where it was. A program that
//! is killed while KFD's import has an object copied keeps nobody from importing it.
//!
//! `displaced CODE-OBJECT`; `displaced taker` is the other program, `displaced importer GPU FD` the one that is killed.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::{AsRawFd, FromRawFd};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rkfd::{Address, Gpu, Kernel, Memory, Queue, QueueOptions};
use rkfd_programs::objects::{Mapped, Objects};
use rkfd_programs::raw::{self, call, errno};
use rkfd_programs::{check, code_object, report, Failure, BLOCK, KERNEL, PATIENCE};
use rkfd_uapi::{amdgpu, gem, ioctl, memory, smi};

/// Elements of what is added.
const N: usize = 1 << 18;
const BYTES: usize = N * 4;
/// Bytes of what only fills VRAM.
const FILLER: usize = 16 << 20;
/// One element of a page of these is looked at.
const STEP: usize = 1024;
/// VRAM that the fillers leave.
const LEFT: u64 = 48 << 20;
/// Bytes of the other program's buffers.
const TAKEN: usize = 16 << 20;
/// Files that map an object and are closed.
const FILES: usize = 64;
/// GPU addresses, far from those that the library uses.
const PLACES: [u64; 3] = [0x1234_0000_0000, 0x1235_0000_0000, 0x1236_0000_0000];
const AGAIN: u64 = 0x1237_0000_0000;
const IMPORTED: u64 = 0x1238_0000_0000;
/// Bytes of what a killed program imports: more than the driver copies at a time, between which it looks.
const LARGE: usize = 48 << 20;
/// The fillers that KFD takes while there is no room for all of them.
const STAYING: std::ops::Range<usize> = 2..8;

/// What is added in a round: small whole numbers, of which sums are exact.
fn first(round: usize, i: usize) -> f32 {
    ((i + 31 * round) % 4093) as f32
}

fn second(i: usize) -> f32 {
    (i % 127) as f32
}

/// Where KFD maps a filler, and where the file does.
fn staying(n: usize) -> (u64, u64) {
    let at = |start| start + (n * FILLER) as u64;
    (at(0x1239_0000_0000), at(0x123a_0000_0000))
}

fn filled(n: usize, i: usize) -> f32 {
    (i / STEP + 1000 * n) as f32
}

/// Where the objects of the file lie, in KiB by a line of its fdinfo.
fn kib(render: &File, key: &str) -> Result<u64, Failure> {
    let path = format!("/proc/self/fdinfo/{}", render.as_raw_fd());
    let text = std::fs::read_to_string(path).map_err(Failure::new)?;
    let mut lines = text.lines();
    let value = lines.find_map(|line| {
        line.strip_prefix(key)?
            .split_whitespace()
            .next()?
            .parse()
            .ok()
    });
    value.ok_or_else(|| Failure::new(format_args!("fdinfo has no number {key}")))
}

/// A number of 64 bits that INFO answers.
fn info(render: &File, query: u32) -> Result<u64, Failure> {
    let mut value = 0u64;
    let mut args = amdgpu::Info {
        return_pointer: (&raw mut value) as u64,
        return_size: 8,
        query,
        ..Default::default()
    };
    call(render, &amdgpu::INFO, &mut args).map_err(errno("INFO"))?;
    Ok(value)
}

/// The GPU's events about evicted queues.
fn events(objects: &Objects) -> Result<File, Failure> {
    let mut args = smi::SmiEventsArgs {
        gpuid: objects.gpu_id,
        anon_fd: 0,
    };
    call(&objects.kfd, &ioctl::SMI_EVENTS, &mut args).map_err(errno("SMI_EVENTS"))?;
    // SAFETY: The request has just made the descriptor for us.
    let mut file = unsafe { File::from_raw_fd(args.anon_fd as i32) };
    let mask = smi::event_mask(smi::SMI_EVENT_QUEUE_EVICTION)
        | smi::event_mask(smi::SMI_EVENT_QUEUE_RESTORE);
    file.write_all(&mask.to_ne_bytes()).map_err(Failure::new)?;
    Ok(file)
}

/// Takes all the VRAM that there is for KFD, but for a little, says so, and keeps it until a line comes.
fn taker() -> Result<(), Failure> {
    let gpu = Gpu::open()?;
    let mut all = Vec::new();
    while gpu.available_memory()? >= LEFT {
        let buffer = gpu.alloc_in::<u32>(Memory::Vram, TAKEN / 4)?;
        let places = [0, TAKEN / 8, TAKEN / 4 - 1];
        if places.iter().any(|&at| buffer.get(at) != Some(0)) {
            return Err(Failure::new("a new buffer isn't zero"));
        }
        all.push(buffer);
    }
    println!("{}", all.len());
    let mut line = String::new();
    std::io::stdin()
        .read_line(&mut line)
        .map_err(Failure::new)?;
    Ok(())
}

/// The other program, and how many buffers it got.
fn start_taker() -> Result<(Child, usize), Failure> {
    let program = std::env::current_exe().map_err(Failure::new)?;
    let mut command = Command::new(program);
    command
        .arg("taker")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut child = command.spawn().map_err(Failure::new)?;
    let pipe = child.stdout.take();
    let pipe = pipe.ok_or_else(|| Failure::new("the other program has no output"))?;
    let mut line = String::new();
    BufReader::new(pipe)
        .read_line(&mut line)
        .map_err(Failure::new)?;
    let count = line.trim_end().parse();
    Ok((
        child,
        count.map_err(|_| Failure::new(format_args!("the other program says {line:?}")))?,
    ))
}

/// The objects that are added, and the sums.
struct Sums<'a> {
    queue: &'a Queue,
    kernel: &'a Kernel,
    operand: Mapped,
    sums: Mapped,
}

impl Sums<'_> {
    /// Maps what KFD has by the file, too, and adds what the processor stores to it then, at KFD's addresses.
    fn through_kfd(&self, objects: &Objects, fillers: &[(u32, Mapped)]) -> Result<bool, Failure> {
        let mut all_right = true;
        for (n, (handle, mapped)) in fillers
            .iter()
            .enumerate()
            .take(STAYING.end)
            .skip(STAYING.start)
        {
            let (kfd, file) = staying(n);
            objects.va(gem::VA_OP_MAP, *handle, file, (0, FILLER as u64))?;
            mapped.fill(1, |i| first(n, i));
            let dispatch = self.queue.dispatch(self.kernel).blocks(N as u32 / BLOCK);
            let dispatch = [kfd, PLACES[1], PLACES[2]]
                .into_iter()
                .fold(dispatch.block(BLOCK), |d, va| d.arg(Address(va)));
            dispatch.arg(N as u32).submit()?.wait_timeout(PATIENCE)?;
            let (right, _) = self.sums.count(1, |i| first(n, i) + second(i));
            all_right &= right == N;
        }
        Ok(all_right)
    }

    /// Adds until it is told to end; returns how often.
    fn run(&self, end: &AtomicBool) -> Result<usize, Failure> {
        let mut rounds = 0;
        while rounds < 2 || !end.load(Ordering::Acquire) {
            self.operand.fill(1, |i| first(rounds, i));
            let dispatch = self.queue.dispatch(self.kernel).blocks(N as u32 / BLOCK);
            let dispatch = PLACES
                .into_iter()
                .fold(dispatch.block(BLOCK), |d, va| d.arg(Address(va)));
            dispatch.arg(N as u32).submit()?.wait_timeout(PATIENCE)?;
            let (right, _) = self.sums.count(1, |i| first(rounds, i) + second(i));
            if right != N {
                return Err(Failure::new(format_args!(
                    "round {rounds}: {right} of {N} sums are right"
                )));
            }
            rounds += 1;
        }
        Ok(rounds)
    }
}

fn run() -> Result<(), Failure> {
    let gpu = Gpu::open()?;
    let queue = gpu.queue(QueueOptions::default())?;
    let kernel = gpu.load(&code_object()?)?.kernel(KERNEL)?;
    let objects = Objects::new(raw::render()?, gpu.id())?;
    let mut events = events(&objects)?;
    let vram = gem::DOMAIN_VRAM;

    let mut added = Vec::new();
    for at in PLACES {
        let handle = objects.create(BYTES, vram)?;
        objects.va(gem::VA_OP_MAP, handle, at, (0, BYTES as u64))?;
        added.push(objects.cpu(handle, BYTES)?);
    }
    added[1].fill(1, second);
    let large = objects.create(LARGE, vram)?;
    let large = (large, objects.cpu(large, LARGE)?);
    large.1.fill(STEP, |i| filled(0, i));
    let mut fillers = Vec::new();
    // KFD's programs can have what objects give way with; what is really left is another number.
    let used = "/sys/bus/pci/devices/0000:00:01.0/mem_info_vram_used";
    let total = "/sys/bus/pci/devices/0000:00:01.0/mem_info_vram_total";
    let number = |path: &str| -> Result<u64, Failure> {
        let text = std::fs::read_to_string(path).map_err(Failure::new)?;
        text.trim_end().parse().map_err(Failure::new)
    };
    while number(used)? + LEFT + (FILLER as u64) < number(total)? {
        let handle = objects.create(FILLER, vram)?;
        let mapped = objects.cpu(handle, FILLER)?;
        mapped.fill(STEP, |i| filled(fillers.len(), i));
        fillers.push((handle, mapped));
    }
    let before = kib(&objects.render, "drm-resident-vram:")?;
    println!("{} objects fill VRAM, {before} KiB in all", fillers.len());
    check(
        "nothing was evicted",
        kib(&objects.render, "amd-evicted-vram:")? == 0,
    )?;

    // An object keeps no address space of a file that mapped it and is gone.
    let before = number(used)?;
    for _ in 0..FILES {
        let other = Objects::new(rkfd_programs::render_node()?, gpu.id())?;
        let handle = other.import(&objects.export(fillers[0].0)?)?;
        other.va(gem::VA_OP_MAP, handle, AGAIN, (0, FILLER as u64))?;
    }
    check("files that are gone keep no VRAM", number(used)? <= before)?;

    let sums = added.pop().zip(added.into_iter().next());
    let (sums, operand) = sums.ok_or_else(|| Failure::new("there are no objects"))?;
    let adds = Sums {
        queue: &queue,
        kernel: &kernel,
        operand,
        sums,
    };
    let end = AtomicBool::new(false);
    let (rounds, taken) = std::thread::scope(|scope| {
        let adder = scope.spawn(|| adds.run(&end));
        let taken = start_taker();
        end.store(true, Ordering::Release);
        let rounds = adder
            .join()
            .map_err(|_| Failure::new("the thread panicked"));
        Ok::<_, Failure>((rounds??, taken?))
    })?;
    let (mut taker, buffers) = taken;
    println!("the other program got {buffers} buffers; {rounds} rounds of sums are right");
    let taken = (buffers * TAKEN) as u64;
    check("it got more than was left", taken > LEFT + FILLER as u64)?;
    let evicted = kib(&objects.render, "amd-evicted-vram:")?;
    let render = &objects.render;
    let times = info(render, amdgpu::INFO_NUM_EVICTIONS)?;
    let moved = info(render, amdgpu::INFO_NUM_BYTES_MOVED)?;
    check("INFO tells of them", times >= 4 && moved == evicted << 10)?;
    println!("{evicted} KiB were evicted");
    check(
        "objects gave way",
        evicted << 10 >= taken - LEFT - FILLER as u64,
    )?;
    let right = fillers.iter().enumerate().all(|(n, (_, mapped))| {
        let (right, all) = mapped.count(STEP, |i| filled(n, i));
        right == all
    });
    check("what they hold is what it was", right)?;
    told(&mut events)?;
    // With all of them in system memory.
    let more = adds.run(&AtomicBool::new(true))?;
    check("sums are right afterwards", more == 2)?;
    // KFD takes more than there is room for: some of it is in system memory, and has to stay there.
    for (n, (handle, _)) in fillers
        .iter()
        .enumerate()
        .take(STAYING.end)
        .skip(STAYING.start)
    {
        objects.to_kfd(*handle, staying(n).0)?;
    }

    drop(taker.stdin.take());
    check(
        "the other program ends",
        taker.wait().map_err(Failure::new)?.success(),
    )?;
    let oldest = &fillers[0];
    wait_for("VRAM comes back", || {
        Ok(number(used)? + taken / 2 < number(total)?)
    })?;
    let evicted = kib(&objects.render, "amd-evicted-vram:")?;
    let moved = info(&objects.render, amdgpu::INFO_NUM_BYTES_MOVED)?;
    let right = adds.through_kfd(&objects, &fillers)?;
    check("what KFD has is the object wherever it is mapped", right)?;
    check(
        "and stays where it is",
        kib(&objects.render, "amd-evicted-vram:")? == evicted,
    )?;
    check(
        "the processor has touched it",
        is_touched(&objects, oldest.0)?,
    )?;
    objects.va(gem::VA_OP_MAP, oldest.0, AGAIN, (0, FILLER as u64))?;
    check(
        "which is forgotten when it is moved to VRAM",
        !is_touched(&objects, oldest.0)?,
    )?;
    check(
        "INFO tells of what came back, too",
        info(&objects.render, amdgpu::INFO_NUM_BYTES_MOVED)? == moved + FILLER as u64,
    )?;
    let now = kib(&objects.render, "amd-evicted-vram:")?;
    check(
        "one that is mapped is in VRAM again",
        now + ((FILLER as u64) >> 10) == evicted,
    )?;
    let next = &fillers[1];
    objects.to_kfd(next.0, IMPORTED)?;
    let now = kib(&objects.render, "amd-evicted-vram:")?;
    check(
        "one that KFD takes is, too",
        now + ((2 * FILLER as u64) >> 10) == evicted,
    )?;
    let available = gpu.available_memory()?;
    objects.kfd_handle(next.0, IMPORTED + 2 * FILLER as u64)?;
    check(
        "taking it once more takes nothing more",
        gpu.available_memory()? == available,
    )?;
    let right = [oldest, next]
        .into_iter()
        .enumerate()
        .all(|(n, (_, mapped))| {
            let (right, all) = mapped.count(STEP, |i| filled(n, i));
            right == all
        });
    check("they hold what they held", right)?;
    killed(&objects, &large)
}

/// Imports an object after a program that was killed while the device copied it, for which it is told to take long.
fn killed(objects: &Objects, (handle, mapped): &(u32, Mapped)) -> Result<(), Failure> {
    let before = kib(&objects.render, "amd-evicted-vram:")?;
    check(
        "a program is killed in the middle of an import",
        dies_importing(objects, *handle)?,
    )?;
    let away = kib(&objects.render, "amd-evicted-vram:")?;
    check("the object stays away", away == before)?;
    objects.to_kfd(*handle, IMPORTED + FILLER as u64)?;
    let now = kib(&objects.render, "amd-evicted-vram:")?;
    check(
        "it comes to VRAM for the next one",
        now + ((LARGE as u64) >> 10) == away,
    )?;
    let (right, all) = mapped.count(STEP, |i| filled(0, i));
    check("and holds what it held", right == all)
}

/// Kills a program that imports an object: whether it wasn't through with it.
fn dies_importing(objects: &Objects, handle: u32) -> Result<bool, Failure> {
    let buffer = objects.export(handle)?;
    let mut child = Command::new(std::env::current_exe().map_err(Failure::new)?)
        .arg("importer")
        .args([objects.gpu_id.to_string(), buffer.as_raw_fd().to_string()])
        .stdout(Stdio::piped())
        .spawn()
        .map_err(Failure::new)?;
    let pipe = child.stdout.take();
    let mut lines = BufReader::new(pipe.ok_or_else(|| Failure::new("a pipe is missing"))?).lines();
    let begins = lines.next().and_then(Result::ok);
    check(
        "another program imports",
        begins.as_deref() == Some("begins"),
    )?;
    check("and waits in there", waits_in_import(&mut child))?;
    child.kill().map_err(Failure::new)?;
    child.wait().map_err(Failure::new)?;
    Ok(lines.next().is_none())
}

/// Waits until a program waits in IMPORT_DMABUF, for the copies; `false`: it never does.
fn waits_in_import(child: &mut Child) -> bool {
    // The number of `ioctl`, its file and its request (`proc_pid_syscall(5)`); "running" while it doesn't wait.
    let path = format!("/proc/{}/syscall", child.id());
    let request = format!("{:#x}", ioctl::IMPORT_DMABUF.info.command);
    let deadline = Instant::now() + PATIENCE;
    while Instant::now() < deadline && matches!(child.try_wait(), Ok(None)) {
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        let words: Vec<&str> = text.split_whitespace().collect();
        if words.first() == Some(&"16") && words.get(2) == Some(&request.as_str()) {
            return true;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    false
}

/// Imports what it got from [`dies_importing`], and stays until it is killed.
fn importer() -> Result<(), Failure> {
    let mut numbers = std::env::args().skip(2).map(|word| word.parse::<u32>());
    let mut number = || {
        numbers
            .next()
            .and_then(Result::ok)
            .ok_or_else(|| Failure::new("a number is missing"))
    };
    let (gpu_id, dmabuf_fd) = (number()?, number()?);
    let objects = Objects::new(rkfd_programs::render_node()?, gpu_id)?;
    let mut vm = memory::AcquireVmArgs {
        drm_fd: objects.render.as_raw_fd() as u32,
        gpu_id,
    };
    call(&objects.kfd, &ioctl::ACQUIRE_VM, &mut vm).map_err(errno("ACQUIRE_VM"))?;
    println!("begins");
    let mut args = memory::ImportDmabufArgs {
        va_addr: IMPORTED,
        handle: 0,
        gpu_id,
        dmabuf_fd,
    };
    call(&objects.kfd, &ioctl::IMPORT_DMABUF, &mut args).map_err(errno("IMPORT_DMABUF"))?;
    println!("ends");
    std::thread::sleep(PATIENCE);
    Ok(())
}

/// Whether the processor has touched an object since it came to VRAM (`amdgpu_bo_fault_reserve_notify`, `amdgpu_bo_move`).
fn is_touched(objects: &Objects, handle: u32) -> Result<bool, Failure> {
    let mut created = gem::GemCreate::default();
    let mut args = gem::GemOp {
        handle,
        op: gem::OP_GET_GEM_CREATE_INFO,
        value: (&raw mut created) as u64,
        ..Default::default()
    };
    call(&objects.render, &gem::GEM_OP, &mut args).map_err(errno("GEM_OP"))?;
    Ok(created.domain_flags & gem::CREATE_CPU_ACCESS_REQUIRED != 0)
}

/// The events: queues were evicted for memory that was moved, and restored.
fn told(events: &mut File) -> Result<(), Failure> {
    let mut bytes = [0; 4096];
    let count = events.read(&mut bytes).map_err(Failure::new)?;
    let text = String::from_utf8_lossy(&bytes[..count]).into_owned();
    let of = |kind: u32| {
        let kind = format!("{kind:x} ");
        text.lines()
            .filter(move |line| line.starts_with(&kind))
            .collect::<Vec<_>>()
    };
    let evicted = of(smi::SMI_EVENT_QUEUE_EVICTION);
    let moved = format!(" {}", smi::EVICTION_TRIGGER_TTM);
    check(
        "events tell that queues were evicted, and why",
        !evicted.is_empty() && evicted.iter().all(|line| line.ends_with(&moved)),
    )?;
    let restored = of(smi::SMI_EVENT_QUEUE_RESTORE).len();
    check("and that they were restored", restored == evicted.len())
}

fn wait_for(what: &str, done: impl Fn() -> Result<bool, Failure>) -> Result<(), Failure> {
    let start = Instant::now();
    while !done()? {
        if start.elapsed() > PATIENCE {
            return Err(Failure::new(format_args!("{what}: it doesn't come")));
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}

fn ended(result: Result<(), Failure>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            println!("{failure}");
            ExitCode::FAILURE
        }
    }
}

fn main() -> ExitCode {
    match std::env::args().nth(1).as_deref() {
        Some("taker") => ended(taker()),
        Some("importer") => ended(importer()),
        _ => report("displaced", run),
    }
}
