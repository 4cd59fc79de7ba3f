// SPDX-License-Identifier: MIT OR Apache-2.0
//! Synchronisation objects of the render node's files. Paths are those of `drivers/gpu/drm`.

use super::*;
use crate::row::{row, Answer, Row};
use rkfd_uapi::drm;
use rkfd_uapi::ioctl::Request;
use rkfd_uapi::syncobj::*;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

const ENOENT: Want = Want::Errno(libc::ENOENT);
const ETIME: Want = Want::Errno(libc::ETIME);
const NOW: i64 = 0;
const SOURCE: &str = "drm_syncobj.c";

fn ask<T>(c: &Ctx, request: &Request<T>, args: &mut T) -> Result<i32, String> {
    Ok(sys::ioctl(
        c.render()?,
        request.command(),
        sys::address(args),
    ))
}

pub(super) fn made(c: &Ctx, flags: u32) -> Result<u32, String> {
    let mut args = SyncobjCreate { handle: 0, flags };
    crate::fixture::must("SYNCOBJ_CREATE", ask(c, &CREATE, &mut args)?)?;
    Ok(args.handle)
}

fn wait(c: &Ctx, handles: &[u32], flags: u32) -> Result<(i32, u32), String> {
    let mut own = handles.to_vec();
    let mut args = SyncobjWait {
        handles: sys::address(&mut own[..]),
        timeout_nsec: NOW,
        count_handles: handles.len() as u32,
        flags,
        first_signaled: 99,
        ..Default::default()
    };
    let errno = ask(c, &WAIT, &mut args)?;
    Ok((errno, args.first_signaled))
}

pub(super) fn waited(c: &Ctx, handles: &[u32], flags: u32) -> Answer {
    Ok(Got::Errno(wait(c, handles, flags)?.0))
}

/// RESET or SIGNAL.
fn array(c: &Ctx, request: &Request<SyncobjArray>, handles: &[u32]) -> Result<i32, String> {
    let mut own = handles.to_vec();
    let mut args = SyncobjArray {
        handles: sys::address(&mut own[..]),
        count_handles: own.len() as u32,
        pad: 0,
    };
    ask(c, request, &mut args)
}

/// QUERY or TIMELINE_SIGNAL of one: errno, and the point afterwards.
pub(super) fn point(
    c: &Ctx,
    request: &Request<SyncobjTimelineArray>,
    handle: u32,
    mut point: u64,
) -> Result<(i32, u64), String> {
    let mut handles = [handle];
    let mut args = SyncobjTimelineArray {
        handles: sys::address(&mut handles[..]),
        points: sys::address(&mut point),
        count_handles: 1,
        flags: 0,
    };
    let errno = ask(c, request, &mut args)?;
    Ok((errno, point))
}

/// An object that has reached `at`.
pub(super) fn reached(c: &Ctx, at: u64) -> Result<u32, String> {
    let handle = made(c, 0)?;
    crate::fixture::must("TIMELINE_SIGNAL", point(c, &TIMELINE_SIGNAL, handle, at)?.0)?;
    Ok(handle)
}

fn timeline_wait(c: &Ctx, handle: u32, mut point: u64, flags: u32) -> Answer {
    let mut handles = [handle];
    let mut args = SyncobjTimelineWait {
        handles: sys::address(&mut handles[..]),
        points: sys::address(&mut point),
        timeout_nsec: NOW,
        count_handles: 1,
        flags,
        ..Default::default()
    };
    Ok(Got::Errno(ask(c, &TIMELINE_WAIT, &mut args)?))
}

fn exported(c: &Ctx, handle: u32, flags: u32) -> Result<OwnedFd, String> {
    let mut args = SyncobjHandle {
        handle,
        flags,
        ..Default::default()
    };
    crate::fixture::must("HANDLE_TO_FD", ask(c, &HANDLE_TO_FD, &mut args)?)?;
    // SAFETY: The kernel has just made it for us.
    Ok(unsafe { OwnedFd::from_raw_fd(args.fd) })
}

fn imported(c: &Ctx, fd: &OwnedFd, handle: u32, flags: u32) -> Result<(i32, u32), String> {
    let mut args = SyncobjHandle {
        handle,
        flags,
        fd: fd.as_raw_fd(),
        ..Default::default()
    };
    let errno = ask(c, &FD_TO_HANDLE, &mut args)?;
    Ok((errno, args.handle))
}

fn capability(c: &Ctx, capability: u64) -> Answer {
    let mut args = drm::DrmGetCap {
        capability,
        value: 0,
    };
    crate::fixture::must("GET_CAP", ask(c, &drm::GET_CAP, &mut args)?)?;
    Ok(Got::Value(args.value))
}

#[rustfmt::skip]
pub(super) fn rows() -> Vec<Row> {
    const C: &str = "DRM_IOCTL_SYNCOBJ_CREATE";
    const D: &str = "DRM_IOCTL_SYNCOBJ_DESTROY";
    const W: &str = "DRM_IOCTL_SYNCOBJ_WAIT";
    const R: &str = "DRM_IOCTL_SYNCOBJ_RESET";
    const S: &str = "DRM_IOCTL_SYNCOBJ_SIGNAL";
    const F: &str = "DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD";
    const I: &str = "DRM_IOCTL_SYNCOBJ_FD_TO_HANDLE";
    const T: &str = "DRM_IOCTL_SYNCOBJ_TIMELINE_WAIT";
    const P: &str = "DRM_IOCTL_SYNCOBJ_TIMELINE_SIGNAL";
    const Q: &str = "DRM_IOCTL_SYNCOBJ_QUERY";
    const X: &str = "DRM_IOCTL_SYNCOBJ_TRANSFER";
    vec![
        row("DRM_IOCTL_GET_CAP", "synchronisation objects", is(1), "drm_ioctl.c: drm_getcap", |c| capability(c, drm::CAP_SYNCOBJ)),
        row("DRM_IOCTL_GET_CAP", "and those with a time line", is(1), "drm_ioctl.c: drm_getcap", |c| capability(c, drm::CAP_SYNCOBJ_TIMELINE)),
        row(C, "without a fence", OK, SOURCE, |c| { made(c, 0)?; Ok(Got::Errno(0)) }),
        row(C, "unknown flags", EINVAL, SOURCE, |c| { Ok(Got::Errno(ask(c, &CREATE, &mut SyncobjCreate { handle: 0, flags: 2 })?)) }),
        row(D, "of a handle", OK, SOURCE, |c| { let handle = made(c, 0)?; Ok(Got::Errno(ask(c, &DESTROY, &mut SyncobjDestroy { handle, pad: 0 })?)) }),
        row(D, "of no handle", EINVAL, SOURCE, |c| { Ok(Got::Errno(ask(c, &DESTROY, &mut SyncobjDestroy { handle: 0x7777, pad: 0 })?)) }),
        row(D, "padding", EINVAL, SOURCE, |c| { let handle = made(c, 0)?; Ok(Got::Errno(ask(c, &DESTROY, &mut SyncobjDestroy { handle, pad: 1 })?)) }),
        row(D, "twice", EINVAL, SOURCE, |c| { let mut args = SyncobjDestroy { handle: made(c, 0)?, pad: 0 }; ask(c, &DESTROY, &mut args)?; Ok(Got::Errno(ask(c, &DESTROY, &mut args)?)) }),
        row(W, "for none", OK, SOURCE, |c| waited(c, &[], 0)),
        row(W, "for no handle", ENOENT, SOURCE, |c| { waited(c, &[0x7777], 0) }),
        row(W, "for one that is signalled", OK, SOURCE, |c| { let h = made(c, CREATE_SIGNALED)?; waited(c, &[h], 0) }),
        row(W, "for one without a fence", EINVAL, SOURCE, |c| { let h = made(c, 0)?; waited(c, &[h], 0) }),
        row(W, "for one to get its fence: time is over", ETIME, SOURCE, |c| { let h = made(c, 0)?; waited(c, &[h], WAIT_FOR_SUBMIT) }),
        row(W, "for one of two: its index", is(1), SOURCE, |c| { let (a, b) = (made(c, 0)?, made(c, CREATE_SIGNALED)?); Ok(Got::Value(wait(c, &[a, b], WAIT_FOR_SUBMIT)?.1.into())) }),
        row(W, "for both of two", ETIME, SOURCE, |c| { let (a, b) = (made(c, 0)?, made(c, CREATE_SIGNALED)?); waited(c, &[a, b], WAIT_FOR_SUBMIT | WAIT_ALL) }),
        row(W, "unknown flags", EINVAL, SOURCE, |c| { let h = made(c, CREATE_SIGNALED)?; waited(c, &[h], 0x100) }),
        row(S, "then a wait ends", OK, SOURCE, |c| { let h = made(c, 0)?; array(c, &SIGNAL, &[h])?; waited(c, &[h], 0) }),
        row(S, "of none", EINVAL, SOURCE, |c| { Ok(Got::Errno(array(c, &SIGNAL, &[])?)) }),
        row(S, "of no handle", ENOENT, SOURCE, |c| { Ok(Got::Errno(array(c, &SIGNAL, &[0x7777])?)) }),
        row(R, "takes the fence away", EINVAL, SOURCE, |c| { let h = made(c, CREATE_SIGNALED)?; array(c, &RESET, &[h])?; waited(c, &[h], 0) }),
        row(R, "of none", EINVAL, SOURCE, |c| { Ok(Got::Errno(array(c, &RESET, &[])?)) }),
        row(F, "of no handle", EINVAL, SOURCE, |c| { Ok(Got::Errno(ask(c, &HANDLE_TO_FD, &mut SyncobjHandle { handle: 0x7777, ..Default::default() })?)) }),
        row(F, "unknown flags", EINVAL, SOURCE, |c| { let handle = made(c, 0)?; Ok(Got::Errno(ask(c, &HANDLE_TO_FD, &mut SyncobjHandle { handle, flags: 8, ..Default::default() })?)) }),
        row(F, "a fence's file of one without a fence", EINVAL, SOURCE, |c| { let handle = made(c, 0)?; Ok(Got::Errno(ask(c, &HANDLE_TO_FD, &mut SyncobjHandle { handle, flags: EXPORT_SYNC_FILE, ..Default::default() })?)) }),
        row(I, "there and back: one object", OK, SOURCE, |c| { let a = made(c, 0)?; let fd = exported(c, a, 0)?; let (_, b) = imported(c, &fd, 0, 0)?; array(c, &SIGNAL, &[b])?; waited(c, &[a], 0) }),
        row(I, "a fence's file gives its fence", OK, SOURCE, |c| { let (a, b) = (made(c, CREATE_SIGNALED)?, made(c, 0)?); let fd = exported(c, a, EXPORT_SYNC_FILE)?; crate::fixture::must("FD_TO_HANDLE", imported(c, &fd, b, IMPORT_SYNC_FILE)?.0)?; waited(c, &[b], 0) }),
        row(I, "of the render node", EINVAL, SOURCE, |c| { let fd = c.render()?.as_raw_fd(); Ok(Got::Errno(ask(c, &FD_TO_HANDLE, &mut SyncobjHandle { fd, ..Default::default() })?)) }),
        row(P, "the point is reached", is(5), SOURCE, |c| { let h = reached(c, 5)?; Ok(Got::Value(point(c, &QUERY, h, 77)?.1)) }),
        row(P, "of no handle", ENOENT, SOURCE, |c| { Ok(Got::Errno(point(c, &TIMELINE_SIGNAL, 0x7777, 1)?.0)) }),
        row(Q, "of one without a time line", is(0), SOURCE, |c| { let h = made(c, CREATE_SIGNALED)?; Ok(Got::Value(point(c, &QUERY, h, 77)?.1)) }),
        row(Q, "of no handle", ENOENT, SOURCE, |c| { Ok(Got::Errno(point(c, &QUERY, 0x7777, 1)?.0)) }),
        row(T, "for a point that was reached", OK, SOURCE, |c| { let h = reached(c, 5)?; timeline_wait(c, h, 5, 0) }),
        row(T, "for one before", OK, SOURCE, |c| { let h = reached(c, 5)?; timeline_wait(c, h, 3, 0) }),
        row(T, "for one that nobody has submitted", EINVAL, SOURCE, |c| { let h = reached(c, 5)?; timeline_wait(c, h, 9, 0) }),
        row(T, "for one to be submitted: time is over", ETIME, SOURCE, |c| { let h = reached(c, 5)?; timeline_wait(c, h, 9, WAIT_FOR_SUBMIT) }),
        row(X, "a point's fence to one without a time line", OK, SOURCE, |c| { let (src_handle, dst_handle) = (reached(c, 5)?, made(c, 0)?); crate::fixture::must("TRANSFER", ask(c, &TRANSFER, &mut SyncobjTransfer { src_handle, dst_handle, src_point: 5, ..Default::default() })?)?; waited(c, &[dst_handle], 0) }),
        row(X, "padding", EINVAL, SOURCE, |c| { let h = made(c, CREATE_SIGNALED)?; Ok(Got::Errno(ask(c, &TRANSFER, &mut SyncobjTransfer { src_handle: h, dst_handle: h, pad: 1, ..Default::default() })?)) }),
    ]
}
