// SPDX-License-Identifier: MIT OR Apache-2.0

//! One memory by two doors: buffers of KFD's that the render node maps to the GPU, and buffers of the render
//! node's that KFD maps. It is what ROCr's API of virtual memory does with libdrm.
//!
//! The first operand is KFD's, exported, taken as a GEM handle and mapped by GEM_VA; the second is the render
//! node's own, one half at a time; sums go to a buffer of the render node's that KFD imports and maps. The CPU
//! fills and reads all of them by the offsets that GEM_MMAP gives. Then another buffer takes the place of a part of the
//! first operand's mapping, and the sums are made once more; then pages that aren't resident do, which are zero, and sums
//! that are stored to such are lost.
//!
//! `gem CODE-OBJECT vram|gtt`

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::process::ExitCode;

use rkfd::{Address, Gpu, QueueOptions};
use rkfd_programs::objects::{Mapped, Objects};
use rkfd_programs::raw::{self, call, errno};
use rkfd_programs::{check, code_object, report, Failure, BLOCK, KERNEL, PATIENCE};
use rkfd_uapi::gem::{self, GemClose, GemVa, PrimeHandle};
use rkfd_uapi::{ioctl, memory as abi};
use rustix::io::Errno;

const N: usize = 1 << 16;
const BYTES: usize = N * 4;
/// GPU addresses, far from those that the library uses.
const FROM_KFD: u64 = 0x1234_0000_0000;
const OWN: u64 = 0x1235_0000_0000;
const TO_KFD: u64 = 0x1236_0000_0000;
const NOWHERE: u64 = 0x1237_0000_0000;
/// From here on nothing is mapped.
const FAR: u64 = 0x2000_0000_0000;

struct Setup {
    objects: Objects,
    gpu: Gpu,
}

impl Setup {
    fn create(&self, domain: u32) -> Result<u32, Failure> {
        self.objects.create(BYTES, domain)
    }

    fn cpu(&self, handle: u32) -> Result<Mapped, Failure> {
        self.objects.cpu(handle, BYTES)
    }

    fn va(&self, operation: u32, handle: u32, at: u64, part: (u64, u64)) -> Result<(), Failure> {
        self.objects.va(operation, handle, at, part)
    }

    /// Pages that aren't resident, which have no buffer.
    fn nothing(&self, operation: u32, at: u64, bytes: u64) -> Result<(), Failure> {
        let mut args = GemVa {
            operation,
            flags: gem::VM_PAGE_PRT,
            va_address: at,
            map_size: bytes,
            ..Default::default()
        };
        call(&self.objects.render, &gem::GEM_VA, &mut args).map_err(errno("GEM_VA without memory"))
    }

    /// A buffer of KFD's that isn't mapped: its handle for the render node, by way of a DMA-buf.
    fn of_kfd(&self, kind: u32) -> Result<u32, Failure> {
        let flags = kind | abi::ALLOC_WRITABLE;
        let handle = raw::alloc(&self.objects.kfd, self.gpu.id(), FROM_KFD, BYTES, 0, flags)
            .map_err(errno("ALLOC_MEMORY_OF_GPU"))?;
        let mut args = abi::ExportDmabufArgs {
            handle,
            ..Default::default()
        };
        call(&self.objects.kfd, &ioctl::EXPORT_DMABUF, &mut args)
            .map_err(errno("EXPORT_DMABUF"))?;
        // SAFETY: The request has just made the descriptor for us.
        let fd = unsafe { OwnedFd::from_raw_fd(args.dmabuf_fd as i32) };
        raw::free(&self.objects.kfd, handle).map_err(errno("FREE_MEMORY_OF_GPU"))?;
        let mut args = PrimeHandle {
            fd: fd.as_raw_fd(),
            ..Default::default()
        };
        call(&self.objects.render, &gem::PRIME_FD_TO_HANDLE, &mut args)
            .map_err(errno("PRIME_FD_TO_HANDLE"))?;
        Ok(args.handle)
    }
}

fn a(i: usize) -> f32 {
    i as f32
}

fn b(i: usize) -> f32 {
    (i % 127) as f32 * 0.25
}

fn c(i: usize) -> f32 {
    1000.0 + (i % 61) as f32
}

fn run() -> Result<(), Failure> {
    let (domain, kind) = match std::env::args().nth(2).as_deref() {
        Some("gtt") => (gem::DOMAIN_GTT, abi::ALLOC_GTT),
        Some("vram") => (gem::DOMAIN_VRAM, abi::ALLOC_VRAM | abi::ALLOC_PUBLIC),
        _ => return Err(Failure::new("the second argument must be vram or gtt")),
    };
    let gpu = Gpu::open()?;
    let queue = gpu.queue(QueueOptions::default())?;
    let kernel = gpu.load(&code_object()?)?.kernel(KERNEL)?;
    let s = Setup {
        // The same open file that the library acquired the address space with.
        objects: Objects::new(raw::render()?, gpu.id())?,
        gpu,
    };
    let half = BYTES as u64 / 2;
    let first = s.of_kfd(kind)?;
    s.cpu(first)?.fill(1, a);
    s.va(gem::VA_OP_MAP, first, FROM_KFD, (0, BYTES as u64))?;
    let second = s.create(domain)?;
    s.cpu(second)?.fill(1, b);
    s.va(gem::VA_OP_MAP, second, OWN, (0, half))?;
    s.va(gem::VA_OP_MAP, second, OWN + half, (half, half))?;
    let sums = s.create(domain)?;
    let imported = s.objects.to_kfd(sums, TO_KFD)?;

    let dispatch = |operands: [u64; 3]| -> Result<(), Failure> {
        let dispatch = queue.dispatch(&kernel).blocks(N as u32 / BLOCK);
        let dispatch = operands
            .into_iter()
            .fold(dispatch.block(BLOCK), |d, va| d.arg(Address(va)));
        let work = dispatch.arg(N as u32).submit()?;
        Ok(work.wait_timeout(PATIENCE)?)
    };
    let add = |first: &dyn Fn(usize) -> f32| -> Result<(), Failure> {
        dispatch([FROM_KFD, OWN, TO_KFD])?;
        let (right, _) = s.cpu(sums)?.count(1, |i| first(i) + b(i));
        println!("sums: {right} of {N} are right");
        match right {
            N => Ok(()),
            _ => Err(Failure::new("elements are wrong")),
        }
    };
    add(&a)?;

    // A part of the first operand's mapping gives way to another buffer's; what is left of it stays.
    let patch = s.create(domain)?;
    s.cpu(patch)?.fill(1, c);
    let part = (half / 2, half / 2);
    s.va(gem::VA_OP_REPLACE, patch, FROM_KFD + part.0, part)?;
    add(&|i| match (N / 4..N / 2).contains(&i) {
        true => c(i),
        false => a(i),
    })?;

    s.nothing(gem::VA_OP_REPLACE, FROM_KFD + part.0, part.1)?;
    add(&|i| match (N / 4..N / 2).contains(&i) {
        true => 0.0,
        false => a(i),
    })?;
    // By entries of the last table, and by those of the two above.
    for bytes in [BYTES as u64, 2 << 20, 1 << 30] {
        s.nothing(gem::VA_OP_MAP, NOWHERE, bytes)?;
        s.cpu(sums)?.fill(1, c);
        dispatch([FROM_KFD, OWN, NOWHERE])?;
        dispatch([NOWHERE, OWN, TO_KFD])?;
        let (right, _) = s.cpu(sums)?.count(1, b);
        println!("sums with what was stored nowhere, of {bytes} bytes: {right} of {N} are right");
        if right != N {
            return Err(Failure::new("what isn't resident isn't zero"));
        }
        s.nothing(gem::VA_OP_UNMAP, NOWHERE, 0)?;
    }

    s.va(gem::VA_OP_UNMAP, first, FROM_KFD, (0, 0))?;
    raw::unmap(&s.objects.kfd, s.gpu.id(), imported).map_err(errno("UNMAP_MEMORY_FROM_GPU"))?;
    raw::free(&s.objects.kfd, imported).map_err(errno("FREE_MEMORY_OF_GPU"))?;
    nowhere(&s, sums)?;
    tables(&s, sums)?;
    // What the second has mapped goes with its handle; the first and the sums are left for the end.
    let mut args = GemClose {
        handle: second,
        pad: 0,
    };
    call(&s.objects.render, &gem::GEM_CLOSE, &mut args).map_err(errno("GEM_CLOSE"))
}

/// The page tables of what was mapped where nothing else is are free again once it is unmapped. In between, where a table
/// of the last level was, is an entry for 2 MiB.
fn tables(s: &Setup, object: u32) -> Result<(), Failure> {
    let used = || -> Result<u64, Failure> {
        let path = "/sys/bus/pci/devices/0000:00:01.0/mem_info_vram_used";
        let text = std::fs::read_to_string(path).map_err(Failure::new)?;
        text.trim_end().parse().map_err(Failure::new)
    };
    let large = 2 << 20;
    let before = used()?;
    for at in (1..=8).map(|n| FAR + (n << 39)) {
        s.va(gem::VA_OP_MAP, object, at, (0, 4096))?;
        s.va(gem::VA_OP_UNMAP, object, at, (0, 0))?;
        s.nothing(gem::VA_OP_MAP, at, large)?;
        s.nothing(gem::VA_OP_UNMAP, at, 0)?;
    }
    let after = used()?;
    println!("{before} bytes of VRAM were used before, {after} are now");
    check("no page table stays", after <= before)
}

/// An object that KFD took without an address can't be mapped (`kfd_mem_attach`).
fn nowhere(s: &Setup, object: u32) -> Result<(), Failure> {
    let handle = s.objects.kfd_handle(object, 0)?;
    check(
        "without an address nothing is mapped",
        raw::map(&s.objects.kfd, s.gpu.id(), handle) == Err(Errno::INVAL),
    )?;
    raw::free(&s.objects.kfd, handle).map_err(errno("FREE_MEMORY_OF_GPU"))
}

fn main() -> ExitCode {
    report("gem", run)
}
