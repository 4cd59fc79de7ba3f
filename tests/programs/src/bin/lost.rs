// SPDX-License-Identifier: MIT OR Apache-2.0

//! A GPU falls off the bus at a program's first dispatch, and the program asks for more.
//!
//! `lost CODE-OBJECT`: nothing has told the driver yet when the render node's requests come, which look at the device
//! and are refused. Then KFD's are.

use std::fs::File;
use std::process::ExitCode;
use std::thread::sleep;
use std::time::Duration;

use rkfd::{Gpu, QueueOptions};
use rkfd_programs::gone::no_memory;
use rkfd_programs::objects::Objects;
use rkfd_programs::raw::{self, call};
use rkfd_programs::{check, code_object, report, Failure, VectorAdd, KERNEL};
use rkfd_uapi::gem::{self, GemCreate, GemVa};
use rustix::io::Errno;

const ELEMENTS: usize = 4096;
const BYTES: usize = 65536;
/// GPU addresses, far from those that the library uses.
const MAPPED: u64 = 0x1234_0000_0000;
const FREE: u64 = 0x1235_0000_0000;
/// By then the device has got the dispatch.
const SOON: Duration = Duration::from_secs(2);

/// Requests of GEM_VA: the object, if it is about one, and the flags.
fn va(render: &File, operation: u32, (handle, flags): (u32, u32), at: u64) -> Result<(), Errno> {
    let mut args = GemVa {
        handle,
        operation,
        flags,
        va_address: at,
        map_size: BYTES as u64,
        ..Default::default()
    };
    call(render, &gem::GEM_VA, &mut args)
}

fn create(render: &File) -> Result<(), Errno> {
    let mut args = GemCreate {
        bo_size: BYTES as u64,
        alignment: 4096,
        domains: gem::DOMAIN_VRAM.into(),
        domain_flags: 0,
    };
    call(render, &gem::GEM_CREATE, &mut args)
}

fn run() -> Result<(), Failure> {
    let gpu = Gpu::open()?;
    let kernel = gpu.load(&code_object()?)?.kernel(KERNEL)?;
    let queue = gpu.queue(QueueOptions::default())?;
    let add = VectorAdd::new(&gpu, ELEMENTS, 1)?;
    let objects = Objects::new(raw::render()?, gpu.id())?;
    let render = &objects.render;
    let object = objects.create(BYTES, gem::DOMAIN_VRAM)?;
    objects.va(gem::VA_OP_MAP, object, MAPPED, (0, BYTES as u64))?;
    let _work = add.dispatch(&queue, &kernel).submit()?;
    sleep(SOON);

    let (own, none) = ((object, gem::VM_PAGE_READABLE), (0, gem::VM_PAGE_PRT));
    let answers = [
        ("unmapping", va(render, gem::VA_OP_UNMAP, own, MAPPED)),
        ("clearing", va(render, gem::VA_OP_CLEAR, (0, 0), MAPPED)),
        ("mapping", va(render, gem::VA_OP_MAP, own, FREE)),
        ("mapping nothing", va(render, gem::VA_OP_MAP, none, FREE)),
        ("an object", create(render)),
    ];
    for (what, answer) in answers {
        println!("{what}: {answer:?}");
        check("it is refused", answer == Err(Errno::NODEV))?;
    }
    no_memory(&objects.kfd, gpu.id(), Errno::NODEV)
}

fn main() -> ExitCode {
    report("lost", run)
}
