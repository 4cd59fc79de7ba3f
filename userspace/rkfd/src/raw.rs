// SPDX-License-Identifier: MIT OR Apache-2.0

//! The driver's interface and the hardware's formats as they are, for what this library has no
//! method for.
//!
//! Nothing outside of this module has a type of these crates in its interface. They change with
//! Linux and with new hardware, so what is here may change in any version of this crate.
//!
//! ```no_run
//! use std::os::fd::AsFd;
//! use rkfd::raw::uapi::{device::GetVersionArgs, ioctl};
//!
//! let kfd = std::fs::File::options().read(true).write(true).open("/dev/kfd")?;
//! let mut version = GetVersionArgs::default();
//! // SAFETY: the request has no addresses.
//! unsafe { rkfd::raw::request(kfd.as_fd(), &ioctl::GET_VERSION, &mut version)? };
//! println!("KFD {}.{}", version.major_version, version.minor_version);
//! # Ok::<(), std::io::Error>(())
//! ```

/// Layouts and packets of the hardware.
pub use rkfd_hw as hw;
/// The requests of `/dev/kfd` and their arguments.
pub use rkfd_uapi as uapi;
/// The operating system's error numbers, as [`Error::Ioctl`](crate::Error::Ioctl) has them.
pub use rustix::io::Errno;

pub use crate::sys::ioctl::request;
