// SPDX-License-Identifier: MIT OR Apache-2.0

//! What the module's files take of `kernel::prelude`: vectors and boxes that are told how to
//! allocate, and errors.

/// `kernel::prelude::fmt`.
pub use std::format_args as fmt;
use std::ops::{Deref, DerefMut};

/// An errno.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Error(i32);

/// `kernel::error::Result`.
pub type Result<T = (), E = Error> = std::result::Result<T, E>;

pub use codes::*;

/// Errors by name, with Linux's numbers (`include/uapi/asm-generic/errno-base.h`).
mod codes {
    use super::Error;

    /// No such file or directory.
    pub const ENOENT: Error = Error(2);
    /// Out of memory.
    pub const ENOMEM: Error = Error(12);
    /// Device or resource busy.
    pub const EBUSY: Error = Error(16);
    /// No such device.
    pub const ENODEV: Error = Error(19);
    /// Invalid argument.
    pub const EINVAL: Error = Error(22);
    /// Numerical result out of range.
    pub const ERANGE: Error = Error(34);
}

impl From<std::num::TryFromIntError> for Error {
    fn from(_: std::num::TryFromIntError) -> Self {
        EINVAL
    }
}

/// `dev_err!`: there is no log.
#[macro_export]
macro_rules! dev_err {
    ($dev:expr, $($message:tt)*) => {{
        let _ = ($dev, ::std::format_args!($($message)*));
    }};
}
pub use crate::dev_err;

/// What an allocation fails with.
#[derive(Clone, Copy, Debug)]
pub struct AllocError;

impl From<AllocError> for Error {
    fn from(_: AllocError) -> Self {
        ENOMEM
    }
}

/// How to allocate, which means nothing here.
#[derive(Clone, Copy)]
pub struct Flags;

/// `GFP_KERNEL`.
pub const GFP_KERNEL: Flags = Flags;
/// `GFP_KERNEL_ACCOUNT`.
pub const GFP_KERNEL_ACCOUNT: Flags = Flags;

/// `KVec`.
#[derive(Default)]
pub struct KVec<T>(Vec<T>);
/// `KVVec`.
pub type KVVec<T> = KVec<T>;

impl<T> KVec<T> {
    /// An empty one.
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// An empty one with room.
    pub fn with_capacity(count: usize, _: Flags) -> Result<Self, AllocError> {
        Ok(Self(Vec::with_capacity(count)))
    }

    /// Keeps what `keep` says.
    pub fn retain(&mut self, keep: impl FnMut(&mut T) -> bool) {
        self.0.retain_mut(keep);
    }

    /// Keeps the first ones.
    pub fn truncate(&mut self, count: usize) {
        self.0.truncate(count);
    }

    /// Makes room for more.
    pub fn reserve(&mut self, more: usize, _: Flags) -> Result<(), AllocError> {
        self.0.reserve(more);
        Ok(())
    }

    /// Appends a value.
    pub fn push(&mut self, value: T, _: Flags) -> Result<(), AllocError> {
        self.0.push(value);
        Ok(())
    }
}

impl<T: Clone> KVec<T> {
    /// Appends values.
    pub fn extend_from_slice(&mut self, values: &[T], _: Flags) -> Result<(), AllocError> {
        self.0.extend_from_slice(values);
        Ok(())
    }

    /// One of equal values.
    pub fn from_elem(value: T, count: usize, _: Flags) -> Result<Self, AllocError> {
        Ok(Self(vec![value; count]))
    }
}

impl<T> Deref for KVec<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<T> DerefMut for KVec<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.0
    }
}

/// `KBox`.
pub struct KBox<T>(Box<T>);

impl<T> KBox<T> {
    /// A box of a value.
    pub fn new(value: T, _: Flags) -> Result<Self, AllocError> {
        Ok(Self(Box::new(value)))
    }
}

impl<T> Deref for KBox<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> DerefMut for KBox<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}
