// SPDX-License-Identifier: MIT OR Apache-2.0

//! Memory that processes and drivers share as DMA-bufs, used by GPU work of each.
//!
//! The parent exports a buffer and frees it. A child that has only the descriptor imports it, and
//! its GPU work stores sums there; another child is killed while it has the buffer mapped. The parent
//! then reads the sums by the CPU, and by the GPU through its own import. With `foreign` the GPU
//! stores into memory that another driver has exported.
//!
//! `dmabuf CODE-OBJECT vram|gtt|foreign`

use std::ffi::c_void;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::process::{Command, ExitCode, Stdio};
use std::ptr::null_mut;

use rkfd::{Address, Gpu, Kernel, Queue, QueueOptions};
use rkfd_programs::raw::{self, call, errno};
use rkfd_programs::{code_object, report, Failure, BLOCK, KERNEL, PATIENCE};
use rkfd_uapi::{ioctl, memory as abi};
use rustix::fs::{MemfdFlags, SealFlags};
use rustix::ioctl::{Ioctl, IoctlOutput, Opcode};
use rustix::mm::{MapFlags, ProtFlags};

const N: usize = 1 << 16;
const BYTES: usize = N * 4;
/// GPU addresses, far from those that the library uses.
const EXPORTED: u64 = 0x1234_0000_0000;
const IMPORTED: u64 = 0x1235_0000_0000;
const FOREIGN: u64 = 0x1236_0000_0000;

struct Setup {
    kfd: File,
    gpu: Gpu,
    queue: Queue,
    kernel: Kernel,
}

impl Setup {
    fn new() -> Result<Self, Failure> {
        let gpu = Gpu::open()?;
        Ok(Self {
            kfd: File::open("/dev/kfd").map_err(Failure::new)?,
            queue: gpu.queue(QueueOptions::default())?,
            kernel: gpu.load(&code_object()?)?.kernel(KERNEL)?,
            gpu,
        })
    }

    /// `c[i] = a[i] + b[i]`, with GPU addresses.
    fn add(&self, a: u64, b: u64, c: u64) -> Result<(), Failure> {
        let dispatch = self.queue.dispatch(&self.kernel).blocks(N as u32 / BLOCK);
        let args = [a, b, c].map(Address);
        let dispatch = args
            .into_iter()
            .fold(dispatch.block(BLOCK), |d, a| d.arg(a));
        let work = dispatch.arg(N as u32).submit()?;
        Ok(work.wait_timeout(PATIENCE)?)
    }

    /// Imports a DMA-buf and maps it at the GPU address `va`; returns the handle.
    fn import(&self, fd: BorrowedFd<'_>, va: u64) -> Result<u64, Failure> {
        let mut args = abi::ImportDmabufArgs {
            va_addr: va,
            handle: 0,
            gpu_id: self.gpu.id(),
            dmabuf_fd: fd.as_raw_fd() as u32,
        };
        call(&self.kfd, &ioctl::IMPORT_DMABUF, &mut args).map_err(errno("IMPORT_DMABUF"))?;
        raw::map(&self.kfd, self.gpu.id(), args.handle).map_err(errno("MAP_MEMORY_TO_GPU"))?;
        Ok(args.handle)
    }

    fn release(&self, handle: u64) -> Result<(), Failure> {
        raw::unmap(&self.kfd, self.gpu.id(), handle).map_err(errno("UNMAP_MEMORY_FROM_GPU"))?;
        raw::free(&self.kfd, handle).map_err(errno("FREE_MEMORY_OF_GPU"))
    }

    /// Allocates a buffer, exports it and frees it, so that only the DMA-buf is left.
    fn export(&self, kind: u32) -> Result<OwnedFd, Failure> {
        let id = self.gpu.id();
        let handle = raw::alloc(
            &self.kfd,
            id,
            EXPORTED,
            BYTES,
            0,
            kind | abi::ALLOC_WRITABLE,
        )
        .map_err(errno("ALLOC_MEMORY_OF_GPU"))?;
        // There is no O_CLOEXEC among the flags, so children inherit the descriptor.
        let mut args = abi::ExportDmabufArgs {
            handle,
            ..Default::default()
        };
        call(&self.kfd, &ioctl::EXPORT_DMABUF, &mut args).map_err(errno("EXPORT_DMABUF"))?;
        raw::free(&self.kfd, handle).map_err(errno("FREE_MEMORY_OF_GPU"))?;
        // SAFETY: The request has just made the descriptor for us.
        Ok(unsafe { OwnedFd::from_raw_fd(args.dmabuf_fd as i32) })
    }
}

/// A shared mapping of a file.
struct Shared(*mut c_void);

impl Shared {
    fn new(fd: BorrowedFd<'_>) -> Result<Self, Failure> {
        let prot = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: The kernel chooses the address, so no mapping is replaced.
        unsafe { rustix::mm::mmap(null_mut(), BYTES, prot, MapFlags::SHARED, fd, 0) }
            .map(Self)
            .map_err(errno("mmap of the DMA-buf"))
    }

    /// How many elements are as wanted.
    fn count(&self, wanted: impl Fn(usize) -> f32) -> usize {
        let get = |i| {
            // SAFETY: `i` is inside the mapping, and no work of the GPU is running.
            unsafe { self.0.cast::<f32>().add(i).read_volatile() }
        };
        (0..N).filter(|&i| get(i) == wanted(i)).count()
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: The mapping is ours, and nothing borrows from it.
        let _ = unsafe { rustix::mm::munmap(self.0, BYTES) };
    }
}

fn all(what: &str, count: usize) -> Result<(), Failure> {
    println!("{what}: {count} of {N} are right");
    match count == N {
        true => Ok(()),
        false => Err(Failure::new(format_args!("{what}: elements are wrong"))),
    }
}

fn operands(i: usize) -> (f32, f32) {
    (i as f32, (i % 127) as f32 * 0.25)
}

fn sum(i: usize) -> f32 {
    operands(i).0 + operands(i).1
}

/// The child, which has only the descriptor: it stores sums, or waits to be killed.
fn child(role: &str, fd: &str) -> Result<(), Failure> {
    let fd: i32 = fd.parse().map_err(Failure::new)?;
    // SAFETY: The parent left the descriptor open for us.
    let fd = unsafe { OwnedFd::from_raw_fd(fd) };
    let s = Setup::new()?;
    s.import(fd.as_fd(), IMPORTED)?;
    if role == "hold" {
        println!("holding");
        loop {
            std::thread::park();
        }
    }
    let (a, b) = (s.gpu.alloc::<f32>(N)?, s.gpu.alloc::<f32>(N)?);
    a.fill_with(|i| operands(i).0)?;
    b.fill_with(|i| operands(i).1)?;
    s.add(a.address(), b.address(), IMPORTED)
}

fn spawn(role: &str, fd: &OwnedFd) -> Command {
    let mut command = Command::new("/proc/self/exe");
    let code = std::env::args().nth(1).unwrap_or_default();
    command.args([&code, role, &fd.as_raw_fd().to_string()]);
    command
}

fn shared(s: &Setup, kind: u32) -> Result<(), Failure> {
    let fd = s.export(kind)?;
    let mut info = abi::GetDmabufInfoArgs {
        dmabuf_fd: fd.as_raw_fd() as u32,
        ..Default::default()
    };
    call(&s.kfd, &ioctl::GET_DMABUF_INFO, &mut info).map_err(errno("GET_DMABUF_INFO"))?;
    if (info.size, info.gpu_id, info.flags) != (BYTES as u64, s.gpu.id(), kind) {
        return Err(Failure::new(format_args!(
            "GET_DMABUF_INFO returned {info:?}"
        )));
    }

    let mut hold = spawn("hold", &fd);
    let mut hold = hold.stdout(Stdio::piped()).spawn().map_err(Failure::new)?;
    let mut line = String::new();
    if let Some(out) = hold.stdout.take() {
        BufReader::new(out)
            .read_line(&mut line)
            .map_err(Failure::new)?;
    }
    if line.trim() != "holding" {
        return Err(Failure::new(format_args!(
            "the child to be killed printed: {line}"
        )));
    }
    let status = spawn("store", &fd).status().map_err(Failure::new)?;
    hold.kill().map_err(Failure::new)?;
    hold.wait().map_err(Failure::new)?;
    if !status.success() {
        return Err(Failure::new(format_args!(
            "the child that stores: {status}"
        )));
    }

    let map = Shared::new(fd.as_fd())?;
    all("the child's sums, by the CPU", map.count(sum))?;
    let handle = s.import(fd.as_fd(), IMPORTED)?;
    drop(fd);
    let twice = s.gpu.alloc::<f32>(N)?;
    s.add(IMPORTED, IMPORTED, twice.address())?;
    let right = twice
        .to_vec()?
        .into_iter()
        .enumerate()
        .filter(|&(i, v)| v == 2.0 * sum(i));
    all("the child's sums, by the GPU", right.count())?;
    s.release(handle)?;
    all("the sums, mapped only by the CPU", map.count(sum))
}

/// `struct udmabuf_create` of <linux/udmabuf.h>.
#[repr(C)]
struct UdmabufCreate {
    memfd: u32,
    flags: u32,
    offset: u64,
    size: u64,
}

// SAFETY: UDMABUF_CREATE reads this structure and returns a descriptor.
unsafe impl Ioctl for UdmabufCreate {
    type Output = OwnedFd;
    const IS_MUTATING: bool = false;

    fn opcode(&self) -> Opcode {
        rustix::ioctl::opcode::write::<Self>(b'u', 0x42)
    }

    fn as_ptr(&mut self) -> *mut c_void {
        std::ptr::from_mut(self).cast()
    }

    unsafe fn output_from_ptr(out: IoctlOutput, _: *mut c_void) -> rustix::io::Result<OwnedFd> {
        // SAFETY: The request has just made the descriptor for us.
        Ok(unsafe { OwnedFd::from_raw_fd(out) })
    }
}

/// The GPU stores into memory that the kernel's udmabuf driver exports.
fn foreign(s: &Setup) -> Result<(), Failure> {
    let memory = rustix::fs::memfd_create("rkfd", MemfdFlags::ALLOW_SEALING)
        .map_err(errno("memfd_create"))?;
    rustix::fs::ftruncate(&memory, BYTES as u64).map_err(errno("ftruncate"))?;
    rustix::fs::fcntl_add_seals(&memory, SealFlags::SHRINK).map_err(errno("F_ADD_SEALS"))?;
    let device = File::options()
        .read(true)
        .write(true)
        .open("/dev/udmabuf")
        .map_err(Failure::new)?;
    let create = UdmabufCreate {
        memfd: memory.as_raw_fd() as u32,
        flags: 0,
        offset: 0,
        size: BYTES as u64,
    };
    // SAFETY: `create` is what UDMABUF_CREATE reads.
    let fd = unsafe { rustix::ioctl::ioctl(device.as_fd(), create) };
    let fd = fd.map_err(errno("UDMABUF_CREATE"))?;
    let handle = s.import(fd.as_fd(), FOREIGN)?;
    let (a, b) = (s.gpu.alloc::<f32>(N)?, s.gpu.alloc::<f32>(N)?);
    a.fill_with(|i| operands(i).0)?;
    b.fill_with(|i| operands(i).1)?;
    s.add(a.address(), b.address(), FOREIGN)?;
    let map = Shared::new(memory.as_fd())?;
    all("sums in another driver's memory", map.count(sum))?;
    s.release(handle)
}

fn run() -> Result<(), Failure> {
    let args: Vec<String> = std::env::args().collect();
    let words: Vec<&str> = args.iter().skip(2).map(String::as_str).collect();
    match words[..] {
        [role, fd] => child(role, fd),
        ["gtt"] => shared(&Setup::new()?, abi::ALLOC_GTT),
        ["vram"] => shared(&Setup::new()?, abi::ALLOC_VRAM),
        ["foreign"] => foreign(&Setup::new()?),
        _ => Err(Failure::new(
            "the second argument must be vram, gtt or foreign",
        )),
    }
}

fn main() -> ExitCode {
    report("dmabuf", run)
}
