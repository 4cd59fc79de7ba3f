// SPDX-License-Identifier: MIT OR Apache-2.0
//! What files can learn of their GEM handles, and where these may lie. Paths are those of `drivers/gpu/drm`.

use super::gem::{after_mapping, ask, made, wanted, SIZE};
use super::*;
use crate::fixture::KERNEL;
use crate::row::{row, Answer, Row};
use rkfd_uapi::gem::*;
use std::os::fd::OwnedFd;

/// A question about a buffer, and what it fails with.
fn op(c: &Ctx, args: &mut GemOp) -> Result<i32, String> {
    Ok(ask(c.render()?, &GEM_OP, args))
}

/// The domains of a buffer after SET_PLACEMENT.
fn placed(c: &Ctx, handle: u32, value: u64) -> Result<(i32, u64), String> {
    let mut args = GemOp {
        handle,
        op: OP_SET_PLACEMENT,
        value,
        ..Default::default()
    };
    let errno = op(c, &mut args)?;
    let mut info = GemCreate::default();
    args.op = OP_GET_GEM_CREATE_INFO;
    args.value = sys::address(&mut info);
    crate::fixture::must("GEM_OP", op(c, &mut args)?)?;
    Ok((errno, info.domains))
}

/// Asks where a buffer is mapped, with room for two answers: errno, the number, and the answers.
fn mappings(c: &Ctx, handle: u32, room: u32) -> Result<(i32, u32, [GemVmEntry; 2]), String> {
    let mut entries = [GemVmEntry::default(); 2];
    let mut args = GemOp {
        handle,
        op: OP_GET_MAPPING_INFO,
        value: sys::address(&mut entries[..]),
        num_entries: room,
        padding: 0,
    };
    let errno = op(c, &mut args)?;
    Ok((errno, args.num_entries, entries))
}

/// Asks a file for its handles, with room for `room` at an address: errno and the number.
fn list(file: &OwnedFd, entries: u64, room: u32) -> (i32, u32) {
    let mut args = GemListHandles {
        entries,
        num_entries: room,
        padding: 0,
    };
    let errno = ask(file, &GEM_LIST_HANDLES, &mut args);
    (errno, args.num_entries)
}

/// A file with one handle.
fn file(c: &Ctx) -> Result<(OwnedFd, u32), String> {
    let file = sys::open(&c.node.render).map_err(|e| e.to_string())?;
    let mut args = wanted(DOMAIN_GTT);
    crate::fixture::must("GEM_CREATE", ask(&file, &GEM_CREATE, &mut args))?;
    Ok((file, args.handle()))
}

/// Asks for the mappings of a buffer that is mapped, with one thing changed.
fn asked(c: &mut Ctx, change: impl FnOnce(&mut GemOp)) -> Answer {
    let (handle, _, _) = after_mapping(c, |_, _| {})?;
    let mut args = GemOp {
        handle,
        op: OP_GET_MAPPING_INFO,
        num_entries: 1,
        ..Default::default()
    };
    change(&mut args);
    Ok(Got::Errno(op(c, &mut args)?))
}

#[rustfmt::skip]
pub(super) fn rows() -> Vec<Row> {
    const O: &str = "DRM_IOCTL_AMDGPU_GEM_OP";
    const L: &str = "DRM_IOCTL_AMDGPU_GEM_LIST_HANDLES";
    const OP: &str = "amd/amdgpu/amdgpu_gem.c: amdgpu_gem_op_ioctl";
    const LIST: &str = "amd/amdgpu/amdgpu_gem.c: amdgpu_gem_list_handles_ioctl";
    vec![
        row(O, "SET_PLACEMENT", OK, OP, |c| { let h = made(c, DOMAIN_VRAM)?; Ok(Got::Errno(placed(c, h, DOMAIN_GTT.into())?.0)) }),
        row(O, "SET_PLACEMENT: it is told of", is(DOMAIN_GTT.into()), OP, |c| { let h = made(c, DOMAIN_VRAM)?; Ok(Got::Value(placed(c, h, DOMAIN_GTT.into())?.1)) }),
        row(O, "SET_PLACEMENT: domains that programs have no memory of are left out", is(DOMAIN_VRAM.into()), OP, |c| { let h = made(c, DOMAIN_GTT)?; Ok(Got::Value(placed(c, h, u64::from(DOMAIN_VRAM) | 0x78)?.1)) }),
        row(O, "GET_MAPPING_INFO of a buffer that is not mapped", is(0), OP, |c| { let h = made(c, DOMAIN_GTT)?; let (errno, n, _) = mappings(c, h, 2)?; Ok(Got::Value(u64::from(n) | errno as u64)) }),
        row(O, "GET_MAPPING_INFO: how many there are", is(2), OP, |c| { let (h, _, _) = after_mapping(c, |a, at| a.va_address = at + SIZE)?; Ok(Got::Value(mappings(c, h, 0)?.1.into())) }),
        row(O, "GET_MAPPING_INFO with too little room writes nothing", is(0), OP, |c| { let (h, _, _) = after_mapping(c, |a, at| a.va_address = at + SIZE)?; Ok(Got::Value(mappings(c, h, 1)?.2[0].size)) }),
        row(O, "GET_MAPPING_INFO: address, size, offset and flags", YES, OP, |c| {
            let (h, at, _) = after_mapping(c, |a, at| { a.va_address = at + SIZE; a.offset_in_bo = 4096; a.map_size = 4096; a.flags = VM_PAGE_READABLE })?;
            let (_, n, mut found) = mappings(c, h, 2)?;
            found.sort_by_key(|e| e.addr);
            let part = |e: &GemVmEntry| (e.addr, e.size, e.offset, e.flags);
            let all = u64::from(VM_PAGE_READABLE | VM_PAGE_WRITEABLE | VM_PAGE_EXECUTABLE);
            Ok(holds(n == 2 && part(&found[0]) == (at, SIZE, 0, all) && part(&found[1]) == (at + SIZE, 4096, 4096, VM_PAGE_READABLE.into())))
        }),
        row(O, "GET_MAPPING_INFO to a kernel address", EFAULT, OP, |c| asked(c, |a| a.value = KERNEL)),
        row(O, "GET_MAPPING_INFO with room for more than there can be", EINVAL, OP, |c| asked(c, |a| a.num_entries = 0x400_0000)),
        row(L, "of a new file: none", is(0), LIST, |c| { let f = sys::open(&c.node.render).map_err(|e| e.to_string())?; let (errno, n) = list(&f, 0, 3); Ok(Got::Value(u64::from(n) | errno as u64)) }),
        row(L, "without room: how many there are", is(1), LIST, |c| { let (f, _) = file(c)?; Ok(Got::Value(list(&f, 0, 0).1.into())) }),
        row(L, "without room: no error", OK, LIST, |c| { let (f, _) = file(c)?; Ok(Got::Errno(list(&f, 0, 0).0)) }),
        row(L, "to a kernel address", EFAULT, LIST, |c| { let (f, _) = file(c)?; Ok(Got::Errno(list(&f, KERNEL, 1).0)) }),
        row(L, "handle, size, domain and alignment", YES, LIST, |c| {
            let (f, h) = file(c)?;
            let mut entry = [GemListHandlesEntry::default()];
            let (errno, n) = list(&f, sys::address(&mut entry[..]), 1);
            let [e] = entry;
            Ok(holds((errno, n, e.gem_handle, e.flags, e.size, e.preferred_domains, e.alignment) == (0, 1, h, 0, SIZE, DOMAIN_GTT.into(), 4096)))
        }),
    ]
}
