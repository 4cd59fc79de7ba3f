// SPDX-License-Identifier: MIT OR Apache-2.0

//! How much memory of the kernel, and of the GPU, the driver takes for each thing.
//!
//! Kernel memory is what the program's memory cgroup is charged for ("kernel" of its `memory.stat`), which includes pages
//! of system memory that objects are made of; VRAM is what the card shows as used (`mem_info_vram_used`), which includes
//! that of objects and their page tables.
//!
//! A line `takes NAME COUNT kernel=BYTES vram=BYTES` has what all of them take together.

use crate::beside::{Beside, Kind};
use crate::measure::Pace;
use crate::process::{place, save_memory, Kit, Process, PAGE};
use rkfd_programs::raw::errno;
use rkfd_programs::Failure;
use rkfd_uapi::memory;
use std::fs;
use std::thread;
use std::time::{Duration, Instant};

/// The cgroup of version 2 that this program goes into.
const GROUP: &str = "/tmp/groups/costs";
/// The kernel adds up what its processors have counted every two seconds, by a timer that doesn't wake one that is idle
/// (`FLUSH_TIME`, `stats_flush_dwork` of `mm/memcontrol.c`).
const SETTLED: Duration = Duration::from_millis(2500);
/// Places of the process' parts; those of objects come behind.
const SIGNALS: u64 = 0;
const QUEUES: u64 = 1;
const OBJECTS: u64 = 8;

/// Bytes of each kind.
#[derive(Clone, Copy)]
struct Used {
    kernel: i64,
    vram: i64,
}

/// Where it is read how much is used.
struct Scale {
    vram: String,
}

fn number(path: &str, key: &str) -> Result<i64, Failure> {
    let text = fs::read_to_string(path).map_err(|e| Failure::new(format_args!("{path}: {e}")))?;
    let line = text.lines().find_map(|line| line.strip_prefix(key));
    let number = line.and_then(|number| number.trim().parse().ok());
    number.ok_or_else(|| Failure::new(format_args!("{path} has no number '{key}'")))
}

/// Keeps all processors busy until the kernel has added up.
fn settle() {
    let begin = Instant::now();
    let count = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..count {
            scope.spawn(|| {
                while begin.elapsed() < SETTLED {
                    std::hint::spin_loop();
                }
            });
        }
    });
}

impl Scale {
    /// Puts this program, and those that it starts, into the cgroup.
    fn new(process: &Process) -> Result<Self, Failure> {
        let pid = std::process::id().to_string();
        fs::write(format!("{GROUP}/cgroup.procs"), pid)
            .map_err(|e| Failure::new(format_args!("{GROUP}: {e}")))?;
        let render = process.node.render.trim_start_matches("/dev/dri/");
        Ok(Self {
            vram: format!("/sys/class/drm/{render}/device/mem_info_vram_used"),
        })
    }

    fn used(&self) -> Result<Used, Failure> {
        settle();
        Ok(Used {
            kernel: number(&format!("{GROUP}/memory.stat"), "kernel ")?,
            vram: number(&self.vram, "")?,
        })
    }

    /// Prints what `count` things take that `make` makes.
    fn weigh<T>(
        &self,
        name: &str,
        count: usize,
        make: impl FnOnce() -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let before = self.used()?;
        let made = make()?;
        let after = self.used()?;
        let (kernel, vram) = (after.kernel - before.kernel, after.vram - before.vram);
        println!("takes {name} {count} kernel={kernel} vram={vram}");
        Ok(made)
    }
}

/// Weighs everything; events alone where it is only to be shown that it can be done.
pub fn run(pace: Pace) -> Result<(), Failure> {
    let process = Process::new()?;
    let scale = Scale::new(&process)?;
    process.signal_page(SIGNALS)?;
    let events = pace.pick(4000, 2000);
    scale.weigh("event", events, || {
        (0..events).try_for_each(|_| process.signal(false).map(drop))
    })?;
    if pace.is_brief {
        return Ok(());
    }
    processes(&scale)?;
    queues(&scale, &process)?;
    objects(&scale, &process)
}

/// A program that has done nothing, and one that has opened the GPU.
fn processes(scale: &Scale) -> Result<(), Failure> {
    const COUNT: usize = 32;
    for (name, kind) in [
        ("program", Kind::Idle),
        ("program-with-the-GPU", Kind::Objects),
    ] {
        let all = scale.weigh(name, COUNT, || {
            let start = |_| {
                let mut one = Beside::new(kind, None)?;
                one.have(0, 0)?;
                Ok(one)
            };
            (0..COUNT).map(start).collect::<Result<Vec<_>, Failure>>()
        })?;
        all.into_iter().try_for_each(Beside::end)?;
    }
    Ok(())
}

fn queues(scale: &Scale, process: &Process) -> Result<(), Failure> {
    const COUNT: usize = 60;
    let kit = Kit::new(process, &save_memory(&process.node)?, QUEUES)?;
    for (name, percent) in [("queue-off", 0), ("queue", 100)] {
        let all = scale.weigh(name, COUNT, || {
            let all: Result<Vec<u32>, _> = (0..COUNT).map(|_| kit.create(percent)).collect();
            all.map_err(errno("CREATE_QUEUE"))
        })?;
        all.into_iter().try_for_each(|queue| kit.destroy(queue))?;
    }
    Ok(())
}

fn objects(scale: &Scale, process: &Process) -> Result<(), Failure> {
    const COUNT: usize = 4000;
    let (vram, gtt) = (
        memory::ALLOC_VRAM | memory::ALLOC_WRITABLE,
        memory::ALLOC_GTT | memory::ALLOC_WRITABLE,
    );
    let mut at = place(OBJECTS);
    for (name, bytes, flags, count) in [
        ("vram-4k", PAGE, vram, COUNT),
        ("gtt-4k", PAGE, gtt, COUNT),
        ("vram-256m", 256 << 20, vram, 1),
        ("gtt-256m", 256 << 20, gtt, 1),
    ] {
        let handles = scale.weigh(&format!("object-{name}"), count, || {
            let alloc = |n: u64| process.alloc(at + n * bytes, bytes, flags);
            (0..count as u64).map(alloc).collect::<Result<Vec<_>, _>>()
        })?;
        scale.weigh(&format!("mapping-{name}"), count, || {
            handles.iter().try_for_each(|&handle| process.map(handle))
        })?;
        for handle in handles {
            process.unmap(handle)?;
            process.free(handle)?;
        }
        at += 1 << 30;
    }
    Ok(())
}
