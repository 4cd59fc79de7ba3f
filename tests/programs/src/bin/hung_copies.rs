// SPDX-License-Identifier: MIT OR Apache-2.0

//! A copy engine hangs in a program's packet.
//!
//! `hung_copies`: runs on a GPU whose first copy never ends. VRAM is allocated meanwhile, which the driver
//! clears with the same engine; then the queue is destroyed. The engine is reset, which the program learns, and no other.
//!
//! `hung_copies gpu`: the GPU has to be reset, of which every program learns; DESTROY_QUEUE fails, as upstream's
//! (`remove_queue_mes_on_reset_option`).
//!
//! `hung_copies bystander [gpu]`: another program with a GPU. It prints a line, and checks what it has heard when its
//! standard input is closed.

use std::fs::File;
use std::io::Read;
use std::process::{Child, ExitCode};
use std::time::{Duration, Instant};

use rkfd::{Gpu, Memory};
use rkfd_programs::raw::{self, errno};
use rkfd_programs::{bystander, check, report, Failure};
use rkfd_uapi::event;
use rustix::io::Errno;

/// Words of a buffer, and of one that takes two pieces to clear (128 MiB).
const N: usize = 1 << 16;
const LARGE: usize = 32 << 20;
/// Bytes of VRAM that are left: two and a half of those.
const LEFT: u64 = 320 << 20;

const READY: &str = "bystander: ready";

fn is_argument(word: &str) -> bool {
    std::env::args().skip(1).any(|argument| argument == word)
}

/// Waits for a hardware exception: it names the GPU, whose memory may be lost. None when the time runs out.
fn exception(kfd: &File, id: u32, millis: u32) -> Result<Option<event::HwExceptionData>, Failure> {
    let data = raw::wait(kfd, id, millis).map_err(errno("WAIT_EVENTS"))?;
    Ok(data.map(|data| data.hw_exception()))
}

fn stand_by() -> Result<(), Failure> {
    let _gpu = Gpu::open()?;
    let kfd = File::open("/dev/kfd").map_err(Failure::new)?;
    let exceptions = raw::event(&kfd, event::EVENT_HW_EXCEPTION).map_err(errno("CREATE_EVENT"))?;
    println!("{READY}");
    let mut end = Vec::new();
    std::io::stdin()
        .read_to_end(&mut end)
        .map_err(Failure::new)?;
    let (millis, wanted) = match is_argument("gpu") {
        true => (10_000, true),
        false => (0, false),
    };
    let heard = exception(&kfd, exceptions, millis)?.is_some();
    check(
        "bystander: it hears of a reset of the GPU only",
        heard == wanted,
    )
}

fn start_bystander() -> Result<Child, Failure> {
    let mut arguments = vec!["bystander".to_owned()];
    arguments.extend(std::env::args().skip(1));
    bystander::start(&arguments, READY)
}

fn run() -> Result<(), Failure> {
    let mut bystander = start_bystander()?;
    let gpu = Gpu::open()?;
    // The driver goes round its memory: little is left, so that the next owner of VRAM gets the same.
    let rest = (gpu.available_memory()? - LEFT) >> 21 << 21;
    let _held = gpu.alloc_in::<u8>(Memory::Vram, rest as usize)?;
    let before = gpu.alloc_in::<u32>(Memory::Vram, 2 * LARGE)?;
    let dirty = (0..2 * LARGE)
        .step_by(1023)
        .all(|i| before.set(i, 7).is_some());
    check("VRAM has something to be cleared", dirty)?;
    drop(before);
    let kfd = File::open("/dev/kfd").map_err(Failure::new)?;
    let exceptions = raw::event(&kfd, event::EVENT_HW_EXCEPTION).map_err(errno("CREATE_EVENT"))?;
    let (source, target) = (gpu.alloc_in(Memory::Gtt, N)?, gpu.alloc_in(Memory::Gtt, N)?);
    source.fill(7u32)?;
    target.fill(0u32)?;
    let queue = gpu.copy_queue()?;
    let copy = queue.copy(&target, &source)?;
    std::thread::sleep(Duration::from_millis(300));
    check("the copy hangs", !copy.is_done())?;

    let start = Instant::now();
    let cleared = std::thread::scope(|scope| {
        let cleared = scope.spawn(|| gpu.alloc_in::<u32>(Memory::Vram, LARGE));
        std::thread::sleep(Duration::from_millis(300));
        let waits = !cleared.is_finished();
        let destroyed = raw::destroy_queue(&kfd, queue.id());
        println!("destroyed after {} ms", start.elapsed().as_millis());
        match is_argument("gpu") {
            true => check(
                "the queue isn't given back",
                destroyed == Err(Errno::TIMEDOUT),
            )?,
            false => destroyed.map_err(errno("DESTROY_QUEUE"))?,
        }
        check("VRAM isn't cleared while the engine hangs", waits)?;
        match cleared.join() {
            Ok(buffer) => Ok(buffer?),
            Err(_) => Err(Failure::new("the thread panicked")),
        }
    })?;
    let zero = (0..LARGE).step_by(1023).all(|i| cleared.get(i) == Some(0));
    check("VRAM is cleared afterwards", zero)?;

    let exception = exception(&kfd, exceptions, 10_000)?;
    println!("the exception: {exception:x?}");
    check(
        "the exception reports a reset",
        exception.is_some_and(|d| {
            (d.reset_type, d.reset_cause) == (event::RESET_WHOLE_GPU, event::CAUSE_GPU_HANG)
                && (d.memory_lost, d.gpu_id) == (1, gpu.id())
        }),
    )?;
    check("the copy stays undone", !copy.is_done())?;
    drop(bystander.stdin.take());
    let status = bystander.wait().map_err(Failure::new)?;
    check("another program is told what it should", status.success())
}

fn main() -> ExitCode {
    match is_argument("bystander") {
        true => report("bystander", stand_by),
        false => report("hung_copies", run),
    }
}
