// SPDX-License-Identifier: MIT OR Apache-2.0

//! A copy engine hangs each time that an object is moved to system memory, and the driver gives the move up.
//!
//! `immovable`: runs on a GPU whose first four copies hang, one more than the driver's resets for a move. A buffer for which the
//! object would have to give way is refused, and the object stays as it was. The next move goes well.

use std::process::ExitCode;

use rkfd::Gpu;
use rkfd_programs::objects::Objects;
use rkfd_programs::raw::{self, errno};
use rkfd_programs::{check, report, Failure};
use rkfd_uapi::gem;
use rkfd_uapi::memory::{ALLOC_VRAM, ALLOC_WRITABLE};
use rustix::io::Errno;

/// Bytes of the object, which are moved by one copy, and of a buffer.
const BYTES: usize = 4 << 20;
/// One element of each page is looked at.
const STEP: usize = 1024;
/// Where nothing is mapped.
const VA: u64 = 0x1234_0000_0000;

fn run() -> Result<(), Failure> {
    let gpu = Gpu::open()?;
    let objects = Objects::new(raw::render()?, gpu.id())?;
    let value = |i: usize| (i / STEP + 7) as f32;
    let object = objects.create(BYTES, gem::DOMAIN_VRAM)?;
    let pages = objects.cpu(object, BYTES)?;
    pages.fill(STEP, value);
    let buffer = |n: u64| {
        let (at, flags) = (VA + n * BYTES as u64, ALLOC_VRAM | ALLOC_WRITABLE);
        raw::alloc(&objects.kfd, gpu.id(), at, BYTES, 0, flags)
    };
    // They stay until the program ends.
    let refused = (0..).find_map(|n| Some((n, buffer(n).err()?)));
    let (n, error) = refused.ok_or_else(|| Failure::new("VRAM has no end"))?;
    println!("buffer {n}: {error}");
    check("there is no room for it", error == Errno::NOMEM)?;
    check(
        "the object is as it was",
        pages.count(STEP, value) == (BYTES / 4 / STEP, BYTES / 4 / STEP),
    )?;
    buffer(n).map_err(errno("ALLOC_MEMORY_OF_GPU"))?;
    check(
        "so it is where it gave way",
        pages.count(STEP, value) == (BYTES / 4 / STEP, BYTES / 4 / STEP),
    )
}

fn main() -> ExitCode {
    report("immovable", run)
}
