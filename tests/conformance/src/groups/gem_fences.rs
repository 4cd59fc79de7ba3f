// SPDX-License-Identifier: MIT OR Apache-2.0
//! What GEM_VA waits for, what happens meanwhile, and what tells that it is done. Paths are those of `drivers/gpu/drm`.

use super::gem::{after_mapping, ask, made, new_va, va, SIZE};
use super::syncobj;
use super::*;
use crate::fixture::{must, KERNEL};
use crate::row::{row, Answer, Row};
use rkfd_bare::awaited::Page;
use rkfd_uapi::gem::*;
use rkfd_uapi::syncobj as abi;
use std::thread;

const ENOENT: Want = Want::Errno(libc::ENOENT);

/// What mapping fails with that waits for one object.
fn waiting(c: &mut Ctx, handle: u32) -> Answer {
    new_va(c, |a| {
        a.num_syncobj_handles = 1;
        a.input_fence_syncobj_handles = &raw const handle as u64;
    })
}

/// A new object that mapping at a new address has told of: the object, and what mapping failed with.
fn told(c: &mut Ctx, point: u64) -> Result<(u32, i32), String> {
    let object = syncobj::made(c, 0)?;
    let handle = made(c, DOMAIN_GTT)?;
    let at = c.fresh_va(SIZE);
    let errno = va(c, handle, at, |a| {
        a.vm_timeline_syncobj_out = object;
        a.vm_timeline_point = point;
    })?;
    Ok((object, errno))
}

/// What mapping a buffer fails with whose only handle is closed while the kernel reads what to wait for: it has
/// looked the handle up by then. And the address.
fn closed_meanwhile(c: &mut Ctx, domain: u32) -> Result<(i32, u64), String> {
    let object = syncobj::made(c, abi::CREATE_SIGNALED)?;
    let handle = made(c, domain)?;
    let at = c.fresh_va(SIZE);
    let render = c.render()?;
    let close = || ask(render, &GEM_CLOSE, &mut GemClose { handle, pad: 0 });
    let map = |objects| {
        let mut args = GemVa {
            handle,
            operation: VA_OP_MAP,
            flags: VM_PAGE_READABLE | VM_PAGE_WRITEABLE,
            va_address: at,
            map_size: SIZE,
            num_syncobj_handles: 1,
            input_fence_syncobj_handles: objects,
            ..Default::default()
        };
        ask(render, &GEM_VA, &mut args)
    };
    let page = match Page::new() {
        Ok(page) => page,
        // On a kernel without userfaultfd nothing holds the request up: there is no handle when it begins.
        Err(libc::ENOSYS) => {
            must("GEM_CLOSE", close())?;
            return Ok((map(&raw const object as u64), at));
        }
        Err(e) => return Err(format!("userfaultfd: errno {e}")),
    };
    let objects = page.address();
    thread::scope(|scope| {
        let mapping = scope.spawn(move || map(objects));
        let closed = page.touched().map(|()| close());
        match page.give(&object.to_ne_bytes()) {
            Ok(()) => {}
            // What waits for the page is let go with it.
            Err(_) => drop(page),
        }
        let errno = mapping.join().map_err(|_| "the thread panicked")?;
        must("GEM_CLOSE", closed?)?;
        Ok((errno, at))
    })
}

#[rustfmt::skip]
pub(super) fn rows() -> Vec<Row> {
    const V: &str = "DRM_IOCTL_AMDGPU_GEM_VA";
    const INPUT: &str = "amd/amdgpu/amdgpu_gem.c: amdgpu_gem_add_input_fence";
    const FIND: &str = "drm_syncobj.c: drm_syncobj_find_fence";
    const NODE: &str = "amd/amdgpu/amdgpu_gem.c: amdgpu_gem_update_timeline_node";
    const VA: &str = "amd/amdgpu/amdgpu_gem.c: amdgpu_gem_va_ioctl";
    const FOUND: &str = "amd/amdgpu/amdgpu_gem.c: amdgpu_gem_va_ioctl, amdgpu_vm_bo_find";
    vec![
        row(V, "wait for an object that is signalled", OK, INPUT, |c| { let h = syncobj::made(c, abi::CREATE_SIGNALED)?; waiting(c, h) }),
        row(V, "wait for the last point of a time line", OK, FIND, |c| { let h = syncobj::reached(c, 7)?; waiting(c, h) }),
        row(V, "wait for an object without a fence", EINVAL, FIND, |c| { let h = syncobj::made(c, 0)?; waiting(c, h) }),
        row(V, "wait for object 0", EINVAL, INPUT, |c| waiting(c, 0)),
        row(V, "objects to wait for at a kernel address", EFAULT, INPUT, |c| new_va(c, |a| { a.num_syncobj_handles = 1; a.input_fence_syncobj_handles = KERNEL })),
        row(V, "the handle is closed before the objects are known, GTT", ENOENT, FOUND, |c| Ok(Got::Errno(closed_meanwhile(c, DOMAIN_GTT)?.0))),
        row(V, "the handle is closed before the objects are known, VRAM", ENOENT, FOUND, |c| Ok(Got::Errno(closed_meanwhile(c, DOMAIN_VRAM)?.0))),
        row(V, "then another buffer is mapped there", OK, FOUND, |c| { let (_, at) = closed_meanwhile(c, DOMAIN_GTT)?; let other = made(c, DOMAIN_GTT)?; Ok(Got::Errno(va(c, other, at, |_| {})?)) }),
        row(V, "tell by no object", ENOENT, NODE, |c| new_va(c, |a| a.vm_timeline_syncobj_out = 0x7777)),
        row(V, "tell by an object", OK, VA, |c| Ok(Got::Errno(told(c, 0)?.1))),
        row(V, "the object is signalled", OK, "drm_syncobj.c: drm_syncobj_replace_fence", |c| { let (object, _) = told(c, 0)?; syncobj::waited(c, &[object], abi::WAIT_ALL) }),
        row(V, "tell by a point of a time line: it is reached", is(5), "drm_syncobj.c: drm_syncobj_add_point", |c| { let (object, errno) = told(c, 5)?; crate::fixture::must("GEM_VA", errno)?; Ok(Got::Value(syncobj::point(c, &abi::QUERY, object, 0)?.1)) }),
        row(V, "of what fails nobody is told", EINVAL, VA, |c| {
            let object = syncobj::made(c, 0)?;
            let (_, _, errno) = after_mapping(c, |a, _| a.vm_timeline_syncobj_out = object)?;
            if errno != libc::EINVAL { return Err(format!("mapping twice gave {errno}")); }
            syncobj::waited(c, &[object], abi::WAIT_ALL)
        }),
        row(V, "tell that something was unmapped", OK, VA, |c| {
            let object = syncobj::made(c, 0)?;
            let (_, _, errno) = after_mapping(c, |a, _| { a.operation = VA_OP_UNMAP; a.vm_timeline_syncobj_out = object })?;
            crate::fixture::must("GEM_VA", errno)?;
            syncobj::waited(c, &[object], abi::WAIT_ALL)
        }),
    ]
}
