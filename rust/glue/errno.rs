// SPDX-License-Identifier: GPL-2.0

//! Error numbers that the kernel crate of 7.3 has no name for.

use kernel::{
    bindings,
    error::Error,
    ffi::c_int, //
};

/// ETIME: the hardware didn't answer in time, as upstream's KFD reports it.
pub(crate) fn etime() -> Error {
    const ETIME: c_int = -(bindings::ETIME as c_int);
    Error::from_errno(ETIME)
}
