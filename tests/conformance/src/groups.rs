// SPDX-License-Identifier: MIT OR Apache-2.0
//! The tables of rows, one file for each class of requests. A row expects what Linux 7.3 does at the
//! line that the row names. A file name without a folder is one of `drivers/gpu/drm/amd/amdkfd`.

use crate::fixture::Ctx;
use crate::row::{Got, Group, Want};
use rkfd_bare::sys;

mod buffers;
mod card;
mod ctx;
mod cu_mask;
mod debug;
mod debug_waits;
mod dispatcher;
mod dmabuf;
mod drm;
mod events;
mod fdinfo;
mod gem;
mod gem_fences;
mod gem_list;
mod gws;
mod info;
mod limits;
mod mapping;
mod memory;
mod mmap;
mod pm4;
mod process;
mod profiler;
mod queue;
mod render;
mod sdma;
mod smi;
mod svm;
mod syncobj;
mod topology;
mod update_queue;
mod userptr;
mod vbios;
mod vm;
mod wait;
mod wait_threads;
mod waves;

/// All groups, in the order in which they run.
pub fn all() -> Vec<Group> {
    let group = |name, rows| Group { name, rows };
    vec![
        group("dispatcher", dispatcher::rows()),
        group("process", process::rows()),
        group("info", info::rows()),
        group("vm", vm::rows()),
        group("memory", memory::rows()),
        group("mapping", mapping::rows()),
        group("dmabuf", dmabuf::rows()),
        group("queue", queue::rows()),
        group("buffers", buffers::rows()),
        group("pm4", pm4::rows()),
        group("update_queue", update_queue::rows()),
        group("cu_mask", cu_mask::rows()),
        group("sdma", sdma::rows()),
        group("gws", gws::rows()),
        group("waves", waves::rows()),
        group("events", events::rows()),
        group("wait", wait::rows()),
        group("wait_threads", wait_threads::rows()),
        group("limits", limits::rows()),
        group("mmap", mmap::rows()),
        group("render", render::rows()),
        group("drm", drm::rows()),
        group("card", card::rows()),
        group("vbios", vbios::rows()),
        group("gem", gem::rows()),
        group("gem_fences", gem_fences::rows()),
        group("gem_list", gem_list::rows()),
        group("userptr", userptr::rows()),
        group("ctx", ctx::rows()),
        group("fdinfo", fdinfo::rows()),
        group("syncobj", syncobj::rows()),
        group("topology", topology::rows()),
        group("svm", svm::rows()),
        group("smi", smi::rows()),
        group("profiler", profiler::rows()),
        group("debug", debug::rows()),
        group("debug_waits", debug_waits::rows()),
    ]
}

/// Success.
const OK: Want = Want::Errno(0);
const EACCES: Want = Want::Errno(libc::EACCES);
const EBADF: Want = Want::Errno(libc::EBADF);
const EBUSY: Want = Want::Errno(libc::EBUSY);
const EFAULT: Want = Want::Errno(libc::EFAULT);
const EINVAL: Want = Want::Errno(libc::EINVAL);
const EIO: Want = Want::Errno(libc::EIO);
const ENODEV: Want = Want::Errno(libc::ENODEV);
const ENOMEM: Want = Want::Errno(libc::ENOMEM);
const ENOSPC: Want = Want::Errno(libc::ENOSPC);
const ENOTTY: Want = Want::Errno(libc::ENOTTY);
const EPERM: Want = Want::Errno(libc::EPERM);
const ESRCH: Want = Want::Errno(libc::ESRCH);
const ENOTSUPP: Want = Want::Errno(rkfd_bare::errno::ENOTSUPP);

/// This value.
const fn is(value: u64) -> Want {
    Want::Value(value)
}

/// The condition holds.
const YES: Want = Want::Value(1);

/// A condition.
fn holds(condition: bool) -> Got {
    Got::Value(condition.into())
}

/// An errno.
fn errno(result: Result<(), i32>) -> Got {
    Got::Errno(result.err().unwrap_or(0))
}

/// Seconds after which a process that stands still is ended: no verdict on speed.
const STALLED: u32 = 300;

/// Runs `f` in a forked child of the row's process; returns the errno that `f` returned.
fn forked(f: impl FnOnce() -> i32) -> i32 {
    match sys::fork() {
        None => {
            sys::alarm(STALLED);
            sys::exit(f())
        }
        Some(pid) => match sys::wait(pid) {
            status if status & 0x7f == 0 => status >> 8,
            status => 1000 + (status & 0x7f),
        },
    }
}

/// Runs `f` in another process: a forked child that has opened `/dev/kfd` itself and has a VM.
fn other_process(c: &Ctx, f: impl FnOnce(&mut Ctx) -> i32) -> i32 {
    let node = c.node.clone();
    forked(|| match Ctx::new(&node, crate::row::Needs::Vm) {
        Ok(mut other) => f(&mut other),
        Err(_) => 254,
    })
}

/// A page that can be used, directly followed by one that can't.
fn guarded_page() -> Result<sys::Map, String> {
    guarded(sys::PAGE)
}

/// Whole pages of `size` bytes that can be used, directly followed by a page that can't.
fn guarded(size: usize) -> Result<sys::Map, String> {
    let rw = libc::PROT_READ | libc::PROT_WRITE;
    let map = sys::Map::anonymous(size + sys::PAGE, rw, 0).map_err(|e| format!("mmap: {e}"))?;
    map.protect(size, sys::PAGE, libc::PROT_NONE)
        .map_err(|e| format!("mprotect: {e}"))?;
    Ok(map)
}
