// SPDX-License-Identifier: MIT OR Apache-2.0

//! VRAM is given back while the driver is about to map a page of it, or to read it for a debugger.
//!
//! The driver is held, by the module `hold_call`, once it has found the buffer object and before it looks whether that
//! is still there. Meanwhile another thread gives the object back, which waits for nobody. What comes after belongs to
//! whoever gets the VRAM next, so a page of it isn't mapped any more, which ends the process with SIGBUS, and a
//! debugger reads nothing.
//!
//! `raced touch`: a page is touched. `raced read`: a debugger reads.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitCode};
use std::ptr::null_mut;
use std::sync::mpsc;
use std::thread;

use rkfd::Gpu;
use rkfd_programs::raw::{self, errno};
use rkfd_programs::{check, held, report, Failure};
use rkfd_uapi::{ioctl, memory};
use rustix::mm::{MapFlags, ProtFlags};

const CHILD: &str = "RKFD_EXAMPLE_CHILD";
const SIGBUS: i32 = 7;
const SIZE: usize = 4096;
/// Where nothing is mapped.
const VA: u64 = 0x1234_0000_0000;

/// VRAM that this process has mapped and never touched.
struct Vram {
    kfd: File,
    handle: u64,
    page: *mut u32,
}

impl Vram {
    fn new(gpu: &Gpu) -> Result<Self, Failure> {
        let kfd = File::options().read(true).write(true).open("/dev/kfd");
        let kfd = kfd.map_err(Failure::new)?;
        let mut args = memory::AllocMemoryOfGpuArgs {
            va_addr: VA,
            size: SIZE as u64,
            gpu_id: gpu.id(),
            flags: memory::ALLOC_VRAM | memory::ALLOC_PUBLIC | memory::ALLOC_WRITABLE,
            ..Default::default()
        };
        let made = raw::call(&kfd, &ioctl::ALLOC_MEMORY_OF_GPU, &mut args);
        made.map_err(errno("ALLOC_MEMORY_OF_GPU"))?;
        let (prot, shared) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED);
        let (render, offset) = (raw::render()?, args.mmap_offset);
        // SAFETY: The kernel chooses the place, where nothing is.
        let page = unsafe { rustix::mm::mmap(null_mut(), SIZE, prot, shared, &render, offset) };
        Ok(Self {
            kfd,
            handle: args.handle,
            page: page.map_err(errno("mmap of VRAM"))?.cast(),
        })
    }

    /// Does `reach` on this thread, while another gives the VRAM back as soon as the driver is held there.
    fn race<T>(&self, reach: impl FnOnce(*mut u32) -> T) -> Result<T, Failure> {
        let (kfd, handle) = (&self.kfd, self.handle);
        let (tell, ready) = mpsc::channel();
        thread::scope(|scope| {
            let other = scope.spawn(move || {
                // From here on it takes no memory: while a page is being mapped, no other can be.
                tell.send(()).map_err(Failure::new)?;
                held::wait()?;
                let freed = raw::free(kfd, handle).map_err(errno("FREE_MEMORY_OF_GPU"));
                held::release()?;
                freed
            });
            // Without its word it has failed, and says why below.
            let _ = ready.recv();
            held::hold_next()?;
            let reached = reach(self.page);
            let freed = other.join().map_err(|_| Failure::new("a panic"))?;
            freed.map(|()| reached)
        })
    }
}

/// The kernel ends the process here.
fn touch() -> Result<(), Failure> {
    let gpu = Gpu::open()?;
    let vram = Vram::new(&gpu)?;
    // SAFETY: The page is mapped for reading, or the process ends.
    let got = vram.race(|page| unsafe { page.read_volatile() })?;
    Err(Failure::new(format_args!(
        "VRAM that was given back can be read: {got}"
    )))
}

fn touched() -> Result<(), Failure> {
    let child = Command::new(std::env::current_exe().map_err(Failure::new)?)
        .env(CHILD, "1")
        .status();
    let status = child.map_err(Failure::new)?;
    println!("the program that touched it: {status}");
    check("it ends with SIGBUS", status.signal() == Some(SIGBUS))
}

fn read() -> Result<(), Failure> {
    let gpu = Gpu::open()?;
    let vram = Vram::new(&gpu)?;
    let own = File::open("/proc/self/mem").map_err(Failure::new)?;
    let got = vram.race(|page| own.read_exact_at(&mut [0; 4], page as u64))?;
    println!("the debugger: {got:?}");
    check("it reads nothing", got.is_err())
}

fn main() -> ExitCode {
    if std::env::var(CHILD).is_ok() {
        return report("raced, child", touch);
    }
    match std::env::args().nth(1).as_deref() {
        Some("touch") => report("raced", touched),
        Some("read") => report("raced", read),
        _ => report("raced", || Err(Failure::new("raced touch|read"))),
    }
}
