// SPDX-License-Identifier: MIT OR Apache-2.0
//! GEM handles: buffers of the render node's files, their mappings, and DMA-bufs of them. Paths are those of
//! `drivers/gpu/drm`.

use super::*;
use crate::fixture::{Bo, GTT, KERNEL, VRAM};
use crate::row::{row, Answer, Row};
use rkfd_uapi::gem::*;
use rkfd_uapi::ioctl as requests;
use rkfd_uapi::memory::{
    ExportDmabufArgs, GetDmabufInfoArgs, ImportDmabufArgs, ALLOC_GTT, ALLOC_PUBLIC, ALLOC_VRAM,
};
use std::os::fd::{AsRawFd, OwnedFd};

const ENOENT: Want = Want::Errno(libc::ENOENT);
const RW: i32 = libc::PROT_READ | libc::PROT_WRITE;
const S: i32 = libc::MAP_SHARED;
/// A value that memory doesn't hold by chance.
const MARK: u64 = 0x5afe_9e31_0bad_cafe;
pub(super) const SIZE: u64 = 8192;
const ALL: u32 = VM_PAGE_READABLE | VM_PAGE_WRITEABLE | VM_PAGE_EXECUTABLE;

pub(super) fn ask<T>(fd: &OwnedFd, request: &requests::Request<T>, args: &mut T) -> i32 {
    sys::ioctl(fd, request.command(), sys::address(args))
}

/// What a GEM_CREATE fails with that `change` makes of a good one.
fn create(c: &mut Ctx, change: impl FnOnce(&mut GemCreate)) -> Answer {
    let mut args = wanted(DOMAIN_GTT);
    change(&mut args);
    Ok(Got::Errno(ask(c.render()?, &GEM_CREATE, &mut args)))
}

pub(super) fn wanted(domain: u32) -> GemCreate {
    GemCreate {
        bo_size: SIZE,
        alignment: 4096,
        domains: domain.into(),
        domain_flags: 0,
    }
}

/// A new handle.
pub(super) fn made(c: &Ctx, domain: u32) -> Result<u32, String> {
    made_with(c, wanted(domain))
}

/// The alignment that GET_GEM_CREATE_INFO reports of a buffer in system memory that asked for `alignment`.
fn aligned(c: &Ctx, alignment: u64) -> Result<Got, String> {
    let handle = made_with(
        c,
        GemCreate {
            alignment,
            ..wanted(DOMAIN_GTT)
        },
    )?;
    let mut info = GemCreate::default();
    let mut args = GemOp {
        handle,
        value: sys::address(&mut info),
        ..Default::default()
    };
    Ok(match ask(c.render()?, &GEM_OP, &mut args) {
        0 => Got::Value(info.alignment),
        errno => Got::Errno(errno),
    })
}

pub(super) fn made_with(c: &Ctx, mut args: GemCreate) -> Result<u32, String> {
    let errno = ask(c.render()?, &GEM_CREATE, &mut args);
    crate::fixture::must("GEM_CREATE", errno)?;
    Ok(args.handle())
}

/// The flags that GET_GEM_CREATE_INFO reports of a buffer in VRAM that asked for CPU_ACCESS_REQUIRED, and that the CPU
/// may have touched: whether this is among them.
fn for_cpu(c: &Ctx, touch: bool) -> Answer {
    let handle = made_with(
        c,
        GemCreate {
            domain_flags: CREATE_CPU_ACCESS_REQUIRED,
            ..wanted(DOMAIN_VRAM)
        },
    )?;
    if touch {
        mapped(c, handle)?.write(0, MARK);
    }
    let mut info = GemCreate::default();
    let mut args = GemOp {
        handle,
        value: sys::address(&mut info),
        ..Default::default()
    };
    crate::fixture::must("GEM_OP", ask(c.render()?, &GEM_OP, &mut args))?;
    Ok(holds(info.domain_flags & CREATE_CPU_ACCESS_REQUIRED != 0))
}

pub(super) fn close(c: &Ctx, handle: u32) -> Result<i32, String> {
    Ok(ask(
        c.render()?,
        &GEM_CLOSE,
        &mut GemClose { handle, pad: 0 },
    ))
}

/// The offset of a handle, and what asking for it fails with.
fn offset(c: &Ctx, handle: u32) -> Result<(i32, u64), String> {
    let mut args = GemMmap {
        addr_ptr: handle.into(),
    };
    let errno = ask(c.render()?, &GEM_MMAP, &mut args);
    Ok((errno, args.addr_ptr))
}

fn mapped(c: &Ctx, handle: u32) -> Result<sys::Map, String> {
    let (errno, at) = offset(c, handle)?;
    crate::fixture::must("GEM_MMAP", errno)?;
    let map = sys::Map::file(c.render()?, at, SIZE as usize, RW, S);
    map.map_err(|e| format!("mmap: {}", rkfd_bare::errno::name(e)))
}

/// The DMA-buf of a handle.
fn exported(c: &Ctx, handle: u32) -> Result<OwnedFd, String> {
    let mut args = PrimeHandle {
        handle,
        flags: (libc::O_CLOEXEC | libc::O_RDWR) as u32,
        fd: -1,
    };
    let errno = ask(c.render()?, &PRIME_HANDLE_TO_FD, &mut args);
    crate::fixture::must("PRIME_HANDLE_TO_FD", errno)?;
    Ok(sys::own(args.fd as u32))
}

/// The handle of a DMA-buf for a file.
fn imported(file: &OwnedFd, fd: &OwnedFd) -> Result<u32, String> {
    let mut args = PrimeHandle {
        fd: fd.as_raw_fd(),
        ..Default::default()
    };
    let errno = ask(file, &PRIME_FD_TO_HANDLE, &mut args);
    crate::fixture::must("PRIME_FD_TO_HANDLE", errno)?;
    Ok(args.handle)
}

/// KFD's DMA-buf of a buffer of its own.
fn by_kfd(c: &mut Ctx, flags: u32) -> Result<(Bo, OwnedFd), String> {
    let bo = c.unmapped_bo(SIZE, flags)?;
    let mut args = ExportDmabufArgs {
        handle: bo.handle,
        flags: (libc::O_CLOEXEC | libc::O_RDWR) as u32,
        dmabuf_fd: 0,
    };
    let errno = c.raw(&requests::EXPORT_DMABUF, &mut args);
    crate::fixture::must("EXPORT_DMABUF", errno)?;
    Ok((bo, sys::own(args.dmabuf_fd)))
}

/// KFD's handle of a DMA-buf, to be mapped at `va`.
fn to_kfd(c: &Ctx, fd: &OwnedFd, va: u64) -> Result<u64, String> {
    let mut args = ImportDmabufArgs {
        va_addr: va,
        handle: 0,
        gpu_id: c.gpu,
        dmabuf_fd: fd.as_raw_fd() as u32,
    };
    let errno = c.raw(&requests::IMPORT_DMABUF, &mut args);
    crate::fixture::must("IMPORT_DMABUF", errno)?;
    Ok(args.handle)
}

/// What GEM_VA fails with that `change` makes of a good mapping of the whole.
pub(super) fn va(
    c: &mut Ctx,
    handle: u32,
    at: u64,
    change: impl FnOnce(&mut GemVa),
) -> Result<i32, String> {
    let mut args = GemVa {
        handle,
        operation: VA_OP_MAP,
        flags: ALL,
        va_address: at,
        map_size: SIZE,
        ..Default::default()
    };
    change(&mut args);
    Ok(ask(c.render()?, &GEM_VA, &mut args))
}

/// The same with a new handle at a new address.
pub(super) fn new_va(c: &mut Ctx, change: impl FnOnce(&mut GemVa)) -> Answer {
    let handle = made(c, DOMAIN_GTT)?;
    let at = c.fresh_va(SIZE);
    Ok(Got::Errno(va(c, handle, at, change)?))
}

/// Two requests, of which the second is the question; the first must succeed.
pub(super) fn after_mapping(
    c: &mut Ctx,
    change: impl FnOnce(&mut GemVa, u64),
) -> Result<(u32, u64, i32), String> {
    let handle = made(c, DOMAIN_GTT)?;
    let at = c.fresh_va(4 * SIZE);
    let errno = va(c, handle, at, |_| {})?;
    crate::fixture::must("GEM_VA", errno)?;
    let errno = va(c, handle, at, |a| change(a, at))?;
    Ok((handle, at, errno))
}

/// Where pages that aren't resident are mapped.
fn not_resident(c: &mut Ctx) -> Result<u64, String> {
    let at = c.fresh_va(SIZE);
    crate::fixture::must("GEM_VA", va(c, 0, at, |a| a.flags = VM_PAGE_PRT)?)?;
    Ok(at)
}

fn metadata(c: &Ctx, args: &mut GemMetadata) -> Result<i32, String> {
    Ok(ask(c.render()?, &GEM_METADATA, args))
}

/// Sets metadata of `size` bytes, each a 7, with these flags.
fn noted(c: &Ctx, handle: u32, size: u32, flags: u64) -> Result<(), String> {
    let mut args = GemMetadata {
        handle,
        op: METADATA_SET,
        flags,
        data_size_bytes: size,
        data: [[0x0707_0707; 32]; 2],
        ..Default::default()
    };
    crate::fixture::must("GEM_METADATA", metadata(c, &mut args)?)
}

/// What METADATA_GET makes of an argument whose words are all ones.
fn got(c: &Ctx, handle: u32) -> Result<GemMetadata, String> {
    let mut args = GemMetadata {
        handle,
        op: METADATA_GET,
        data: [[u32::MAX; 32]; 2],
        ..Default::default()
    };
    crate::fixture::must("GEM_METADATA", metadata(c, &mut args)?)?;
    Ok(args)
}

/// What GET_DMABUF_INFO fails with, and says, of a handle's DMA-buf, with room for metadata at an address.
fn described(
    c: &Ctx,
    handle: u32,
    metadata_ptr: u64,
    room: u32,
) -> Result<(i32, GetDmabufInfoArgs), String> {
    let fd = exported(c, handle)?;
    let mut args = GetDmabufInfoArgs {
        metadata_ptr,
        metadata_size: room,
        dmabuf_fd: fd.as_raw_fd() as u32,
        ..Default::default()
    };
    let errno = c.raw(&requests::GET_DMABUF_INFO, &mut args);
    Ok((errno, args))
}

/// The same of a new buffer with 5 bytes of metadata.
fn with_metadata(
    c: &Ctx,
    metadata_ptr: u64,
    room: u32,
) -> Result<(i32, GetDmabufInfoArgs), String> {
    let handle = made(c, DOMAIN_GTT)?;
    noted(c, handle, 5, 0)?;
    described(c, handle, metadata_ptr, room)
}

/// The flags that it says of a buffer, which must succeed.
fn flags_of(c: &Ctx, handle: u32) -> Answer {
    let (errno, args) = described(c, handle, 0, 0)?;
    crate::fixture::must("GET_DMABUF_INFO", errno)?;
    Ok(Got::Value(args.flags.into()))
}

#[rustfmt::skip]
pub(super) fn rows() -> Vec<Row> {
    const C: &str = "DRM_IOCTL_AMDGPU_GEM_CREATE";
    const M: &str = "DRM_IOCTL_AMDGPU_GEM_MMAP";
    const V: &str = "DRM_IOCTL_AMDGPU_GEM_VA";
    const D: &str = "DRM_IOCTL_AMDGPU_GEM_METADATA";
    const O: &str = "DRM_IOCTL_AMDGPU_GEM_OP";
    const W: &str = "DRM_IOCTL_AMDGPU_GEM_WAIT_IDLE";
    const K: &str = "DRM_IOCTL_GEM_CLOSE";
    const P: &str = "PRIME";
    const GEM: &str = "amd/amdgpu/amdgpu_gem.c: amdgpu_gem_create_ioctl";
    const MMAP: &str = "amd/amdgpu/amdgpu_gem.c: amdgpu_mode_dumb_mmap";
    const VA: &str = "amd/amdgpu/amdgpu_gem.c: amdgpu_gem_va_ioctl";
    const VERIFY: &str = "amd/amdgpu/amdgpu_vm.c: amdgpu_vm_verify_parameters";
    const META: &str = "amd/amdgpu/amdgpu_gem.c: amdgpu_gem_metadata_ioctl";
    const SET: &str = "amd/amdgpu/amdgpu_object.c: amdgpu_bo_set_metadata";
    const GET: &str = "amd/amdgpu/amdgpu_object.c: amdgpu_bo_get_metadata";
    const INFO: &str = "amd/amdgpu/amdgpu_amdkfd.c: amdgpu_amdkfd_get_dmabuf_info";
    const COPY: &str = "kfd_chardev.c: kfd_ioctl_get_dmabuf_info";
    const FAULT: &str = "amd/amdgpu/amdgpu_object.c: amdgpu_bo_fault_reserve_notify";
    const I: &str = "GET_DMABUF_INFO";
    const IN_VRAM: u64 = ALLOC_VRAM as u64;
    const IN_GTT: u64 = ALLOC_GTT as u64;
    const TOUCHED: u64 = ALLOC_PUBLIC as u64;
    const OP: &str = "amd/amdgpu/amdgpu_gem.c: amdgpu_gem_op_ioctl";
    const PRIME: &str = "drm_prime.c: drm_gem_prime_fd_to_handle";
    vec![
        row(C, "GTT", OK, GEM, |c| create(c, |_| {})),
        row(C, "VRAM", OK, GEM, |c| create(c, |a| a.domains = DOMAIN_VRAM.into())),
        row(C, "the CPU's memory", OK, GEM, |c| create(c, |a| a.domains = DOMAIN_CPU.into())),
        row(C, "a flag that does not exist", EINVAL, "amd/amdgpu/amdgpu_gem.h: AMDGPU_GEM_CREATE_SETTABLE_MASK", |c| create(c, |a| a.domain_flags = 1 << 40)),
        row(C, "the flag of MQDs, which only the kernel sets", EINVAL, "amd/amdgpu/amdgpu_gem.h: AMDGPU_GEM_CREATE_SETTABLE_MASK", |c| create(c, |a| a.domain_flags = 1 << 8)),
        row(C, "encrypted memory", EINVAL, GEM, |c| create(c, |a| a.domain_flags = CREATE_ENCRYPTED)),
        row(C, "a domain that does not exist", EINVAL, GEM, |c| create(c, |a| a.domains = u64::from(DOMAIN_MASK) + 1)),
        row(C, "GTT and GWS", EINVAL, "amd/amdgpu/amdgpu_gem.c: amdgpu_gem_are_domains_valid", |c| create(c, |a| a.domains = 0x12)),
        row(C, "nothing", ENOSPC, "drm_mm.c: drm_mm_insert_node_in_range", |c| create(c, |a| a.bo_size = 0)),
        row(C, "more than there is", ENOMEM, "amd/amdgpu/amdgpu_object.c: amdgpu_bo_validate_size", |c| create(c, |a| a.bo_size = 1 << 50)),
        row(C, "the argument at address 0", EFAULT, "drm_ioctl.c: drm_ioctl", |c| Ok(Got::Errno(sys::ioctl(c.render()?, GEM_CREATE.command(), 0)))),
        row(C, "the answer has nothing but a handle", is(0), GEM, |c| { let mut a = wanted(DOMAIN_GTT); ask(c.render()?, &GEM_CREATE, &mut a); Ok(Got::Value(a.alignment | a.domains | a.domain_flags | (a.bo_size >> 32))) }),
        row(C, "handles count from 1", YES, "drm_gem.c: drm_gem_handle_create_tail", |c| { let file = sys::open(&c.node.render).map_err(|e| e.to_string())?; let mut a = wanted(DOMAIN_GTT); ask(&file, &GEM_CREATE, &mut a); Ok(holds(a.handle() == 1)) }),
        row(C, "VRAM is cleared", is(0), GEM, |c| { let h = made(c, DOMAIN_VRAM)?; let m = mapped(c, h)?; Ok(Got::Value((0..SIZE as usize).step_by(8).map(|i| m.read(i)).max().unwrap_or(1))) }),
        row(K, "of no handle", EINVAL, "drm_gem.c: drm_gem_handle_delete", |c| Ok(Got::Errno(close(c, 0x7777)?))),
        row(K, "once", OK, "drm_gem.c: drm_gem_handle_delete", |c| { let h = made(c, DOMAIN_GTT)?; Ok(Got::Errno(close(c, h)?)) }),
        row(K, "twice", EINVAL, "drm_gem.c: drm_gem_handle_delete", |c| { let h = made(c, DOMAIN_GTT)?; close(c, h)?; Ok(Got::Errno(close(c, h)?)) }),
        row(M, "of no handle", ENOENT, MMAP, |c| Ok(Got::Errno(offset(c, 0x7777)?.0))),
        row(M, "what is written is read, GTT", is(MARK), MMAP, |c| { let h = made(c, DOMAIN_GTT)?; mapped(c, h)?.write(4096, MARK); Ok(Got::Value(mapped(c, h)?.read(4096))) }),
        row(M, "what is written is read, VRAM", is(MARK), MMAP, |c| { let h = made(c, DOMAIN_VRAM)?; mapped(c, h)?.write(4096, MARK); Ok(Got::Value(mapped(c, h)?.read(4096))) }),
        row(M, "the offset stays", YES, "amd/amdgpu/amdgpu_object.c: amdgpu_bo_mmap_offset", |c| { let h = made(c, DOMAIN_GTT)?; Ok(holds(offset(c, h)? == offset(c, h)?)) }),
        row(M, "memory without access by the CPU", EPERM, MMAP, |c| { let h = made_with(c, GemCreate { domain_flags: CREATE_NO_CPU_ACCESS, ..wanted(DOMAIN_VRAM) })?; Ok(Got::Errno(offset(c, h)?.0)) }),
        row(M, "by a file without a handle", EACCES, "drm_gem.c: drm_gem_object_lookup_at_offset", |c| {
            let h = made(c, DOMAIN_GTT)?;
            let other = sys::open(&c.node.render).map_err(|e| e.to_string())?;
            Ok(errno(sys::Map::file(&other, offset(c, h)?.1, SIZE as usize, RW, S).map(|_| ())))
        }),
        row(M, "by a file that has it from a DMA-buf", OK, "drm_gem.c: drm_gem_handle_create_tail", |c| {
            let h = made(c, DOMAIN_GTT)?;
            let other = sys::open(&c.node.render).map_err(|e| e.to_string())?;
            imported(&other, &exported(c, h)?)?;
            Ok(errno(sys::Map::file(&other, offset(c, h)?.1, SIZE as usize, RW, S).map(|_| ())))
        }),
        row(M, "by that file when it has closed its handle", EACCES, "drm_gem.c: drm_gem_object_release_handle", |c| {
            let h = made(c, DOMAIN_GTT)?;
            let other = sys::open(&c.node.render).map_err(|e| e.to_string())?;
            let handle = imported(&other, &exported(c, h)?)?;
            ask(&other, &GEM_CLOSE, &mut GemClose { handle, pad: 0 });
            Ok(errno(sys::Map::file(&other, offset(c, h)?.1, SIZE as usize, RW, S).map(|_| ())))
        }),
        row(V, "map", OK, VA, |c| new_va(c, |_| {})),
        row(V, "map a part", OK, VA, |c| new_va(c, |a| { a.offset_in_bo = 4096; a.map_size = 4096 })),
        row(V, "map no handle", ENOENT, VA, |c| new_va(c, |a| a.handle = 0x7777)),
        row(V, "map beyond its end", EINVAL, VERIFY, |c| new_va(c, |a| a.offset_in_bo = 4096)),
        row(V, "map nothing", EINVAL, VERIFY, |c| new_va(c, |a| a.map_size = 0)),
        row(V, "map at an address that is none of a page", EINVAL, VERIFY, |c| new_va(c, |a| a.va_address += 8)),
        row(V, "map a size that is none of pages", EINVAL, VERIFY, |c| new_va(c, |a| a.map_size = 4100)),
        row(V, "map from an offset that is none of a page", EINVAL, VERIFY, |c| new_va(c, |a| { a.offset_in_bo = 8; a.map_size = 4096 })),
        row(V, "map at the start, which is set aside", EINVAL, VA, |c| new_va(c, |a| a.va_address = 0xf000)),
        row(V, "map in the hole", EINVAL, VA, |c| new_va(c, |a| a.va_address = 1 << 47)),
        row(V, "map at the end, which is set aside", EINVAL, VA, |c| new_va(c, |a| a.va_address = 0u64.wrapping_sub(SIZE))),
        row(V, "a flag that does not exist", EINVAL, VA, |c| new_va(c, |a| a.flags |= 1 << 20)),
        row(V, "operation 0", EINVAL, VA, |c| new_va(c, |a| a.operation = 0)),
        row(V, "operation 5", EINVAL, VA, |c| new_va(c, |a| a.operation = 5)),
        row(V, "a delayed update with a fence", EINVAL, VA, |c| new_va(c, |a| { a.flags |= VM_DELAY_UPDATE; a.vm_timeline_syncobj_out = 1 })),
        row(V, "a fence to wait for that is none", ENOENT, "amd/amdgpu/amdgpu_gem.c: amdgpu_gem_add_input_fence", |c| { let none = 0x7777u32; new_va(c, |a| { a.num_syncobj_handles = 1; a.input_fence_syncobj_handles = &raw const none as u64 }) }),
        row(V, "map where it is mapped", EINVAL, "amd/amdgpu/amdgpu_vm.c: amdgpu_vm_bo_map", |c| Ok(Got::Errno(after_mapping(c, |_, _| {})?.2))),
        row(V, "map twice at two addresses", OK, "amd/amdgpu/amdgpu_vm.c: amdgpu_vm_bo_map", |c| Ok(Got::Errno(after_mapping(c, |a, at| a.va_address = at + SIZE)?.2))),
        row(V, "map where KFD has mapped", EINVAL, "amd/amdgpu/amdgpu_vm.c: amdgpu_vm_bo_map", |c| { let b = c.bo(SIZE, GTT)?; let h = made(c, DOMAIN_GTT)?; Ok(Got::Errno(va(c, h, b.va, |_| {})?)) }),
        row(V, "KFD maps where it is mapped", EINVAL, "amd/amdgpu/amdgpu_amdkfd_gpuvm.c: attach", |c| {
            let b = c.unmapped_bo(SIZE, GTT)?;
            let h = made(c, DOMAIN_GTT)?;
            crate::fixture::must("GEM_VA", va(c, h, b.va, |_| {})?)?;
            Ok(Got::Errno(c.map(b.handle)))
        }),
        row(V, "unmap", OK, "amd/amdgpu/amdgpu_vm.c: amdgpu_vm_bo_unmap", |c| Ok(Got::Errno(after_mapping(c, |a, _| a.operation = VA_OP_UNMAP)?.2))),
        row(V, "unmap where nothing is", ENOENT, "amd/amdgpu/amdgpu_vm.c: amdgpu_vm_bo_unmap", |c| new_va(c, |a| a.operation = VA_OP_UNMAP)),
        row(V, "unmap from its second page", ENOENT, "amd/amdgpu/amdgpu_vm.c: amdgpu_vm_bo_unmap", |c| Ok(Got::Errno(after_mapping(c, |a, at| { a.operation = VA_OP_UNMAP; a.va_address = at + 4096 })?.2))),
        row(V, "unmap another's mapping", ENOENT, "amd/amdgpu/amdgpu_vm.c: amdgpu_vm_bo_unmap", |c| { let other = made(c, DOMAIN_GTT)?; Ok(Got::Errno(after_mapping(c, |a, _| { a.operation = VA_OP_UNMAP; a.handle = other })?.2)) }),
        row(V, "map again when it was unmapped", OK, "amd/amdgpu/amdgpu_vm.c: amdgpu_vm_bo_map", |c| { let (h, at, _) = after_mapping(c, |a, _| a.operation = VA_OP_UNMAP)?; Ok(Got::Errno(va(c, h, at, |_| {})?)) }),
        row(V, "replace", OK, "amd/amdgpu/amdgpu_vm.c: amdgpu_vm_bo_replace_map", |c| Ok(Got::Errno(after_mapping(c, |a, _| a.operation = VA_OP_REPLACE)?.2))),
        row(V, "replace two mappings by one of another", OK, "amd/amdgpu/amdgpu_vm.c: amdgpu_vm_bo_replace_map", |c| {
            let (_, at, _) = after_mapping(c, |a, at| a.va_address = at + SIZE)?;
            let large = made_with(c, GemCreate { bo_size: 2 * SIZE, ..wanted(DOMAIN_GTT) })?;
            Ok(Got::Errno(va(c, large, at, |a| { a.operation = VA_OP_REPLACE; a.map_size = 2 * SIZE })?))
        }),
        row(V, "clear", OK, "amd/amdgpu/amdgpu_vm.c: amdgpu_vm_bo_clear_mappings", |c| Ok(Got::Errno(after_mapping(c, |a, _| { a.operation = VA_OP_CLEAR; a.handle = 0 })?.2))),
        row(V, "clear where nothing is", OK, "amd/amdgpu/amdgpu_vm.c: amdgpu_vm_bo_clear_mappings", |c| new_va(c, |a| a.operation = VA_OP_CLEAR)),
        row(V, "clear a part of a mapping", OK, "amd/amdgpu/amdgpu_vm.c: amdgpu_vm_bo_clear_mappings", |c| Ok(Got::Errno(after_mapping(c, |a, _| { a.operation = VA_OP_CLEAR; a.map_size = 4096 })?.2))),
        row(V, "clear the middle of a mapping", OK, "amd/amdgpu/amdgpu_vm.c: amdgpu_vm_bo_clear_mappings", |c| Ok(Got::Errno(without_middle(c)?.2))),
        row(V, "what is left in front of it is unmapped from where it began", OK, "amd/amdgpu/amdgpu_vm.c: amdgpu_vm_bo_clear_mappings", |c| { let (h, at, _) = without_middle(c)?; Ok(Got::Errno(va(c, h, at, |a| a.operation = VA_OP_UNMAP)?)) }),
        row(V, "what is left behind it is a mapping that begins there", OK, "amd/amdgpu/amdgpu_vm.c: amdgpu_vm_bo_clear_mappings", |c| { let (h, at, _) = without_middle(c)?; Ok(Got::Errno(va(c, h, at + 3 * SIZE, |a| a.operation = VA_OP_UNMAP)?)) }),
        row(V, "where it was nothing begins", ENOENT, "amd/amdgpu/amdgpu_vm.c: amdgpu_vm_bo_clear_mappings", |c| { let (h, at, _) = without_middle(c)?; Ok(Got::Errno(va(c, h, at + SIZE, |a| a.operation = VA_OP_UNMAP)?)) }),
        row(V, "there something else is mapped", OK, "amd/amdgpu/amdgpu_vm.c: amdgpu_vm_bo_clear_mappings", |c| { let (h, at, _) = without_middle(c)?; Ok(Got::Errno(va(c, h, at + SIZE, |a| a.map_size = 2 * SIZE)?)) }),
        row(V, "but not a page more", EINVAL, "amd/amdgpu/amdgpu_vm.c: amdgpu_vm_bo_map", |c| { let (h, at, _) = without_middle(c)?; Ok(Got::Errno(va(c, h, at + SIZE, |a| a.map_size = 2 * SIZE + 4096)?)) }),
        row(V, "clear from the middle of one mapping to that of another", OK, "amd/amdgpu/amdgpu_vm.c: amdgpu_vm_bo_clear_mappings", |c| {
            let (h, at, _) = after_mapping(c, |a, at| a.va_address = at + SIZE)?;
            crate::fixture::must("CLEAR", va(c, h, at + 4096, |a| a.operation = VA_OP_CLEAR)?)?;
            Ok(Got::Errno(va(c, h, at + 4096, |_| {})?))
        }),
        row(V, "replace a part of a mapping", OK, "amd/amdgpu/amdgpu_vm.c: amdgpu_vm_bo_replace_map", |c| { let other = made(c, DOMAIN_GTT)?; Ok(Got::Errno(after_mapping(c, |a, at| { a.operation = VA_OP_REPLACE; a.handle = other; a.va_address = at + 4096; a.map_size = 4096 })?.2)) }),
        row(V, "pages that aren't resident, of no handle", OK, VA, |c| new_va(c, |a| { a.flags = VM_PAGE_PRT; a.handle = 0x7777 })),
        row(V, "nearly 1 TiB of such pages, from an odd page on", OK, VA, |c| { let at = c.fresh_va(1 << 40); Ok(Got::Errno(va(c, 0, at + 4096, |a| { a.flags = VM_PAGE_PRT; a.map_size = (1 << 40) - 8192 })?)) }),
        row(V, "such pages, and readable", EINVAL, VA, |c| new_va(c, |a| a.flags = VM_PAGE_PRT | VM_PAGE_READABLE)),
        row(V, "such pages where something is mapped", EINVAL, "amd/amdgpu/amdgpu_vm.c: amdgpu_vm_bo_map", |c| Ok(Got::Errno(after_mapping(c, |a, _| a.flags = VM_PAGE_PRT)?.2))),
        row(V, "replace a part by such pages", OK, "amd/amdgpu/amdgpu_vm.c: amdgpu_vm_bo_replace_map", |c| Ok(Got::Errno(after_mapping(c, |a, at| { a.operation = VA_OP_REPLACE; a.flags = VM_PAGE_PRT; a.va_address = at + 4096; a.map_size = 4096 })?.2))),
        row(V, "unmap a buffer as if it were such pages", ENOENT, "amd/amdgpu/amdgpu_vm.c: amdgpu_vm_bo_unmap", |c| Ok(Got::Errno(after_mapping(c, |a, _| { a.operation = VA_OP_UNMAP; a.flags = VM_PAGE_PRT })?.2))),
        row(V, "unmap such pages", OK, "amd/amdgpu/amdgpu_vm.c: amdgpu_vm_bo_unmap", |c| { let at = not_resident(c)?; Ok(Got::Errno(va(c, 0, at, |a| { a.operation = VA_OP_UNMAP; a.flags = VM_PAGE_PRT })?)) }),
        row(V, "unmap such pages as if they were a buffer", ENOENT, "amd/amdgpu/amdgpu_vm.c: amdgpu_vm_bo_unmap", |c| { let at = not_resident(c)?; let h = made(c, DOMAIN_GTT)?; Ok(Got::Errno(va(c, h, at, |a| a.operation = VA_OP_UNMAP)?)) }),
        row(V, "clear such pages, and map there", OK, "amd/amdgpu/amdgpu_vm.c: amdgpu_vm_bo_clear_mappings", |c| { let at = not_resident(c)?; crate::fixture::must("CLEAR", va(c, 0, at, |a| a.operation = VA_OP_CLEAR)?)?; let h = made(c, DOMAIN_GTT)?; Ok(Got::Errno(va(c, h, at, |_| {})?)) }),
        row(V, "by a file whose address space no process took", OK, VA, |c| { let f = Apart::new(c)?; Ok(Got::Errno(f.va(|_| {}))) }),
        row(V, "by such a file, where it is mapped", EINVAL, "amd/amdgpu/amdgpu_vm.c: amdgpu_vm_bo_map", |c| { let f = Apart::new(c)?; f.va(|_| {}); Ok(Got::Errno(f.va(|_| {}))) }),
        row(V, "by such a file, where another file has mapped", OK, "amd/amdgpu/amdgpu_kms.c: amdgpu_driver_open_kms", |c| {
            let f = Apart::new(c)?;
            let mut other = Apart::new(c)?;
            other.at = f.at;
            crate::fixture::must("GEM_VA", f.va(|_| {}))?;
            Ok(Got::Errno(other.va(|_| {})))
        }),
        row(V, "by such a file, unmap", OK, "amd/amdgpu/amdgpu_vm.c: amdgpu_vm_bo_unmap", |c| { let f = Apart::new(c)?; f.va(|_| {}); Ok(Got::Errno(f.va(|a| a.operation = VA_OP_UNMAP))) }),
        row(V, "by such a file, unmap where nothing is", ENOENT, "amd/amdgpu/amdgpu_vm.c: amdgpu_vm_bo_unmap", |c| Ok(Got::Errno(Apart::new(c)?.va(|a| a.operation = VA_OP_UNMAP)))),
        row(V, "by such a file, clear where nothing is", OK, "amd/amdgpu/amdgpu_vm.c: amdgpu_vm_bo_clear_mappings", |c| Ok(Got::Errno(Apart::new(c)?.va(|a| a.operation = VA_OP_CLEAR)))),
        row("ACQUIRE_VM", "of a file that has mapped something", OK, "amd/amdgpu/amdgpu_amdkfd_gpuvm.c: amdgpu_amdkfd_gpuvm_acquire_process_vm", |c| Ok(Got::Errno(Apart::taken(c)?.1))).open(),
        row(V, "where a file had mapped before ACQUIRE_VM", EINVAL, "amd/amdgpu/amdgpu_vm.c: amdgpu_vm_bo_map", |c| { let (f, _) = Apart::taken(c)?; Ok(Got::Errno(f.va(|_| {}))) }).open(),
        row(V, "unmap what a file had mapped before ACQUIRE_VM", OK, "amd/amdgpu/amdgpu_vm.c: amdgpu_vm_bo_unmap", |c| { let (f, _) = Apart::taken(c)?; Ok(Got::Errno(f.va(|a| a.operation = VA_OP_UNMAP))) }).open(),
        row(V, "KFD maps where a file had mapped before ACQUIRE_VM", EINVAL, "amd/amdgpu/amdgpu_amdkfd_gpuvm.c: attach", |c| {
            let (f, errno) = Apart::taken(c)?;
            crate::fixture::must("ACQUIRE_VM", errno)?;
            let mut args = c.alloc_args(SIZE, GTT);
            args.va_addr = f.at;
            let bo = c.bo_from(args)?;
            Ok(Got::Errno(c.map(bo.handle)))
        }).open(),
        row(V, "closing the last handle unmaps", OK, "amd/amdgpu/amdgpu_gem.c: amdgpu_gem_object_close", |c| { let (h, at, _) = after_mapping(c, |a, at| a.va_address = at + SIZE)?; close(c, h)?; let other = made(c, DOMAIN_GTT)?; Ok(Got::Errno(va(c, other, at, |_| {})?)) }),
        row(D, "of no handle", ENOENT, META, |c| Ok(Got::Errno(metadata(c, &mut GemMetadata { handle: 0x7777, op: METADATA_GET, ..Default::default() })?))),
        row(D, "what was set is there", is(MARK), META, |c| {
            let handle = made(c, DOMAIN_GTT)?;
            metadata(c, &mut GemMetadata { handle, op: METADATA_SET, tiling_info: MARK, data_size_bytes: 4, data: [[7; 32]; 2], ..Default::default() })?;
            let mut args = GemMetadata { handle, op: METADATA_GET, ..Default::default() };
            metadata(c, &mut args)?;
            Ok(Got::Value(if (args.data_size_bytes, args.data[0][0]) == (4, 7) { args.tiling_info } else { 0 }))
        }),
        row(D, "a new buffer has none", is(0), META, |c| { let handle = made(c, DOMAIN_GTT)?; let mut args = GemMetadata { handle, op: METADATA_GET, tiling_info: 1, data_size_bytes: 9, ..Default::default() }; metadata(c, &mut args)?; Ok(Got::Value(args.tiling_info | u64::from(args.data_size_bytes))) }),
        row(D, "257 bytes", EINVAL, META, |c| { let handle = made(c, DOMAIN_GTT)?; Ok(Got::Errno(metadata(c, &mut GemMetadata { handle, op: METADATA_SET, data_size_bytes: 257, ..Default::default() })?)) }),
        row(D, "5 bytes: the reader's others stay", is(0xffff_ff07_0707_0707), GET, |c| { let h = made(c, DOMAIN_GTT)?; noted(c, h, 5, 0)?; let [a, b, ..] = got(c, h)?.data[0]; Ok(Got::Value((u64::from(b) << 32) | u64::from(a))) }),
        row(D, "5 bytes: all behind them stays", YES, GET, |c| { let h = made(c, DOMAIN_GTT)?; noted(c, h, 5, 0)?; Ok(holds(got(c, h)?.data.as_flattened()[2..].iter().all(|word| *word == u32::MAX))) }),
        row(D, "more bytes, then fewer: the fewer", is(0xffff_ffff_0707_0707), SET, |c| { let h = made(c, DOMAIN_GTT)?; noted(c, h, 8, 0)?; noted(c, h, 4, 0)?; let [a, b, ..] = got(c, h)?.data[0]; Ok(Got::Value((u64::from(b) << 32) | u64::from(a))) }),
        row(D, "256 bytes: all of them", YES, SET, |c| { let h = made(c, DOMAIN_GTT)?; noted(c, h, 256, 0)?; Ok(holds(got(c, h)?.data == [[0x0707_0707; 32]; 2])) }),
        row(D, "flags", is(MARK), SET, |c| { let h = made(c, DOMAIN_GTT)?; noted(c, h, 4, MARK)?; Ok(Got::Value(got(c, h)?.flags)) }),
        row(D, "no bytes: the flags stay", is(MARK), SET, |c| { let h = made(c, DOMAIN_GTT)?; noted(c, h, 4, MARK)?; noted(c, h, 0, 1)?; Ok(Got::Value(got(c, h)?.flags)) }),
        row(D, "no bytes: none are there any more", is(0), SET, |c| { let h = made(c, DOMAIN_GTT)?; noted(c, h, 4, MARK)?; noted(c, h, 0, 1)?; Ok(Got::Value(got(c, h)?.data_size_bytes.into())) }),
        row(O, "padding", EINVAL, OP, |c| { let handle = made(c, DOMAIN_GTT)?; Ok(Got::Errno(ask(c.render()?, &GEM_OP, &mut GemOp { handle, padding: 1, ..Default::default() }))) }),
        row(O, "of no handle", ENOENT, OP, |c| Ok(Got::Errno(ask(c.render()?, &GEM_OP, &mut GemOp { handle: 0x7777, ..Default::default() })))),
        row(O, "an unknown question", EINVAL, OP, |c| { let handle = made(c, DOMAIN_GTT)?; Ok(Got::Errno(ask(c.render()?, &GEM_OP, &mut GemOp { handle, op: 9, ..Default::default() }))) }),
        row(O, "GET_GEM_CREATE_INFO: size and domain", YES, OP, |c| {
            let handle = made_with(c, GemCreate { bo_size: SIZE - 5, ..wanted(DOMAIN_VRAM) })?;
            let mut info = GemCreate::default();
            let errno = ask(c.render()?, &GEM_OP, &mut GemOp { handle, value: sys::address(&mut info), ..Default::default() });
            Ok(holds((errno, info.bo_size, info.domains) == (0, SIZE, DOMAIN_VRAM.into())))
        }),
        row(O, "CPU_ACCESS_REQUIRED is a hint", is(0), "amd/amdgpu/amdgpu_object.c: amdgpu_bo_create", |c| for_cpu(c, false)),
        row(O, "CPU_ACCESS_REQUIRED of what the CPU touched", YES, "amd/amdgpu/amdgpu_object.c: amdgpu_bo_fault_reserve_notify", |c| for_cpu(c, true)),
        row(O, "alignment: up to whole pages", is(0x2000), OP, |c| aligned(c, 0x1001)),
        row(O, "alignment: an int, so upper bits go", is(0x3000), OP, |c| aligned(c, 0x5_0000_3000)),
        row(O, "alignment: -1 is rounded up to none", is(0), OP, |c| aligned(c, u64::MAX)),
        row(O, "GET_GEM_CREATE_INFO to a kernel address", EFAULT, OP, |c| { let handle = made(c, DOMAIN_GTT)?; Ok(Got::Errno(ask(c.render()?, &GEM_OP, &mut GemOp { handle, value: KERNEL, ..Default::default() }))) }),
        row(W, "of no handle", ENOENT, "amd/amdgpu/amdgpu_gem.c: amdgpu_gem_wait_idle_ioctl", |c| Ok(Got::Errno(ask(c.render()?, &GEM_WAIT_IDLE, &mut GemWaitIdle { handle: 0x7777, ..Default::default() })))),
        row(W, "a new buffer is idle", is(0), "amd/amdgpu/amdgpu_gem.c: amdgpu_gem_wait_idle_ioctl", |c| { let handle = made(c, DOMAIN_GTT)?; let mut args = GemWaitIdle { handle, ..Default::default() }; let errno = ask(c.render()?, &GEM_WAIT_IDLE, &mut args); Ok(Got::Value(u64::from(args.handle) | errno as u64)) }),
        row(P, "HANDLE_TO_FD of no handle", ENOENT, "drm_prime.c: drm_gem_prime_handle_to_dmabuf", |c| Ok(Got::Errno(ask(c.render()?, &PRIME_HANDLE_TO_FD, &mut PrimeHandle { handle: 0x7777, ..Default::default() })))),
        row(P, "FD_TO_HANDLE of no file", EBADF, PRIME, |c| Ok(Got::Errno(ask(c.render()?, &PRIME_FD_TO_HANDLE, &mut PrimeHandle { fd: -1, ..Default::default() })))),
        row(P, "FD_TO_HANDLE of the render node", EINVAL, PRIME, |c| { let fd = c.render()?.as_raw_fd(); Ok(Got::Errno(ask(c.render()?, &PRIME_FD_TO_HANDLE, &mut PrimeHandle { fd, ..Default::default() }))) }),
        row(P, "there and back: the same handle", YES, PRIME, |c| { let h = made(c, DOMAIN_GTT)?; let fd = exported(c, h)?; Ok(holds(imported(c.render()?, &fd)? == h)) }),
        row(P, "out twice: the same DMA-buf", YES, "drm_prime.c: drm_gem_prime_handle_to_dmabuf", |c| { let h = made(c, DOMAIN_GTT)?; let (a, b) = (exported(c, h)?, exported(c, h)?); Ok(holds(sys_inode(&a)? == sys_inode(&b)?)) }),
        row(P, "KFD's DMA-buf: the same memory, GTT", is(MARK), PRIME, |c| { let (b, fd) = by_kfd(c, GTT)?; kfd_memory(c, &b)?.write(8, MARK); let h = imported(c.render()?, &fd)?; Ok(Got::Value(mapped(c, h)?.read(8))) }),
        row(P, "KFD's DMA-buf: the same memory, VRAM", is(MARK), PRIME, |c| { let (b, fd) = by_kfd(c, VRAM | rkfd_uapi::memory::ALLOC_PUBLIC)?; kfd_memory(c, &b)?.write(8, MARK); let h = imported(c.render()?, &fd)?; Ok(Got::Value(mapped(c, h)?.read(8))) }),
        row(P, "KFD's DMA-buf goes out as the same", YES, "drm_prime.c: drm_gem_prime_handle_to_dmabuf", |c| { let (_, fd) = by_kfd(c, GTT)?; let h = imported(c.render()?, &fd)?; Ok(holds(sys_inode(&fd)? == sys_inode(&exported(c, h)?)?)) }),
        row(P, "KFD's buffer, freed there, lives by its handle", is(MARK), "drm_prime.c: drm_gem_prime_fd_to_handle", |c| { let (b, fd) = by_kfd(c, GTT)?; kfd_memory(c, &b)?.write(8, MARK); let h = imported(c.render()?, &fd)?; c.free(b.handle); drop(fd); Ok(Got::Value(mapped(c, h)?.read(8))) }),
        row(P, "KFD takes a handle's DMA-buf, and maps it", OK, "amd/amdgpu/amdgpu_amdkfd_gpuvm.c: amdgpu_amdkfd_gpuvm_import_dmabuf_fd", |c| { let h = made(c, DOMAIN_VRAM)?; let at = c.fresh_va(SIZE); let b = to_kfd(c, &exported(c, h)?, at)?; Ok(Got::Errno(c.map(b))) }),
        row(P, "GET_DMABUF_INFO of a handle's: size", is(SIZE), "kfd_chardev.c: kfd_ioctl_get_dmabuf_info", |c| { let h = made(c, DOMAIN_VRAM)?; let fd = exported(c, h)?; let mut args = GetDmabufInfoArgs { dmabuf_fd: fd.as_raw_fd() as u32, ..Default::default() }; c.raw(&requests::GET_DMABUF_INFO, &mut args); Ok(Got::Value(args.size)) }),
        row(I, "metadata: its size", is(5), INFO, |c| { let mut to = [9u8; 64]; let (e, args) = with_metadata(c, sys::address(&mut to), 64)?; crate::fixture::must(I, e)?; Ok(Got::Value(args.metadata_size.into())) }),
        row(I, "metadata: its bytes and no others", is(0x0909_0907_0707_0707), COPY, |c| { let mut to = [u64::from_ne_bytes([9; 8]); 8]; let (e, _) = with_metadata(c, sys::address(&mut to), 64)?; crate::fixture::must(I, e)?; Ok(Got::Value(to[0])) }),
        row(I, "metadata in just as much room", OK, INFO, |c| { let mut to = [9u8; 5]; Ok(Got::Errno(with_metadata(c, sys::address(&mut to), 5)?.0)) }),
        row(I, "metadata without an address: its size", is(5), COPY, |c| { let (e, args) = with_metadata(c, 0, 64)?; crate::fixture::must(I, e)?; Ok(Got::Value(args.metadata_size.into())) }),
        row(I, "too little room for metadata", EINVAL, INFO, |c| { let mut to = [9u8; 64]; Ok(Got::Errno(with_metadata(c, sys::address(&mut to), 4)?.0)) }),
        row(I, "too little room for metadata: both sizes are told", YES, INFO, |c| { let (_, args) = with_metadata(c, 0, 4)?; Ok(holds((args.metadata_size, args.size) == (5, SIZE))) }),
        row(I, "too little room for metadata: nothing else is", is(0), COPY, |c| { let (_, args) = with_metadata(c, 0, 4)?; Ok(Got::Value(u64::from(args.flags) | u64::from(args.gpu_id))) }),
        row(I, "metadata to a kernel address", EFAULT, COPY, |c| Ok(Got::Errno(with_metadata(c, KERNEL, 64)?.0))),
        row(I, "the CPU's memory", EINVAL, INFO, |c| { let h = made(c, DOMAIN_CPU)?; Ok(Got::Errno(described(c, h, 0, 0)?.0)) }),
        row(I, "memory of no domain", EINVAL, INFO, |c| { let h = made(c, 0)?; Ok(Got::Errno(described(c, h, 0, 0)?.0)) }),
        row(I, "a handle's VRAM: flags", is(IN_VRAM), INFO, |c| { let h = made(c, DOMAIN_VRAM)?; flags_of(c, h) }),
        row(I, "a handle's VRAM for the CPU: flags", is(IN_VRAM), "amd/amdgpu/amdgpu_object.c: amdgpu_bo_create", |c| { let h = made_with(c, GemCreate { domain_flags: CREATE_CPU_ACCESS_REQUIRED, ..wanted(DOMAIN_VRAM) })?; flags_of(c, h) }),
        row(I, "a handle's VRAM that the CPU touched: flags", is(IN_VRAM | TOUCHED), FAULT, |c| { let h = made(c, DOMAIN_VRAM)?; mapped(c, h)?.write(0, MARK); flags_of(c, h) }),
        row(I, "a handle's GTT that the CPU touched: flags", is(IN_GTT | TOUCHED), FAULT, |c| { let h = made(c, DOMAIN_GTT)?; mapped(c, h)?.write(0, MARK); flags_of(c, h) }),
        row(O, "VRAM for somebody else's memory", EINVAL, OP, |c| { let fd = sys::udmabuf(8192)?; let handle = imported(c.render()?, &fd)?; Ok(Got::Errno(ask(c.render()?, &GEM_OP, &mut GemOp { handle, op: OP_SET_PLACEMENT, value: DOMAIN_VRAM.into(), ..Default::default() }))) }),
        row(I, "a handle's VRAM that is to lie in GTT: flags", is(IN_GTT), OP, |c| { let handle = made(c, DOMAIN_VRAM)?; crate::fixture::must(O, ask(c.render()?, &GEM_OP, &mut GemOp { handle, op: OP_SET_PLACEMENT, value: DOMAIN_GTT.into(), ..Default::default() }))?; flags_of(c, handle) }),
        row(P, "a DMA-buf of a handle is mapped by the CPU", is(MARK), "drm_prime.c: drm_gem_prime_mmap", |c| { let h = made(c, DOMAIN_GTT)?; mapped(c, h)?.write(16, MARK); let fd = exported(c, h)?; let m = sys::Map::file(&fd, 0, SIZE as usize, RW, S).map_err(|e| e.to_string())?; Ok(Got::Value(m.read(16))) }),
        row(P, "such a mapping outlives handle and descriptor", is(MARK), "drm_prime.c: drm_gem_prime_mmap", |c| { let h = made(c, DOMAIN_GTT)?; let fd = exported(c, h)?; let m = sys::Map::file(&fd, 0, SIZE as usize, RW, S).map_err(|e| e.to_string())?; m.write(24, MARK); close(c, h)?; drop(fd); Ok(Got::Value(m.read(24))) }),
    ]
}

/// A mapping of four pieces of `SIZE` whose second and third are cleared: handle and address, and what clearing
/// fails with.
fn without_middle(c: &mut Ctx) -> Result<(u32, u64, i32), String> {
    let handle = made_with(
        c,
        GemCreate {
            bo_size: 4 * SIZE,
            ..wanted(DOMAIN_GTT)
        },
    )?;
    let at = c.fresh_va(4 * SIZE);
    let errno = va(c, handle, at, |a| a.map_size = 4 * SIZE)?;
    crate::fixture::must("GEM_VA", errno)?;
    let errno = va(c, handle, at + SIZE, |a| {
        a.operation = VA_OP_CLEAR;
        a.map_size = 2 * SIZE;
    })?;
    Ok((handle, at, errno))
}

/// A file of the render node with a buffer, and an address for it.
struct Apart {
    file: OwnedFd,
    handle: u32,
    at: u64,
}

impl Apart {
    fn new(c: &mut Ctx) -> Result<Self, String> {
        let file = sys::open(&c.node.render).map_err(|e| e.to_string())?;
        let mut new = Self {
            file,
            handle: 0,
            at: c.fresh_va(SIZE),
        };
        new.handle = new.made()?;
        Ok(new)
    }

    /// A file that has mapped its buffer, and what taking its address space fails with then.
    fn taken(c: &mut Ctx) -> Result<(Self, i32), String> {
        let apart = Self::new(c)?;
        crate::fixture::must("GEM_VA", apart.va(|_| {}))?;
        let errno = c.acquire(apart.file.as_raw_fd() as u32, c.gpu);
        Ok((apart, errno))
    }

    fn made(&self) -> Result<u32, String> {
        let mut args = wanted(DOMAIN_GTT);
        crate::fixture::must("GEM_CREATE", ask(&self.file, &GEM_CREATE, &mut args))?;
        Ok(args.handle())
    }

    /// What mapping the buffer fails with, with one thing changed.
    fn va(&self, change: impl FnOnce(&mut GemVa)) -> i32 {
        let mut args = GemVa {
            handle: self.handle,
            operation: VA_OP_MAP,
            flags: ALL,
            va_address: self.at,
            map_size: SIZE,
            ..Default::default()
        };
        change(&mut args);
        ask(&self.file, &GEM_VA, &mut args)
    }
}

/// What tells one DMA-buf from another.
fn sys_inode(fd: &OwnedFd) -> Result<u64, String> {
    use std::os::unix::fs::MetadataExt;
    let path = format!("/proc/self/fd/{}", fd.as_raw_fd());
    std::fs::metadata(&path)
        .map(|m| m.ino())
        .map_err(|e| format!("{path}: {e}"))
}

/// A buffer of KFD's, mapped on the render node.
fn kfd_memory(c: &Ctx, bo: &Bo) -> Result<sys::Map, String> {
    let map = sys::Map::file(c.render()?, bo.offset, SIZE as usize, RW, S);
    map.map_err(|e| format!("mmap: {}", rkfd_bare::errno::name(e)))
}
