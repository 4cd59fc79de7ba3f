// SPDX-License-Identifier: MIT OR Apache-2.0

//! The operating system: the driver's file and mappings. Here, and nowhere else in the library, is
//! `unsafe`.

pub(crate) mod ioctl;
pub(crate) mod kfd;
pub(crate) mod map;
