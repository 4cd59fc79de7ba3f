// SPDX-License-Identifier: MIT OR Apache-2.0

//! Calls of the driver, typed by the request's argument.

use std::ffi::c_void;
use std::os::fd::BorrowedFd;

use rkfd_uapi::abi::Abi;
use rkfd_uapi::ioctl::Request;
use rustix::io::Errno;
use rustix::ioctl::{ioctl, Ioctl, IoctlOutput, Opcode};

use crate::error::{Error, Result};
use crate::trace;

struct Call<'a, T> {
    command: u32,
    args: &'a mut T,
}

// SAFETY: the command encodes the size of `T` (a `Request<T>` is only made with that size), and
// every KFD handler copies at most that many bytes from and to the argument. Every byte pattern is
// a valid `T`, as `Abi` types are plain integers. There is no output besides the argument.
unsafe impl<T: Abi> Ioctl for Call<'_, T> {
    type Output = ();

    const IS_MUTATING: bool = true;

    fn opcode(&self) -> Opcode {
        self.command as Opcode
    }

    fn as_ptr(&mut self) -> *mut c_void {
        std::ptr::from_mut(self.args).cast()
    }

    unsafe fn output_from_ptr(_: IoctlOutput, _: *mut c_void) -> rustix::io::Result<()> {
        Ok(())
    }
}

/// Makes one request of `/dev/kfd` as it is, for what this library has no method for: no trace of
/// it, and no second try.
///
/// # Errors
///
/// The driver's errno, `EINTR` among them.
///
/// # Safety
///
/// Every address in `args` that the driver reads or writes through is that of live memory of the
/// size the request states, not otherwise borrowed.
pub unsafe fn once<T: Abi>(
    fd: BorrowedFd<'_>,
    request: &Request<T>,
    args: &mut T,
) -> rustix::io::Result<()> {
    let command = request.command();
    // SAFETY: see `Call`; the caller vouches for the addresses in it.
    unsafe { ioctl(fd, Call { command, args }) }
}

/// Makes a call. Interrupted calls are made again: the driver keeps what it must (the rest of a
/// time-out) in the argument.
///
/// # Safety
///
/// Every address in `args` that the driver reads or writes through is that of live memory of the
/// size the request states, not otherwise borrowed.
pub(crate) unsafe fn call<T: Abi>(
    fd: BorrowedFd<'_>,
    request: &Request<T>,
    args: &mut T,
) -> Result<()> {
    let before = *args;
    #[cfg(test)]
    if let Some(result) = crate::fake::ioctl(fd, request.command(), std::ptr::from_mut(args).cast())
    {
        return result.map_err(|errno| Error::ioctl(request.info.name, errno));
    }
    let result = loop {
        // SAFETY: the caller vouches for the addresses in the argument.
        match unsafe { once(fd, request, args) } {
            Err(Errno::INTR) => continue,
            result => break result,
        }
    };
    if trace::enabled() {
        let (given, returned) = (bytes_of(&before), bytes_of(&*args));
        let errno = result.err().map(Errno::raw_os_error);
        trace::emit(&trace::Step::Ioctl {
            info: request.info,
            layout: T::INFO,
            given,
            returned,
            errno,
        });
    }
    result.map_err(|errno| Error::ioctl(request.info.name, errno))
}

/// Like [`call`], for requests without addresses.
pub(crate) fn plain<T: Abi + Plain>(
    fd: BorrowedFd<'_>,
    request: &Request<T>,
    args: &mut T,
) -> Result<()> {
    // SAFETY: `Plain` arguments hold no addresses that the driver itself reads or writes through.
    unsafe { call(fd, request, args) }
}

/// An argument through which the driver accesses no memory of the caller's.
pub(crate) trait Plain {}

impl Plain for rkfd_uapi::device::GetVersionArgs {}
impl Plain for rkfd_uapi::device::GetClockCountersArgs {}
// Its addresses are the GPU's.
impl Plain for rkfd_uapi::device::SetTrapHandlerArgs {}
impl Plain for rkfd_uapi::memory::AcquireVmArgs {}
impl Plain for rkfd_uapi::memory::FreeMemoryOfGpuArgs {}
impl Plain for rkfd_uapi::memory::GetAvailableMemoryArgs {}
impl Plain for rkfd_uapi::queue::AllocQueueGwsArgs {}
impl Plain for rkfd_uapi::queue::DestroyQueueArgs {}
impl Plain for rkfd_uapi::event::CreateEventArgs {}
impl Plain for rkfd_uapi::event::DestroyEventArgs {}

fn bytes_of<T: Abi>(value: &T) -> &[u8] {
    // SAFETY: `Abi` types are integers without padding, so all their bytes are initialised; the
    // slice covers exactly the value and lives as long as the borrow.
    unsafe { std::slice::from_raw_parts(std::ptr::from_ref(value).cast(), size_of::<T>()) }
}
