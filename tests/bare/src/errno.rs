// SPDX-License-Identifier: MIT OR Apache-2.0
//! Names of error numbers.

/// ENOTSUPP, which only the kernel uses and no C library defines.
pub const ENOTSUPP: i32 = 524;

/// The name of an errno; 0 is success.
pub fn name(errno: i32) -> String {
    let known = match errno {
        0 => "success",
        libc::EPERM => "EPERM",
        libc::ENOENT => "ENOENT",
        libc::ESRCH => "ESRCH",
        libc::EINTR => "EINTR",
        libc::EIO => "EIO",
        libc::ENXIO => "ENXIO",
        libc::EBADF => "EBADF",
        libc::EAGAIN => "EAGAIN",
        libc::ENOMEM => "ENOMEM",
        libc::EACCES => "EACCES",
        libc::EFAULT => "EFAULT",
        libc::EBUSY => "EBUSY",
        libc::EEXIST => "EEXIST",
        libc::ENODEV => "ENODEV",
        libc::EINVAL => "EINVAL",
        libc::ENOTTY => "ENOTTY",
        libc::ENOSYS => "ENOSYS",
        libc::ENOSPC => "ENOSPC",
        libc::ESPIPE => "ESPIPE",
        libc::EALREADY => "EALREADY",
        libc::ETIME => "ETIME",
        libc::EOPNOTSUPP => "EOPNOTSUPP",
        libc::EADDRINUSE => "EADDRINUSE",
        ENOTSUPP => "ENOTSUPP",
        _ => return format!("errno {errno}"),
    };
    known.into()
}
