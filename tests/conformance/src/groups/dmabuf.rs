// SPDX-License-Identifier: MIT OR Apache-2.0
//! GET_DMABUF_INFO, IMPORT_DMABUF, EXPORT_DMABUF, and uses of a DMA-buf.

use super::*;
use crate::fixture::{Bo, GTT, VRAM};
use crate::row::{row, Answer, Row};
use rkfd_uapi::ioctl as requests;
use rkfd_uapi::memory::{self as abi, ExportDmabufArgs, GetDmabufInfoArgs, ImportDmabufArgs};
use std::os::fd::{AsRawFd, OwnedFd};

const RW: i32 = libc::PROT_READ | libc::PROT_WRITE;
/// A value that memory doesn't hold by chance.
const MARK: u64 = 0x5afe_d0c5_0bad_cafe;

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

/// Exports a buffer, which must succeed.
fn exported(c: &Ctx, bo: &Bo) -> Result<OwnedFd, String> {
    exported_with(c, bo, libc::O_CLOEXEC)
}

fn exported_with(c: &Ctx, bo: &Bo, flags: i32) -> Result<OwnedFd, String> {
    let mut args = ExportDmabufArgs {
        handle: bo.handle,
        flags: flags as u32,
        dmabuf_fd: 0,
    };
    let errno = c.raw(&requests::EXPORT_DMABUF, &mut args);
    crate::fixture::must("EXPORT_DMABUF", errno)?;
    Ok(sys::own(args.dmabuf_fd))
}

/// A buffer and its DMA-buf.
fn pair(c: &mut Ctx, size: u64, flags: u32) -> Result<(Bo, OwnedFd), String> {
    let bo = c.unmapped_bo(size, flags)?;
    let fd = exported(c, &bo)?;
    Ok((bo, fd))
}

/// What GET_DMABUF_INFO returns for a buffer with these flags.
fn described(c: &mut Ctx, size: u64, flags: u32) -> Result<GetDmabufInfoArgs, String> {
    let (_, fd) = pair(c, size, flags)?;
    described_fd(c, &fd)
}

/// What it returns for a buffer that the CPU touched.
fn touched(c: &mut Ctx, flags: u32) -> Result<GetDmabufInfoArgs, String> {
    let (bo, fd) = pair(c, 4096, flags)?;
    sys::Map::file(c.render()?, bo.offset, 4096, RW, libc::MAP_SHARED)
        .map_err(|e| format!("mmap: errno {e}"))?
        .write(0, MARK);
    described_fd(c, &fd)
}

fn described_fd(c: &Ctx, fd: &OwnedFd) -> Result<GetDmabufInfoArgs, String> {
    let mut args = GetDmabufInfoArgs {
        dmabuf_fd: fd.as_raw_fd() as u32,
        metadata_size: 77,
        ..Default::default()
    };
    let errno = c.raw(&requests::GET_DMABUF_INFO, &mut args);
    crate::fixture::must("GET_DMABUF_INFO", errno)?;
    Ok(args)
}

/// Imports a DMA-buf without mapping it.
fn imported(c: &mut Ctx, fd: &OwnedFd) -> Result<Bo, String> {
    let va = c.fresh_va(1 << 20);
    let mut args = ImportDmabufArgs {
        va_addr: va,
        handle: 0,
        gpu_id: c.gpu,
        dmabuf_fd: fd.as_raw_fd() as u32,
    };
    let errno = c.raw(&requests::IMPORT_DMABUF, &mut args);
    crate::fixture::must("IMPORT_DMABUF", errno)?;
    Ok(Bo {
        handle: args.handle,
        va,
        ..Default::default()
    })
}

fn mapped(fd: &OwnedFd, len: usize) -> Result<sys::Map, String> {
    sys::Map::file(fd, 0, len, RW, libc::MAP_SHARED).map_err(|e| format!("mmap: errno {e}"))
}

/// Maps the DMA-buf of a buffer with these flags.
fn map(c: &mut Ctx, flags: u32, offset: u64, len: usize, prot: i32, how: i32) -> Answer {
    let (_, fd) = pair(c, 8192, flags)?;
    let result = sys::Map::file(&fd, offset, len, prot, how);
    Ok(Got::Errno(result.err().unwrap_or(0)))
}

/// Stores a word through the render node, and reads it through a mapping of the DMA-buf.
fn seen(c: &mut Ctx, flags: u32, offset: u64) -> Answer {
    let (bo, fd) = pair(c, 8192, flags)?;
    let own = sys::Map::file(c.render()?, bo.offset, 8192, RW, libc::MAP_SHARED)
        .map_err(|e| format!("mmap: errno {e}"))?;
    own.write(offset as usize, MARK);
    let page = offset & !4095;
    let map = sys::Map::file(&fd, page, 4096, RW, libc::MAP_SHARED)
        .map_err(|e| format!("mmap: errno {e}"))?;
    Ok(Got::Value(map.read((offset - page) as usize)))
}

/// Reads a word through the DMA-buf after the buffer has been freed.
fn outlives(c: &mut Ctx, flags: u32) -> Answer {
    let (bo, fd) = pair(c, 4096, flags)?;
    mapped(&fd, 4096)?.write(0, MARK);
    crate::fixture::must("FREE_MEMORY_OF_GPU", c.free(bo.handle))?;
    // A new buffer must not get the memory that the DMA-buf still holds.
    let other = c.unmapped_bo(4096, flags)?;
    let taken = sys::Map::file(c.render()?, other.offset, 4096, RW, libc::MAP_SHARED)
        .map_err(|e| format!("mmap: errno {e}"))?;
    taken.write(0, 0);
    Ok(Got::Value(mapped(&fd, 4096)?.read(0)))
}

/// How much less VRAM is available than before: while only the DMA-buf holds the memory, and after it
/// is closed.
fn vram_held(c: &mut Ctx) -> Result<(u64, u64), String> {
    let before = c.available();
    let (bo, fd) = pair(c, 4 << 20, VRAM)?;
    crate::fixture::must("FREE_MEMORY_OF_GPU", c.free(bo.handle))?;
    let held = before - c.available();
    drop(fd);
    Ok((held, before - c.available()))
}

/// Runs `f` with a DMA-buf of somebody else's memory.
fn foreign(c: &mut Ctx, f: impl FnOnce(&mut Ctx, OwnedFd) -> Answer) -> Answer {
    let fd = sys::udmabuf(8192)?;
    f(c, fd)
}

#[rustfmt::skip]
pub(super) fn rows() -> Vec<Row> {
    const GET: &str = "include/linux/dma-buf.h: dma_buf_get";
    const INFO: &str = "../amdgpu/amdgpu_amdkfd.c:572";
    const ANSWER: &str = "../amdgpu/amdgpu_amdkfd.c: amdgpu_amdkfd_get_dmabuf_info";
    const FAULT: &str = "../amdgpu/amdgpu_object.c: amdgpu_bo_fault_reserve_notify";
    const EXPORT: &str = "../amdgpu/amdgpu_amdkfd_gpuvm.c: kfd_mem_export_dmabuf";
    const IMPORT: &str = "../amdgpu/amdgpu_amdkfd_gpuvm.c: import_obj_create";
    const PRIME: &str = "../amdgpu/amdgpu_dma_buf.c: amdgpu_gem_prime_export";
    const MMAP: &str = "drivers/dma-buf/dma-buf.c: dma_buf_mmap_internal";
    const FREED: &str = "../amdgpu/amdgpu_amdkfd.c: amdgpu_amdkfd_release_notify";
    const X: &str = "EXPORT_DMABUF";
    const I: &str = "IMPORT_DMABUF";
    const D: &str = "GET_DMABUF_INFO";
    const M: &str = "mmap DMA-buf";
    const PUBLIC: u32 = VRAM | abi::ALLOC_PUBLIC;
    vec![
        row(D, "no such descriptor", EBADF, INFO, |c| info(c, 900)),
        row(D, "descriptor -1", EBADF, INFO, |c| info(c, u32::MAX)),
        row(D, "a file of something else", EINVAL, INFO, |c| { let fd = c.kfd.as_raw_fd() as u32; info(c, fd) }),
        row(D, "a render node's file", EINVAL, INFO, |c| { let fd = c.render()?.as_raw_fd() as u32; info(c, fd) }),
        row(D, "no such descriptor, no VM", EBADF, INFO, |c| info(c, 900)).open(),
        row(D, "somebody else's DMA-buf", EINVAL, ANSWER, |c| foreign(c, |c, fd| info(c, fd.as_raw_fd() as u32))),
        row(D, "GTT: size", is(8192), ANSWER, |c| Ok(Got::Value(described(c, 8192, GTT)?.size))),
        row(D, "GTT: flags", is(abi::ALLOC_GTT as u64), ANSWER, |c| Ok(Got::Value(described(c, 4096, GTT)?.flags.into()))),
        row(D, "GTT: GPU", Want::Computed, ANSWER, |c| Ok(Got::Pair(described(c, 4096, GTT)?.gpu_id.into(), c.gpu.into()))),
        row(D, "GTT: there is no metadata", is(0), ANSWER, |c| Ok(Got::Value(described(c, 4096, GTT)?.metadata_size.into()))),
        row(D, "VRAM: size", is(1 << 20), ANSWER, |c| Ok(Got::Value(described(c, 1 << 20, VRAM)?.size))),
        row(D, "VRAM: flags", is(abi::ALLOC_VRAM as u64), ANSWER, |c| Ok(Got::Value(described(c, 4096, VRAM)?.flags.into()))),
        row(D, "VRAM: GPU", Want::Computed, ANSWER, |c| Ok(Got::Pair(described(c, 4096, VRAM)?.gpu_id.into(), c.gpu.into()))),
        row(D, "VRAM for programs: flags", is(abi::ALLOC_VRAM as u64), "../amdgpu/amdgpu_object.c: amdgpu_bo_create, CPU_ACCESS_REQUIRED", |c| Ok(Got::Value(described(c, 4096, PUBLIC)?.flags.into()))),
        row(D, "VRAM for programs that the CPU touched: flags", is((abi::ALLOC_VRAM | abi::ALLOC_PUBLIC) as u64), FAULT, |c| Ok(Got::Value(touched(c, PUBLIC)?.flags.into()))),
        row(D, "VRAM that the CPU touched: flags", is((abi::ALLOC_VRAM | abi::ALLOC_PUBLIC) as u64), FAULT, |c| Ok(Got::Value(touched(c, VRAM)?.flags.into()))),
        row(D, "GTT that the CPU touched: flags", is((abi::ALLOC_GTT | abi::ALLOC_PUBLIC) as u64), FAULT, |c| Ok(Got::Value(touched(c, GTT)?.flags.into()))),
        row(D, "GTT for programs: flags", is(abi::ALLOC_GTT as u64), "../amdgpu/amdgpu_amdkfd_gpuvm.c:1778", |c| Ok(Got::Value(described(c, 4096, GTT | abi::ALLOC_PUBLIC)?.flags.into()))),
        row(D, "memory that is mapped twice: its own size", is(4096), "../amdgpu/amdgpu_amdkfd_gpuvm.c:1815", |c| Ok(Got::Value(described(c, 8192, GTT | abi::ALLOC_AQL_QUEUE_MEM)?.size))),
        row(D, "by a process without a VM", OK, ANSWER, |c| { let (_, fd) = pair(c, 4096, GTT)?; let node = c.node.clone(); Ok(Got::Errno(forked(|| match Ctx::new(&node, crate::row::Needs::Open) { Ok(o) => o.raw(&requests::GET_DMABUF_INFO, &mut GetDmabufInfoArgs { dmabuf_fd: fd.as_raw_fd() as u32, ..Default::default() }), Err(_) => 254 }))) }),
        row(D, "after the handle is gone", OK, ANSWER, |c| { let (bo, fd) = pair(c, 4096, GTT)?; c.free(bo.handle); info(c, fd.as_raw_fd() as u32) }),
        row(I, "unknown GPU", EINVAL, "kfd_chardev.c:1642", |c| import(c, 0xdead, 900)),
        row(I, "no VM", ENODEV, "kfd_chardev.c:1649", |c| { let g = c.gpu; import(c, g, 900) }).open(),
        row(I, "no VM, unknown GPU", EINVAL, "kfd_chardev.c:1642", |c| import(c, 0xdead, 900)).open(),
        row(I, "no such descriptor", EBADF, GET, |c| { let g = c.gpu; import(c, g, 900) }),
        row(I, "a file of something else", EINVAL, GET, |c| { let (g, fd) = (c.gpu, c.kfd.as_raw_fd() as u32); import(c, g, fd) }),
        row(I, "an own buffer", OK, IMPORT, |c| { let (_, fd) = pair(c, 4096, GTT)?; let g = c.gpu; import(c, g, fd.as_raw_fd() as u32) }),
        row(I, "an own buffer gets another handle", YES, "kfd_chardev.c: kfd_ioctl_import_dmabuf", |c| { let (bo, fd) = pair(c, 4096, GTT)?; Ok(holds(imported(c, &fd)?.handle != bo.handle)) }),
        row(I, "an own buffer, VRAM", OK, IMPORT, |c| { let (_, fd) = pair(c, 4096, VRAM)?; let g = c.gpu; import(c, g, fd.as_raw_fd() as u32) }),
        row(I, "it maps", OK, IMPORT, |c| { let (_, fd) = pair(c, 4096, VRAM)?; let b = imported(c, &fd)?; Ok(Got::Errno(c.map(b.handle))) }),
        row(I, "it maps beside the first mapping", OK, IMPORT, |c| { let bo = c.bo(4096, GTT)?; let fd = exported(c, &bo)?; let b = imported(c, &fd)?; Ok(Got::Errno(c.map(b.handle))) }),
        row(I, "mapped, it can't be freed", EBUSY, "../amdgpu/amdgpu_amdkfd_gpuvm.c:1958", |c| { let (_, fd) = pair(c, 4096, GTT)?; let b = imported(c, &fd)?; c.map(b.handle); Ok(Got::Errno(c.free(b.handle))) }),
        row(I, "the first can be freed while the other is mapped", OK, "../amdgpu/amdgpu_amdkfd_gpuvm.c:1958", |c| { let (bo, fd) = pair(c, 4096, GTT)?; let b = imported(c, &fd)?; c.map(b.handle); Ok(Got::Errno(c.free(bo.handle))) }),
        row(I, "at address 0: the handle", OK, IMPORT, |c| { let (_, fd) = pair(c, 4096, GTT)?; let mut a = ImportDmabufArgs { gpu_id: c.gpu, dmabuf_fd: fd.as_raw_fd() as u32, ..Default::default() }; Ok(c.call(&requests::IMPORT_DMABUF, &mut a)) }),
        row(I, "by another process", OK, IMPORT, |c| { let (_, fd) = pair(c, 4096, VRAM)?; Ok(Got::Errno(other_process(c, |o| match imported(o, &fd) { Ok(b) => o.map(b.handle), Err(_) => 253 }))) }),
        row(I, "after the handle it came from is gone", OK, IMPORT, |c| { let (bo, fd) = pair(c, 4096, GTT)?; c.free(bo.handle); let g = c.gpu; import(c, g, fd.as_raw_fd() as u32) }),
        row(I, "somebody else's memory", OK, "../amdgpu/amdgpu_dma_buf.c: amdgpu_gem_prime_import", |c| foreign(c, |c, fd| { let g = c.gpu; import(c, g, fd.as_raw_fd() as u32) })),
        row(I, "somebody else's memory maps", OK, "../amdgpu/amdgpu_dma_buf.c: amdgpu_gem_prime_import", |c| foreign(c, |c, fd| { let b = imported(c, &fd)?; Ok(Got::Errno(c.map(b.handle))) })),
        row(I, "somebody else's memory can be freed", OK, "../amdgpu/amdgpu_amdkfd_gpuvm.c:1936", |c| foreign(c, |c, fd| { let b = imported(c, &fd)?; Ok(Got::Errno(c.free(b.handle))) })),
        row(I, "it goes out as the DMA-buf that it came in as", Want::Computed, EXPORT, |c| foreign(c, |c, fd| { let b = imported(c, &fd)?; let again = exported(c, &b)?; Ok(Got::Pair(sys::inode(&again)?, sys::inode(&fd)?)) })),
        row(X, "unknown GPU", EINVAL, "kfd_chardev.c:1691", |c| export(c, 0xdead << 32)),
        row(X, "handle 0", EINVAL, "kfd_chardev.c:1691", |c| export(c, 0)),
        row(X, "unknown handle", EINVAL, "kfd_chardev.c:1704", |c| { let h = (u64::from(c.gpu) << 32) | 77; export(c, h) }),
        row(X, "no VM", EINVAL, "kfd_chardev.c:1704", |c| { let h = u64::from(c.gpu) << 32; export(c, h) }).open(),
        row(X, "another process' buffer", EINVAL, "kfd_chardev.c:1704", |c| {
            let b = c.unmapped_bo(4096, GTT)?;
            Ok(Got::Errno(other_process(c, |o| {
                let mut args = ExportDmabufArgs { handle: b.handle, ..Default::default() };
                o.raw(&requests::EXPORT_DMABUF, &mut args)
            })))
        }),
        row(X, "a buffer", OK, PRIME, |c| { let b = c.unmapped_bo(4096, GTT)?; export(c, b.handle) }),
        row(X, "a mapped buffer", OK, PRIME, |c| { let b = c.bo(4096, GTT)?; export(c, b.handle) }),
        row(X, "a buffer in VRAM", OK, PRIME, |c| { let b = c.unmapped_bo(4096, VRAM)?; export(c, b.handle) }),
        row(X, "memory of the program's own", EPERM, PRIME, |c| {
            let m = sys::Map::anonymous(4096, RW, 0).map_err(|e| format!("mmap: errno {e}"))?;
            let mut args = c.alloc_args(4096, abi::ALLOC_USERPTR | abi::ALLOC_WRITABLE);
            args.mmap_offset = m.address;
            let b = c.bo_from(args)?;
            export(c, b.handle)
        }),
        row(X, "no descriptor is left", Want::Errno(libc::EMFILE), "drivers/dma-buf/dma-buf.c: dma_buf_fd", |c| { let b = c.unmapped_bo(4096, GTT)?; let _first = exported(c, &b)?; sys::limit_files(0); Ok(Got::Errno(c.raw(&requests::EXPORT_DMABUF, &mut ExportDmabufArgs { handle: b.handle, ..Default::default() }))) }),
        row(X, "the same DMA-buf each time", Want::Computed, EXPORT, |c| { let (bo, fd) = pair(c, 4096, GTT)?; let again = exported(c, &bo)?; Ok(Got::Pair(sys::inode(&again)?, sys::inode(&fd)?)) }),
        row(X, "of an import: the same DMA-buf", Want::Computed, EXPORT, |c| { let (_, fd) = pair(c, 4096, GTT)?; let b = imported(c, &fd)?; let again = exported(c, &b)?; Ok(Got::Pair(sys::inode(&again)?, sys::inode(&fd)?)) }),
        row(X, "O_CLOEXEC", YES, "kfd_chardev.c: kfd_ioctl_export_dmabuf", |c| { let b = c.unmapped_bo(4096, GTT)?; Ok(holds(sys::is_cloexec(&exported_with(c, &b, libc::O_CLOEXEC)?))) }),
        row(X, "flags 0: stays open at exec", is(0), "kfd_chardev.c: kfd_ioctl_export_dmabuf", |c| { let b = c.unmapped_bo(4096, GTT)?; Ok(holds(sys::is_cloexec(&exported_with(c, &b, 0)?))) }),
        row(X, "its end is the buffer's", is(12288), "drivers/dma-buf/dma-buf.c: dma_buf_llseek", |c| { let (_, fd) = pair(c, 12288, GTT)?; Ok(Got::Value(sys::end(&fd))) }),
        row(X, "VRAM is held while it is open", is(4 << 20), FREED, |c| Ok(Got::Value(vram_held(c)?.0))),
        row(X, "VRAM comes back when it is closed", is(0), FREED, |c| Ok(Got::Value(vram_held(c)?.1))),
        row(M, "all of it", OK, MMAP, |c| map(c, GTT, 0, 8192, RW, libc::MAP_SHARED)),
        row(M, "its second page", OK, MMAP, |c| map(c, GTT, 4096, 4096, RW, libc::MAP_SHARED)),
        row(M, "a page too many", EINVAL, MMAP, |c| map(c, GTT, 0, 12288, RW, libc::MAP_SHARED)),
        row(M, "beyond its end", EINVAL, MMAP, |c| map(c, GTT, 8192, 4096, RW, libc::MAP_SHARED)),
        row(M, "private, to be written", EINVAL, "../amdgpu/amdgpu_gem.c: amdgpu_gem_object_mmap", |c| map(c, GTT, 0, 4096, RW, libc::MAP_PRIVATE)),
        row(M, "to be written, of memory that isn't", EACCES, "../amdgpu/amdgpu_amdkfd_gpuvm.c: kfd_mem_export_dmabuf, DRM_RDWR", |c| map(c, abi::ALLOC_GTT, 0, 4096, RW, libc::MAP_SHARED)),
        row(M, "to be read, of memory that isn't writable", OK, "../amdgpu/amdgpu_amdkfd_gpuvm.c: kfd_mem_export_dmabuf, DRM_RDWR", |c| map(c, abi::ALLOC_GTT, 0, 4096, libc::PROT_READ, libc::MAP_SHARED)),
        row(M, "shows what the render node's mapping stored", is(MARK), "drivers/gpu/drm/drm_prime.c: drm_gem_prime_mmap", |c| seen(c, GTT, 8)),
        row(M, "shows it at its offset", is(MARK), "drivers/gpu/drm/drm_prime.c: drm_gem_prime_mmap", |c| seen(c, GTT, 4104)),
        row(M, "shows what was stored to VRAM", is(MARK), "drivers/gpu/drm/drm_prime.c: drm_gem_prime_mmap", |c| seen(c, VRAM, 4104)),
        row(M, "has what was stored after the handle is gone", is(MARK), FREED, |c| outlives(c, GTT)),
        row(M, "has what was stored to VRAM after the handle is gone", is(MARK), FREED, |c| outlives(c, VRAM)),
        row(M, "a mapping lives on without handle and descriptor", is(MARK), MMAP, |c| { let (bo, fd) = pair(c, 4096, GTT)?; let m = mapped(&fd, 4096)?; m.write(0, MARK); c.free(bo.handle); drop(fd); Ok(Got::Value(m.read(0))) }),
        row(M, "another process sees what was stored", is(0), MMAP, |c| { let (_, fd) = pair(c, 4096, VRAM)?; mapped(&fd, 4096)?.write(0, MARK); Ok(Got::Value(other_process(c, |_| match mapped(&fd, 4096) { Ok(m) => i32::from(m.read(0) != MARK), Err(_) => 253 }) as u64)) }),
    ]
}
