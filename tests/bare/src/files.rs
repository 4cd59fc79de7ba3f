// SPDX-License-Identifier: MIT OR Apache-2.0
//! Open files that are read: to any address, for so long, or without waiting.

use crate::sys::last_errno;
use std::os::fd::{AsRawFd, OwnedFd};

/// `read` of 8 bytes to any address.
///
/// # Errors
/// Its errno.
pub fn read_to(file: &impl AsRawFd, address: u64) -> Result<(), i32> {
    // SAFETY: as of `ioctl`.
    match unsafe { libc::read(file.as_raw_fd(), address as *mut libc::c_void, 8) } {
        -1 => Err(last_errno()),
        _ => Ok(()),
    }
}

/// Waits, so many seconds at most, until a file has something to read: whether it has.
pub fn readable(file: &impl AsRawFd, seconds: u32) -> bool {
    let mut poll = libc::pollfd {
        fd: file.as_raw_fd(),
        events: libc::POLLIN,
        revents: 0,
    };
    // SAFETY: one entry, which outlives the call.
    let ready = unsafe { libc::poll(&raw mut poll, 1, seconds as i32 * 1000) };
    ready == 1 && poll.revents & libc::POLLIN != 0
}

/// Reads of an open file fail with EAGAIN where they would wait.
pub fn do_not_wait(fd: &OwnedFd) {
    // SAFETY: a file of ours, and flags of files.
    unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_SETFL, libc::O_NONBLOCK) };
}
