// SPDX-License-Identifier: MIT OR Apache-2.0

//! Calls of the driver, typed by the request's argument.

use std::ffi::c_void;
use std::fmt::Debug;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rkfd_uapi::abi::Abi;
use rkfd_uapi::ioctl::Request;
use rustix::io::Errno;
use rustix::ioctl::{ioctl, Ioctl, IoctlOutput, Opcode};

use crate::error::{Error, Result};
use crate::trace;

/// What answers the driver's requests: its file, or a stand-in for it.
pub(crate) trait Device: AsFd + Debug + Send + Sync {
    /// Makes one request, whose argument is at `args`.
    ///
    /// # Safety
    ///
    /// `args` points at the argument that the request `command` takes, exclusively borrowed; and
    /// every address in it that the driver reads or writes through is that of live memory of the
    /// size the request states, not otherwise borrowed.
    unsafe fn request(&self, command: u32, args: *mut c_void) -> rustix::io::Result<()>;
}

struct Raw {
    command: u32,
    args: *mut c_void,
}

// SAFETY: the caller of `Device::request` vouches for the argument. There is no output besides it.
unsafe impl Ioctl for Raw {
    type Output = ();

    const IS_MUTATING: bool = true;

    fn opcode(&self) -> Opcode {
        self.command as Opcode
    }

    fn as_ptr(&mut self) -> *mut c_void {
        self.args
    }

    unsafe fn output_from_ptr(_: IoctlOutput, _: *mut c_void) -> rustix::io::Result<()> {
        Ok(())
    }
}

impl Device for OwnedFd {
    unsafe fn request(&self, command: u32, args: *mut c_void) -> rustix::io::Result<()> {
        // SAFETY: the caller vouches for the argument.
        unsafe { ioctl(self.as_fd(), Raw { command, args }) }
    }
}

/// Makes one request of an open `/dev/kfd` as it is: it is not traced, and not made again when a
/// signal interrupted it.
///
/// # Errors
///
/// The driver's errno, `EINTR` among them.
///
/// # Safety
///
/// Every address in `args` that the driver reads or writes through is that of live memory of the
/// size the request states, not otherwise borrowed. Memory that the request makes accessible for
/// the GPU may be written by any kernel that this process submits, so it must hold nothing that
/// Rust refers to.
pub unsafe fn request<T: Abi>(
    kfd: BorrowedFd<'_>,
    request: &Request<T>,
    args: &mut T,
) -> rustix::io::Result<()> {
    let call = Raw {
        command: request.command(),
        args: std::ptr::from_mut(args).cast(),
    };
    // SAFETY: the command encodes the size of `T` (a `Request<T>` is only made with that size), and
    // every KFD handler copies at most that many bytes from and to the argument. Every byte pattern
    // is a valid `T`, as `Abi` types are plain integers. The caller vouches for addresses in it.
    unsafe { ioctl(kfd, call) }
}

/// Makes a call. Interrupted calls are made again: the driver keeps what it must (the rest of a
/// time-out) in the argument.
///
/// # Safety
///
/// Every address in `args` that the driver reads or writes through is that of live memory of the
/// size the request states, not otherwise borrowed.
pub(crate) unsafe fn call<T: Abi>(
    device: &dyn Device,
    request: &Request<T>,
    args: &mut T,
) -> Result<()> {
    let before = *args;
    let result = loop {
        // SAFETY: a `Request<T>` has the size of `T` in its command, and every byte pattern is a
        // valid `T`, as `Abi` types are plain integers. The caller vouches for the addresses.
        match unsafe { device.request(request.command(), std::ptr::from_mut(args).cast()) } {
            Err(Errno::INTR) => continue,
            result => break result,
        }
    };
    if trace::enabled() {
        let errno = result.err().map(Errno::raw_os_error);
        let (given, returned) = (bytes_of(&before), bytes_of(&*args));
        trace::emit_ioctl(request.info, T::INFO, given, returned, errno);
    }
    result.map_err(|errno| Error::ioctl(request.info.name, errno))
}

/// Like [`call`], for requests without addresses.
pub(crate) fn plain<T: Abi + Plain>(
    device: &dyn Device,
    request: &Request<T>,
    args: &mut T,
) -> Result<()> {
    // SAFETY: `Plain` arguments hold no addresses that the driver itself reads or writes through.
    unsafe { call(device, request, args) }
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
#[cfg(feature = "async")]
impl Plain for rkfd_uapi::event::SetEventArgs {}
impl Plain for rkfd_uapi::svm::SetXnackModeArgs {}

fn bytes_of<T: Abi>(value: &T) -> &[u8] {
    // SAFETY: `Abi` types are integers without padding, so all their bytes are initialised; the
    // slice covers exactly the value and lives as long as the borrow.
    unsafe { std::slice::from_raw_parts(std::ptr::from_ref(value).cast(), size_of::<T>()) }
}
