// SPDX-License-Identifier: MIT OR Apache-2.0

//! Runs a kernel that never ends, and waits to be killed while its waves are on the GPU.
//!
//! `endless CODE-OBJECT READY-FILE`: the code object has a kernel `spin(flag)`, which runs until
//! the flag is set. The file is written once a wave has shown that it runs.
//!
//! `endless copy READY-FILE`: runs on a GPU whose first copy never ends. The file is written once the copy has had time
//! to begin.
//!
//! `endless sleeps READY-FILE`: waits for an event that nobody sets, without a limit, and prints by which error it was woken. The
//! file is written before. Afterwards the device is gone: whatever else it asks for must be refused with ENODEV, and nothing
//! can be read of VRAM.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use rkfd::{Gpu, Memory, QueueOptions};
use rkfd_programs::objects::Objects;
use rkfd_programs::raw::{self, call, errno};
use rkfd_programs::{check, code_object, render_node, report, Failure, PATIENCE};
use rkfd_uapi::{event, gem, memory};
use rustix::io::Errno;

const WORDS: usize = 1 << 12;
/// Bytes of an object, and addresses of the GPU where none is.
const BYTES: usize = 1 << 21;
const VA: u64 = 0x1234_0000_0000;

fn run() -> Result<(), Failure> {
    let ready = std::env::args()
        .nth(2)
        .ok_or_else(|| Failure::new("usage: endless CODE-OBJECT|copy|sleeps READY-FILE"))?;
    match std::env::args().nth(1).as_deref() {
        Some("copy") => copy(&ready),
        Some("sleeps") => sleeps(&ready),
        _ => compute(&ready),
    }
}

fn copy(ready: &str) -> Result<(), Failure> {
    let gpu = Gpu::open()?;
    let buffer = || gpu.alloc_in::<u32>(Memory::Gtt, WORDS);
    let (source, target) = (buffer()?, buffer()?);
    let queue = gpu.copy_queue()?;
    let copy = queue.copy(&target, &source)?;
    std::thread::sleep(Duration::from_millis(500));
    check("the copy doesn't end", !copy.is_done())?;
    rest(ready)
}

fn compute(ready: &str) -> Result<(), Failure> {
    let code = code_object()?;
    let gpu = Gpu::open()?;
    let module = gpu.load(&code)?;
    let kernel = module.kernel("spin")?;
    let queue = gpu.queue(QueueOptions::default())?;
    let (flag, seen) = (gpu.upload(&[0u32])?, gpu.upload(&[0u32])?);
    let dispatch = queue.dispatch(&kernel).grid(4096).block(256);
    let _work = dispatch.arg(&flag).arg(&seen).submit()?;
    let start = Instant::now();
    while seen.get(0) == Some(0) {
        if start.elapsed() > PATIENCE {
            return Err(Failure::new("no wave began to run"));
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    rest(ready)
}

fn sleeps(ready: &str) -> Result<(), Failure> {
    let gpu = Gpu::open()?;
    let objects = Objects::new(raw::render()?, gpu.id())?;
    let kfd = &objects.kfd;
    let id = raw::event(kfd, event::EVENT_MEMORY).map_err(errno("CREATE_EVENT"))?;
    let before = Before::new(&objects)?;
    let vram = gpu.alloc_in::<u32>(Memory::Vram, WORDS)?;
    let (at, own) = (vram.address(), File::open("/proc/self/mem"));
    let (own, mut bytes) = (own.map_err(Failure::new)?, [0; 4]);
    own.read_exact_at(&mut bytes, at).map_err(Failure::new)?;
    std::fs::write(ready, "sleeping\n").map_err(Failure::new)?;
    match raw::wait(kfd, id, event::TIMEOUT_INFINITE) {
        Ok(_) => return Err(Failure::new("the wait ended without an error")),
        Err(error) => println!("woken by {error}"),
    }
    before.ask(&objects)?;
    check(
        "a debugger reads nothing of VRAM that is gone",
        own.read_exact_at(&mut bytes, at).is_err(),
    )
}

/// What was made before the device went.
struct Before {
    kfd_handle: u64,
    gem_handle: u32,
    /// Memory of the program's own.
    own: Vec<u8>,
}

impl Before {
    fn new(objects: &Objects) -> Result<Self, Failure> {
        let kfd_handle = raw::alloc(
            &objects.kfd,
            objects.gpu_id,
            VA,
            BYTES,
            0,
            memory::ALLOC_GTT | memory::ALLOC_WRITABLE,
        );
        Ok(Self {
            kfd_handle: kfd_handle.map_err(errno("ALLOC_MEMORY_OF_GPU"))?,
            gem_handle: objects.create(BYTES, gem::DOMAIN_GTT)?,
            own: vec![0; 2 * BYTES],
        })
    }

    /// Asks for whatever there is to be had of memory: each must be refused with ENODEV.
    fn ask(&self, objects: &Objects) -> Result<(), Failure> {
        let Objects {
            kfd,
            render,
            gpu_id,
        } = objects;
        let own = (self.own.as_ptr() as u64).next_multiple_of(4096);
        let alloc = |flags, bytes, user| {
            let flags = flags | memory::ALLOC_WRITABLE;
            raw::alloc(kfd, *gpu_id, VA + BYTES as u64, bytes, user, flags).map(|_| ())
        };
        let create = |domain: u32| {
            let mut args = gem::GemCreate {
                bo_size: BYTES as u64,
                alignment: 4096,
                domains: domain.into(),
                domain_flags: 0,
            };
            call(render, &gem::GEM_CREATE, &mut args)
        };
        let mut va = gem::GemVa {
            handle: self.gem_handle,
            operation: gem::VA_OP_MAP,
            flags: gem::VM_PAGE_READABLE,
            va_address: VA + 4 * BYTES as u64,
            map_size: BYTES as u64,
            ..Default::default()
        };
        let mut user = gem::GemUserptr {
            addr: own,
            size: BYTES as u64,
            flags: gem::USERPTR_REGISTER,
            handle: 0,
        };
        let answers = [
            ("VRAM", alloc(memory::ALLOC_VRAM, BYTES, 0)),
            ("system memory", alloc(memory::ALLOC_GTT, BYTES, 0)),
            ("own memory", alloc(memory::ALLOC_USERPTR, BYTES, own)),
            ("doorbells", alloc(memory::ALLOC_DOORBELL, 8192, 0)),
            ("registers", alloc(memory::ALLOC_MMIO_REMAP, 4096, 0)),
            ("mapping it", raw::map(kfd, *gpu_id, self.kfd_handle)),
            ("an object in VRAM", create(gem::DOMAIN_VRAM)),
            ("an object in system memory", create(gem::DOMAIN_GTT)),
            ("mapping an object", call(render, &gem::GEM_VA, &mut va)),
            (
                "an object of own memory",
                call(render, &gem::GEM_USERPTR, &mut user),
            ),
        ];
        for (what, answer) in answers {
            println!("{what}: {answer:?}");
            check(what, answer == Err(Errno::NODEV))?;
        }
        check("the render node isn't opened", render_node().is_err())
    }
}

/// Until it is killed.
fn rest(ready: &str) -> Result<(), Failure> {
    std::fs::write(ready, "running\n").map_err(Failure::new)?;
    loop {
        std::thread::sleep(Duration::from_secs(60));
    }
}

fn main() -> ExitCode {
    report("endless", run)
}
