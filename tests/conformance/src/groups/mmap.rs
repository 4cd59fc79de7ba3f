// SPDX-License-Identifier: MIT OR Apache-2.0
//! `kfd_mmap`: doorbells, the page of registers, the signal page.

use super::*;
use crate::row::{row, Answer, Row};
use rkfd_uapi::mmap::{Kind, Offset};

const RW: i32 = libc::PROT_READ | libc::PROT_WRITE;

fn offset(kind: Kind, gpu: u32) -> u64 {
    Offset {
        kind,
        gpu_id: gpu as u16,
        offset: 0,
    }
    .bits()
}

fn map(c: &mut Ctx, offset: u64, len: usize, flags: i32) -> Answer {
    Ok(Got::Errno(c.watched(|c| {
        match sys::Map::file(&c.kfd, offset, len, RW, flags) {
            Ok(_) => 0,
            Err(e) => e,
        }
    })))
}

fn shared(c: &mut Ctx, kind: Kind, len: usize) -> Answer {
    let at = offset(kind, c.gpu);
    map(c, at, len, libc::MAP_SHARED)
}

fn of_gpu(c: &mut Ctx, kind: Kind, gpu: u32, len: usize) -> Answer {
    map(c, offset(kind, gpu), len, libc::MAP_SHARED)
}

/// What `f` returns for a private mapping.
fn private(c: &mut Ctx, at: u64, len: usize, f: impl FnOnce(&sys::Map) -> u64) -> Answer {
    let map = sys::Map::file(&c.kfd, at, len, RW, libc::MAP_PRIVATE);
    Ok(Got::Value(f(&map.map_err(|e| format!("mmap: errno {e}"))?)))
}

fn doorbells(c: &Ctx) -> Result<sys::Map, String> {
    let at = offset(Kind::Doorbell, c.gpu);
    sys::Map::file(&c.kfd, at, 8192, RW, libc::MAP_SHARED).map_err(|e| format!("mmap: {e}"))
}

#[rustfmt::skip]
pub(super) fn rows() -> Vec<Row> {
    const D: &str = "mmap doorbells";
    const M: &str = "mmap registers";
    const E: &str = "mmap signal page";
    vec![
        row(D, "8 KiB", OK, "kfd_doorbell.c:141", |c| shared(c, Kind::Doorbell, 8192)),
        row(D, "8 KiB, no VM", OK, "kfd_doorbell.c:124", |c| shared(c, Kind::Doorbell, 8192)).open(),
        row(D, "4 KiB", EINVAL, "kfd_doorbell.c:116", |c| shared(c, Kind::Doorbell, 4096)),
        row(D, "12 KiB", EINVAL, "kfd_doorbell.c:116", |c| shared(c, Kind::Doorbell, 12288)),
        row(D, "16 KiB", EINVAL, "kfd_doorbell.c:116", |c| shared(c, Kind::Doorbell, 16384)),
        row(D, "8191 bytes, which are two pages", OK, "kfd_doorbell.c:116", |c| shared(c, Kind::Doorbell, 8191)),
        row(D, "unknown GPU", ENODEV, "kfd_chardev.c:3805", |c| of_gpu(c, Kind::Doorbell, 0xdead, 8192)),
        row(D, "GPU 0", ENODEV, "kfd_chardev.c:3798", |c| of_gpu(c, Kind::Doorbell, 0, 8192)),
        row(D, "unknown GPU, wrong size", ENODEV, "kfd_chardev.c:3805", |c| of_gpu(c, Kind::Doorbell, 0xdead, 4096)),
        row(D, "by a forked child", EBADF, "kfd_chardev.c:3793", |c| { let at = offset(Kind::Doorbell, c.gpu); Ok(Got::Errno(forked(|| sys::Map::file(&c.kfd, at, 8192, RW, libc::MAP_SHARED).err().unwrap_or(0)))) }),
        row(D, "an offset into the slice maps its start", OK, "kfd_doorbell.c:124", |c| { let at = offset(Kind::Doorbell, c.gpu) + 4096; map(c, at, 8192, libc::MAP_SHARED) }),
        // A private mapping is a copy of the page, so a store there rings no doorbell.
        row(D, "a store behind such an offset", is(0x1234), "kfd_doorbell.c:124", |c| {
            let at = offset(Kind::Doorbell, c.gpu) + 4096;
            let m = sys::Map::file(&c.kfd, at, 8192, RW, libc::MAP_SHARED).map_err(|e| format!("mmap: {e}"))?;
            m.write(4096 + 16, 0x1234);
            Ok(Got::Value(doorbells(c)?.read(4096 + 16)))
        }),
        row(D, "a private mapping", OK, "kfd_doorbell.c:141", |c| { let at = offset(Kind::Doorbell, c.gpu); map(c, at, 8192, libc::MAP_PRIVATE) }),
        row(D, "a private mapping keeps what is stored", is(0x1234_5678_9abc), "kfd_doorbell.c:141, mm/memory.c: wp_page_copy", |c| { let at = offset(Kind::Doorbell, c.gpu); private(c, at, 8192, |m| { m.write(8, 0x1234_5678_9abc); m.read(8) }) }),
        row(D, "a store to a private mapping goes to no other", is(0), "kfd_doorbell.c:141, mm/memory.c: wp_page_copy", |c| { let at = offset(Kind::Doorbell, c.gpu); let shared = doorbells(c)?; private(c, at, 8192, |m| { m.write(4096, 5); shared.read(4096) }) }),
        row(M, "a private mapping", OK, "kfd_chardev.c:3751", |c| { let at = offset(Kind::Mmio, c.gpu); map(c, at, 4096, libc::MAP_PRIVATE) }),
        row(D, "twice", OK, "kfd_doorbell.c:119", |c| { let _m = doorbells(c)?; shared(c, Kind::Doorbell, 8192) }),
        row(D, "through another open of /dev/kfd", OK, "kfd_process.c:1001", |c| { c.kfd = sys::open("/dev/kfd").map_err(|e| e.to_string())?; shared(c, Kind::Doorbell, 8192) }),
        row(D, "a child that touches its parent's has none", is(1000 + libc::SIGSEGV as u64), "kfd_doorbell.c:127 (VM_DONTCOPY)", |c| { let m = doorbells(c)?; Ok(Got::Value(forked(|| { m.read(0); 0 }) as u64)) }),
        row(D, "they can't be made longer", EFAULT, "kfd_doorbell.c:127 (VM_DONTEXPAND)", |c| Ok(Got::Errno(doorbells(c)?.grow(16384)))),
        row(D, "a store to one that no queue has", OK, "kfd_doorbell.c:141", |c| { doorbells(c)?.write(0, 0); Ok(Got::Errno(0)) }),
        row(M, "4 KiB", OK, "kfd_chardev.c:3774", |c| shared(c, Kind::Mmio, 4096)),
        row(M, "8 KiB", EINVAL, "kfd_chardev.c:3753", |c| shared(c, Kind::Mmio, 8192)),
        row(M, "1 byte, which is a page", OK, "kfd_chardev.c:3753", |c| shared(c, Kind::Mmio, 1)),
        row(M, "unknown GPU", ENODEV, "kfd_chardev.c:3818", |c| of_gpu(c, Kind::Mmio, 0xdead, 4096)),
        row(M, "offset 0: GPU 0", ENODEV, "kfd_chardev.c:3818", |c| map(c, 0, 4096, libc::MAP_SHARED)),
        row(M, "by a forked child", EBADF, "kfd_chardev.c:3793", |c| { let at = offset(Kind::Mmio, c.gpu); Ok(Got::Errno(forked(|| sys::Map::file(&c.kfd, at, 4096, RW, libc::MAP_SHARED).err().unwrap_or(0)))) }),
        row("mmap reserved memory", "4 KiB", EINVAL, "kfd_chardev.c:3815", |c| shared(c, Kind::ReservedMem, 4096)),
        row("mmap reserved memory", "GPU 0", EINVAL, "kfd_chardev.c:3815", |c| of_gpu(c, Kind::ReservedMem, 0, 4096)),
        row("mmap reserved memory", "by a forked child", EBADF, "kfd_chardev.c:3793", |c| { let at = offset(Kind::ReservedMem, c.gpu); Ok(Got::Errno(forked(|| sys::Map::file(&c.kfd, at, 4096, RW, libc::MAP_SHARED).err().unwrap_or(0)))) }),
        row(E, "when there is none", EINVAL, "kfd_chardev.c:3811", |c| of_gpu(c, Kind::Events, 0, 32768)),
        row(E, "64 KiB", EINVAL, "kfd_chardev.c:3811", |c| { c.signal(false)?; of_gpu(c, Kind::Events, 0, 65536) }),
        row(E, "32 KiB", EINVAL, "kfd_chardev.c:3811", |c| { c.signal(false)?; of_gpu(c, Kind::Events, 0, 32768) }),
        row(E, "32 KiB, with a GPU in the offset", EINVAL, "kfd_chardev.c:3811", |c| { c.signal(false)?; shared(c, Kind::Events, 32768) }),
    ]
}
