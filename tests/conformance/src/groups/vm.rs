// SPDX-License-Identifier: MIT OR Apache-2.0
//! ACQUIRE_VM, and what a process sets for each GPU: memory policy, trap handler, scratch.

use super::*;
use crate::row::{row, Answer, Row};
use rkfd_uapi::device::{SetMemoryPolicyArgs, SetTrapHandlerArgs};
use rkfd_uapi::ioctl as requests;
use rkfd_uapi::memory::{AcquireVmArgs, SetScratchBackingVaArgs};
use std::os::fd::{AsRawFd, OwnedFd};

const UNKNOWN: u32 = 0xdead;

fn acquire(c: &mut Ctx, drm_fd: u32, gpu_id: u32) -> Answer {
    Ok(c.call(&requests::ACQUIRE_VM, &mut AcquireVmArgs { drm_fd, gpu_id }))
}

fn render(c: &Ctx) -> Result<OwnedFd, String> {
    sys::open(&c.node.render).map_err(|e| format!("open {}: {e}", c.node.render))
}

fn acquire_file(c: &mut Ctx, path: &str, flags: i32) -> Answer {
    let file = sys::open_with(path, flags).map_err(|e| format!("open {path}: {e}"))?;
    acquire(c, file.as_raw_fd() as u32, c.gpu)
}

fn policy(c: &mut Ctx, change: impl FnOnce(&mut SetMemoryPolicyArgs)) -> Answer {
    let mut args = SetMemoryPolicyArgs {
        gpu_id: c.gpu,
        ..Default::default()
    };
    change(&mut args);
    Ok(c.call(&requests::SET_MEMORY_POLICY, &mut args))
}

fn trap(c: &mut Ctx, gpu_id: u32, tba_addr: u64) -> Answer {
    let mut args = SetTrapHandlerArgs {
        tba_addr,
        tma_addr: tba_addr + 4096,
        gpu_id,
        pad: 0,
    };
    Ok(c.call(&requests::SET_TRAP_HANDLER, &mut args))
}

fn scratch(c: &mut Ctx, gpu_id: u32) -> Answer {
    let mut args = SetScratchBackingVaArgs {
        va_addr: 0x20_0000,
        gpu_id,
        pad: 0,
    };
    Ok(c.call(&requests::SET_SCRATCH_BACKING_VA, &mut args))
}

#[rustfmt::skip]
pub(super) fn rows() -> Vec<Row> {
    vec![
        row("ACQUIRE_VM", "a render node's file", OK, "kfd_chardev.c:1078", |c| { let f = render(c)?; acquire(c, f.as_raw_fd() as u32, c.gpu) }).open(),
        row("ACQUIRE_VM", "no such descriptor", EINVAL, "kfd_chardev.c:1056", |c| acquire(c, 900, c.gpu)).open(),
        row("ACQUIRE_VM", "descriptor -1", EINVAL, "kfd_chardev.c:1056", |c| acquire(c, u32::MAX, c.gpu)).open(),
        row("ACQUIRE_VM", "unknown GPU", EINVAL, "kfd_chardev.c:1061", |c| { let f = render(c)?; acquire(c, f.as_raw_fd() as u32, UNKNOWN) }).open(),
        row("ACQUIRE_VM", "GPU 0", EINVAL, "kfd_chardev.c:1061", |c| { let f = render(c)?; acquire(c, f.as_raw_fd() as u32, 0) }).open(),
        row("ACQUIRE_VM", "/dev/null", EINVAL, "kfd_process.c:1848", |c| acquire_file(c, "/dev/null", libc::O_RDWR)).open(),
        row("ACQUIRE_VM", "/dev/kfd", EINVAL, "kfd_process.c:1848", |c| { let fd = c.kfd.as_raw_fd() as u32; acquire(c, fd, c.gpu) }).open(),
        row("ACQUIRE_VM", "a file opened with O_PATH", EINVAL, "kfd_chardev.c:1056", |c| { let p = c.node.render.clone(); acquire_file(c, &p, libc::O_PATH) }).open(),
        row("ACQUIRE_VM", "a render node's file after a refused one", OK, "kfd_chardev.c:1071", |c| { acquire_file(c, "/dev/null", libc::O_RDWR)?; let f = render(c)?; acquire(c, f.as_raw_fd() as u32, c.gpu) }).open(),
        row("ACQUIRE_VM", "the same file again", OK, "kfd_chardev.c:1067", |c| { let fd = c.render()?.as_raw_fd() as u32; acquire(c, fd, c.gpu) }),
        row("ACQUIRE_VM", "another descriptor of the same file", OK, "kfd_chardev.c:1067", |c| { let f = sys::dup(c.render()?).map_err(|e| e.to_string())?; acquire(c, f.as_raw_fd() as u32, c.gpu) }),
        row("ACQUIRE_VM", "another file", EBUSY, "kfd_chardev.c:1067", |c| { let f = render(c)?; acquire(c, f.as_raw_fd() as u32, c.gpu) }),
        row("ACQUIRE_VM", "/dev/null when there is a VM", EBUSY, "kfd_chardev.c:1067", |c| acquire_file(c, "/dev/null", libc::O_RDWR)),
        row("ACQUIRE_VM", "no such descriptor when there is a VM", EINVAL, "kfd_chardev.c:1056", |c| acquire(c, 900, c.gpu)),
        row("ACQUIRE_VM", "through another open of /dev/kfd", OK, "kfd_chardev.c:1067", |c| {
            let fd = c.render()?.as_raw_fd() as u32;
            c.kfd = sys::open("/dev/kfd").map_err(|e| e.to_string())?;
            acquire(c, fd, c.gpu)
        }),
        row("ACQUIRE_VM", "a file whose VM is another process'", EINVAL, "../amdgpu/amdgpu_amdkfd_gpuvm.c:1585", |c| {
            let fd = c.render()?.as_raw_fd() as u32;
            let node = c.node.clone();
            Ok(Got::Errno(forked(|| match Ctx::new(&node, crate::row::Needs::Open) { Ok(other) => other.acquire(fd, node.gpu), Err(_) => 254 })))
        }),
        row("ACQUIRE_VM", "descriptors are closed, the VM stays", OK, "kfd_chardev.c:1075", |c| { c.render = None; Ok(errno(c.bo(4096, crate::fixture::GTT).map(|_| ()).map_err(|_| 5))) }),
        row("SET_MEMORY_POLICY", "coherent", OK, "kfd_chardev.c:671", |c| policy(c, |_| {})),
        row("SET_MEMORY_POLICY", "noncoherent, with an alternate aperture", OK, "kfd_chardev.c:671", |c| policy(c, |a| { a.default_policy = 1; a.alternate_policy = 1; a.alternate_aperture_base = 0x10000; a.alternate_aperture_size = 0x10000 })),
        row("SET_MEMORY_POLICY", "default policy 2", EINVAL, "kfd_chardev.c:640", |c| policy(c, |a| a.default_policy = 2)),
        row("SET_MEMORY_POLICY", "alternate policy 2", EINVAL, "kfd_chardev.c:645", |c| policy(c, |a| a.alternate_policy = 2)),
        row("SET_MEMORY_POLICY", "default policy -1", EINVAL, "kfd_chardev.c:640", |c| policy(c, |a| a.default_policy = u32::MAX)),
        row("SET_MEMORY_POLICY", "unknown GPU", EINVAL, "kfd_chardev.c:652", |c| policy(c, |a| a.gpu_id = UNKNOWN)),
        row("SET_MEMORY_POLICY", "no VM", ESRCH, "kfd_chardev.c:660", |c| policy(c, |_| {})).open(),
        row("SET_MEMORY_POLICY", "no VM and policy 2", EINVAL, "kfd_chardev.c:640", |c| policy(c, |a| a.default_policy = 2)).open(),
        row("SET_MEMORY_POLICY", "no VM and unknown GPU", EINVAL, "kfd_chardev.c:652", |c| policy(c, |a| a.gpu_id = UNKNOWN)).open(),
        row("SET_MEMORY_POLICY", "misc flags", OK, "kfd_device_queue_manager_v9.c:88", |c| policy(c, |a| a.misc_process_flag = 1)),
        row("SET_TRAP_HANDLER", "an address", OK, "kfd_chardev.c:708", |c| { let g = c.gpu; trap(c, g, 0x40_0000) }),
        row("SET_TRAP_HANDLER", "address 0", OK, "kfd_chardev.c:708", |c| { let g = c.gpu; trap(c, g, 0) }),
        row("SET_TRAP_HANDLER", "unknown GPU", EINVAL, "kfd_chardev.c:697", |c| trap(c, UNKNOWN, 0x40_0000)),
        row("SET_TRAP_HANDLER", "no VM", ESRCH, "kfd_chardev.c:704", |c| { let g = c.gpu; trap(c, g, 0x40_0000) }).open(),
        row("SET_TRAP_HANDLER", "no VM and unknown GPU", EINVAL, "kfd_chardev.c:697", |c| trap(c, UNKNOWN, 0)).open(),
        row("SET_TRAP_HANDLER", "while a queue runs", OK, "kfd_chardev.c:708", |c| { let g = c.gpu; trap(c, g, 0x40_0000) }).queue(),
        row("SET_SCRATCH_BACKING_VA", "an address", OK, "kfd_chardev.c:995", |c| { let g = c.gpu; scratch(c, g) }),
        row("SET_SCRATCH_BACKING_VA", "unknown GPU", EINVAL, "kfd_chardev.c:974", |c| scratch(c, UNKNOWN)),
        row("SET_SCRATCH_BACKING_VA", "no VM", ENODEV, "kfd_chardev.c:982", |c| { let g = c.gpu; scratch(c, g) }).open(),
        row("SET_SCRATCH_BACKING_VA", "no VM and unknown GPU", EINVAL, "kfd_chardev.c:974", |c| scratch(c, UNKNOWN)).open(),
    ]
}
