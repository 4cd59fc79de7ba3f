// SPDX-License-Identifier: MIT OR Apache-2.0

//! DMA-bufs that outlive the GPU's driver.
//!
//! Each of two processes exports a buffer, fills it by the CPU through the DMA-buf, and closes
//! everything else, so that only a descriptor and a mapping are left. While these exist, the module
//! can't be unloaded. Then the device is unbound: mapping the descriptor must fail, and a read of the
//! old mapping, whose memory may soon belong to somebody else, must end its process with SIGBUS.
//!
//! `orphans`

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitCode, Stdio};
use std::ptr::null_mut;

use rkfd::Gpu;
use rkfd_programs::raw::{self, call};
use rkfd_programs::{bound, report, Failure};
use rkfd_uapi::{ioctl, memory as abi};
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags};

const BYTES: usize = 1 << 20;
const WORDS: usize = BYTES / 4;
/// The buffer's GPU address, which nothing uses.
const VA: u64 = 0x1234_0000_0000;
const SIGBUS: i32 = 7;
const KINDS: [(&str, u32); 2] = [("vram", abi::ALLOC_VRAM), ("gtt", abi::ALLOC_GTT)];
/// The line that a child prints when only its DMA-buf is left.
const READY: &str = "ready";

fn map(fd: BorrowedFd<'_>) -> Result<*mut u32, Errno> {
    let prot = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: The kernel chooses the address, so no mapping is replaced; this one is never removed.
    unsafe { rustix::mm::mmap(null_mut(), BYTES, prot, MapFlags::SHARED, fd, 0) }.map(|p| p.cast())
}

/// Exports a buffer and frees it; only the descriptor is left.
fn export(kind: u32) -> Result<OwnedFd, Failure> {
    let gpu = Gpu::open()?;
    let kfd = File::open("/dev/kfd").map_err(Failure::new)?;
    let flags = kind | abi::ALLOC_WRITABLE | abi::ALLOC_PUBLIC;
    let handle = raw::alloc(&kfd, gpu.id(), VA, BYTES, 0, flags).map_err(Failure::new)?;
    let mut args = abi::ExportDmabufArgs {
        handle,
        ..Default::default()
    };
    call(&kfd, &ioctl::EXPORT_DMABUF, &mut args).map_err(Failure::new)?;
    raw::free(&kfd, handle).map_err(Failure::new)?;
    // SAFETY: The request has just made the descriptor for us.
    Ok(unsafe { OwnedFd::from_raw_fd(args.dmabuf_fd as i32) })
}

fn value(i: usize) -> u32 {
    (i as u32).wrapping_mul(0x9e37_79b9)
}

fn child(kind: &str) -> Result<(), Failure> {
    let kind = KINDS.iter().find(|(name, _)| *name == kind);
    let (_, flag) = kind.ok_or_else(|| Failure::new("the argument must be vram or gtt"))?;
    let fd = export(*flag)?;
    let memory = map(fd.as_fd()).map_err(Failure::new)?;
    for i in 0..WORDS {
        // SAFETY: `i` is inside the mapping, which is this process' alone.
        unsafe { memory.add(i).write_volatile(value(i)) };
    }
    // SAFETY: As above.
    let right = (0..WORDS).filter(|&i| unsafe { memory.add(i).read_volatile() } == value(i));
    if right.count() != WORDS {
        return Err(Failure::new("words are wrong"));
    }
    println!("{READY}");
    let mut line = String::new();
    std::io::stdin()
        .read_line(&mut line)
        .map_err(Failure::new)?;
    match map(fd.as_fd()) {
        Err(Errno::NODEV) => {}
        other => {
            return Err(Failure::new(format_args!(
                "mmap without a driver: {other:?}, wanted ENODEV"
            )))
        }
    }
    // SAFETY: As above. The mapping has lost its memory, so the read ends the process.
    let word = unsafe { memory.read_volatile() };
    Err(Failure::new(format_args!(
        "memory can still be read: {word:#x}"
    )))
}

/// Starts a child and waits until it is ready.
fn start(kind: &str) -> Result<Child, Failure> {
    let mut child = Command::new(std::env::current_exe().map_err(Failure::new)?)
        .arg(kind)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(Failure::new)?;
    let mut line = String::new();
    if let Some(out) = child.stdout.as_mut() {
        let mut out = BufReader::new(out);
        out.read_line(&mut line).map_err(Failure::new)?;
    }
    match line.trim() {
        READY => Ok(child),
        line => Err(Failure::new(format_args!(
            "{kind}: the child printed: {line}"
        ))),
    }
}

fn parent() -> Result<(), Failure> {
    let (driver, address) = bound()?;
    let children = KINDS.map(|(kind, _)| (kind, start(kind)));
    let rmmod = Command::new("/bin/busybox")
        .args(["rmmod", "rkfd"])
        .status();
    if rmmod.map_err(Failure::new)?.success() {
        return Err(Failure::new(
            "the module was unloaded while DMA-bufs were left",
        ));
    }
    std::fs::write(driver.join("unbind"), &address).map_err(Failure::new)?;
    println!("unbound {address}");
    for (kind, child) in children {
        // This closes the child's input, for which the child waits.
        let output = child?.wait_with_output().map_err(Failure::new)?;
        let printed = String::from_utf8_lossy(&output.stdout);
        match output.status.signal() {
            Some(SIGBUS) => println!("{kind}: its process was ended by SIGBUS"),
            _ => {
                return Err(Failure::new(format_args!(
                    "{kind}: the child ended with {}, wanted SIGBUS: {printed}",
                    output.status
                )))
            }
        }
    }
    Ok(())
}

fn main() -> ExitCode {
    let Some(kind) = std::env::args().nth(1) else {
        return report("orphans", parent);
    };
    match child(&kind) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            println!("{failure}");
            ExitCode::FAILURE
        }
    }
}
