// SPDX-License-Identifier: MIT OR Apache-2.0

//! The driver shows what this program has: its folder in sysfs, and the files of `rkfd` in debugfs.
//!
//! What is compared with are the arguments of the program's own requests, as the library made them.
//!
//! `live CODE-OBJECT SPIN-CODE-OBJECT`, alone on the GPU

use std::collections::BTreeMap;
use std::fs::File;
use std::process::ExitCode;
use std::ptr::null_mut;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rkfd::trace::{observe, Step};
use rkfd::{Gpu, Kernel, Memory, Queue, QueueOptions};
use rkfd_programs::raw::{self, errno};
use rkfd_programs::spin::Spin;
use rkfd_programs::{check, code_object, report, Failure, VectorAdd, BLOCK, KERNEL, PATIENCE};
use rkfd_uapi::{ioctl, memory as abi};
use rustix::mm::{MapFlags, ProtFlags};

const DEBUG: &str = "/sys/kernel/debug/rkfd";
const QUEUES: usize = 2;
const ELEMENTS: usize = 4096;
const PAGE: usize = 4096;
/// Where memory of the program's own is for the GPU.
const VA: u64 = 0x1234_0000_0000;
/// Evictions until one took a millisecond, at most.
const MOST_EVICTIONS: u64 = 50;
/// A slice of doorbells.
const SLICE: u64 = 8192;
/// What a copy queue's counter is set to, and what upstream divides it by.
const COUNT: u64 = 12_345;
const DIVISOR: u64 = 100;
/// Work-items that run until they are let go: 64 work-groups, which all XCCs have alike.
const SPINNING: u32 = 64 * BLOCK;
/// Words that a copy queue fills for its time to be counted.
const FILLED: usize = 4 << 20;

/// What the program asked for.
#[derive(Default)]
struct Asked {
    /// CREATE_QUEUE's fields by name, by the queue's id.
    queues: BTreeMap<u64, BTreeMap<&'static str, u64>>,
    /// Bytes of VRAM by handle.
    vram: BTreeMap<u64, u64>,
}

impl Asked {
    fn note(&mut self, name: &str, fields: &[(&'static str, u64, u64)]) {
        let field = |name: &str| {
            let mut found = fields.iter().filter(|(field, _, _)| *field == name);
            found.next().map_or(0, |(_, _, value)| *value)
        };
        let is = |info: &ioctl::IoctlInfo| info.name == name;
        if is(&ioctl::CREATE_QUEUE.info) {
            let made = fields.iter().map(|(name, _, value)| (*name, *value));
            self.queues.insert(field("queue_id"), made.collect());
        } else if is(&ioctl::DESTROY_QUEUE.info) {
            self.queues.remove(&field("queue_id"));
        } else if is(&ioctl::ALLOC_MEMORY_OF_GPU.info) {
            let (flags, size) = (field("flags") as u32, field("size"));
            let half = flags & abi::ALLOC_AQL_QUEUE_MEM != 0;
            if flags & abi::ALLOC_VRAM != 0 {
                let bytes = if half { size / 2 } else { size };
                let pages = bytes.div_ceil(PAGE as u64);
                self.vram.insert(field("handle"), pages * PAGE as u64);
            }
        } else if is(&ioctl::FREE_MEMORY_OF_GPU.info) {
            self.vram.remove(&field("handle"));
        }
    }
}

struct Test {
    gpu: Gpu,
    kfd: File,
    asked: Arc<Mutex<Asked>>,
}

fn text(path: &str) -> Result<String, Failure> {
    std::fs::read_to_string(path).map_err(|e| Failure::new(format_args!("{path}: {e}")))
}

fn names(path: &str) -> Result<Vec<String>, Failure> {
    let entries = std::fs::read_dir(path).map_err(|e| Failure::new(format_args!("{path}: {e}")))?;
    let names = entries
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<String> = names.collect();
    names.sort();
    Ok(names)
}

/// The number behind a word in a line.
fn behind(line: &str, word: &str) -> Option<u64> {
    let mut words = line.split_whitespace().skip_while(|w| *w != word);
    let number = words.nth(1)?;
    match number.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => number.parse().ok(),
    }
}

impl Test {
    fn asked(&self) -> MutexGuard<'_, Asked> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A file or folder of this process in sysfs.
    fn path(&self, name: &str) -> String {
        format!("/sys/class/kfd/kfd/proc/{}/{name}", std::process::id())
    }

    /// The number in a file about the GPU.
    fn number(&self, name: &str) -> Result<u64, Failure> {
        let text = text(&self.path(name))?;
        text.trim().parse().map_err(Failure::new)
    }

    /// The line of a file in debugfs that has a word.
    fn line(&self, file: &str, start: &str) -> Result<String, Failure> {
        let text = text(&format!("{DEBUG}/{file}"))?;
        let line = text
            .lines()
            .find(|line| line.trim_start().starts_with(start));
        line.map(str::to_owned)
            .ok_or_else(|| Failure::new(format_args!("{file} has no '{start}': {text}")))
    }

    fn own(&self) -> String {
        format!("process {} gpu {}", std::process::id(), self.gpu.id())
    }

    fn vram(&self) -> Result<(), Failure> {
        let file = format!("vram_{}", self.gpu.id());
        let before = self.number(&file)?;
        let wanted: u64 = self.asked().vram.values().sum();
        println!("{before} bytes of VRAM, wanted {wanted}");
        check(
            "VRAM is what the program has",
            before == wanted && wanted > 0,
        )?;
        let more = self.gpu.alloc_in::<u8>(Memory::Vram, 3 * PAGE)?;
        let wanted: u64 = self.asked().vram.values().sum();
        check(
            "it grows with the program's",
            self.number(&file)? == wanted && wanted > before,
        )?;
        let flushes = |test: &Self| test.line("tlb", "of_process");
        let (first, word) = (flushes(self)?, "of_process");
        drop(more);
        check("and shrinks again", self.number(&file)? == before)?;
        check(
            "that flushed its TLBs once more",
            behind(&flushes(self)?, word) == behind(&first, word).map(|n| n + 1),
        )
    }

    fn queues(&self) -> Result<(), Failure> {
        let asked: Vec<_> = self.asked().queues.clone().into_iter().collect();
        let ids: Vec<String> = asked.iter().map(|(id, _)| id.to_string()).collect();
        check(
            "each queue has a folder, and nothing else has",
            names(&self.path("queues"))? == ids,
        )?;
        for (id, made) in asked {
            let field = |name| made.get(name).copied().unwrap_or(u64::MAX);
            let read = |name: &str| text(&self.path(&format!("queues/{id}/{name}")));
            // KFD's numbers inside: compute is 0, a copy queue 1.
            let kind = if field("queue_type") == 1 { "1" } else { "0" };
            check(
                "it shows GPU, bytes and type",
                read("gpuid")? == self.gpu.id().to_string()
                    && read("size")? == field("ring_size").to_string()
                    && read("type")? == kind,
            )?;
            let first = behind(&self.line("doorbells", &self.own())?, "words");
            let shown = text(&format!("{DEBUG}/doorbells"))?;
            let end = format!(" queue {id}");
            let bell = shown.lines().find(|line| line.ends_with(&end));
            let bell = bell.and_then(|line| behind(line, "doorbell"));
            let byte = first.zip(bell).map(|(first, bell)| (bell - first) * 4);
            println!("queue {id}: byte {byte:x?} of its slice");
            check(
                "its doorbell is where CREATE_QUEUE said",
                byte == Some(field("doorbell_offset") % SLICE),
            )?;
        }
        Ok(())
    }

    fn hardware(&self) -> Result<(), Failure> {
        let (pid, own) = (
            std::process::id(),
            format!("process {}", std::process::id()),
        );
        let vmids = text(&format!("{DEBUG}/vmids"))?;
        let lines: Vec<&str> = vmids.lines().filter(|line| line.ends_with(&own)).collect();
        let mine: Vec<u64> = lines
            .iter()
            .filter_map(|line| behind(line, "vmid"))
            .collect();
        println!("VMIDs of {pid}: {mine:?}");
        let hqd = self.line("queues", "hqd")?;
        check(
            "the mapping has the VMID that the hardware queue has",
            mine.len() == 1 && behind(&hqd, "vmid") == mine.first().copied(),
        )?;
        let file = format!("/sys/kernel/debug/kfd/proc/{pid}/pasid_{}", self.gpu.id());
        let pasid = text(&file)?.trim().parse().ok();
        println!("its PASID: {pasid:?}");
        check(
            "and the PASID that debugfs has of the process",
            pasid.is_some() && lines.iter().all(|line| behind(line, "pasid") == pasid),
        )?;
        let kind = match self.gpu.target().starts_with("gfx9") {
            true => "kind cpsch",
            false => "kind mes",
        };
        self.line("scheduler", kind)?;
        self.line("scheduler", "state runs")?;
        self.line("scheduler", "processes 1")?;
        let mapped = format!("queues_mapped {}", self.asked().queues.len());
        self.line("scheduler", &mapped)?;
        let ring = self.line("scheduler", "ring ")?;
        check(
            "its ring was written",
            behind(&ring, "write").is_some_and(|words| words > 0),
        )
    }

    /// Takes memory away that the GPU has mapped, by which the queues are evicted for a while.
    fn evicted(&self) -> Result<(), Failure> {
        let stats = format!("stats_{}/evicted_ms", self.gpu.id());
        let start = self.line("evictions", &self.own())?;
        check(
            "it was never evicted",
            behind(&start, "evictions") == Some(0) && self.number(&stats)? == 0,
        )?;
        let began = Instant::now();
        // One may take less than a millisecond, which is what the files count in.
        let mut times = 0;
        let (ended, ms) = loop {
            times += 1;
            let line = self.evicted_once(times)?;
            let ms = self.number(&stats)?;
            if ms > 0 || times == MOST_EVICTIONS {
                break (line, ms);
            }
        };
        let most = began.elapsed().as_millis() as u64;
        println!("{ended}; {ms} ms in sysfs, of {most} ms");
        check(
            "it was evicted as often, for as long as sysfs says",
            behind(&ended, "evictions") == Some(times)
                && behind(&ended, "ended_ms") == Some(ms)
                && (1..=most).contains(&ms),
        )
    }

    /// Takes memory away that the GPU has mapped, and waits until the eviction with this number has ended.
    fn evicted_once(&self, number: u64) -> Result<String, Failure> {
        let (prot, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE);
        // SAFETY: The kernel chooses the address, so no mapping is replaced.
        let at = unsafe { rustix::mm::mmap_anonymous(null_mut(), PAGE, prot, flags) };
        let at = at.map_err(errno("mmap"))?;
        let flags = abi::ALLOC_USERPTR | abi::ALLOC_WRITABLE | abi::ALLOC_COHERENT;
        let handle = raw::alloc(&self.kfd, self.gpu.id(), VA, PAGE, at as u64, flags);
        let handle = handle.map_err(errno("ALLOC_MEMORY_OF_GPU"))?;
        raw::map(&self.kfd, self.gpu.id(), handle).map_err(errno("MAP_MEMORY_TO_GPU"))?;
        let began = Instant::now();
        // SAFETY: Nothing refers to the memory.
        unsafe { rustix::mm::munmap(at, PAGE) }.map_err(errno("munmap"))?;
        let ended = loop {
            let line = self.line("evictions", &self.own())?;
            let evictions = behind(&line, "evictions").unwrap_or(0);
            if behind(&line, "lasting") == Some(0) && evictions >= number {
                break line;
            }
            if began.elapsed() > PATIENCE {
                return Err(Failure::new(format_args!("it stays evicted: {line}")));
            }
            sleep(Duration::from_millis(1));
        };
        raw::unmap(&self.kfd, self.gpu.id(), handle).map_err(errno("UNMAP_MEMORY_FROM_GPU"))?;
        raw::free(&self.kfd, handle).map_err(errno("FREE_MEMORY_OF_GPU"))?;
        Ok(ended)
    }

    /// What the copy queue did, which the engines of gfx12 count behind the read pointer, and those of gfx942 in
    /// registers.
    fn copies(&self) -> Result<(), Failure> {
        let file = format!("sdma_{}", self.gpu.id());
        if self.gpu.target().starts_with("gfx9") {
            return self.counted(&file);
        }
        let copies = self.gpu.copy_queue()?;
        let read = {
            let asked = self.asked();
            let newest = asked.queues.last_key_value();
            newest.and_then(|(_, made)| made.get("read_pointer_address").copied())
        };
        let read = read.ok_or_else(|| Failure::new("no copy queue was made"))?;
        // SAFETY: The page of the queue's pointers is mapped at its address, and nothing else uses this word.
        unsafe { ((read + 8) as *mut u64).write_volatile(COUNT) };
        check(
            "the counter is shown",
            self.number(&file)? == COUNT / DIVISOR,
        )?;
        drop(copies);
        check("and kept", self.number(&file)? == COUNT / DIVISOR)
    }

    /// Waves that run until they are let go fill compute units: all waves, and as many a unit as it can hold.
    fn occupied(&self, queue: &Queue, spin: &Kernel) -> Result<(), Failure> {
        let stats = format!("stats_{}/cu_occupancy", self.gpu.id());
        check("no unit is occupied yet", self.number(&stats)? == 0)?;
        let of = |name| self.gpu.node().property(name);
        let waves = u64::from(SPINNING).div_ceil(of("wave_front_size").max(1));
        let units = waves.div_ceil(of("max_waves_per_simd") * of("simd_per_cu").max(1));
        let spinning = Spin::start(queue, spin, SPINNING)?;
        let shown = self.number(&stats)?;
        println!("{waves} waves, {shown} units, {units} expected");
        spinning.release();
        spinning.work.wait_timeout(PATIENCE)?;
        check(
            "as many units are occupied as the waves fill",
            shown == units && units > 1,
        )?;
        check("and none afterwards", self.number(&stats)? == 0)
    }

    /// A copy queue's time at work is microseconds of what passed meanwhile.
    fn counted(&self, file: &str) -> Result<(), Failure> {
        let before = self.number(file)?;
        let buffer = self.gpu.alloc_in::<u32>(Memory::Vram, FILLED)?;
        let began = Instant::now();
        let copies = self.gpu.copy_queue()?;
        copies.fill(&buffer, 7)?.wait_timeout(PATIENCE)?;
        let counted = self.number(file)? - before;
        drop(copies);
        let (kept, most) = (self.number(file)? - before, began.elapsed().as_micros());
        println!("{before} us, then {counted} us more, {kept} us kept, of {most} us");
        check(
            "a copy queue's time is shown, and kept when it ends",
            counted > 0 && kept >= counted && u128::from(kept) <= most,
        )
    }
}

fn run() -> Result<(), Failure> {
    let code = code_object()?;
    let spinning = std::env::args().nth(2);
    let spinning =
        spinning.ok_or_else(|| Failure::new("usage: live CODE-OBJECT SPIN-CODE-OBJECT"))?;
    let spinning = std::fs::read(&spinning).map_err(Failure::new)?;
    let asked = Arc::new(Mutex::new(Asked::default()));
    let seen = asked.clone();
    observe(move |step| {
        if let Step::Ioctl(request) = step {
            let mut asked = seen.lock().unwrap_or_else(PoisonError::into_inner);
            asked.note(request.name(), &request.fields());
        }
    });
    let gpu = Gpu::open()?;
    let kernel = gpu.load(&code)?.kernel(KERNEL)?;
    let spin = gpu.load(&spinning)?.kernel("spin")?;
    let test = Test {
        kfd: File::open("/dev/kfd").map_err(Failure::new)?,
        asked,
        gpu,
    };
    let mut queues: Vec<Queue> = (0..QUEUES)
        .map(|n| test.gpu.queue(QueueOptions::new().packets(64 << n)))
        .collect::<Result<_, _>>()?;
    let copies = test.gpu.copy_queue()?;
    for (i, queue) in queues.iter().enumerate() {
        let add = VectorAdd::new(&test.gpu, ELEMENTS, i)?;
        let work = add.dispatch(queue, &kernel).submit()?;
        work.wait_timeout(PATIENCE)?;
        add.verify()?;
    }
    check("the PASID is 0, as upstream", test.number("pasid")? == 0)?;
    test.queues()?;
    test.hardware()?;
    test.occupied(
        queues.first().ok_or_else(|| Failure::new("no queue"))?,
        &spin,
    )?;
    test.vram()?;
    test.evicted()?;
    test.copies()?;
    queues.pop();
    test.queues()?;
    drop((queues, copies));
    test.line("scheduler", "processes 0")?;
    Ok(())
}

fn main() -> ExitCode {
    report("live", run)
}
