// SPDX-License-Identifier: MIT OR Apache-2.0
//! GET_DMABUF_INFO, IMPORT_DMABUF, EXPORT_DMABUF.

use super::*;
use crate::fixture::GTT;
use crate::row::{row, Answer, Row};
use rkfd_uapi::ioctl as requests;
use rkfd_uapi::memory::{ExportDmabufArgs, GetDmabufInfoArgs, ImportDmabufArgs};
use std::os::fd::AsRawFd;

fn info(c: &mut Ctx, dmabuf_fd: u32) -> Answer {
    let mut args = GetDmabufInfoArgs {
        dmabuf_fd,
        ..Default::default()
    };
    Ok(c.call(&requests::GET_DMABUF_INFO, &mut args))
}

fn import(c: &mut Ctx, gpu_id: u32, dmabuf_fd: u32) -> Answer {
    let va_addr = c.fresh_va(4096);
    let mut args = ImportDmabufArgs {
        va_addr,
        handle: 0,
        gpu_id,
        dmabuf_fd,
    };
    Ok(c.call(&requests::IMPORT_DMABUF, &mut args))
}

fn export(c: &mut Ctx, handle: u64) -> Answer {
    let mut args = ExportDmabufArgs {
        handle,
        flags: libc::O_CLOEXEC as u32,
        dmabuf_fd: 0,
    };
    Ok(c.call(&requests::EXPORT_DMABUF, &mut args))
}

#[rustfmt::skip]
pub(super) fn rows() -> Vec<Row> {
    const GET: &str = "include/linux/dma-buf.h: dma_buf_get";
    const INFO: &str = "../amdgpu/amdgpu_amdkfd.c:572";
    vec![
        row("GET_DMABUF_INFO", "no such descriptor", EBADF, INFO, |c| info(c, 900)),
        row("GET_DMABUF_INFO", "descriptor -1", EBADF, INFO, |c| info(c, u32::MAX)),
        row("GET_DMABUF_INFO", "a file of something else", EINVAL, INFO, |c| { let fd = c.kfd.as_raw_fd() as u32; info(c, fd) }),
        row("GET_DMABUF_INFO", "a render node's file", EINVAL, INFO, |c| { let fd = c.render()?.as_raw_fd() as u32; info(c, fd) }),
        row("GET_DMABUF_INFO", "no such descriptor, no VM", EBADF, INFO, |c| info(c, 900)).open(),
        row("IMPORT_DMABUF", "unknown GPU", EINVAL, "kfd_chardev.c:1633", |c| import(c, 0xdead, 900)),
        row("IMPORT_DMABUF", "no VM", ENODEV, "kfd_chardev.c:1640", |c| { let g = c.gpu; import(c, g, 900) }).open(),
        row("IMPORT_DMABUF", "no VM, unknown GPU", EINVAL, "kfd_chardev.c:1633", |c| import(c, 0xdead, 900)).open(),
        row("IMPORT_DMABUF", "no such descriptor", EBADF, GET, |c| { let g = c.gpu; import(c, g, 900) }),
        row("IMPORT_DMABUF", "a file of something else", EINVAL, GET, |c| { let (g, fd) = (c.gpu, c.kfd.as_raw_fd() as u32); import(c, g, fd) }),
        row("EXPORT_DMABUF", "unknown GPU", EINVAL, "kfd_chardev.c:1682", |c| export(c, 0xdead << 32)),
        row("EXPORT_DMABUF", "handle 0", EINVAL, "kfd_chardev.c:1682", |c| export(c, 0)),
        row("EXPORT_DMABUF", "unknown handle", EINVAL, "kfd_chardev.c:1695", |c| { let h = (u64::from(c.gpu) << 32) | 77; export(c, h) }),
        row("EXPORT_DMABUF", "no VM", EINVAL, "kfd_chardev.c:1695", |c| { let h = u64::from(c.gpu) << 32; export(c, h) }).open(),
        row("EXPORT_DMABUF", "another process' buffer", EINVAL, "kfd_chardev.c:1695", |c| {
            let b = c.unmapped_bo(4096, GTT)?;
            Ok(Got::Errno(other_process(c, |o| {
                let mut args = ExportDmabufArgs { handle: b.handle, ..Default::default() };
                o.raw(&requests::EXPORT_DMABUF, &mut args)
            })))
        }),
        row("EXPORT_DMABUF", "a buffer", Want::Unsupported(libc::EPERM, 0), "../amdgpu/amdgpu_dma_buf.c: amdgpu_gem_prime_export", |c| { let b = c.unmapped_bo(4096, GTT)?; export(c, b.handle) }),
    ]
}
