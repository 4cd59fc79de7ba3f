// SPDX-License-Identifier: MIT OR Apache-2.0
//! GEM handles of the program's own memory. Paths are those of `drivers/gpu/drm`.

use super::gem::{ask, va};
use super::*;
use crate::fixture::KERNEL;
use crate::row::{row, Answer, Row};
use rkfd_uapi::gem::*;

const SIZE: u64 = super::gem::SIZE;
const R: i32 = libc::PROT_READ;
const RW: i32 = libc::PROT_READ | libc::PROT_WRITE;
/// An address where programs have nothing.
const NOTHING: u64 = 0x10_0000;

fn memory(prot: i32) -> Result<sys::Map, String> {
    sys::Map::anonymous(SIZE as usize, prot, 0).map_err(|e| format!("mmap: {e}"))
}

/// What GEM_USERPTR of an address fails with, and the handle.
fn of(c: &Ctx, addr: u64, flags: u32) -> Result<(i32, u32), String> {
    let mut args = GemUserptr {
        addr,
        size: SIZE,
        flags,
        handle: 0,
    };
    let errno = ask(c.render()?, &GEM_USERPTR, &mut args);
    Ok((errno, args.handle))
}

/// What it fails with for memory with these rights.
fn with(c: &Ctx, prot: i32, flags: u32) -> Answer {
    let map = memory(prot)?;
    Ok(Got::Errno(of(c, map.address, flags)?.0))
}

/// And for memory whose second page has other rights.
fn second(c: &Ctx, prot: i32, flags: u32) -> Answer {
    let map = memory(RW)?;
    map.protect(4096, 4096, prot)
        .map_err(|e| format!("mprotect: {e}"))?;
    Ok(Got::Errno(of(c, map.address, flags)?.0))
}

/// And with one thing changed.
fn changed(c: &Ctx, change: impl FnOnce(&mut GemUserptr)) -> Answer {
    let map = memory(RW)?;
    let mut args = GemUserptr {
        addr: map.address,
        size: SIZE,
        flags: WATCHED,
        handle: 0,
    };
    change(&mut args);
    Ok(Got::Errno(ask(c.render()?, &GEM_USERPTR, &mut args)))
}

/// A handle of memory that is there.
fn made(c: &Ctx) -> Result<(sys::Map, u32), String> {
    let map = memory(RW)?;
    let (errno, handle) = of(c, map.address, WATCHED)?;
    crate::fixture::must("GEM_USERPTR", errno)?;
    Ok((map, handle))
}

/// `struct drm_gem_flink` (handle and name) and `struct drm_gem_open` (name, handle and size), on the primary node.
const FLINK: u32 = 0xc008_640a;
const OPEN: u32 = 0xc010_640b;

/// What mapping a buffer fails with that a file has two handles to, when some of them are closed.
fn of_two_handles(c: &mut Ctx, closed: usize) -> Answer {
    let card = sys::open(&super::drm::card(c)?).map_err(|e| e.to_string())?;
    let mut args = super::gem::wanted(DOMAIN_GTT);
    crate::fixture::must("GEM_CREATE", ask(&card, &GEM_CREATE, &mut args))?;
    let mut named = [args.handle(), 0];
    let errno = sys::ioctl(&card, FLINK, sys::address(&mut named));
    crate::fixture::must("GEM_FLINK", errno)?;
    let mut opened = [named[1], 0, 0, 0];
    let errno = sys::ioctl(&card, OPEN, sys::address(&mut opened));
    crate::fixture::must("GEM_OPEN", errno)?;
    let mut at = GemMmap {
        addr_ptr: named[0].into(),
    };
    crate::fixture::must("GEM_MMAP", ask(&card, &GEM_MMAP, &mut at))?;
    // It lives on in a DMA-buf.
    let mut exported = PrimeHandle {
        handle: named[0],
        flags: libc::O_CLOEXEC as u32,
        fd: -1,
    };
    let errno = ask(&card, &PRIME_HANDLE_TO_FD, &mut exported);
    crate::fixture::must("PRIME_HANDLE_TO_FD", errno)?;
    let _held = sys::own(exported.fd as u32);
    for &handle in [named[0], opened[1]].iter().take(closed) {
        let errno = ask(&card, &GEM_CLOSE, &mut GemClose { handle, pad: 0 });
        crate::fixture::must("GEM_CLOSE", errno)?;
    }
    let map = sys::Map::file(&card, at.addr_ptr, SIZE as usize, RW, libc::MAP_SHARED);
    Ok(super::errno(map.map(|_| ())))
}

/// What another process gets that opens memory by the name it has on the primary node.
fn by_name(c: &mut Ctx) -> Answer {
    let (path, map) = (super::drm::card(c)?, memory(RW)?);
    let card = sys::open(&path).map_err(|e| e.to_string())?;
    let mut args = GemUserptr {
        addr: map.address,
        size: SIZE,
        flags: WATCHED,
        handle: 0,
    };
    crate::fixture::must("GEM_USERPTR", ask(&card, &GEM_USERPTR, &mut args))?;
    let mut named = [args.handle, 0];
    let errno = sys::ioctl(&card, FLINK, sys::address(&mut named));
    crate::fixture::must("GEM_FLINK", errno)?;
    let open = || {
        let Ok(card) = sys::open(&path) else {
            return 254;
        };
        sys::ioctl(&card, OPEN, sys::address(&mut [named[1], 0, 0, 0]))
    };
    Ok(Got::Errno(forked(open)))
}

const WATCHED: u32 = USERPTR_REGISTER | USERPTR_VALIDATE;

#[rustfmt::skip]
pub(super) fn rows() -> Vec<Row> {
    const U: &str = "DRM_IOCTL_AMDGPU_GEM_USERPTR";
    const USERPTR: &str = "amd/amdgpu/amdgpu_gem.c: amdgpu_gem_userptr_ioctl";
    const PAGES: &str = "amd/amdgpu/amdgpu_ttm.c: amdgpu_ttm_tt_get_user_pages";
    const HMM: &str = "amd/amdgpu/amdgpu_hmm.c: amdgpu_hmm_range_get_pages";
    const MAP: &str = "amd/amdgpu/amdgpu_vm.c: amdgpu_vm_bo_map";
    vec![
        row(U, "memory to be watched, looked up at once", OK, USERPTR, |c| with(c, RW, WATCHED)),
        row(U, "memory to be watched", OK, USERPTR, |c| with(c, RW, USERPTR_REGISTER)),
        row(U, "memory that is only read", OK, USERPTR, |c| with(c, RW, USERPTR_READONLY)),
        row(U, "memory to be written that is not watched", EACCES, USERPTR, |c| with(c, RW, USERPTR_VALIDATE)),
        row(U, "a flag that does not exist", EINVAL, USERPTR, |c| with(c, RW, WATCHED | (1 << 4))),
        row(U, "an address that is none of a page", EINVAL, USERPTR, |c| changed(c, |a| a.addr += 8)),
        row(U, "a size that is none of pages", EINVAL, USERPTR, |c| changed(c, |a| a.size = 4100)),
        row(U, "nothing", ENOSPC, "drm_mm.c: drm_mm_insert_node_in_range", |c| changed(c, |a| a.size = 0)),
        row(U, "a kernel address", EFAULT, USERPTR, |c| changed(c, |a| a.addr = KERNEL & !0xfff)),
        row(U, "to the end of all addresses", EFAULT, USERPTR, |c| changed(c, |a| a.size = 0u64.wrapping_sub(4096))),
        row(U, "where nothing is", EFAULT, PAGES, |c| Ok(Got::Errno(of(c, NOTHING, WATCHED)?.0))),
        row(U, "where nothing is, to be looked up later", OK, USERPTR, |c| Ok(Got::Errno(of(c, NOTHING, USERPTR_REGISTER)?.0))),
        row(U, "read-only memory, to be written", EPERM, HMM, |c| with(c, R, WATCHED)),
        row(U, "read-only memory, only to be read", OK, HMM, |c| with(c, R, WATCHED | USERPTR_READONLY)),
        row(U, "the second page can not be read", EFAULT, HMM, |c| second(c, libc::PROT_NONE, WATCHED)),
        row(U, "the second page can not be written", EPERM, HMM, |c| second(c, R, WATCHED)),
        row(U, "anonymous memory only: it is", OK, PAGES, |c| with(c, RW, WATCHED | USERPTR_ANONONLY)),
        row(U, "anonymous memory only: shared memory", EPERM, PAGES, |c| { let m = sys::Map::shared(SIZE as usize).map_err(|e| format!("mmap: {e}"))?; Ok(Got::Errno(of(c, m.address, WATCHED | USERPTR_ANONONLY)?.0)) }),
        row(U, "shared memory", OK, PAGES, |c| { let m = sys::Map::shared(SIZE as usize).map_err(|e| format!("mmap: {e}"))?; Ok(Got::Errno(of(c, m.address, WATCHED)?.0)) }),
        row(U, "anonymous memory only: two mappings", EPERM, PAGES, |c| second(c, R, WATCHED | USERPTR_ANONONLY | USERPTR_READONLY)),
        row(U, "two mappings", OK, PAGES, |c| second(c, R, WATCHED | USERPTR_READONLY)),
        row(U, "it is not for the CPU to map", EPERM, "amd/amdgpu/amdgpu_gem.c: amdgpu_mode_dumb_mmap", |c| { let (_m, h) = made(c)?; Ok(Got::Errno(ask(c.render()?, &GEM_MMAP, &mut GemMmap { addr_ptr: h.into() }))) }),
        row(U, "it does not go out as a DMA-buf", EPERM, "amd/amdgpu/amdgpu_dma_buf.c: amdgpu_gem_prime_export", |c| { let (_m, handle) = made(c)?; Ok(Got::Errno(ask(c.render()?, &PRIME_HANDLE_TO_FD, &mut PrimeHandle { handle, ..Default::default() }))) }),
        row("DRM_IOCTL_GEM_OPEN", "the first of two handles is closed: it is mapped", OK, "drm_gem.c: drm_gem_object_release_handle", |c| of_two_handles(c, 1)),
        row("DRM_IOCTL_GEM_OPEN", "both are closed", EACCES, "drm_gem.c: drm_gem_object_release_handle", |c| of_two_handles(c, 2)),
        row(U, "by its name in another process", EPERM, "amd/amdgpu/amdgpu_gem.c: amdgpu_gem_object_open", by_name),
        row(U, "it has its place", EPERM, "amd/amdgpu/amdgpu_gem.c: amdgpu_gem_op_ioctl", |c| { let (_m, handle) = made(c)?; Ok(Got::Errno(ask(c.render()?, &GEM_OP, &mut GemOp { handle, op: OP_SET_PLACEMENT, value: DOMAIN_GTT.into(), ..Default::default() }))) }),
        row(U, "GET_GEM_CREATE_INFO: size and domain", YES, USERPTR, |c| {
            let (_m, handle) = made(c)?;
            let mut info = GemCreate::default();
            let errno = ask(c.render()?, &GEM_OP, &mut GemOp { handle, value: sys::address(&mut info), ..Default::default() });
            Ok(holds((errno, info.bo_size, info.domains) == (0, SIZE, DOMAIN_GTT.into())))
        }),
        row(U, "GEM_VA maps it", OK, MAP, |c| { let (_m, h) = made(c)?; let at = c.fresh_va(SIZE); Ok(Got::Errno(va(c, h, at, |_| {})?)) }),
        row(U, "GEM_VA maps it when the memory is gone", OK, MAP, |c| { let (m, h) = made(c)?; drop(m); let at = c.fresh_va(SIZE); Ok(Got::Errno(va(c, h, at, |_| {})?)) }),
        row(U, "its mapping stays when the memory goes", EINVAL, MAP, |c| { let (m, h) = made(c)?; let at = c.fresh_va(SIZE); va(c, h, at, |_| {})?; drop(m); Ok(Got::Errno(va(c, h, at, |_| {})?)) }),
        row(U, "and is unmapped", OK, "amd/amdgpu/amdgpu_vm.c: amdgpu_vm_bo_unmap", |c| { let (m, h) = made(c)?; let at = c.fresh_va(SIZE); va(c, h, at, |_| {})?; drop(m); Ok(Got::Errno(va(c, h, at, |a| a.operation = VA_OP_UNMAP)?)) }),
        row(U, "and a part of it is cleared", OK, "amd/amdgpu/amdgpu_vm.c: amdgpu_vm_bo_clear_mappings", |c| { let (m, h) = made(c)?; let at = c.fresh_va(SIZE); va(c, h, at, |_| {})?; drop(m); Ok(Got::Errno(va(c, h, at, |a| { a.operation = VA_OP_CLEAR; a.map_size = 4096 })?)) }),
    ]
}
